/* Every subresource of textures of many shapes, and every way in which a texture can have been made. */
#include "common/shared.h"

#include <stdlib.h>
#include <string.h>

/* The number of levels down to 1x1x1. */
static UINT all_levels(const struct rig_desc *desc)
{
    UINT extent = desc->width | desc->height | desc->depth, levels = 0;
    for (; extent; extent >>= 1)
        levels++;
    return levels;
}

static void remark_desc(int before, const struct rig_desc *desc)
{
    remark_failures(before, "%s %ux%ux%u, %u levels, %u slices, usage %d, bind 0x%x, misc 0x%x",
                    format_named(desc->format)->name, desc->width, desc->height, desc->depth, desc->levels,
                    desc->slices, (int)desc->usage, desc->bind, desc->misc);
}

/* ---- subresources ---- */

/* Whether Direct3D finds the pattern of seeds[i] in each subresource i. */
static void expect_all(const struct shared *objects, UINT count, const unsigned *seeds)
{
    for (UINT i = 0; i < count; i++) {
        const int before = failures();
        struct shared object = objects[i];
        shared_d3d_expect(&object, seeds[i]);
        remark_failures(before, "subresource %u", i);
    }
}

/* Both ways for each subresource, one after the other, while the others keep what they hold. */
static void go_through(struct shared *objects, UINT count)
{
    unsigned *seeds = calloc(count, sizeof(*seeds));
    for (UINT i = 0; i < count; i++) {
        seeds[i] = 10 + i;
        shared_d3d_write(&objects[i], seeds[i]);
    }
    expect_all(objects, count, seeds);
    for (UINT i = 0; i < count; i++) {
        const int before = failures();
        shared_round_trip(&objects[i], 100 + 4 * i);
        seeds[i] = 103 + 4 * i;
        expect_all(objects, count, seeds);
        remark_failures(before, "work on subresource %u", i);
    }
    free(seeds);
}

/* All subresources of a texture, each with an object. */
static void every_subresource(const struct rig *rig, const struct rig_desc *desc)
{
    const int before = failures();
    const UINT count = rig_subresources(desc);
    struct shared *objects = calloc(count, sizeof(*objects));
    HRESULT result;
    void *texture = rig_make(rig, rig->device, desc, &result);
    UINT made = 0;
    if (CHECK_INT(result, S_OK))
        while (made < count &&
               shared_join(&objects[made], rig, rig->context, rig->queue, texture, desc, made, CL_MEM_READ_WRITE))
            made++;
    if (made == count)
        go_through(objects, count);
    for (UINT i = 0; i < made; i++)
        shared_close(&objects[i]);
    rig_release(texture);
    free(objects);
    remark_desc(before, desc);
}

/* Textures that get all levels down to a single texel. */
static const UINT shapes_2d[][2] = {{1, 1}, {2, 2}, {7, 5}, {1, 9}, {9, 1}, {257, 3}, {64, 64}, {33, 17}};
static const UINT shapes_3d[][3] = {{1, 1, 1}, {7, 5, 3}, {1, 9, 5}, {8, 8, 8}, {3, 2, 17}, {33, 3, 2}};

static const DXGI_FORMAT some_formats[] = {DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8_UINT,
                                           DXGI_FORMAT_R32G32B32A32_FLOAT, DXGI_FORMAT_R16G16B16A16_UINT};
enum { SOME_FORMATS = sizeof(some_formats) / sizeof(some_formats[0]) };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DATA_CASE("every level of 2D textures, the others stay as they are", levels_2d, 0)
{
    for (unsigned i = 0; i < COUNT(shapes_2d); i++) {
        struct rig_desc desc = {.format = some_formats[i % SOME_FORMATS],
                                .width = shapes_2d[i][0],
                                .height = shapes_2d[i][1],
                                .bind = D3D11_BIND_SHADER_RESOURCE};
        desc.levels = all_levels(&desc);
        every_subresource(rig, &desc);
    }
}

DATA_CASE("every level of 3D textures, the others stay as they are", levels_3d, 0)
{
    for (unsigned i = 0; i < COUNT(shapes_3d); i++) {
        struct rig_desc desc = {.format = some_formats[i % SOME_FORMATS],
                                .width = shapes_3d[i][0],
                                .height = shapes_3d[i][1],
                                .depth = shapes_3d[i][2],
                                .bind = D3D11_BIND_SHADER_RESOURCE};
        desc.levels = all_levels(&desc);
        every_subresource(rig, &desc);
    }
}

/* A cube is an array of six. Each subresource of a staging texture has memory of its own. */
DATA_CASE("every level of every slice of arrays, the others stay as they are", arrays, 0)
{
    static const struct rig_desc descs[] = {
        {.width = 7, .height = 5, .levels = 1, .slices = 4, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 16, .height = 16, .levels = 3, .slices = 3, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 7, .height = 5, .levels = 2, .slices = 5, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 1, .height = 9, .levels = 4, .slices = 2, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 1, .height = 1, .levels = 1, .slices = 6, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 257, .height = 3, .levels = 9, .slices = 2, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.width = 8,
         .height = 8,
         .levels = 4,
         .slices = 6,
         .bind = D3D11_BIND_SHADER_RESOURCE,
         .misc = D3D11_RESOURCE_MISC_TEXTURECUBE},
        {.width = 7, .height = 5, .levels = 3, .slices = 3, .usage = RIG_STAGING},
        {.width = 7, .height = 5, .depth = 6, .levels = 3, .usage = RIG_STAGING},
    };
    for (unsigned i = 0; i < COUNT(descs); i++) {
        struct rig_desc desc = descs[i];
        desc.format = some_formats[i % SOME_FORMATS];
        every_subresource(rig, &desc);
    }
}

