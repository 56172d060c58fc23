/* The Vulkan layer as it is on a GPU: images have memory of their own, which can be exported. A software driver can do that, too;
 * what another Vulkan device imports are the same bytes. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 256, HEIGHT = 128, SMALLEST = 65536, CYCLES = 10000 };

static bool open_export(struct vulkan_rig *rig)
{
    char smallest[16];
    snprintf(smallest, sizeof(smallest), "%d", SMALLEST);
    setenv("CLD3D_VULKAN", "export", 1);
    setenv("CLD3D_VULKAN_SMALLEST", smallest, 1);
    if (!vulkan_open(rig, true))
        return false;
    if (side_open())
        return true;
    vulkan_close(rig);
    return false;
}

static VkImageCreateInfo frame(void)
{
    return vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT);
}

/* ---- which images ---- */

static bool is_exported(struct vulkan_rig *rig, uint32_t size)
{
    const VkImageCreateInfo info = vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, size, size);
    struct vulkan_thing image;
    struct vulkan_image found;
    if (!vulkan_make_image(rig, &info, 0, &image))
        return false;
    const bool exported = side.find_image(HANDLE_NUMBER(image.image), &found, NULL);
    vulkan_drop(rig, &image);
    return exported;
}

enum child_end { AS_BY_DEFAULT, NOT_AS_BY_DEFAULT, NOTHING_TO_TRY };

/* How a process of its own ends, since a setting is read once. */
static enum child_end look_with_smallest(const char *smallest)
{
    struct vulkan_rig rig;
    setenv("CLD3D_VULKAN", "export", 1);
    setenv("CLD3D_VULKAN_SMALLEST", smallest, 1);
    if (!vulkan_open(&rig, true))
        return NOTHING_TO_TRY;
    const bool good = side_open() && !is_exported(&rig, 127) && is_exported(&rig, 128);
    vulkan_close(&rig);
    return good ? AS_BY_DEFAULT : NOT_AS_BY_DEFAULT;
}

/* The first case: the processes have what this one has read. */
static void no_numbers(void)
{
    static const char *const texts[] = {"", "64K", "-1", "0x10", "many"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int end = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (!child)
            _exit((int)look_with_smallest(texts[i]));
        CHECK_INT(waitpid(child, &end, 0), child);
        if (WIFEXITED(end) && WEXITSTATUS(end) == NOTHING_TO_TRY)
            SKIP("there is no Vulkan driver to try it with");
        else if (!CHECK_INT(end, 0))
            printf("# with '%s'\n", texts[i]);
    }
}

static void which(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image found;
    if (!open_export(&rig))
        return;
    VkImageCreateInfo infos[] = {frame(), vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 128, 127), frame(), frame(),
                                 frame()};
    infos[2].tiling = VK_IMAGE_TILING_LINEAR;
    infos[3].format = VK_FORMAT_D32_SFLOAT;
    infos[4].mipLevels = 4; /* and only sampled */
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
        if (!vulkan_make_image(&rig, &infos[i], 4096, &image))
            continue;
        if (i > 0) {
            CHECK_INT(image.offset, 4096); /* nobody has asked for memory of its own */
            CHECK_REFUSED(side.find_image(HANDLE_NUMBER(image.image), &found, side_why));
        } else if (side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why))) {
            CHECK_INT(found.tiling, VK_IMAGE_TILING_OPTIMAL);
            CHECK_INT(found.memory.offset, 0);
            CHECK_INT(found.memory.exportable, 1);
            CHECK_INT(found.memory.dedicated, 1);
            CHECK_INT(found.memory.mapped, 0);
            CHECK_INT(found.memory.memory_size, image.size);
            CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0,
                                          &(struct vulkan_place){0}, side_why));
        }
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

/* A device has the functions that it has without the layer. */
static void same_functions(void)
{
    static const char *const names[] = {"vkGetMemoryFdKHR",
                                        "vkGetMemoryFdPropertiesKHR",
                                        "vkGetSemaphoreFdKHR",
                                        "vkQueuePresentKHR",
                                        "vkBindImageMemory2KHR",
                                        "vkMapMemory2KHR",
                                        "vkCreateImage",
                                        "vkGetBufferDeviceAddressEXT",
                                        "vkQueueSubmit2KHR",
                                        "vkQueueSubmit2",
                                        "vkGetDeviceImageMemoryRequirementsKHR"};
    struct vulkan_rig rigs[2];
    if (!vulkan_open(&rigs[0], false))
        return;
    if (open_export(&rigs[1])) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (!CHECK_INT(rigs[1].GetDeviceProcAddr(rigs[1].device, names[i]) != NULL,
                           rigs[0].GetDeviceProcAddr(rigs[0].device, names[i]) != NULL))
                printf("# %s\n", names[i]);
        vulkan_close(&rigs[1]);
    }
    vulkan_close(&rigs[0]);
}

