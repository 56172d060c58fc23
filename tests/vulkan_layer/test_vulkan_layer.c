/* The Vulkan layer over a software driver: its images lie in memory that the host sees. What it tells of them is true, the bytes
 * that the host writes there are those of Vulkan's commands and the other way round, and what is not shared is as it was without
 * the layer. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

enum { ALIGNED = 4096 };

/* ---- the bridge ---- */

CASE("there is a Vulkan layer only while there is an instance", no_instance)
{
    struct vulkan_rig rig;
    CHECK(vulkan_access(side_why) == NULL);
    CHECK(strstr(side_why, "not active") != NULL);
    if (!vulkan_open(&rig, true))
        return;
    CHECK(vulkan_access(side_why) != NULL);
    vulkan_close(&rig);
    CHECK(vulkan_access(side_why) == NULL);
}

/* ---- images ---- */

/* What is there to try with; each as Direct3D makes it. */
static const struct image_kind {
    VkFormat format;
    VkImageType type;
    uint32_t width, height, depth, levels, layers, bytes;
} kinds[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TYPE_2D, 1918, 27, 1, 1, 1, 4},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_IMAGE_TYPE_2D, 61, 35, 1, 6, 1, 4},
    {VK_FORMAT_R8_UNORM, VK_IMAGE_TYPE_2D, 7, 5, 1, 1, 1, 1},
    {VK_FORMAT_R16G16_SFLOAT, VK_IMAGE_TYPE_2D, 33, 17, 1, 1, 5, 4},
    {VK_FORMAT_R32G32B32A32_SFLOAT, VK_IMAGE_TYPE_2D, 40, 24, 1, 4, 3, 16},
    {VK_FORMAT_R8G8_UNORM, VK_IMAGE_TYPE_3D, 19, 11, 7, 1, 1, 2},
    {VK_FORMAT_R16G16B16A16_UNORM, VK_IMAGE_TYPE_3D, 32, 16, 8, 3, 1, 8},
    {VK_FORMAT_R32_UINT, VK_IMAGE_TYPE_2D, 1, 1, 1, 1, 1, 4},
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

/* Copies between a subresource, where it lies mapped, and rows without gaps. */
static void move_rows(const struct vulkan_image *found, const struct vulkan_place *place,
                      const struct vulkan_part *part, unsigned char *bytes, bool to_image)
{
    unsigned char *mapped = (unsigned char *)(uintptr_t)found->memory.mapped + place->offset;
    const size_t row = (size_t)part->width * part->texel;
    for (uint32_t z = 0; z < part->depth; z++)
        for (uint32_t y = 0; y < part->height; y++, bytes += row) {
            unsigned char *there = mapped + z * place->slice_pitch + y * place->row_pitch;
            memcpy(to_image ? there : bytes, to_image ? bytes : there, row);
        }
}

/* A subresource is written by Vulkan and read by the host, then the other way round. */
static void both_ways(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, unsigned how)
{
    static unsigned char sent[VULKAN_MOST], got[VULKAN_MOST];
    const size_t size = vulkan_part_size(part);
    const unsigned seed = part->aspect * 100 + part->level * 16 + part->layer;
    struct vulkan_image found;
    struct vulkan_place place;
    if (!side_done(side.find_image(HANDLE_NUMBER(image), &found, side_why)) ||
        !side_done(side.find_place(HANDLE_NUMBER(image), part->aspect, part->level, part->layer, &place, side_why)))
        return;
    side_fill(sent, size, seed);
    vulkan_put(rig, image, part, sent, how);
    move_rows(&found, &place, part, got, false);
    CHECK_MEM(got, sent, size);
    side_fill(sent, size, seed + 1000);
    move_rows(&found, &place, part, sent, true);
    vulkan_get(rig, image, part, got, 0);
    CHECK_MEM(got, sent, size);
}

static void check_found(const struct image_kind *kind, const struct vulkan_thing *image)
{
    struct vulkan_image found;
    if (!side_done(side.find_image(HANDLE_NUMBER(image->image), &found, side_why)))
        return;
    CHECK_INT(found.type, kind->type);
    CHECK_INT(found.format, kind->format);
    CHECK(found.width == kind->width && found.height == kind->height && found.depth == kind->depth);
    CHECK(found.levels == kind->levels && found.layers == kind->layers);
    CHECK_INT(found.samples, 1);
    CHECK_INT(found.tiling, VK_IMAGE_TILING_LINEAR);
    CHECK_INT(found.memory.offset, image->offset);
    CHECK_INT(found.memory.size, image->size);
    CHECK_INT(found.memory.memory_size, image->size + image->offset);
    CHECK_INT(found.memory.exportable, 0);
    CHECK(found.memory.memory != 0 && found.memory.mapped != 0);
}

