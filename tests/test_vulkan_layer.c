/* The Vulkan layer over a software driver: its images lie in memory that the host sees. What it tells of them is true, the bytes
 * that the host writes there are those of Vulkan's commands and the other way round, and what is not shared is as it was without
 * the layer. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

enum { ALIGNED = 4096 };

/* ---- the channel ---- */

static void no_instance(void)
{
    static const char *const names[] = {"version", "find_image", "give_back", "", "nothing"};
    struct vulkan_rig rig;
    if (!side_channel())
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK_INT(side_ask(names[i]), 0);
    if (!vulkan_open(&rig, true))
        return;
    CHECK_INT(side_ask("version"), VULKAN_SIDE_VERSION);
    CHECK(side_ask("find_image") != 0);
    CHECK_INT(side_ask("no_such_function"), 0);
    CHECK_INT(side_ask(""), 0);
    vulkan_close(&rig);
    CHECK_INT(side_ask("version"), 0);
    CHECK_INT(side_ask("find_image"), 0);
}

/* The Vulkan loader comes to the library by a link, the OpenCL loader by its own name: it is loaded once. */
static void by_a_link(void)
{
    char folder[] = "/tmp/cld3d-test-XXXXXX", from[600], to[600];
    static const char *const files[] = {"cld3d_vulkan_layer.json", "libcld3d.so"};
    const char *real = getenv("CLD3D_TEST_VULKAN_LAYER");
    struct vulkan_rig rig;
    if (!side_channel() || !CHECK(real != NULL) || !CHECK(mkdtemp(folder) != NULL))
        return;
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof(from), "%s/%s", real, files[i]);
        snprintf(to, sizeof(to), "%s/%s", folder, files[i]);
        CHECK_INT(symlink(from, to), 0);
    }
    setenv("CLD3D_TEST_VULKAN_LAYER", folder, 1);
    if (vulkan_open(&rig, true)) {
        CHECK_INT(side_ask("version"), VULKAN_SIDE_VERSION);
        vulkan_close(&rig);
    }
    setenv("CLD3D_TEST_VULKAN_LAYER", real, 1);
    for (size_t i = 0; i < 2; i++) {
        snprintf(to, sizeof(to), "%s/%s", folder, files[i]);
        CHECK_INT(unlink(to), 0);
    }
    CHECK_INT(rmdir(folder), 0);
}

/* ---- images ---- */

/* What is there to try with; each as Direct3D makes it. */
static const struct image_kind {
    const char *name;
    VkFormat format;
    VkImageType type;
    uint32_t width, height, depth, levels, layers, bytes;
} kinds[] = {
    {"RGBA8", VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TYPE_2D, 1918, 27, 1, 1, 1, 4},
    {"BGRA8 mips", VK_FORMAT_B8G8R8A8_UNORM, VK_IMAGE_TYPE_2D, 61, 35, 1, 6, 1, 4},
    {"R8", VK_FORMAT_R8_UNORM, VK_IMAGE_TYPE_2D, 7, 5, 1, 1, 1, 1},
    {"RG16F array", VK_FORMAT_R16G16_SFLOAT, VK_IMAGE_TYPE_2D, 33, 17, 1, 1, 5, 4},
    {"RGBA32F array mips", VK_FORMAT_R32G32B32A32_SFLOAT, VK_IMAGE_TYPE_2D, 40, 24, 1, 4, 3, 16},
    {"RG8 volume", VK_FORMAT_R8G8_UNORM, VK_IMAGE_TYPE_3D, 19, 11, 7, 1, 1, 2},
    {"RGBA16 volume mips", VK_FORMAT_R16G16B16A16_UNORM, VK_IMAGE_TYPE_3D, 32, 16, 8, 3, 1, 8},
    {"A2 texel", VK_FORMAT_R32_UINT, VK_IMAGE_TYPE_2D, 1, 1, 1, 1, 1, 4},
};

static VkImageCreateInfo info_of(const struct image_kind *kind)
{
    VkImageCreateInfo info = vulkan_image_info(kind->format, kind->width, kind->height);
    info.imageType = kind->type;
    info.extent.depth = kind->depth;
    info.mipLevels = kind->levels;
    info.arrayLayers = kind->layers;
    return info;
}