/* A program that knows nothing of dedicated memory, or has an allocator of its own, gets what it wants, and shares nothing. */
static void not_followed(void)
{
    struct vulkan_rig rig;
    struct vulkan_image found;
    VkMemoryRequirements needs;
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    VkImage image = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    CHECK_INT(rig.CreateImage(rig.device, &info, NULL, &image), VK_SUCCESS);
    rig.GetImageMemoryRequirements(rig.device, image, &needs);
    const VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size,
                                           vulkan_memory_type(&rig, needs.memoryTypeBits, 0)};
    CHECK_INT(rig.AllocateMemory(rig.device, &allocate, NULL, &memory), VK_SUCCESS);
    const VkBindImageMemoryInfo bind = {VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, NULL, image, memory, 0};
    CHECK_INT(rig.BindImageMemory2(rig.device, 1, &bind), VK_SUCCESS);
    CHECK_REFUSED(side.find_image(HANDLE_NUMBER(image), &found, side_why));
    rig.DestroyImage(rig.device, image, NULL);
    rig.FreeMemory(rig.device, memory, NULL);
    vulkan_close(&rig);
}

/* ---- bytes ---- */

/* The image of another device over the same memory. */
static bool import_image(struct vulkan_rig *rig, const VkImageCreateInfo *like, int32_t file, uint64_t size,
                         struct vulkan_thing *made)
{
    const VkExternalMemoryImageCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                      VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = *like;
    info.pNext = &external;
    memset(made, 0, sizeof(*made));
    VkMemoryRequirements needs;
    if (!CHECK_INT(rig->CreateImage(rig->device, &info, NULL, &made->image), VK_SUCCESS))
        return false;
    rig->GetImageMemoryRequirements(rig->device, made->image, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                     .image = made->image};
    const VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, &dedicated,
                                            VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, file};
    const VkMemoryAllocateInfo allocate = {
        VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &import, size,
        vulkan_memory_type(rig, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    return CHECK_INT(rig->AllocateMemory(rig->device, &allocate, NULL, &made->memory), VK_SUCCESS) &&
           CHECK_INT(rig->BindImageMemory(rig->device, made->image, made->memory, 0), VK_SUCCESS);
}

static void move(struct vulkan_rig *rig, const struct vulkan_thing *image, const struct vulkan_thing *buffer,
                 unsigned char *bytes, bool to_image, unsigned how)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {WIDTH, HEIGHT, 1}};
    if (to_image)
        vulkan_write(rig, buffer, bytes, WIDTH * HEIGHT * 4);
    vulkan_copy(rig, image->image, buffer->buffer, &all, to_image, how);
    if (!to_image)
        vulkan_read(rig, buffer, bytes, WIDTH * HEIGHT * 4);
}

