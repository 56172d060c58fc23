/* Which images are taken for what Direct3D tells of them, and which are not: each fact of an image, on its own
 * (src/transport/vulkan_place.c). */
#include "tap.h"
#include "transport/vulkan_object.h"

#include "d3d/formats.h"

#include <d3dcommon.h>
#include <dxgiformat.h>

enum { IMAGE = 0x10 };

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