static uint32_t at_level(uint32_t size, uint32_t level)
{
    return size >> level ? size >> level : 1;
}

/* Copies between rows of a subresource, where it lies mapped, and rows without gaps. */
static void move_rows(unsigned char *mapped, const struct vulkan_place *place, unsigned char *bytes, size_t row,
                      uint32_t rows, uint32_t slices, bool to_image)
{
    for (uint32_t z = 0; z < slices; z++) {
        for (uint32_t y = 0; y < rows; y++) {
            unsigned char *there = mapped + place->offset + z * place->slice_pitch + y * place->row_pitch;
            unsigned char *here = bytes + ((size_t)z * rows + y) * row;
            memcpy(to_image ? there : here, to_image ? here : there, row);
        }
    }
}

/* One subresource: written by Vulkan and read by the host, then the other way round. */
static void subresource_both_ways(struct vulkan_rig *rig, const struct image_kind *kind,
                                  const struct vulkan_thing *image, const struct vulkan_thing *buffer, uint32_t level,
                                  uint32_t layer)
{
    const uint32_t width = at_level(kind->width, level), height = at_level(kind->height, level);
    const uint32_t depth = at_level(kind->depth, level);
    const size_t row = (size_t)width * kind->bytes, size = row * height * depth;
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, layer, 1},
                                      .imageExtent = {width, height, depth}};
    unsigned char *sent = malloc(size), *got = calloc(1, size);
    struct vulkan_image found;
    struct vulkan_place place;
    if (side_done(side.find_image(HANDLE_NUMBER(image->image), &found, side_why)) &&
        side_done(
            side.find_place(HANDLE_NUMBER(image->image), VK_IMAGE_ASPECT_COLOR_BIT, level, layer, &place, side_why))) {
        unsigned char *mapped = (unsigned char *)(uintptr_t)found.memory.mapped;
        side_fill(sent, size, level * 16 + layer);
        vulkan_write(rig, buffer, sent, size);
        vulkan_copy(rig, image->image, buffer->buffer, &region, true, 0);
        move_rows(mapped, &place, got, row, height, depth, false);
        CHECK_MEM(got, sent, size);
        side_fill(sent, size, level * 16 + layer + 1000);
        move_rows(mapped, &place, sent, row, height, depth, true);
        vulkan_copy(rig, image->image, buffer->buffer, &region, false, 0);
        vulkan_read(rig, buffer, got, size);
        CHECK_MEM(got, sent, size);
    }
    free(sent);
    free(got);
}

static void check_found(const struct image_kind *kind, const struct vulkan_thing *image)
{
    struct vulkan_image found;
    if (!side_done(side.find_image(HANDLE_NUMBER(image->image), &found, side_why)))
        return;
    CHECK_INT(found.type, kind->type);
    CHECK_INT(found.format, kind->format);
    CHECK_INT(found.width, kind->width);
    CHECK_INT(found.height, kind->height);
    CHECK_INT(found.depth, kind->depth);
    CHECK_INT(found.levels, kind->levels);
    CHECK_INT(found.layers, kind->layers);
    CHECK_INT(found.samples, 1);
    CHECK_INT(found.tiling, VK_IMAGE_TILING_LINEAR);
    CHECK_INT(found.memory.offset, image->offset);
    CHECK_INT(found.memory.size, image->size);
    CHECK_INT(found.memory.memory_size, image->size + image->offset);
    CHECK_INT(found.memory.exportable, 0);
    CHECK(found.memory.memory != 0);
    CHECK(found.memory.mapped != 0);
}

static void bytes_of_images(void)
{
    struct vulkan_rig rig;
    if (!vulkan_open(&rig, true))
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && side_open(); i++) {
        const struct image_kind *kind = &kinds[i];
        const VkImageCreateInfo info = info_of(kind);
        const VkDeviceSize size = (VkDeviceSize)kind->width * kind->height * kind->depth * kind->bytes;
        const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                       .imageExtent = info.extent};
        struct vulkan_thing image, buffer;
        if (!vulkan_make_image(&rig, &info, i % 2 ? 3 * ALIGNED : 0, &image))
            continue;
        if (vulkan_make_buffer(&rig, size, 0, &buffer)) {
            check_found(kind, &image);
            vulkan_copy(&rig, image.image, buffer.buffer, &all, true, VULKAN_DISCARD);
            for (uint32_t level = 0; level < kind->levels; level++)
                for (uint32_t layer = 0; layer < kind->layers; layer++)
                    subresource_both_ways(&rig, kind, &image, &buffer, level, layer);
            vulkan_drop(&rig, &buffer);
        }
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

