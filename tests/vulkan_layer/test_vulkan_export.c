/* The Vulkan layer as it is on a GPU: images have memory of their own, which can be exported. A software driver can do that, too;
 * what another Vulkan device imports are the same bytes. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

#include <sys/resource.h>

enum { WIDTH = 256, HEIGHT = 128, SMALLEST = 65536, CYCLES = 10000 };

static bool open_export(struct vulkan_rig *rig)
{
    setenv("CLD3D_VULKAN", "export", 1);
    unsetenv("CLD3D_VULKAN_SMALLEST");
    return open_layer(rig);
}

static VkImageCreateInfo frame(void)
{
    return vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT);
}

/* Not the memory of an image that can only be copied. */
static bool is_shared(VkImage image)
{
    struct vulkan_image found;
    return side.find_image(HANDLE_NUMBER(image), &found, NULL) &&
           (found.memory.memory || found.memory.exportable || found.memory.mapped);
}

/* ---- which images ---- */

VULKAN_CASE("which images are exportable", which, open_export)
{
    struct vulkan_thing image;
    struct vulkan_image found;
    VkImageCreateInfo infos[] = {vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 128, 128),
                                 vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 128, 127),
                                 frame(),
                                 frame(),
                                 frame(),
                                 frame()};
    infos[2].tiling = VK_IMAGE_TILING_LINEAR;
    infos[3].format = VK_FORMAT_D32_SFLOAT;
    infos[4].mipLevels = 4; /* and only sampled */
    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
        rig->never_dedicates = i == 5;
        if (!vulkan_make_image(rig, &infos[i], 4096, &image))
            continue;
        if (i > 0) {
            CHECK_INT(image.offset, 4096); /* nobody has asked for memory of its own, or nobody got it */
            CHECK_INT(is_shared(image.image), 0);
        } else if (side_done(side.find_image(HANDLE_NUMBER(image.image), &found, side_why))) {
            CHECK_INT(found.tiling, VK_IMAGE_TILING_OPTIMAL);
            CHECK_INT(found.memory.offset, 0);
            CHECK(found.memory.exportable && found.memory.dedicated && !found.memory.mapped);
            CHECK_INT(found.memory.memory_size, image.size);
            CHECK_REFUSED(side.find_place(HANDLE_NUMBER(image.image), VK_IMAGE_ASPECT_COLOR_BIT, 0, 0,
                                          &(struct vulkan_place){0}, side_why));
        }
        vulkan_drop(rig, &image);
    }
}