static void another_device(void)
{
    static unsigned char sent[WIDTH * HEIGHT * 4], got[WIDTH * HEIGHT * 4];
    struct vulkan_rig rig, other;
    struct vulkan_thing image, imported, buffer, other_buffer;
    struct vulkan_image found;
    int32_t file = -1;
    if (!open_export(&rig))
        return;
    other = rig;
    const VkImageCreateInfo info = frame();
    if (vulkan_open_device(&other) && vulkan_make_image(&rig, &info, 0, &image) &&
        vulkan_make_buffer(&rig, sizeof(sent), 0, &buffer) &&
        vulkan_make_buffer(&other, sizeof(sent), 0, &other_buffer) &&
        side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)) &&
        side_done(side.export(found.memory.memory, &file, side_why)) &&
        import_image(&other, &info, file, found.memory.memory_size, &imported)) {
        side_fill(sent, sizeof(sent), 1);
        move(&rig, &image, &buffer, sent, true, VULKAN_DISCARD | VULKAN_TO_OUTSIDE);
        move(&other, &imported, &other_buffer, got, false, VULKAN_FROM_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        side_fill(sent, sizeof(sent), 2);
        move(&other, &imported, &other_buffer, sent, true, VULKAN_TO_OUTSIDE);
        move(&rig, &image, &buffer, got, false, VULKAN_FROM_OUTSIDE | VULKAN_TO_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        vulkan_drop(&rig, &image); /* the import lives on */
        move(&other, &imported, &other_buffer, got, false, VULKAN_FROM_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        vulkan_drop(&other, &imported);
        vulkan_drop(&other, &other_buffer);
        vulkan_drop(&rig, &buffer);
        vulkan_close_device(&other);
    }
    vulkan_close(&rig);
}

static void buffers(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing shared, plain;
    struct vulkan_memory found = {0};
    int32_t file = -1;
    if (!open_export(&rig))
        return;
    if (vulkan_make_buffer(&rig, SMALLEST, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, &shared) &&
        vulkan_make_buffer(&rig, SMALLEST, 0, &plain)) {
        const VkBufferDeviceAddressInfo info = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, shared.buffer};
        const uint64_t address = rig.GetBufferDeviceAddress(rig.device, &info);
        if (side_done(side.find_buffer(address + 256, 1024, &found, side_why))) {
            CHECK_INT(found.offset, 256);
            CHECK_INT(found.exportable, 1);
            CHECK_INT(found.dedicated, 0);
            CHECK_INT(found.mapped, 0);
            if (side_done(side.export(found.memory, &file, side_why)))
                CHECK_INT(side.close((uint64_t)file), 1);
        }
        vulkan_drop(&rig, &plain);
        vulkan_drop(&rig, &shared);
    }
    vulkan_close(&rig);
}

/* ---- copies beside what can't be imported ---- */

/* A subresource of an image, and its copy as the other device has it. */
struct beside {
    VkImageSubresourceLayers subresource;
    uint32_t width, height, bytes; /* of a texel */
    VkFormat format;
    uint64_t name;
    struct vulkan_thing imported;
    unsigned char sent[WIDTH * HEIGHT * 8], got[WIDTH * HEIGHT * 8];
};

static bool open_beside(struct vulkan_rig *other, VkImage image, struct beside *b)
{
    struct vulkan_image made;
    int32_t file = -1;
    if (!side_done(side.make_copy(HANDLE_NUMBER(image), b->subresource.aspectMask, b->subresource.mipLevel,
                                  b->subresource.baseArrayLayer, &b->name, &made, side_why)) ||
        !side_done(side.export(made.memory.memory, &file, side_why)))
        return false;
    CHECK_INT(made.format, b->format);
    CHECK_INT(made.width, b->width);
    CHECK_INT(made.height, b->height);
    CHECK_INT(made.levels, 1);
    CHECK_INT(made.layers, 1);
    CHECK_INT(made.memory.offset, 0);
    CHECK_INT(made.memory.dedicated, 1);
    const VkImageCreateInfo info = vulkan_image_info(b->format, b->width, b->height);
    return import_image(other, &info, file, made.memory.memory_size, &b->imported);
}

static void move_beside(struct vulkan_rig *rig, VkImage image, const struct vulkan_thing *buffer,
                        const VkImageSubresourceLayers *where, const struct beside *b, unsigned char *bytes,
                        bool to_image, unsigned how)
{
    const VkBufferImageCopy all = {.imageSubresource = *where, .imageExtent = {b->width, b->height, 1}};
    const size_t size = (size_t)b->width * b->height * b->bytes;
    if (to_image)
        vulkan_write(rig, buffer, bytes, size);
    vulkan_copy(rig, image, buffer->buffer, &all, to_image, how);
    if (!to_image)
        vulkan_read(rig, buffer, bytes, size);
}

/* All in one list: over, to the other device, changed there, and back. `rest` is a subresource that nobody moves. */
static void both_ways(struct vulkan_rig *rig, struct vulkan_rig *other, const VkImageCreateInfo *info,
                      struct beside *list, unsigned count, struct beside *rest)
{
    const VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    struct vulkan_thing image, buffer, other_buffer;
    struct vulkan_move moves[4];
    if (!vulkan_make_image(rig, info, 0, &image))
        return;
    vulkan_make_buffer(rig, sizeof(rest->sent), 0, &buffer);
    vulkan_make_buffer(other, sizeof(rest->sent), 0, &other_buffer);
    side_fill(rest->sent, sizeof(rest->sent), 99);
    move_beside(rig, image.image, &buffer, &rest->subresource, rest, rest->sent, true, VULKAN_DISCARD);
    for (unsigned i = 0; i < count; i++) {
        side_fill(list[i].sent, sizeof(list[i].sent), i);
        move_beside(rig, image.image, &buffer, &list[i].subresource, &list[i], list[i].sent, true, 0);
        if (!open_beside(other, image.image, &list[i]))
            return;
        moves[i] = (struct vulkan_move){list[i].name, VK_IMAGE_LAYOUT_GENERAL, VULKAN_ANY_FAMILY};
    }
    side_done(side.move(moves, count, 0, side_why));
    for (unsigned i = 0; i < count; i++) {
        const size_t size = (size_t)list[i].width * list[i].height * list[i].bytes;
        move_beside(other, list[i].imported.image, &other_buffer, &whole, &list[i], list[i].got, false,
                    VULKAN_FROM_OUTSIDE);
        CHECK_MEM(list[i].got, list[i].sent, size);
        side_fill(list[i].sent, sizeof(list[i].sent), i + 50);
        move_beside(other, list[i].imported.image, &other_buffer, &whole, &list[i], list[i].sent, true,
                    VULKAN_TO_OUTSIDE);
    }
    side_done(side.move(moves, count, 1, side_why));
    for (unsigned i = 0; i < count; i++) {
        const size_t size = (size_t)list[i].width * list[i].height * list[i].bytes;
        move_beside(rig, image.image, &buffer, &list[i].subresource, &list[i], list[i].got, false, 0);
        CHECK_MEM(list[i].got, list[i].sent, size);
        CHECK_INT(side.drop_copy(list[i].name), 1);
        CHECK_INT(side.drop_copy(list[i].name), 0);
        vulkan_drop(other, &list[i].imported);
    }
    move_beside(rig, image.image, &buffer, &rest->subresource, rest, rest->got, false, 0);
    CHECK_MEM(rest->got, rest->sent, (size_t)rest->width * rest->height * rest->bytes);
    vulkan_drop(other, &other_buffer);
    vulkan_drop(rig, &buffer);
    vulkan_drop(rig, &image);
}

static bool open_two(struct vulkan_rig *rig, struct vulkan_rig *other)
{
    if (!open_export(rig))
        return false;
    *other = *rig;
    if (vulkan_open_device(other))
        return true;
    vulkan_close(rig);
    return false;
}

static void close_two(struct vulkan_rig *rig, struct vulkan_rig *other)
{
    vulkan_close_device(other);
    vulkan_close(rig);
}

static void copies_of_levels(void)
{
    static struct beside list[2], rest;
    struct vulkan_rig rig, other;
    if (!open_two(&rig, &other))
        return;
    VkImageCreateInfo info = frame();
    info.mipLevels = 3;
    info.usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    info.arrayLayers = 2;
    list[0] = (struct beside){.subresource = {VK_IMAGE_ASPECT_COLOR_BIT, 2, 1, 1},
                              .width = WIDTH / 4,
                              .height = HEIGHT / 4,
                              .bytes = 4,
                              .format = info.format};
    list[1] = (struct beside){.subresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 1},
                              .width = WIDTH,
                              .height = HEIGHT,
                              .bytes = 4,
                              .format = info.format};
    rest = (struct beside){
        .subresource = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, 1}, .width = WIDTH / 2, .height = HEIGHT / 2, .bytes = 4};
    both_ways(&rig, &other, &info, list, 2, &rest);
    close_two(&rig, &other);
}