/* No subresource lies over another. */
static void subresources_lie_apart(void)
{
    struct vulkan_rig rig;
    if (!vulkan_open(&rig, true))
        return;
    const struct image_kind *kind = &kinds[4];
    const VkImageCreateInfo info = info_of(kind);
    struct vulkan_place places[16];
    struct vulkan_thing image;
    unsigned count = 0;
    if (side_open() && vulkan_make_image(&rig, &info, 0, &image)) {
        for (uint32_t level = 0; level < kind->levels; level++)
            for (uint32_t layer = 0; layer < kind->layers; layer++)
                side_done(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, level, layer,
                                          &places[count++], side_why));
        for (unsigned i = 0; i < count; i++) {
            const uint32_t height = at_level(kind->height, i / kind->layers);
            CHECK(places[i].offset + height * places[i].row_pitch <= image.size);
            CHECK(places[i].row_pitch >= (uint64_t)at_level(kind->width, i / kind->layers) * kind->bytes);
            for (unsigned k = 0; k < count; k++)
                CHECK(i == k || places[k].offset < places[i].offset ||
                      places[k].offset >= places[i].offset + height * places[i].row_pitch);
        }
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

static bool plane_formats(struct vulkan_rig *rig, VkFormat format)
{
    VkImageFormatProperties can;
    const VkImageCreateInfo info = vulkan_image_info(format, 16, 16);
    return rig->GetPhysicalDeviceImageFormatProperties(rig->physical, format, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_LINEAR,
                                                       info.usage, 0, &can) == VK_SUCCESS;
}

/* The planes of NV12 and P010: each in its place, each with its own bytes. */
static void planes(void)
{
    static const struct {
        VkFormat format;
        uint32_t bytes;
    } videos[] = {{VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 1}, {VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, 2}};
    enum { WIDTH = 64, HEIGHT = 48 };
    unsigned char sent[WIDTH * HEIGHT * 2], got[WIDTH * HEIGHT * 2];
    struct vulkan_rig rig;
    unsigned tried = 0;
    if (!vulkan_open(&rig, true))
        return;
    for (size_t i = 0; i < 2 && side_open(); i++) {
        const VkImageCreateInfo info = vulkan_image_info(videos[i].format, WIDTH, HEIGHT);
        struct vulkan_thing image, buffer;
        struct vulkan_image found;
        if (!plane_formats(&rig, videos[i].format) || !vulkan_make_image(&rig, &info, 0, &image))
            continue;
        if (vulkan_make_buffer(&rig, sizeof(sent), 0, &buffer)) {
            for (unsigned plane = 0; plane < 2; plane++) {
                const VkImageAspectFlags aspect = plane ? VK_IMAGE_ASPECT_PLANE_1_BIT : VK_IMAGE_ASPECT_PLANE_0_BIT;
                const VkBufferImageCopy region = {.imageSubresource = {aspect, 0, 0, 1},
                                                  .imageExtent = {WIDTH >> plane, HEIGHT >> plane, 1}};
                const size_t row = (size_t)WIDTH * videos[i].bytes, size = row * (HEIGHT >> plane);
                struct vulkan_place place;
                side_fill(sent, size, plane + 7);
                vulkan_write(&rig, &buffer, sent, size);
                vulkan_copy(&rig, image.image, buffer.buffer, &region, true, plane ? 0 : VULKAN_DISCARD);
                if (!side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)) ||
                    !side_done(side.find_place(HANDLE_NUMBER(image.image), aspect, 0, 0, &place, side_why)))
                    continue;
                move_rows((unsigned char *)(uintptr_t)found.memory.mapped, &place, got, row, HEIGHT >> plane, 1, false);
                CHECK_MEM(got, sent, size);
                tried++;
            }
            CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0,
                                          &(struct vulkan_place){0}, side_why));
            vulkan_drop(&rig, &buffer);
        }
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
    if (!tried)
        SKIP("the driver has no linear images with planes");
}