/* A device has the functions that it has without the layer. */
CASE("the same functions as without the layer", same_functions)
{
    static const char *const names[] = {"vkQueuePresentKHR", "vkCreateImage", "vkCreateImageKHR", "vkQueueSubmit2KHR",
                                        "vkQueueSubmit2"};
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

/* ---- bytes ---- */

/* The image of another device over the same memory. */
static bool import_image(struct vulkan_rig *rig, const VkImageCreateInfo *like, int32_t file, struct vulkan_thing *made)
{
    VkImageCreateInfo info = *like;
    info.pNext = &by_file;
    rig->import = file;
    const bool is_made = vulkan_make_image(rig, &info, 0, made);
    rig->import = 0;
    return is_made;
}

/* A case that gets two devices. */
static void with_two(void (*body)(struct vulkan_rig *rig, struct vulkan_rig *other))
{
    struct vulkan_rig rig, other;
    if (!open_export(&rig))
        return;
    other = rig;
    if (vulkan_open_device(&other)) {
        body(&rig, &other);
        vulkan_close_device(&other);
    }
    vulkan_close(&rig);
}

#define TWO_CASE(text, name)                                            \
    static void name(struct vulkan_rig *rig, struct vulkan_rig *other); \
    CASE(text, name##_of_two)                                           \
    {                                                                   \
        with_two(name);                                                 \
    }                                                                   \
    static void name(struct vulkan_rig *rig, struct vulkan_rig *other)

static const struct vulkan_part all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, WIDTH, HEIGHT, 1, 4};

/* The other device's image over the memory of an image, or of a copy. */
static bool import_found(struct vulkan_rig *other, const VkImageCreateInfo *info, const struct vulkan_image *found,
                         struct vulkan_thing *imported)
{
    int32_t file = -1;
    return side_done(side.export(found->memory.memory, &file, side_why)) && import_image(other, info, file, imported);
}

static unsigned char sent[WIDTH * HEIGHT * 4], got[WIDTH * HEIGHT * 4];

/* The layer passes the image of `rig`; the other device takes it and gives it back. */
static void exchange(struct vulkan_rig *rig, VkImage image, struct vulkan_rig *other, VkImage imported)
{
    const struct vulkan_move pass = MOVE(HANDLE_NUMBER(image), VK_IMAGE_LAYOUT_GENERAL, 0);
    for (unsigned turn = 0; turn < 20; turn++) {
        side_fill(sent, sizeof(sent), turn);
        vulkan_put(rig, image, &all, sent, turn ? 0 : VULKAN_DISCARD);
        side_done(side.pass(&pass, 1, 0, side_why));
        vulkan_get(other, imported, &all, got, VULKAN_FROM_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        side_fill(sent, sizeof(sent), turn + 100);
        vulkan_put(other, imported, &all, sent, VULKAN_TO_OUTSIDE);
        side_done(side.pass(&pass, 1, 1, side_why));
        vulkan_get(rig, image, &all, got, 0); /* behind what the layer has queued */
        CHECK_MEM(got, sent, sizeof(sent));
    }
}

TWO_CASE("images are passed to another device and back", another_device)
{
    struct vulkan_thing image, imported;
    struct vulkan_image found;
    const VkImageCreateInfo info = frame();
    if (side_make_image(rig, &info, 0, &image, &found) && import_found(other, &info, &found, &imported)) {
        exchange(rig, image.image, other, imported.image);
        vulkan_drop(rig, &image); /* the import lives on */
        vulkan_get(other, imported.image, &all, got, VULKAN_FROM_OUTSIDE);
        CHECK_MEM(got, sent, sizeof(sent));
        vulkan_drop(other, &imported);
    }
}

/* ---- images that the program itself shares ---- */

/* The program's export and the layer's are the same memory. Another device has imported each. */
TWO_CASE("images that the program exports", own_exports)
{
    struct vulkan_thing image, imported[2];
    struct vulkan_image found;
    const unsigned files = side_files();
    VkImageCreateInfo info = frame();
    const VkImageCreateInfo plain = frame();
    info.pNext = &by_file;
    rig->exports = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    if (side_make_image(rig, &info, 0, &image, &found)) {
        const VkMemoryGetFdInfoKHR get = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, image.memory,
                                          VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        int file = -1;
        CHECK(found.memory.exportable && found.memory.dedicated && !found.memory.mapped);
        CHECK_INT(found.memory.memory_size, image.size);
        CHECK_INT(rig->GetMemoryFdKHR(rig->device, &get, &file), VK_SUCCESS);
        if (import_image(other, &plain, file, &imported[0]) && import_found(other, &plain, &found, &imported[1])) {
            for (unsigned i = 0; i < 2; i++) {
                exchange(rig, image.image, other, imported[i].image);
                vulkan_drop(other, &imported[i]);
            }
        }
        vulkan_drop(rig, &image);
    }
    CHECK_INT(side_files(), files);
}

/* What the program has imported is exported once more. */
TWO_CASE("images that the program has imported", own_imports)
{
    struct vulkan_thing image, imported, again;
    struct vulkan_image found;
    const unsigned files = side_files();
    const VkImageCreateInfo info = frame();
    for (unsigned i = 0; i < 50; i++)
        if (side_make_image(rig, &info, 0, &image, &found) && import_found(other, &info, &found, &imported) &&
            side_done(side.find_image(HANDLE_NUMBER(imported.image), &found, side_why)) &&
            CHECK(found.memory.exportable && found.memory.dedicated) && import_found(rig, &info, &found, &again)) {
            if (i == 0) {
                exchange(other, imported.image, rig, again.image);
                vulkan_get(rig, image.image, &all, got, VULKAN_FROM_OUTSIDE);
                CHECK_MEM(got, sent, sizeof(sent));
            }
            vulkan_drop(rig, &again);
            vulkan_drop(other, &imported);
            vulkan_drop(rig, &image);
        }
    CHECK_INT(side_files(), files);
}

VULKAN_CASE("buffers by their addresses", buffers, open_export)
{
    struct vulkan_thing shared, plain;
    struct vulkan_memory found = {0};
    int32_t file = -1;
    if (vulkan_make_buffer(rig, SMALLEST, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, &shared) &&
        vulkan_make_buffer(rig, SMALLEST, 0, &plain)) {
        const VkBufferDeviceAddressInfo info = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, shared.buffer};
        const uint64_t address = rig->GetBufferDeviceAddress(rig->device, &info);
        if (side_done(side.find_buffer(address + 256, 1024, &found, side_why))) {
            CHECK_INT(found.offset, 256);
            CHECK_INT(found.size, 1024);
            CHECK(found.exportable && !found.dedicated && !found.mapped);
            if (side_done(side.export(found.memory, &file, side_why)))
                CHECK_INT(side.close((uint64_t)file), 1);
        }
        CHECK_INT(side.find_buffer(address, SMALLEST, &found, side_why), 1);
        CHECK_INT(side.find_buffer(address + SMALLEST - 1, 1, &found, side_why), 1);
        CHECK_REFUSED(side.find_buffer(address + SMALLEST, 1, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address, SMALLEST + 1, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address - 1, 16, &found, side_why));
        CHECK_REFUSED(side.find_buffer(address + 16, UINT64_MAX - 8, &found, side_why));
        CHECK_REFUSED(side.find_buffer(0, 1, &found, side_why));
        vulkan_drop(rig, &plain);
        vulkan_drop(rig, &shared);
        CHECK_REFUSED(side.find_buffer(address, 1, &found, side_why));
    }
}

/* ---- images that are passed ---- */

TWO_CASE("images that are not passed", passes_refused)
{
    struct vulkan_thing image, second, of_other;
    struct vulkan_image found;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(rig, &info, 0, &image) && vulkan_make_image(rig, &info, 0, &second) &&
        vulkan_make_image(other, &info, 0, &of_other)) {
        const uint64_t handle = HANDLE_NUMBER(image.image), general = VK_IMAGE_LAYOUT_GENERAL;
        const struct vulkan_move good[] = {MOVE(handle, general, 0), MOVE(HANDLE_NUMBER(second.image), general, 0)};
        const struct vulkan_move bad[][2] = {
            {good[0], MOVE(0, general, 0)},
            {good[0], MOVE(UINT64_MAX, general, 0)},
            {good[0], MOVE(HANDLE_NUMBER(of_other.image), general, 0)},
            {good[0], MOVE(HANDLE_NUMBER(second.image), general, 1)},
            {good[0], MOVE(HANDLE_NUMBER(second.image), VK_IMAGE_LAYOUT_UNDEFINED, 0)},
            {MOVE(handle, general, 77), MOVE(HANDLE_NUMBER(second.image), general, 77)}};
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            CHECK_REFUSED(side.pass(bad[i], 2, i % 2, side_why));
        CHECK_INT(side.pass(NULL, 0, 0, side_why), 1);
        CHECK(side.find_image(handle, &found, NULL) && found.outside == 0);
        static unsigned char bytes[WIDTH * HEIGHT * 4];
        vulkan_put(rig, image.image, &all, bytes, VULKAN_DISCARD);
        vulkan_put(rig, second.image, &all, bytes, VULKAN_DISCARD);
        side_done(side.pass(good, 2, 0, side_why));
        side_done(side.pass(good, 2, 1, side_why));
        vulkan_drop(other, &of_other);
        vulkan_drop(rig, &second);
        vulkan_drop(rig, &image);
    }
}