VULKAN_CASE("images: what is told of them, and their bytes both ways", bytes_of_images, open_layer)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct image_kind *kind = &kinds[i];
        const VkImageCreateInfo info = info_of(kind);
        struct vulkan_thing image;
        if (!vulkan_make_image(rig, &info, i % 2 ? 3 * ALIGNED : 0, &image))
            continue;
        check_found(kind, &image);
        for (uint32_t level = 0; level < kind->levels; level++)
            for (uint32_t layer = 0; layer < kind->layers; layer++)
                both_ways(rig, image.image,
                          &(struct vulkan_part){VK_IMAGE_ASPECT_COLOR_BIT, level, layer, at_level(kind->width, level),
                                                at_level(kind->height, level), at_level(kind->depth, level),
                                                kind->bytes},
                          level + layer ? 0 : VULKAN_DISCARD);
        vulkan_drop(rig, &image);
    }
}

/* The planes of NV12 and P010: each in its place, each with its own bytes. */
VULKAN_CASE("planes", planes, open_layer)
{
    static const VkFormat videos[] = {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
                                      VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16};
    enum { WIDTH = 64, HEIGHT = 48 };
    unsigned tried = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const VkImageCreateInfo info = vulkan_image_info(videos[i], WIDTH, HEIGHT);
        struct vulkan_thing image;
        if (!vulkan_has_format(rig, videos[i], VK_IMAGE_TILING_LINEAR) || !vulkan_make_image(rig, &info, 0, &image))
            continue;
        both_ways(rig, image.image, &(struct vulkan_part){VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, WIDTH, HEIGHT, 1, i + 1},
                  VULKAN_DISCARD);
        both_ways(rig, image.image,
                  &(struct vulkan_part){VK_IMAGE_ASPECT_PLANE_1_BIT, 0, 0, WIDTH / 2, HEIGHT / 2, 1, 2 * i + 2}, 0);
        CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0,
                                      &(struct vulkan_place){0}, side_why));
        vulkan_drop(rig, &image);
        tried++;
    }
    if (!tried)
        SKIP("the driver has no linear images with planes");
}

/* ---- what is not shared ---- */

VULKAN_CASE("what is not shared", not_shared, open_layer)
{
    struct vulkan_image found;
    struct vulkan_place place;
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
    infos[3].pNext = &by_file;
    infos[4].imageType = VK_IMAGE_TYPE_1D;
    infos[5].flags = VK_IMAGE_CREATE_ALIAS_BIT;
    infos[6].pNext = &chain;
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
        struct vulkan_thing image;
        if (!vulkan_make_image(rig, &infos[i], 0, &image))
            continue;
        CHECK_REFUSED(side.find_image(HANDLE_NUMBER(image.image), &found, side_why));
        CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &place, side_why));
        vulkan_drop(rig, &image);
    }
}

/* Mappings by functions that the layer does not follow, as Wine's for 32-bit programs: images are only copied. */
VULKAN_CASE("memory that is mapped in another way", maps_otherwise, open_layer)
{
    struct vulkan_thing image;
    const VkImageCreateInfo info = vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 256, 256);
    if (vulkan_has_extension(rig, "VK_KHR_map_memory2")) {
        struct vulkan_rig other = *rig;
        other.extension = "VK_KHR_map_memory2";
        if (vulkan_open_device(&other) && vulkan_make_image(&other, &info, 0, &image)) {
            check_only_recorded(HANDLE_NUMBER(image.image));
            vulkan_drop(&other, &image);
            vulkan_close_device(&other);
        }
    } else {
        SKIP("the driver has no VK_KHR_map_memory2");
    }
}

