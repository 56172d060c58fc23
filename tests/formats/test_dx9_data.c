/* The bytes of Direct3D 9 surfaces: every format of the extension's tables, in every kind of surface that Direct3D makes,
 * through the commands of OpenCL and back. No case passes if one of the two copies, on acquire or release, is left out. */
#include "common/dx9.h"
#include "driver_bugs.h"

#ifndef _WIN32
#include "fake_d3d.h"
#endif

#include <stdlib.h>
#include <string.h>

/* The size of most surfaces: rows with gaps behind them, chroma of odd width and height. */
enum { WIDTH = 66, HEIGHT = 50 };

/* ---- there and back ---- */

DX9_CASE("each format, in each kind of surface", formats_and_kinds, 0)
{
    for (int kind = 0; kind < DX9_KINDS; kind++) {
        const int before = dx9_failures();
        const unsigned ran = dx9_each_format(dx9, (enum dx9_kind)kind, WIDTH, HEIGHT, dx9_round_trip);
        CHECK(ran >= (kind == DX9_PLAIN ? DX9_FORMAT_COUNT : 8));
        dx9_remark(before, "with surfaces of kind %d", kind);
    }
}

/* A Direct3D may put off a colour that fills a whole target until the target is used next, beyond a flush and an event query. */
DX9_CASE("a render target filled with a colour right before the acquire", fills, 0)
{
    struct dx9_surface s;
    unsigned char found[WIDTH * HEIGHT * 4], expected[WIDTH * HEIGHT * 4];
    if (!dx9_open_surface(&s, dx9, dx9_format_of(D3DFMT_A8R8G8B8), DX9_TARGET, WIDTH, HEIGHT))
        return;
    CHECK_INT(s.bytes, sizeof(found));
    for (unsigned turn = 0; turn < 8; turn++) {
        const unsigned value = 40 + turn;
        CHECK_INT(IDirect3DDevice9_ColorFill(dx9->device, s.surface, NULL, value * 0x01010101u), D3D_OK);
        dx9_acquire(&s);
        dx9_cl_read(&s, 0, found);
        memset(expected, (int)value, sizeof(expected));
        CHECK_MEM(found, expected, sizeof(expected));
        dx9_cl_fill(&s, turn);
        dx9_release(&s);
        dx9_expect(&s, turn);
    }
    dx9_close_surface(&s);
}

/* ---- planes ---- */

/* Runs a test for NV12 and YV12. */
static void each_planar(struct dx9 *dx9, void (*test)(struct dx9_surface *))
{
    for (unsigned i = 0; i < 2; i++) {
        const int before = dx9_failures();
        struct dx9_surface s;
        if (dx9_open_surface(&s, dx9, &dx9_formats[i], DX9_PLAIN, WIDTH, HEIGHT)) {
            test(&s);
            dx9_close_surface(&s);
        }
        dx9_remark(before, "with %s", dx9_formats[i].name);
    }
}

static void any_order(struct dx9_surface *s)
{
    const UINT count = s->format->plane_count;
    dx9_fill(s, 1);
    for (UINT p = 0; p < count; p++)
        dx9_acquire_plane(s, p);
    dx9_cl_expect(s, 1);
    dx9_cl_fill(s, 2);
    for (UINT p = count; p-- > 0;)
        dx9_release_plane(s, p);
    dx9_expect(s, 2);

    dx9_fill(s, 3);
    for (UINT p = count; p-- > 0;)
        dx9_acquire_plane(s, p);
    dx9_cl_expect(s, 3);
    dx9_cl_fill(s, 4);
    for (UINT p = 0; p < count; p++)
        dx9_release_plane(s, (p + 1) % count);
    dx9_expect(s, 4);
}

DX9_CASE("planes acquired together, released in another order", planes_together, 0)
{
    each_planar(dx9, any_order);
}

/* OpenCL finds this plane of these bytes of a surface. */
static void expect_plane(struct dx9_surface *s, UINT plane, const unsigned char *expected)
{
    unsigned char *found = calloc(1, s->bytes);
    const size_t at = dx9_offset(s, plane);
    dx9_cl_read(s, plane, found);
    CHECK_MEM(found + at, expected + at, dx9_plane_bytes(s, plane));
    free(found);
}