/* ---- file descriptors ---- */

/* None is lost. When there is none left, the answer says so, and the next export works. */
VULKAN_CASE("10,000 exports leave no file descriptor; none is left", files, open_export)
{
    struct vulkan_thing image;
    struct vulkan_image found;
    struct rlimit limit, few;
    int32_t taken[256] = {-1};
    unsigned bad = 0, count = 0;
    const VkImageCreateInfo info = frame();
    if (side_make_image(rig, &info, 0, &image, &found)) {
        const unsigned before = side_files();
        for (unsigned i = 0; i < CYCLES; i++)
            bad += !side.export(found.memory.memory, &taken[0], NULL) || !side.close((uint64_t)taken[0]);
        CHECK_INT(bad, 0);
        CHECK_INT(side_files(), before);
        CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
        few = limit;
        few.rlim_cur = 256;
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
        side_why[0] = '\0';
        while (count < 256 && side.export(found.memory.memory, &taken[count], side_why))
            count++;
        CHECK(count > 0 && count < 256);
        CHECK(side_why[0] != '\0');
        while (count)
            CHECK_INT(side.close((uint64_t)taken[--count]), 1);
        if (side_done(side.export(found.memory.memory, &taken[0], side_why)))
            CHECK_INT(side.close((uint64_t)taken[0]), 1);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
        vulkan_drop(rig, &image);
    }
    CHECK_INT(side.close(UINT64_MAX), 0);
    CHECK_INT(side.close(99999), 0);
}

TAP_MAIN