/* ---- sizes ---- */

static void one_round_trip(const struct rig *rig, const struct rig_desc *desc)
{
    const int before = failures();
    struct shared s;
    if (shared_open(&s, rig, desc, 0, CL_MEM_READ_WRITE)) {
        shared_round_trip(&s, 1);
        shared_close(&s);
    }
    remark_desc(before, desc);
}

/* Every width up to some, so that every alignment of a row comes up, in texels of one to sixteen bytes. */
DATA_CASE("every width", widths, 0)
{
    for (unsigned f = 0; f < SOME_FORMATS; f++) {
        for (UINT width = 1; width <= 36; width++) {
            const struct rig_desc desc = {
                .format = some_formats[f], .width = width, .height = 3, .bind = D3D11_BIND_SHADER_RESOURCE};
            one_round_trip(rig, &desc);
        }
    }
}

DATA_CASE("large textures", large, 0)
{
    static const struct rig_desc descs[] = {
        {.format = DXGI_FORMAT_B8G8R8A8_UNORM, .width = 1920, .height = 1080, .bind = D3D11_BIND_RENDER_TARGET},
        {.format = DXGI_FORMAT_R8_UNORM, .width = 4096, .height = 33, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.format = DXGI_FORMAT_R32_FLOAT, .width = 3, .height = 4096, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.format = DXGI_FORMAT_R8G8B8A8_UINT,
         .width = 65,
         .height = 63,
         .depth = 64,
         .bind = D3D11_BIND_SHADER_RESOURCE},
    };
    for (unsigned i = 0; i < COUNT(descs); i++)
        one_round_trip(rig, &descs[i]);
}

/* ---- usages and flags ---- */

DATA_CASE("dynamic and staging textures", usages, 0)
{
    const struct rig_desc descs[] = {
        {.usage = RIG_DYNAMIC, .bind = D3D11_BIND_SHADER_RESOURCE},
        {.usage = RIG_DYNAMIC, .bind = D3D11_BIND_SHADER_RESOURCE, .depth = 3},
        {.usage = RIG_STAGING},
        {.usage = RIG_STAGING, .depth = 3},
    };
    for (unsigned i = 0; i < COUNT(descs); i++) {
        for (unsigned f = 0; f < SOME_FORMATS; f++) {
            struct rig_desc desc = descs[i];
            desc.format = some_formats[f];
            desc.width = 13;
            desc.height = 7;
            one_round_trip(rig, &desc);
        }
    }
}

DATA_CASE("textures of all bind flags", binds, 0)
{
    static const UINT flags[] = {
        0,
        D3D11_BIND_SHADER_RESOURCE,
        D3D11_BIND_RENDER_TARGET,
        D3D11_BIND_RENDER_TARGET | D3D11_BIND_SHADER_RESOURCE,
        D3D11_BIND_UNORDERED_ACCESS, /* Direct3D 10 ends before this one */
        D3D11_BIND_UNORDERED_ACCESS | D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET,
    };
    for (unsigned i = 0; i < COUNT(flags); i++) {
        if (rig->api->version == 10 && flags[i] & D3D11_BIND_UNORDERED_ACCESS)
            continue;
        struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 13, .height = 7, .bind = flags[i]};
        one_round_trip(rig, &desc);
        desc.slices = 2;
        desc.levels = 2;
        every_subresource(rig, &desc);
        desc.slices = 0;
        desc.depth = 3;
        every_subresource(rig, &desc);
    }
}

DATA_CASE("textures with and without the flag for sharing among devices", shared_flag, 0)
{
    static const DXGI_FORMAT common[] = {DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_B8G8R8A8_UNORM,
                                         DXGI_FORMAT_R16G16B16A16_FLOAT};
    for (unsigned i = 0; i < COUNT(common); i++) {
        for (UINT misc = 0; misc <= (rig_shares_textures() ? D3D11_RESOURCE_MISC_SHARED : 0);
             misc += D3D11_RESOURCE_MISC_SHARED) {
            const struct rig_desc desc = {.format = common[i],
                                          .width = 61,
                                          .height = 7,
                                          .bind = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET,
                                          .misc = misc};
            one_round_trip(rig, &desc);
        }
    }
}

/* The content that a texture is made with comes over, too. */
DATA_CASE("the content a texture was made with", initial_content, 0)
{
    struct rig_desc desc = {
        .format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = 13, .height = 7, .bind = D3D11_BIND_SHADER_RESOURCE};
    unsigned char bytes[13 * 7 * 4];
    struct shared s;
    rig_pattern(bytes, sizeof(bytes), 7);
    desc.initial = bytes;
    if (!shared_open(&s, rig, &desc, 0, CL_MEM_READ_WRITE))
        return;
    void *data = shared_pattern(&s, 8);
    shared_acquire(&s);
    shared_cl_expect(&s, 7);
    shared_cl_write(&s, data);
    shared_release(&s);
    shared_d3d_expect(&s, 8);
    free(data);
    shared_close(&s);
}

TAP_MAIN