static void one_by_one(struct dx9_surface *s)
{
    unsigned char *expected = dx9_pattern(s, 1);
    dx9_fill(s, 1);
    for (UINT p = 0; p < s->format->plane_count; p++) {
        unsigned char *new = dx9_pattern(s, 10 + p);
        const size_t at = dx9_offset(s, p);
        dx9_acquire_plane(s, p);
        expect_plane(s, p, expected);
        dx9_cl_write(s, p, new);
        dx9_release_plane(s, p);
        memcpy(expected + at, new + at, dx9_plane_bytes(s, p));
        dx9_expect_bytes(s, expected);
        free(new);
    }
    free(expected);
}

DX9_CASE("a plane leaves the others alone", planes_one_by_one, 0)
{
    each_planar(dx9, one_by_one);
}

/* ---- sizes ---- */

static void one_size(struct dx9 *dx9, const struct dx9_format *format, UINT width, UINT height, unsigned seed)
{
    const int before = dx9_failures();
    struct dx9_surface s;
    if (dx9_open_surface(&s, dx9, format, DX9_PLAIN, width, height)) {
        dx9_round_trip_from(&s, seed);
        dx9_close_surface(&s);
    }
    dx9_remark(before, "%s, %u x %u", format->name, width, height);
}

/* Planar surfaces have even sizes; the 16 other formats have no such rule. The largest size takes longer than all others. */
DX9_CASE("sizes from 1 x 1 to 4096 x 2176", sizes, 0)
{
    static const UINT sizes[][2] = {{64, 64},     {66, 50}, {720, 576}, {1920, 1080}, {2, 2},
                                    {4096, 2176}, {65, 49}, {1, 1},     {641, 1},     {1, 481}};
    static const D3DFORMAT used[] = {D3DFMT_X8R8G8B8,
                                     (D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'),
                                     (D3DFORMAT)MAKEFOURCC('Y', 'V', '1', '2'),
                                     D3DFMT_A8L8,
                                     D3DFMT_L8,
                                     D3DFMT_L16,
                                     D3DFMT_A32B32G32R32F};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t f = 0; f < (sizes[i][0] > 1920 ? 2 : sizeof(used) / sizeof(used[0])); f++) {
            const struct dx9_format *format = dx9_format_of(used[f]);
            if (format->plane_count == 1 || !((sizes[i][0] | sizes[i][1]) % 2))
                one_size(dx9, format, sizes[i][0], sizes[i][1], (unsigned)(3 * i));
        }
}

#ifndef _WIN32
/* Rows without gaps: YV12 chroma begins at odd addresses and has an odd pitch. */
DX9_CASE("odd pitches of chroma", odd_pitches, 0)
{
    static const UINT widths[] = {2, 6, 66, 90, 1922};
    fake_d3d_tight_pitch(true);
    for (unsigned i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]); i++)
        one_size(dx9, &dx9_formats[i % 2], widths[i / 2], 54, i);
}
#endif

/* ---- what OpenCL leaves alone ---- */

/* Writes a few texels of each plane; the others stay what Direct3D wrote. */
static void write_part(struct dx9_surface *s)
{
    enum { X = 3, Y = 2, W = 17, H = 5 };
    static const size_t origin[3] = {X, Y, 0}, region[3] = {W, H, 1};
    unsigned char *expected = dx9_pattern(s, 1), *new = dx9_pattern(s, 2);
    dx9_fill(s, 1);
    dx9_acquire(s);
    for (UINT p = 0; p < s->format->plane_count; p++) {
        const size_t texel = format_texel(&s->format->planes[p]), row = dx9_plane_width(s, p) * texel;
        const size_t at = dx9_offset(s, p) + Y * row + X * texel;
        CHECK_INT(clEnqueueWriteImage(s->queue, s->planes[p], CL_TRUE, origin, region, row, 0, new + at, 0, NULL, NULL),
                  CL_SUCCESS);
        for (size_t y = 0; y < H; y++)
            memcpy(expected + at + y * row, new + at + y *row, W * texel);
    }
    dx9_release(s);
    dx9_expect_bytes(s, expected);
    free(new);
    free(expected);
}

DX9_CASE("a part is written, the rest stays", parts, 0)
{
    CHECK_INT(dx9_each_format(dx9, DX9_PLAIN, WIDTH, HEIGHT, write_part), DX9_FORMAT_COUNT);
}

/* X8 formats: OpenCL sees four channels, and Direct3D gets what a kernel writes in the fourth. */
static const char opaque_source[] =
    "kernel void opaque(write_only image2d_t to)\n"
    "{\n"
    "    const int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, p, (float4)(0.2f, 0.4f, 0.6f, (p.x + p.y) % 2 ? 1.0f : 0.8f));\n"
    "}\n";