/* ---- what is not shared ---- */

static void not_shared(void)
{
    struct vulkan_rig rig;
    struct vulkan_image found;
    struct vulkan_place place;
    if (!vulkan_open(&rig, true))
        return;
    const VkExternalMemoryImageCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                      VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    /* Of some swap chain. Its own images are none that a program makes. */
    const VkImageSwapchainCreateInfoKHR chain = {VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR, NULL,
                                                 VK_NULL_HANDLE};
    VkImageCreateInfo infos[] = {
        vulkan_image_info(VK_FORMAT_D32_SFLOAT, 64, 64),           vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64),
        vulkan_image_info(VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 64, 64), vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64),
        vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 1),        vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64),
        vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64)};
    infos[1].samples = VK_SAMPLE_COUNT_4_BIT;
    infos[1].usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    infos[3].pNext = &external;
    infos[4].imageType = VK_IMAGE_TYPE_1D;
    infos[5].flags = VK_IMAGE_CREATE_ALIAS_BIT;
    infos[6].pNext = &chain;
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]) && side_open(); i++) {
        struct vulkan_thing image;
        if (!vulkan_make_image(&rig, &infos[i], 0, &image))
            continue;
        CHECK_REFUSED(side.find_image(HANDLE_NUMBER(image.image), &found, side_why));
        CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &place, side_why));
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
}

/* What a program is told with the layer is what it is told without, but that a linear image keeps its distance. */
static void same_answers(void)
{
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    struct vulkan_rig rigs[2];
    if (!vulkan_open(&rigs[0], false))
        return;
    if (!vulkan_open(&rigs[1], true)) {
        vulkan_close(&rigs[0]);
        return;
    }
    rigs[0].GetPhysicalDeviceProperties2(rigs[0].physical, &properties);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        VkMemoryRequirements2 needs[3] = {0};
        const VkImageCreateInfo info = info_of(&kinds[i]);
        const VkDeviceImageMemoryRequirements future = {VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, NULL, &info,
                                                        0};
        for (unsigned k = 0; k < 2; k++) {
            VkImage image = VK_NULL_HANDLE;
            CHECK_INT(rigs[k].CreateImage(rigs[k].device, &info, NULL, &image), VK_SUCCESS);
            rigs[k].GetImageMemoryRequirements(rigs[k].device, image, &needs[k].memoryRequirements);
            rigs[k].DestroyImage(rigs[k].device, image, NULL);
        }
        if (needs[0].memoryRequirements.alignment < properties.properties.limits.bufferImageGranularity)
            needs[0].memoryRequirements.alignment = properties.properties.limits.bufferImageGranularity;
        needs[2].sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
        rigs[1].GetDeviceImageMemoryRequirements(rigs[1].device, &future, &needs[2]);
        CHECK_MEM(&needs[1].memoryRequirements, &needs[0].memoryRequirements, sizeof(needs[0].memoryRequirements));
        CHECK_MEM(&needs[2].memoryRequirements, &needs[1].memoryRequirements, sizeof(needs[1].memoryRequirements));
    }
    for (int format = 0; format <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK; format++) {
        VkFormatProperties can[2];
        for (unsigned k = 0; k < 2; k++)
            rigs[k].GetPhysicalDeviceFormatProperties(rigs[k].physical, (VkFormat)format, &can[k]);
        CHECK_MEM(&can[1], &can[0], sizeof(can[0]));
    }
    vulkan_close(&rigs[1]);
    vulkan_close(&rigs[0]);
}

/* ---- buffers ---- */

