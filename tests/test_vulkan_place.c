/* Which images are taken for what Direct3D tells of them, and which are not: each fact of an image, and each thing that can change
 * while an object is shared, on its own (src/transport/vulkan_place.c). */
#include "tap.h"
#include "transport/vulkan_object.h"

#include "d3d/formats.h"

#include <d3dcommon.h>
#include <dxgiformat.h>

enum { IMAGE = 0x10, ADDRESS = 0x20000, NEW_LAYOUT = 7 };

/* ---- what stands below ---- */

/* What Direct3D and the Vulkan side tell now. */
static struct native_place place_now;
static struct vulkan_image image_now;
static bool d3d_finds, vulkan_finds;

static bool find(const struct surface *surface, struct native_place *place, char *why, size_t why_size)
{
    (void)surface;
    *place = place_now;
    snprintf(why, why_size, "Direct3D's reason");
    return d3d_finds;
}

static bool find_again(const struct surface *surface, struct native_place *place)
{
    (void)surface;
    *place = place_now;
    return d3d_finds;
}

static uint64_t find_image(uint64_t image, struct vulkan_image *found, char *why)
{
    CHECK(image == place_now.image);
    *found = image_now;
    snprintf(why, VULKAN_WHY, "the image's reason");
    return vulkan_finds;
}

static uint64_t find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    CHECK(address == place_now.address);
    CHECK_INT(size, 64);
    *found = image_now.memory;
    snprintf(why, VULKAN_WHY, "the buffer's reason");
    return vulkan_finds;
}

static const struct native_ops native = {.find = find, .find_again = find_again};
static const struct d3d_api api = {.name = "a Direct3D", .native = &native};
static const struct vulkan_side side = {.find_image = find_image, .find_buffer = find_buffer};
static const struct surface surface = {.api = &api, .desc = {.width = 64, .height = 1, .depth = 1}};

static void found_again(uint64_t image, uint64_t address)
{
    place_now = (struct native_place){.image = image, .address = address, .layout = 1};
    image_now = (struct vulkan_image){
        .memory = {.memory = 1, .memory_size = 4096, .offset = 256, .size = 1024, .mapped = 0x7000}, .format = 37};
    d3d_finds = vulkan_finds = true;
}

/* ---- where a surface lies ---- */

static bool is_located(const char *reason)
{
    char why[VULKAN_WHY] = "";
    struct vulkan_location at;
    const bool located = vulkan_locate(&side, &surface, &at, why);
    CHECK_STR(why, reason);
    return located;
}

CASE("what is not found is told with its reason", not_located)
{
    found_again(IMAGE, 0);
    d3d_finds = false;
    CHECK(!is_located("Direct3D's reason"));
    found_again(IMAGE, 0);
    vulkan_finds = false;
    CHECK(!is_located("the image's reason"));
    place_now.sampled_levels = true;
    CHECK(!is_located("the layer exports no sampled textures of several levels"));
    found_again(0, ADDRESS);
    vulkan_finds = false;
    CHECK(!is_located("the buffer's reason"));
}

static bool is_there(struct vulkan_location *at)
{
    char why[VULKAN_WHY];
    return vulkan_is_there(&side, &surface, at, why);
}

/* An image or a buffer is located and looked for again. Its layout may change; nothing else. */
static void stays(uint64_t image, uint64_t address)
{
    char why[VULKAN_WHY];
    struct vulkan_location at;
    found_again(image, address);
    CHECK(vulkan_locate(&side, &surface, &at, why));
    CHECK(at.native.image == image && at.native.address == address && at.native.layout == 1);
    CHECK_INT(at.image.format, image ? 37 : 0); /* of a buffer, its memory alone */
    CHECK_INT(at.image.memory.offset, 256);
    place_now.layout = NEW_LAYOUT;
    CHECK(is_there(&at));
    CHECK_INT(at.native.layout, NEW_LAYOUT);
    d3d_finds = false;
    CHECK(!is_there(&at));
    d3d_finds = true;
    vulkan_finds = false;
    CHECK(!is_there(&at));
    vulkan_finds = true;
    uint64_t *const facts[] = {&image_now.memory.memory, &image_now.memory.offset, &image_now.memory.size,
                               &image_now.memory.mapped};
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        *facts[i] += 16;
        CHECK(!is_there(&at));
        *facts[i] -= 16;
        CHECK(is_there(&at));
    }
    *(image ? &place_now.image : &place_now.address) += 256;
    CHECK(!is_there(&at));
}