static void write_opaque(struct dx9_surface *s, cl_kernel kernel)
{
    const size_t size[2] = {s->width, s->height};
    const bool blue_first = s->format->planes[0].cl.image_channel_order == CL_BGRA;
    unsigned char *expected = malloc(s->bytes);
    for (size_t i = 0; i < s->bytes / 4; i++) {
        const unsigned char texel[4] = {blue_first ? 153 : 51, 102, blue_first ? 51 : 153,
                                        (i % s->width + i / s->width) % 2 ? 255 : 204};
        memcpy(expected + 4 * i, texel, sizeof(texel));
    }
    dx9_fill(s, 1);
    dx9_acquire(s);
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(s->planes[0]), &s->planes[0]), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(s->queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), CL_SUCCESS);
    dx9_release(s);
    dx9_expect_bytes(s, expected);
    free(expected);
}

DX9_CASE("X8 formats have a fourth channel", x8, 0)
{
    cl_kernel kernel = rig_kernel(&dx9->rig, opaque_source, "opaque");
    for (unsigned i = 0; i < DX9_FORMAT_COUNT && kernel; i++) {
        struct dx9_surface s;
        if (!dx9_formats[i].x8 || !dx9_open_surface(&s, dx9, &dx9_formats[i], DX9_PLAIN, WIDTH, HEIGHT))
            continue;
        write_opaque(&s, kernel);
        dx9_close_surface(&s);
    }
    if (kernel)
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- several surfaces ---- */

DX9_CASE("two surfaces in one list", two_surfaces, 0)
{
    struct dx9_surface all[2];
    if (!dx9_open_surface(&all[0], dx9, dx9_format_of(D3DFMT_A8R8G8B8), DX9_PLAIN, WIDTH, HEIGHT))
        return;
    if (dx9_open_surface(&all[1], dx9, dx9_format_of(D3DFMT_A8R8G8B8), DX9_PLAIN, WIDTH, HEIGHT)) {
        const cl_mem list[] = {all[0].planes[0], all[1].planes[0]};
        for (unsigned i = 0; i < 2; i++)
            dx9_fill(&all[i], 1 + i);
        CHECK_INT(dx9->acquire(all[0].queue, 2, list, 0, NULL, NULL), CL_SUCCESS);
        for (unsigned i = 0; i < 2; i++) {
            dx9_cl_expect(&all[i], 1 + i);
            dx9_cl_fill(&all[i], 5 + i);
        }
        CHECK_INT(dx9->release(all[0].queue, 2, list, 0, NULL, NULL), CL_SUCCESS);
        for (unsigned i = 0; i < 2; i++)
            dx9_expect(&all[i], 5 + i);
        dx9_close_surface(&all[1]);
    }
    dx9_close_surface(&all[0]);
}

/* ---- surfaces that Direct3D has not written ---- */

/* What OpenCL writes is there when Direct3D reads the surface for the first time, and after that. */
DX9_CASE("Direct3D has not written the surface", never_written, 0)
{
    static const enum dx9_kind kinds[] = {DX9_PLAIN, DX9_TARGET, DX9_LOCKABLE_TARGET, DX9_TARGET_LEVEL};
    for (int i = 0; i < (int)(sizeof(kinds) / sizeof(kinds[0])); i++) {
        struct dx9_surface s;
        if (!dx9_open_surface(&s, dx9, dx9_format_of(D3DFMT_A8R8G8B8), kinds[i], WIDTH, HEIGHT))
            return;
        dx9_acquire(&s);
        dx9_cl_fill(&s, 5);
        dx9_release(&s);
        dx9_expect(&s, 5);
        dx9_expect(&s, 5);
        dx9_acquire(&s);
        dx9_cl_expect(&s, 5);
        dx9_release(&s);
        dx9_close_surface(&s);
    }
}

/* ---- other devices and contexts ---- */

/* Threads of the application's may use the device meanwhile, so that what a thread does takes the device's lock. */
DX9_CASE("a device for several threads", multithreaded, DX9_MULTITHREADED)
{
    CHECK(dx9_each_format(dx9, DX9_TARGET, WIDTH, HEIGHT, dx9_round_trip) >= 8);
    CHECK(dx9_each_format(dx9, DX9_PLAIN, WIDTH, HEIGHT, dx9_round_trip) >= 8);
}

DX9_CASE("the application synchronises", user_sync, RIG_USER_SYNC)
{
    each_planar(dx9, dx9_round_trip);
}

TAP_MAIN
