/* Rows of the Vulkan layer: images that nothing is changed of are copied to linear memory, and back. On a software driver, with each
 * method of the layer. */
#include "vulkan_rig.h"
#include "vulkan_side.h"

enum { WIDTH = 256, HEIGHT = 128, MOST = 1 << 20, CYCLES = 2000 };

static _Alignas(VULKAN_ROWS_PAGE) unsigned char memory[MOST];

static bool open_with(struct vulkan_rig *rig, const char *method)
{
    setenv("CLD3D_VULKAN", method, 1);
    setenv("CLD3D_VULKAN_SMALLEST", "1", 1);
    return open_layer(rig);
}

static bool open_rows(struct vulkan_rig *rig)
{
    return open_with(rig, "record");
}

static VkImageCreateInfo frame(void)
{
    return vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT);
}

/* An image of its own, of the whole image. */
static struct vulkan_rows of_image(void)
{
    return (struct vulkan_rows){.kind = VULKAN_ROWS_IMAGE, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
}

static struct vulkan_rows of_host(void)
{
    return (struct vulkan_rows){.kind = VULKAN_ROWS_HOST, .size = MOST, .address = (uintptr_t)memory};
}

static struct vulkan_move move_of(uint64_t rows, VkImage image, const struct vulkan_part *part, uint32_t row_texels)
{
    return (struct vulkan_move){.name = rows,
                                .layout = VK_IMAGE_LAYOUT_GENERAL,
                                .family = VULKAN_ANY_FAMILY,
                                .image = HANDLE_NUMBER(image),
                                .aspect = part->aspect,
                                .level = part->level,
                                .layer = part->layer,
                                .row_texels = row_texels};
}

/* Between the rows' memory, with gaps, and dense bytes. */
static void copy_memory(const struct vulkan_part *part, uint32_t row_texels, unsigned char *bytes, bool to_memory)
{
    const size_t row = (size_t)part->width * part->texel, pitch = (size_t)row_texels * part->texel;
    for (uint32_t y = 0; y < part->height * part->depth; y++)
        memcpy(to_memory ? memory + y * pitch : bytes + y * row, to_memory ? bytes + y * row : memory + y * pitch, row);
}

/* A part comes over and goes back changed; another one stays as it is. */
static void both_ways(struct vulkan_rig *rig, const VkImageCreateInfo *info, const struct vulkan_part *part,
                      const struct vulkan_part *rest)
{
    static unsigned char sent[MOST], got[MOST], other[MOST];
    struct vulkan_thing image;
    if (!vulkan_make_image(rig, info, 4096, &image))
        return;
    for (uint32_t gap = 0; gap < 2; gap++) {
        struct vulkan_rows rows = of_host();
        const uint32_t row_texels = part->width + gap * 48;
        side_fill(other, sizeof(other), 99);
        side_fill(sent, sizeof(sent), 1 + gap);
        vulkan_put(rig, image.image, rest, other, VULKAN_DISCARD);
        vulkan_put(rig, image.image, part, sent, 0);
        if (!side_done(side.make_rows(HANDLE_NUMBER(image.image), &rows, side_why)))
            break;
        CHECK_INT(rows.file, -1);
        CHECK_INT(side.fit_rows(rows.rows, HANDLE_NUMBER(image.image)), 1);
        const struct vulkan_move move = move_of(rows.rows, image.image, part, row_texels);
        memset(memory, 0xEE, sizeof(memory));
        side_done(side.move_rows(&move, 1, 0, side_why));
        copy_memory(part, row_texels, got, false);
        CHECK_MEM(got, sent, vulkan_part_size(part));
        CHECK_INT(memory[(part->height * part->depth - 1) * row_texels * part->texel + part->width * part->texel],
                  0xEE);
        side_fill(sent, sizeof(sent), 7 + gap);
        copy_memory(part, row_texels, sent, true);
        side_done(side.move_rows(&move, 1, 1, side_why));
        vulkan_get(rig, image.image, part, got, 0);
        CHECK_MEM(got, sent, vulkan_part_size(part));
        vulkan_get(rig, image.image, rest, got, 0);
        CHECK_MEM(got, other, vulkan_part_size(rest));
        CHECK_INT(side.drop_rows(rows.rows), 1);
        CHECK_INT(side.drop_rows(rows.rows), 0);
    }
    vulkan_drop(rig, &image);
}

/* Each of two parts beside the other, with as many of the layer's methods. */
static void with_methods(unsigned methods, const VkImageCreateInfo *info, const struct vulkan_part parts[2])
{
    static const char *const names[] = {"record", "mapped", "export"};
    for (unsigned i = 0; i < methods; i++) {
        struct vulkan_rig rig;
        if (!open_with(&rig, names[i]))
            return;
        rig.exports = info->pNext ? by_file.handleTypes : 0;
        if (vulkan_has_format(&rig, info->format, VK_IMAGE_TILING_OPTIMAL)) {
            both_ways(&rig, info, &parts[0], &parts[1]);
            both_ways(&rig, info, &parts[1], &parts[0]);
        } else {
            SKIP("the driver has no images with planes");
        }
        vulkan_close(&rig);
    }
}

CASE("levels and layers come over and go back, with each method", levels)
{
    const struct vulkan_part parts[] = {{VK_IMAGE_ASPECT_COLOR_BIT, 2, 1, WIDTH / 4, HEIGHT / 4, 1, 4},
                                        {VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, WIDTH / 2, HEIGHT / 2, 1, 4}};
    VkImageCreateInfo info = frame();
    info.mipLevels = 3;
    info.arrayLayers = 2;
    with_methods(3, &info, parts);
}

/* They need no export of ours. */
CASE("images that the program itself shares, with each method", external)
{
    const struct vulkan_part parts[] = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, WIDTH, HEIGHT, 1, 4},
                                        {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, WIDTH, HEIGHT, 1, 4}};
    VkImageCreateInfo info = frame();
    info.pNext = &by_file;
    info.arrayLayers = 2;
    with_methods(3, &info, parts);
}