CASE("images and buffers are found, and are where they were", both_stay)
{
    stays(IMAGE, 0);
    stays(0, ADDRESS);
}

/* ---- what an image holds ---- */

enum { RGBA8 = 37, BGRA8 = 44, WORD_RGBA8 = 51, R8 = 9, RG8 = 16, R16 = 70, RGBA16 = 91, R32 = 98, NV12 = 1000156003 };

static bool fits(const struct surface_desc *desc, const struct vulkan_location *at)
{
    char why[VULKAN_WHY] = "";
    const bool does = vulkan_fits(desc, at, why);
    CHECK_INT(why[0] == '\0', does);
    return does;
}

/* A level of a texture of 40x24 texels, of which level 1 is shared. */
static struct surface_desc flat_desc(uint32_t dxgi, unsigned plane)
{
    const struct format_row *format = format_from_dxgi(dxgi, plane);
    return (struct surface_desc){.kind = SURFACE_IMAGE_2D,
                                 .format = format,
                                 .width = 20u >> format->shift_x,
                                 .height = 12u >> format->shift_y,
                                 .depth = 1};
}

static struct vulkan_location flat_place(uint32_t format)
{
    return (struct vulkan_location){.native = {.image = IMAGE, .level = 1, .layer = 2},
                                    .image = {.type = 1,
                                              .format = format,
                                              .width = 40,
                                              .height = 24,
                                              .depth = 1,
                                              .levels = 3,
                                              .layers = 4,
                                              .samples = 1}};
}

CASE("an image of the resource's size", sizes)
{
    const struct surface_desc desc = flat_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 0);
    struct vulkan_location at = flat_place(RGBA8);
    CHECK(fits(&desc, &at));
    const struct {
        uint32_t *fact, other;
    } changes[] = {
        {&at.image.samples, 4}, {&at.image.type, 2},   {&at.image.type, 0},   {&at.native.level, 3},
        {&at.native.level, 40}, {&at.native.layer, 4}, {&at.image.width, 42}, {&at.image.width, 1},
        {&at.image.height, 22}, {&at.image.levels, 1}, {&at.image.layers, 2},
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const uint32_t before = *changes[i].fact;
        *changes[i].fact = changes[i].other;
        if (!CHECK(!fits(&desc, &at)))
            printf("# change %zu\n", i);
        *changes[i].fact = before;
    }
    CHECK(fits(&desc, &at));
}

/* A level has a texel at least in each direction, however small the texture is. */
CASE("small levels", deep_levels)
{
    struct surface_desc desc = flat_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 0);
    struct vulkan_location at = flat_place(RGBA8);
    at.image.levels = 40;
    at.native.level = 33;
    desc.width = desc.height = 1;
    CHECK(fits(&desc, &at));
    desc.height = 2;
    CHECK(!fits(&desc, &at));
}

CASE("volumes", volumes)
{
    struct surface_desc desc = flat_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 0);
    struct vulkan_location at = flat_place(RGBA8);
    desc.kind = SURFACE_IMAGE_3D;
    desc.depth = 4;
    at.native.layer = 0;
    at.image.type = 2;
    at.image.depth = 8;
    at.image.layers = 1;
    CHECK(fits(&desc, &at));
    at.image.depth = 6;
    CHECK(!fits(&desc, &at));
}