/* What a program is told with the layer is what it is told without. */
CASE("the same answers as without the layer", same_answers)
{
    struct vulkan_rig rigs[2];
    if (!vulkan_open(&rigs[0], false))
        return;
    if (!vulkan_open(&rigs[1], true)) {
        vulkan_close(&rigs[0]);
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        VkMemoryRequirements needs[2] = {0};
        VkMemoryRequirements2 future = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
        const VkImageCreateInfo info = info_of(&kinds[i]);
        const VkDeviceImageMemoryRequirements question = {VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, NULL,
                                                          &info, 0};
        for (unsigned k = 0; k < 2; k++) {
            VkImage image = VK_NULL_HANDLE;
            CHECK_INT(rigs[k].CreateImage(rigs[k].device, &info, NULL, &image), VK_SUCCESS);
            rigs[k].GetImageMemoryRequirements(rigs[k].device, image, &needs[k]);
            rigs[k].DestroyImage(rigs[k].device, image, NULL);
        }
        rigs[1].GetDeviceImageMemoryRequirements(rigs[1].device, &question, &future);
        CHECK_MEM(&needs[1], &needs[0], sizeof(needs[0]));
        CHECK_MEM(&future.memoryRequirements, &needs[1], sizeof(needs[1]));
    }
    vulkan_close(&rigs[1]);
    vulkan_close(&rigs[0]);
}

/* ---- life ---- */

/* The program's mapping and ours are one, and the program's unmapping leaves ours. */
VULKAN_CASE("memory is mapped once", mapped_once, open_layer)
{
    struct vulkan_thing image;
    struct vulkan_image found;
    char *data = NULL;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    if (vulkan_make_image(rig, &info, ALIGNED, &image)) {
        CHECK_INT(rig->MapMemory(rig->device, image.memory, ALIGNED, VK_WHOLE_SIZE, 0, (void **)&data), VK_SUCCESS);
        if (side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why)))
            CHECK_INT(found.memory.mapped, (uintptr_t)data);
        rig->UnmapMemory(rig->device, image.memory);
        memset((void *)(uintptr_t)found.memory.mapped, 0x5a, 64);
        CHECK_INT(rig->MapMemory(rig->device, image.memory, ALIGNED + 32, 64, 0, (void **)&data), VK_SUCCESS);
        CHECK_INT((uintptr_t)data, found.memory.mapped + 32);
        CHECK_INT(data[0], 0x5a);
        vulkan_drop(rig, &image); /* mapped as it is */
    }
}

CASE("memory that is held", held)
{
    struct vulkan_rig rig;
    if (!open_layer(&rig))
        return;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    struct vulkan_thing image;
    struct vulkan_image found;
    int32_t file;
    if (side_make_image(&rig, &info, 0, &image, &found)) {
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
    if (side_make_image(&rig, &info, 0, &image, &found) && side_done(side.hold(found.memory.memory, side_why))) {
        unsigned char *bytes = (unsigned char *)(uintptr_t)found.memory.mapped;
        memset(bytes, 0x33, found.memory.size);
        vulkan_drop(&rig, &image);
        vulkan_close(&rig);
        CHECK_INT(bytes[found.memory.size - 1], 0x33); /* stays without a device, too */
        CHECK_INT(side.give_back(found.memory.memory), 0);
        return;
    }
    vulkan_close(&rig);
}

VULKAN_CASE("what is gone or never was", gone, open_layer)
{
    struct vulkan_image found;
    struct vulkan_place place;
    const VkImageCreateInfo info = info_of(&kinds[0]);
    struct vulkan_thing image;
    if (vulkan_make_image(rig, &info, 0, &image)) {
        const uint64_t handle = HANDLE_NUMBER(image.image);
        CHECK_INT(side.find_image(handle, &found, NULL), 1);
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, &place, side_why));
        CHECK_REFUSED(side.find_place(handle, UINT64_MAX, UINT64_MAX, UINT64_MAX, &place, side_why));
        vulkan_drop(rig, &image);
        CHECK_REFUSED(side.find_image(handle, &found, side_why));
        CHECK_REFUSED(side.find_place(handle, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, &place, side_why));
        CHECK_INT(side.find_image(handle, &found, NULL), 0);
    }
    for (uint64_t handle = 0; handle < 4; handle++)
        CHECK_REFUSED(side.find_image(handle * 0x5555555555555555u, &found, side_why));
    VkImage unbound = VK_NULL_HANDLE;
    CHECK_INT(rig->CreateImage(rig->device, &info, NULL, &unbound), VK_SUCCESS);
    CHECK_INT(side.find_image(HANDLE_NUMBER(unbound), &found, side_why), 1);
    CHECK(!found.memory.memory && !found.memory.exportable && !found.memory.mapped);
    rig->DestroyImage(rig->device, unbound, NULL);
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

VULKAN_CASE("threads", threads, open_layer)
{
    test_thread all[THREADS];
    struct test_job job = {one_thread, rig};
    for (unsigned i = 0; i < THREADS; i++)
        test_thread_start(&all[i], &job);
    for (unsigned i = 0; i < THREADS; i++)
        test_thread_join(all[i]);
}

TAP_MAIN