static bool has_format(struct vulkan_rig *rig, VkFormat format)
{
    VkImageFormatProperties can;
    const VkImageCreateInfo info = frame();
    return rig->GetPhysicalDeviceImageFormatProperties(rig->physical, format, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
                                                       info.usage, 0, &can) == VK_SUCCESS;
}

static void copies_of_planes(void)
{
    static struct beside planes[2], rest;
    static const struct {
        VkFormat video, planes[2];
        uint32_t bytes;
    } kinds[] = {
        {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM}, 1},
        {VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM}, 2}};
    struct vulkan_rig rig, other;
    unsigned tried = 0;
    if (!open_two(&rig, &other))
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const VkImageCreateInfo info = vulkan_image_info(kinds[i].video, 2 * WIDTH, 2 * HEIGHT);
        if (!has_format(&rig, kinds[i].video))
            continue;
        for (unsigned moved = 0; moved < 2; moved++) { /* one plane moves, the other stays as it is */
            for (unsigned k = 0; k < 2; k++)
                planes[k] = (struct beside){
                    .subresource = {k ? VK_IMAGE_ASPECT_PLANE_1_BIT : VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, 1},
                    .width = 2 * WIDTH >> k,
                    .height = 2 * HEIGHT >> k,
                    .bytes = kinds[i].bytes << k,
                    .format = kinds[i].planes[k]};
            rest = planes[!moved];
            both_ways(&rig, &other, &info, &planes[moved], 1, &rest);
            tried++;
        }
    }
    close_two(&rig, &other);
    if (!tried)
        SKIP("the driver has no images with planes");
}