CASE("slices", slices)
{
    const struct vulkan_part parts[] = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 32, 16, 8, 4},
                                        {VK_IMAGE_ASPECT_COLOR_BIT, 1, 0, 16, 8, 4, 4}};
    VkImageCreateInfo info = vulkan_image_info(VK_FORMAT_R8G8B8A8_UNORM, 32, 16);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.extent.depth = 8;
    info.mipLevels = 2;
    with_methods(1, &info, parts);
}

CASE("planes", planes)
{
    const struct vulkan_part parts[] = {{VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 0, WIDTH, HEIGHT, 1, 1},
                                        {VK_IMAGE_ASPECT_PLANE_1_BIT, 0, 0, WIDTH / 2, HEIGHT / 2, 1, 2}};
    const VkImageCreateInfo info = vulkan_image_info(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, WIDTH, HEIGHT);
    with_methods(1, &info, parts);
}

/* What is recorded is as the program asked for it. */
VULKAN_CASE("nothing is changed of an image", unchanged, open_rows)
{
    struct vulkan_thing image;
    struct vulkan_image found;
    const VkImageCreateInfo info = frame();
    if (side_make_image(rig, &info, 4096, &image, &found)) {
        CHECK_INT(image.offset, 4096); /* nobody has asked for memory of its own */
        CHECK_INT(found.tiling, VK_IMAGE_TILING_OPTIMAL);
        CHECK(!found.memory.memory && !found.memory.exportable && !found.memory.mapped);
        vulkan_drop(rig, &image);
        CHECK_REFUSED(side.find_image(HANDLE_NUMBER(image.image) + 8, &found, side_why));
    }
}

/* Exported images, and those that stand for the program's. Bytes go from one to the other, and by linear memory. */
VULKAN_CASE("images as rows, and images for trials", images, open_rows)
{
    const struct vulkan_part all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, VULKAN_ROWS_TRIAL_SIDE,
                                    VULKAN_ROWS_TRIAL_SIDE,    1, 4};
    static unsigned char sent[MOST], got[MOST];
    struct vulkan_thing image;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(rig, &info, 0, &image)) {
        struct vulkan_rows rows[] = {of_image(), of_image(), of_host()};
        const unsigned before = side_files();
        rows[0].kind = VULKAN_ROWS_TRIAL;
        side_done(side.make_rows(HANDLE_NUMBER(image.image), &rows[0], side_why));
        for (int i = 1; i < 3; i++)
            side_done(side.make_rows(rows[0].address, &rows[i], side_why));
        const VkImage trial = (VkImage)(uintptr_t)rows[0].address;
        const struct vulkan_move by_image = move_of(rows[1].rows, trial, &all, 0),
                                 by_memory = move_of(rows[2].rows, trial, &all, VULKAN_ROWS_TRIAL_SIDE);
        side_fill(sent, sizeof(sent), 5);
        copy_memory(&all, VULKAN_ROWS_TRIAL_SIDE, sent, true);
        side_done(side.move_rows(&by_memory, 1, 1, side_why));
        side_done(side.move_rows(&by_image, 1, 0, side_why));
        memset(memory, 0, sizeof(memory));
        side_done(side.move_rows(&by_memory, 1, 1, side_why));
        side_done(side.move_rows(&by_image, 1, 1, side_why));
        side_done(side.move_rows(&by_memory, 1, 0, side_why));
        copy_memory(&all, VULKAN_ROWS_TRIAL_SIDE, got, false);
        CHECK_MEM(got, sent, vulkan_part_size(&all));
        const struct vulkan_move larger = move_of(rows[1].rows, image.image, &all, 0);
        CHECK_REFUSED(side.move_rows(&larger, 1, 0, side_why));
        if (CHECK(rows[1].file >= 0))
            CHECK_INT(side.close((uint64_t)rows[1].file), 1);
        for (int i = 3; i-- > 0;)
            CHECK_INT(side.drop_rows(rows[i].rows), 1);
        CHECK_REFUSED(side.find_image(rows[0].address, &(struct vulkan_image){0}, side_why));
        CHECK_INT(side_files(), before);
        vulkan_drop(rig, &image);
    }
}