/* Texels are channels of one size in one order; how they are read does not matter. */
CASE("formats by their texels", formats)
{
    static const struct {
        uint32_t dxgi, vulkan;
        bool fit;
    } rows[] = {
        {DXGI_FORMAT_R8G8B8A8_UNORM, RGBA8, true},
        {DXGI_FORMAT_R8G8B8A8_SINT, RGBA8, true},
        {DXGI_FORMAT_R8G8B8A8_UINT, WORD_RGBA8, true},
        {DXGI_FORMAT_R8G8B8A8_UNORM, BGRA8, false},
        {DXGI_FORMAT_B8G8R8A8_UNORM, BGRA8, true},
        {DXGI_FORMAT_B8G8R8A8_UNORM, RGBA8, false},
        {DXGI_FORMAT_R8_UNORM, R8, true},
        {DXGI_FORMAT_A8_UNORM, R8, true},
        {DXGI_FORMAT_A8_UNORM, 1000470001, true},
        {DXGI_FORMAT_R8_UNORM, RG8, false},
        {DXGI_FORMAT_R8G8_UNORM, RG8, true},
        {DXGI_FORMAT_R8G8_UNORM, R16, false},
        {DXGI_FORMAT_R16_FLOAT, R16, true},
        {DXGI_FORMAT_R32_FLOAT, R32, true},
        {DXGI_FORMAT_R32_FLOAT, RGBA8, false},
        {DXGI_FORMAT_R16G16B16A16_FLOAT, RGBA16, true},
        {DXGI_FORMAT_R16G16B16A16_FLOAT, RGBA8, false},
        {DXGI_FORMAT_R8G8B8A8_UNORM, 0, false},
        {DXGI_FORMAT_R8G8B8A8_UNORM, NV12, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct surface_desc desc = flat_desc(rows[i].dxgi, 0);
        const struct vulkan_location at = flat_place(rows[i].vulkan);
        if (!CHECK_INT(fits(&desc, &at), rows[i].fit))
            printf("# DXGI format %u, Vulkan format %u\n", rows[i].dxgi, rows[i].vulkan);
    }
    /* Pairs of texels are no channels. */
    const struct vulkan_location at = flat_place(RG8);
    struct surface_desc packed = flat_desc(DXGI_FORMAT_R8G8_UNORM, 0);
    CHECK(fits(&packed, &at));
    packed.format = format_from_d3d9(0x32595559, 0); /* YUY2 */
    if (CHECK(packed.format != NULL))
        CHECK(!fits(&packed, &at));
}

/* A plane is half as large in chroma, and its texels are one channel or two. */
CASE("planes", planes)
{
    enum { P010 = 1000156013, P016 = 1000156030 };
    static const struct {
        uint32_t dxgi, vulkan;
        bool fit;
    } rows[] = {
        {DXGI_FORMAT_NV12, NV12, true}, {DXGI_FORMAT_NV12, P010, false}, {DXGI_FORMAT_NV12, RGBA8, false},
        {DXGI_FORMAT_P010, P010, true}, {DXGI_FORMAT_P010, NV12, false}, {DXGI_FORMAT_P016, P016, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned plane = 0; plane < 2; plane++) {
            if (!format_from_dxgi(rows[i].dxgi, plane))
                continue;
            struct surface_desc desc = flat_desc(rows[i].dxgi, plane);
            const struct vulkan_location at = flat_place(rows[i].vulkan);
            if (!CHECK_INT(fits(&desc, &at), rows[i].fit))
                printf("# DXGI format %u, plane %u, Vulkan format %u\n", rows[i].dxgi, plane, rows[i].vulkan);
            desc.width++;
            CHECK(!fits(&desc, &at));
        }
    const struct surface_desc luma = flat_desc(DXGI_FORMAT_NV12, 0), chroma = flat_desc(DXGI_FORMAT_NV12, 1),
                              plain = flat_desc(DXGI_FORMAT_R8_UNORM, 0);
    CHECK_INT(vulkan_aspect(&luma), 0x10);
    CHECK_INT(vulkan_aspect(&chroma), 0x20);
    CHECK_INT(vulkan_aspect(&plain), 1);
}

TAP_MAIN