static void copies_refused(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image made;
    uint64_t copy = 0, left = 0;
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image)) {
        const uint64_t handle = HANDLE_NUMBER(image.image);
        CHECK_REFUSED(side.make_copy(handle, VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, &copy, &made, side_why));
        CHECK_REFUSED(side.make_copy(handle, VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, &copy, &made, side_why));
        CHECK_REFUSED(side.make_copy(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, &copy, &made, side_why));
        CHECK_REFUSED(side.make_copy(handle + 8, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &copy, &made, side_why));
        CHECK_REFUSED(side.make_copy(0, UINT64_MAX, UINT64_MAX, UINT64_MAX, &copy, &made, side_why));
        side_done(side.make_copy(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &copy, &made, side_why));
        side_done(side.make_copy(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &left, &made, side_why));
        const struct vulkan_move bad[] = {{copy, VK_IMAGE_LAYOUT_UNDEFINED, 0},
                                          {copy, VK_IMAGE_LAYOUT_GENERAL, 77},
                                          {copy + 1000, VK_IMAGE_LAYOUT_GENERAL, 0},
                                          {0, VK_IMAGE_LAYOUT_GENERAL, 0}};
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            CHECK_REFUSED(side.move(&bad[i], 1, i % 2, side_why));
        const struct vulkan_move mixed[] = {{copy, VK_IMAGE_LAYOUT_GENERAL, 0},
                                            {copy + 1000, VK_IMAGE_LAYOUT_GENERAL, 0}};
        CHECK_REFUSED(side.move(mixed, 2, 0, side_why));
        CHECK_INT(side.move(NULL, 0, 0, side_why), 1);
        CHECK_INT(side.drop_copy(0), 0);
        CHECK_INT(side.drop_copy(UINT64_MAX), 0);
        const struct vulkan_move gone = {copy, VK_IMAGE_LAYOUT_GENERAL, 0};
        side_done(side.move(&gone, 1, 0, side_why));
        vulkan_drop(&rig, &image);
        CHECK_REFUSED(side.move(&gone, 1, 1, side_why));
        if (vulkan_make_image(&rig, &info, 0, &image)) /* perhaps with the same handle */
            CHECK_REFUSED(side.move(&gone, 1, 1, side_why));
        vulkan_drop(&rig, &image);
        CHECK_INT(side.drop_copy(copy), 1); /* `left` is left to the device */
    }
    vulkan_close(&rig);
    CHECK_INT(side.drop_copy(left), 0);
}

enum { MOVES = 200 };

struct mover {
    struct vulkan_move move;
    unsigned moved;
};

static void keep_moving(void *data)
{
    struct mover *mover = data;
    for (unsigned i = 0; i < MOVES; i++)
        mover->moved += (unsigned)side.move(&mover->move, 1, i % 2, NULL);
}

