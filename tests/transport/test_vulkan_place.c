/* Which images are taken for what Direct3D tells of them, and which are not: each fact of an image, on its own
 * (src/transport/vulkan_place.c). */
#include "tap.h"
#include "transport/vulkan_object.h"

#include "d3d/formats.h"

#include <dxgiformat.h>

enum { RGBA8 = 37, BGRA8 = 44, WORD_RGBA8 = 51, R8 = 9, RG8 = 16, R16 = 70, RGBA16 = 91, R32 = 98, A8 = 1000470001 };
enum { NV12 = 1000156003, P010 = 1000156013, P016 = 1000156030 };

static bool fits(const struct surface_desc *desc, const struct vulkan_location *at)
{
    char why[VULKAN_WHY] = "";
    const bool does = vulkan_fits(desc, at, why);
    CHECK_INT(why[0] == '\0', does);
    return does;
}

/* Level 1 of a texture of 40x24 texels, or of its plane, or of a volume with 8 layers of them. */
static struct surface_desc desc_of(const struct format_row *format, bool deep)
{
    return (struct surface_desc){.kind = deep ? SURFACE_IMAGE_3D : SURFACE_IMAGE_2D,
                                 .format = format,
                                 .width = 20u >> format->shift_x,
                                 .height = 12u >> format->shift_y,
                                 .depth = deep ? 4 : 1};
}

static struct vulkan_location place_of(uint32_t format, bool deep)
{
    return (struct vulkan_location){.native = {.image = 0x10, .level = 1, .layer = deep ? 0 : 2},
                                    .image = {.type = deep ? 2 : 1,
                                              .format = format,
                                              .width = 40,
                                              .height = 24,
                                              .depth = deep ? 8 : 1,
                                              .levels = 3,
                                              .layers = deep ? 1 : 4,
                                              .samples = 1}};
}

CASE("an image of the resource's size", sizes)
{
    for (int deep = 0; deep < 2; deep++) {
        const struct surface_desc desc = desc_of(format_from_dxgi(DXGI_FORMAT_R8G8B8A8_UNORM, 0), deep);
        struct vulkan_location at = place_of(RGBA8, deep);
        const struct {
            uint32_t *fact, other;
        } changes[] = {
            {&at.image.samples, 4}, {&at.image.type, deep ? 1 : 2}, {&at.image.type, 0},
            {&at.native.level, 3},  {&at.native.level, 40},         {&at.native.layer, 4},
            {&at.image.width, 42},  {&at.image.width, 1},           {&at.image.height, 22},
            {&at.image.levels, 1},  {&at.image.layers, 0},          {&at.image.depth, deep ? 6 : 1},
        };
        CHECK(fits(&desc, &at));
        for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]) - !deep; i++) {
            const uint32_t before = *changes[i].fact;
            *changes[i].fact = changes[i].other;
            if (!CHECK(!fits(&desc, &at)))
                printf("# change %zu\n", i);
            *changes[i].fact = before;
        }
    }
}

/* Texels are channels of one size in one order; how they are read does not matter. Those of the second plane are two channels. */
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
        {DXGI_FORMAT_A8_UNORM, A8, true},
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
        {DXGI_FORMAT_NV12, NV12, true},
        {DXGI_FORMAT_NV12, P010, false},
        {DXGI_FORMAT_NV12, RGBA8, false},
        {DXGI_FORMAT_P010, P010, true},
        {DXGI_FORMAT_P010, NV12, false},
        {DXGI_FORMAT_P016, P016, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned plane = 0; plane < 2; plane++) {
            const struct format_row *format = format_from_dxgi(rows[i].dxgi, plane);
            if (!format)
                continue;
            const struct surface_desc desc = desc_of(format, false);
            const struct vulkan_location at = place_of(rows[i].vulkan, false);
            if (!CHECK_INT(fits(&desc, &at), rows[i].fit))
                printf("# DXGI format %u, plane %u, Vulkan format %u\n", rows[i].dxgi, plane, rows[i].vulkan);
        }
}

TAP_MAIN