static void buffers(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing shared, plain;
    struct vulkan_memory found = {0};
    unsigned char sent[256], got[256];
    if (!vulkan_open(&rig, true))
        return;
    if (side_open() && vulkan_make_buffer(&rig, 65536, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, &shared)) {
        const VkBufferDeviceAddressInfo info = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, shared.buffer};
        const uint64_t address = rig.GetBufferDeviceAddress(rig.device, &info);
        CHECK(address != 0);
        if (side_done(side.find_buffer(address + 1024, 4096, &found, side_why))) {
            CHECK_INT(found.offset, 1024);
            CHECK_INT(found.size, 65536 - 1024);
            CHECK_INT(found.memory_size, shared.size);
            side_fill(sent, sizeof(sent), 3);
            memcpy((void *)(uintptr_t)found.mapped, sent, sizeof(sent));
            void *data = NULL;
            CHECK_INT(rig.MapMemory(rig.device, shared.memory, 1024, sizeof(got), 0, &data), VK_SUCCESS);
            CHECK_MEM(data, sent, sizeof(sent));
            rig.UnmapMemory(rig.device, shared.memory);
            CHECK_MEM((void *)(uintptr_t)found.mapped, sent, sizeof(sent));
        }
        CHECK_INT(side.find_buffer(address, 65536, &found, side_why), 1);
        CHECK_INT(side.find_buffer(address + 65535, 1, &found, side_why), 1);
        CHECK_REFUSED(side.find_buffer(address + 65536, 1, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address, 65537, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address - 1, 16, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address + 16, UINT64_MAX - 8, &found, side_why));
        CHECK_REFUSED(side.find_buffer(0, 1, &found, side_why));
        if (vulkan_make_buffer(&rig, 4096, 0, &plain))
            vulkan_drop(&rig, &plain);
        vulkan_drop(&rig, &shared);
        CHECK_REFUSED(side.find_buffer(address, 1, &found, side_why));
    }
    vulkan_close(&rig);
}

/* ---- life ---- */

/* The program's mapping and ours are one, whoever comes first, and the program's unmapping leaves ours. */
static void mapped_once(void)
{
    struct vulkan_rig rig;
    if (!vulkan_open(&rig, true))
        return;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    for (int first = 0; first < 2 && side_open(); first++) {
        struct vulkan_thing image;
        struct vulkan_image found;
        char *data = NULL;
        if (!vulkan_make_image(&rig, &info, ALIGNED, &image))
            continue;
        if (first)
            side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why));
        CHECK_INT(rig.MapMemory(rig.device, image.memory, ALIGNED, VK_WHOLE_SIZE, 0, (void **)&data), VK_SUCCESS);
        if (side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)))
            CHECK_INT(found.memory.mapped, (uintptr_t)data);
        rig.UnmapMemory(rig.device, image.memory);
        memset((void *)(uintptr_t)found.memory.mapped, 0x5a, 64);
        CHECK_INT(rig.MapMemory(rig.device, image.memory, ALIGNED + 32, 64, 0, (void **)&data), VK_SUCCESS);
        CHECK_INT((uintptr_t)data, found.memory.mapped + 32);
        CHECK_INT(data[0], 0x5a);
        vulkan_drop(&rig, &image); /* mapped as it is */
    }
    vulkan_close(&rig);
}

static void held(void)
{
    struct vulkan_rig rig;
    if (!vulkan_open(&rig, true))
        return;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    struct vulkan_thing image;
    struct vulkan_image found;
    int32_t file;
    if (side_open() && vulkan_make_image(&rig, &info, 0, &image) &&
        side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why))) {
        const uint64_t memory = found.memory.memory;
        unsigned char *bytes = (unsigned char *)(uintptr_t)found.memory.mapped;
        CHECK_INT(side.give_back(memory), 0);
        CHECK_INT(side.hold(memory, side_why), 1);
        CHECK_INT(side.hold(memory, side_why), 1);
        memset(bytes, 0x77, found.memory.size);
        vulkan_drop(&rig, &image);
        CHECK_REFUSED(side.hold(memory, side_why)); /* its owner has freed it */
        CHECK_REFUSED(side.export(memory, &file, side_why));
        CHECK_INT(side.give_back(memory), 1);
        CHECK_INT(bytes[0], 0x77);
        CHECK_INT(bytes[found.memory.size - 1], 0x77);
        CHECK_INT(side.give_back(memory), 1);
        CHECK_INT(side.give_back(memory), 0);
        CHECK_REFUSED(side.hold(memory, side_why));
    }
    CHECK_REFUSED(side.hold(0, side_why));
    CHECK_REFUSED(side.hold(UINT64_MAX, side_why));
    CHECK_INT(side.give_back(UINT64_MAX), 0);
    vulkan_close(&rig);
}