/* The program's queue has two users: its own thread does not know of ours. */
static void copies_beside_submissions(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image, buffer;
    struct vulkan_image made;
    static unsigned char bytes[WIDTH * HEIGHT * 4];
    uint64_t copy;
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image) && vulkan_make_buffer(&rig, sizeof(bytes), 0, &buffer) &&
        side_done(
            side.make_copy(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &copy, &made, side_why))) {
        struct mover mover = {{copy, VK_IMAGE_LAYOUT_GENERAL, 0}, 0};
        struct test_job job = {keep_moving, &mover};
        test_thread thread;
        struct vulkan_thing second;
        move(&rig, &image, &buffer, bytes, true, VULKAN_DISCARD);
        if (CHECK(vulkan_make_image(&rig, &info, 0, &second)) && CHECK(test_thread_start(&thread, &job))) {
            for (unsigned i = 0; i < 200; i++)
                move(&rig, &second, &buffer, bytes, true, VULKAN_DISCARD);
            test_thread_join(thread);
        }
        CHECK_INT(mover.moved, MOVES);
        vulkan_drop(&rig, &second);
        CHECK_INT(side.drop_copy(copy), 1);
        vulkan_drop(&rig, &buffer);
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

/* ---- images that are passed ---- */

/* The layer passes the image, and the other device takes it and gives it back. */
static void pass_around(struct vulkan_rig *rig, const struct vulkan_thing *image, const struct vulkan_thing *buffer,
                        struct vulkan_rig *other, const struct vulkan_thing *imported,
                        const struct vulkan_thing *other_buffer)
{
    static unsigned char sent[WIDTH * HEIGHT * 4], got[WIDTH * HEIGHT * 4];
    const struct vulkan_move pass = {HANDLE_NUMBER(image->image), VK_IMAGE_LAYOUT_GENERAL, 0};
    for (unsigned turn = 0; turn < 20; turn++) {
        side_fill(sent, sizeof(sent), turn);
        move(rig, image, buffer, sent, true, turn ? 0 : VULKAN_DISCARD);
        side_done(side.pass(&pass, 1, 0, side_why));
        move(other, imported, other_buffer, got, false, VULKAN_FROM_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        side_fill(sent, sizeof(sent), turn + 100);
        move(other, imported, other_buffer, sent, true, VULKAN_TO_OUTSIDE);
        side_done(side.pass(&pass, 1, 1, side_why));
        move(rig, image, buffer, got, false, 0); /* behind what the layer has queued */
        CHECK_MEM(got, sent, sizeof(sent));
    }
}

static void passes(void)
{
    struct vulkan_rig rig, other;
    struct vulkan_thing image, imported, buffer, other_buffer;
    struct vulkan_image found;
    int32_t file = -1;
    if (!open_two(&rig, &other))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image) && vulkan_make_buffer(&rig, WIDTH * HEIGHT * 4, 0, &buffer) &&
        vulkan_make_buffer(&other, WIDTH * HEIGHT * 4, 0, &other_buffer) &&
        side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)) &&
        side_done(side.export(found.memory.memory, &file, side_why)) &&
        import_image(&other, &info, file, found.memory.memory_size, &imported)) {
        pass_around(&rig, &image, &buffer, &other, &imported, &other_buffer);
        vulkan_drop(&other, &imported);
        vulkan_drop(&other, &other_buffer);
        vulkan_drop(&rig, &buffer);
        vulkan_drop(&rig, &image);
    }
    close_two(&rig, &other);
}

static void passes_refused(void)
{
    struct vulkan_rig rig, other;
    struct vulkan_thing image, second, of_other;
    if (!open_two(&rig, &other))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image) && vulkan_make_image(&rig, &info, 0, &second) &&
        vulkan_make_image(&other, &info, 0, &of_other)) {
        const uint64_t handle = HANDLE_NUMBER(image.image), general = VK_IMAGE_LAYOUT_GENERAL;
        const struct vulkan_move good[] = {{handle, general, 0}, {HANDLE_NUMBER(second.image), general, 0}};
        const struct vulkan_move bad[][2] = {{good[0], {0, general, 0}},
                                             {good[0], {UINT64_MAX, general, 0}},
                                             {good[0], {HANDLE_NUMBER(of_other.image), general, 0}},
                                             {good[0], {HANDLE_NUMBER(second.image), general, 1}},
                                             {good[0], {HANDLE_NUMBER(second.image), VK_IMAGE_LAYOUT_UNDEFINED, 0}},
                                             {{handle, general, 77}, {HANDLE_NUMBER(second.image), general, 77}}};
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            CHECK_REFUSED(side.pass(bad[i], 2, i % 2, side_why));
        CHECK_INT(side.pass(NULL, 0, 0, side_why), 1);
        const struct vulkan_thing all[] = {image, second};
        for (unsigned i = 0; i < 2; i++) {
            struct vulkan_thing buffer;
            static unsigned char bytes[WIDTH * HEIGHT * 4];
            vulkan_make_buffer(&rig, sizeof(bytes), 0, &buffer);
            move(&rig, &all[i], &buffer, bytes, true, VULKAN_DISCARD);
            vulkan_drop(&rig, &buffer);
        }
        side_done(side.pass(good, 2, 0, side_why));
        side_done(side.pass(good, 2, 1, side_why));
        vulkan_drop(&other, &of_other);
        vulkan_drop(&rig, &second);
        vulkan_drop(&rig, &image);
    }
    close_two(&rig, &other);
}

