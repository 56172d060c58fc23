/* The Vulkan layer as it is on a GPU: images have memory of their own, which can be exported. A software driver can do that, too;
 * what another Vulkan device imports are the same bytes. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

#include <sys/resource.h>

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

static void which(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image found;
    if (!open_export(&rig))
        return;
    VkImageCreateInfo infos[] = {frame(), vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 128, 127), frame(), frame()};
    infos[2].tiling = VK_IMAGE_TILING_LINEAR;
    infos[3].format = VK_FORMAT_D32_SFLOAT;
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
            CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &(struct vulkan_place){0},
                                          side_why));
        }
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
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
static bool import_image(struct vulkan_rig *rig, int32_t file, uint64_t size, struct vulkan_thing *made)
{
    const VkExternalMemoryImageCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                      VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = frame();
    info.pNext = &external;
    memset(made, 0, sizeof(*made));
    VkMemoryRequirements needs;
    if (!CHECK_INT(rig->CreateImage(rig->device, &info, NULL, &made->image), VK_SUCCESS))
        return false;
    rig->GetImageMemoryRequirements(rig->device, made->image, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = made->image};
    const VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, &dedicated,
                                            VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, file};
    const VkMemoryAllocateInfo allocate = {
        VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &import, size,
        vulkan_memory_type(rig, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    return CHECK_INT(rig->AllocateMemory(rig->device, &allocate, NULL, &made->memory), VK_SUCCESS) &&
           CHECK_INT(rig->BindImageMemory(rig->device, made->image, made->memory, 0), VK_SUCCESS);
}

static void move(struct vulkan_rig *rig, const struct vulkan_thing *image, const struct vulkan_thing *buffer, unsigned char *bytes,
                 bool to_image, unsigned how)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {WIDTH, HEIGHT, 1}};
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
        vulkan_make_buffer(&rig, sizeof(sent), 0, &buffer) && vulkan_make_buffer(&other, sizeof(sent), 0, &other_buffer) &&
        side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)) &&
        side_done(side.export(found.memory.memory, &file, side_why)) &&
        import_image(&other, file, found.memory.memory_size, &imported)) {
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
    struct vulkan_memory found;
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
            if (!side.find_image(HANDLE_NUMBER(image.image), &found, NULL) || !side.export(found.memory.memory, &file, NULL) ||
                file < 0 || !side.close((uint64_t)file))
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
    {"which images are exportable", which},
    {"programs without dedicated memory", not_followed},
    {"another device sees the same bytes", another_device},
    {"buffers", buffers},
    {"10,000 exports leave no file descriptor", many_exports},
    {"no file descriptors left", no_files_left},
};

TAP_MAIN(tests)