/* The bytes of memory that is held stay when its device and instance go. */
static void held_without_a_device(void)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_image found = {0};
    struct vulkan_side kept;
    if (!vulkan_open(&rig, true))
        return;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    if (!side_open() || !vulkan_make_image(&rig, &info, 0, &image) ||
        !side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)))
        return vulkan_close(&rig);
    kept = side;
    CHECK_INT(side.hold(found.memory.memory, side_why), 1);
    unsigned char *bytes = (unsigned char *)(uintptr_t)found.memory.mapped;
    memset(bytes, 0x33, found.memory.size);
    vulkan_drop(&rig, &image);
    vulkan_close(&rig);
    CHECK_INT(bytes[found.memory.size - 1], 0x33);
    memset(bytes, 0x44, found.memory.size);
    CHECK_REFUSED(kept.hold(found.memory.memory, side_why));
    CHECK_INT(kept.give_back(found.memory.memory), 1);
    CHECK_INT(kept.give_back(found.memory.memory), 0);
}

static void gone(void)
{
    struct vulkan_rig rig;
    struct vulkan_image found;
    struct vulkan_place place;
    if (!vulkan_open(&rig, true))
        return;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    struct vulkan_thing image;
    if (side_open() && vulkan_make_image(&rig, &info, 0, &image)) {
        const uint64_t handle = HANDLE_NUMBER(image.image);
        CHECK_INT(side.find_image(handle, &found, NULL), 1);
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, UINT64_MAX, UINT64_MAX, UINT64_MAX, &place, side_why));
        vulkan_drop(&rig, &image);
        CHECK_REFUSED(side.find_image(handle, &found, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &place, side_why));
        CHECK_INT(side.find_image(handle, &found, NULL), 0);
    }
    for (uint64_t handle = 0; handle < 4; handle++)
        CHECK_REFUSED(side.find_image(handle * 0x5555555555555555u, &found, side_why));
    VkImage unbound = VK_NULL_HANDLE;
    CHECK_INT(rig.CreateImage(rig.device, &info, NULL, &unbound), VK_SUCCESS);
    CHECK_REFUSED(side.find_image(HANDLE_NUMBER(unbound), &found, side_why));
    rig.DestroyImage(rig.device, unbound, NULL);
    vulkan_close(&rig);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 300 };

static void one_thread(void *data)
{
    struct vulkan_rig *rig = data;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const VkImageCreateInfo info = vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 16 + i % 64, 16);
        struct vulkan_thing image;
        struct vulkan_image found;
        if (!vulkan_make_image(rig, &info, 0, &image))
            return;
        if (CHECK_INT(side.find_image(HANDLE_NUMBER(image.image), &found, NULL), 1)) {
            CHECK_INT(found.width, 16 + i % 64);
            CHECK_INT(side.hold(found.memory.memory, NULL), 1);
            memset((void *)(uintptr_t)found.memory.mapped, (int)i, found.memory.size);
            vulkan_drop(rig, &image);
            CHECK_INT(*(unsigned char *)(uintptr_t)found.memory.mapped, i & 0xff);
            CHECK_INT(side.give_back(found.memory.memory), 1);
        }
    }
}

static void threads(void)
{
    struct vulkan_rig rig;
    test_thread all[THREADS];
    struct test_job job = {one_thread, &rig};
    if (!vulkan_open(&rig, true))
        return;
    if (side_open()) {
        for (unsigned i = 0; i < THREADS; i++)
            test_thread_start(&all[i], &job);
        for (unsigned i = 0; i < THREADS; i++)
            test_thread_join(all[i]);
    }
    vulkan_close(&rig);
}

static const struct tap_test tests[] = {
    {"the channel has a Vulkan layer only while there is an instance", no_instance},
    {"two loaders, one library, also by a link", by_a_link},
    {"images: what is told of them, and their bytes both ways", bytes_of_images},
    {"subresources lie apart", subresources_lie_apart},
    {"planes", planes},
    {"what is not shared", not_shared},
    {"the same answers as without the layer", same_answers},
    {"buffers by their addresses", buffers},
    {"memory is mapped once", mapped_once},
    {"memory that is held", held},
    {"memory that is held without a device", held_without_a_device},
    {"what is gone or never was", gone},
    {"threads", threads},
};

TAP_MAIN(tests)