static void keep_passing(void *data)
{
    struct mover *mover = data;
    for (unsigned i = 0; i < MOVES; i++)
        mover->moved += (unsigned)side.pass(&mover->move, 1, i % 2, NULL);
}

/* The program draws in other images meanwhile, and two threads pass. */
static void passes_beside_submissions(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing images[3], buffer;
    static unsigned char bytes[WIDTH * HEIGHT * 4];
    struct mover movers[2];
    struct test_job jobs[2] = {{keep_passing, &movers[0]}, {keep_passing, &movers[1]}};
    test_thread threads[2];
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    vulkan_make_buffer(&rig, sizeof(bytes), 0, &buffer);
    for (unsigned i = 0; i < 3; i++)
        if (vulkan_make_image(&rig, &info, 0, &images[i]))
            move(&rig, &images[i], &buffer, bytes, true, VULKAN_DISCARD);
    for (unsigned i = 0; i < 2; i++) {
        movers[i] = (struct mover){{HANDLE_NUMBER(images[i].image), VK_IMAGE_LAYOUT_GENERAL, 0}, 0};
        CHECK(test_thread_start(&threads[i], &jobs[i]));
    }
    for (unsigned i = 0; i < 200; i++)
        move(&rig, &images[2], &buffer, bytes, true, 0);
    for (unsigned i = 0; i < 2; i++) {
        test_thread_join(threads[i]);
        CHECK_INT(movers[i].moved, MOVES);
    }
    for (unsigned i = 0; i < 3; i++)
        vulkan_drop(&rig, &images[i]);
    vulkan_drop(&rig, &buffer);
    vulkan_close(&rig);
}

/* ---- file descriptors ---- */

static void many_exports(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image found;
    unsigned before = 0, bad = 0;
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image)) {
        before = side_files();
        for (unsigned i = 0; i < CYCLES; i++) {
            int32_t file = -1;
            if (!side.find_image(HANDLE_NUMBER(image.image), &found, NULL) ||
                !side.export(found.memory.memory, &file, NULL) || file < 0 || !side.close((uint64_t)file))
                bad++;
        }
        CHECK_INT(bad, 0);
        CHECK_INT(side_files(), before);
        vulkan_drop(&rig, &image);
    }
    CHECK_INT(side.close(UINT64_MAX), 0);
    CHECK_INT(side.close(99999), 0);
    vulkan_close(&rig);
}

/* When there is no descriptor left the answer says so, and the next export works. */
static void no_files_left(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image found;
    int32_t taken[4096];
    unsigned count = 0;
    if (!open_export(&rig))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image) &&
        side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why))) {
        struct rlimit limit, few;
        CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
        few = limit;
        few.rlim_cur = 256;
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
        side_why[0] = '\0';
        while (count < 4096 && side.export(found.memory.memory, &taken[count], side_why))
            count++;
        CHECK(count > 0 && count < 256);
        CHECK(side_why[0] != '\0');
        while (count)
            CHECK_INT(side.close((uint64_t)taken[--count]), 1);
        if (side_done(side.export(found.memory.memory, &taken[0], side_why)))
            CHECK_INT(side.close((uint64_t)taken[0]), 1);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

static const struct tap_test tests[] = {
    {"a smallest size that is no number", no_numbers},
    {"which images are exportable", which},
    {"the same functions as without the layer", same_functions},
    {"programs without dedicated memory", not_followed},
    {"another device sees the same bytes", another_device},
    {"buffers", buffers},
    {"copies of levels and layers", copies_of_levels},
    {"copies of planes", copies_of_planes},
    {"copies that are refused", copies_refused},
    {"copies beside the program's submissions", copies_beside_submissions},
    {"images are passed to another device and back", passes},
    {"images that are not passed", passes_refused},
    {"images are passed beside the program's submissions", passes_beside_submissions},
    {"10,000 exports leave no file descriptor", many_exports},
    {"no file descriptors left", no_files_left},
};

TAP_MAIN(tests)