VULKAN_CASE("what is refused", refusals, open_rows)
{
    const struct vulkan_part all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, WIDTH, HEIGHT, 1, 4};
    struct vulkan_thing image;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(rig, &info, 0, &image)) {
        struct vulkan_rows rows = of_host(), bad[] = {of_host(), of_host(), of_host(), of_image()};
        static unsigned char bytes[MOST];
        vulkan_put(rig, image.image, &all, bytes, VULKAN_DISCARD);
        bad[0].kind = VULKAN_ROWS_TRIAL + 1;
        bad[1].kind = UINT32_MAX;
        bad[2].address += 3; /* not a page */
        bad[3].level = 1;    /* there is none */
        for (int i = 0; i < 4; i++)
            CHECK_REFUSED(side.make_rows(HANDLE_NUMBER(image.image), &bad[i], side_why));
        CHECK_REFUSED(side.make_rows(0, &rows, side_why));
        rows.size = VULKAN_ROWS_PAGE;
        side_done(side.make_rows(HANDLE_NUMBER(image.image), &rows, side_why));
        const struct vulkan_move large = move_of(rows.rows, image.image, &all, WIDTH);
        struct vulkan_move moves[] = {large, large, large, large, large, large};
        moves[1].name += 1000;
        moves[2].image = 0;
        moves[3].level = 1;
        moves[4].row_texels = WIDTH - 1;
        moves[5].layout = VK_IMAGE_LAYOUT_UNDEFINED;
        for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) /* the first is larger than the rows */
            CHECK_REFUSED(side.move_rows(&moves[i], 1, i % 2, side_why));
        CHECK_INT(side.fit_rows(rows.rows, 0), 0);
        CHECK_INT(side.fit_rows(0, HANDLE_NUMBER(image.image)), 0);
        struct vulkan_rig other = *rig;
        struct vulkan_thing of_other;
        if (CHECK(vulkan_open_device(&other)) && vulkan_make_image(&other, &info, 0, &of_other)) {
            CHECK_INT(side.fit_rows(rows.rows, HANDLE_NUMBER(of_other.image)), 0);
            vulkan_drop(&other, &of_other);
            vulkan_close_device(&other);
        }
        CHECK_INT(side.drop_rows(0), 0);
        vulkan_drop(rig, &image);
        CHECK_REFUSED(side.move_rows(&large, 1, 0, side_why));
        CHECK_INT(side.drop_rows(rows.rows), 1);
    }
}

/* Rows end with their device, and leave nothing. */
CASE("they end with their device, and leave nothing", ends)
{
    struct vulkan_rig rig;
    struct vulkan_thing image;
    struct vulkan_rows rows = {.size = 0};
    if (!open_rows(&rig))
        return;
    const VkImageCreateInfo info = frame();
    if (vulkan_make_image(&rig, &info, 0, &image)) {
        unsigned bad = 0;
        const unsigned files = side_files();
        for (unsigned i = 0; i < CYCLES; i++) {
            rows = i % 2 ? of_host() : of_image();
            bad += !side.make_rows(HANDLE_NUMBER(image.image), &rows, NULL) ||
                   (rows.file >= 0 && !side.close((uint64_t)rows.file)) || !side.drop_rows(rows.rows);
        }
        CHECK_INT(bad, 0);
        CHECK_INT(side_files(), files);
        rows = of_host();
        side_done(side.make_rows(HANDLE_NUMBER(image.image), &rows, side_why));
        vulkan_drop(&rig, &image);
    }
    vulkan_close(&rig);
    CHECK_INT(side.drop_rows(rows.rows), 0);
}

TAP_MAIN
