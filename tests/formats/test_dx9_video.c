/* Beyond the tables of cl_khr_dx9_media_sharing: P010, packed YUV, and surfaces of video processors. */
#include "common/dx9.h"
#include "sharing.h"

enum { WIDTH = 66, HEIGHT = 50 };

#define NV12 (&dx9_formats[0])
#define P010 (&dx9_beyond[0])

static const size_t origin[3] = {0, 0, 0};

/* ---- bytes ---- */

/* Runs a test for the formats from `first` on that Direct3D makes; Wine's lacks some. */
static void each_beyond(struct dx9 *dx9, unsigned first, UINT width, UINT height, void (*test)(struct dx9_surface *))
{
    unsigned ran = 0;
    for (unsigned i = first; i < DX9_BEYOND_COUNT; i++) {
        const int before = dx9_failures();
        struct dx9_surface s;
        if (!dx9_make(&s, dx9, &dx9_beyond[i], DX9_PLAIN, width, height)) {
            dx9_left_out(&dx9_beyond[i], "Direct3D makes no such surface");
            continue;
        }
        if (!dx9_keeps(&s)) {
            dx9_left_out(&dx9_beyond[i], "Direct3D itself does not give back what it got");
            dx9_close_surface(&s);
            continue;
        }
        if (dx9_share(&s, CL_MEM_READ_WRITE))
            test(&s);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", dx9_beyond[i].name);
        ran++;
    }
#ifndef _WIN32
    CHECK_INT(ran, DX9_BEYOND_COUNT - first);
#else
    CHECK(ran >= 2);
#endif
}

DX9_CASE("P010 and packed YUV: bytes", bytes, 0)
{
    each_beyond(dx9, 0, WIDTH, HEIGHT, dx9_round_trip);
    each_beyond(dx9, 0, 2, 2, dx9_round_trip);
    each_beyond(dx9, 0, 1920, 1088, dx9_round_trip);
}

/* ---- packed YUV ---- */

/* Where the bytes of a pair are: both Y, U, V. */
struct places {
    unsigned y0, y1, u, v;
};

static struct places places_of(const struct dx9_surface *s)
{
    switch (s->format->planes[0].cl.image_channel_order) {
    case CL_YUYV_INTEL: return (struct places){0, 2, 1, 3};
    case CL_UYVY_INTEL: return (struct places){1, 3, 0, 2};
    case CL_YVYU_INTEL: return (struct places){0, 2, 3, 1};
    default: return (struct places){1, 3, 2, 0};
    }
}

/* The kernels of the running case. */
static cl_kernel read_kernel, write_kernel;
static const char yuv_source[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
    "kernel void get(read_only image2d_t from, global uchar4 *to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    to[at.y * get_global_size(0) + at.x] = convert_uchar4_sat_rte(read_imagef(from, texel, at) * 255.0f);\n"
    "}\n"
    "kernel void put(write_only image2d_t to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imagef(to, at, (float4)(30 + at.x % 2, at.x + at.y, 60 + at.x % 2, 255) / 255.0f);\n"
    "}\n";

static void run(struct dx9_surface *s, cl_kernel kernel)
{
    const size_t size[2] = {s->width, s->height};
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s->planes[0]), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(s->queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), CL_SUCCESS);
}

/* A kernel reads V, Y, U, 1; the pair has its chroma in common. */
static void kernel_reads(struct dx9_surface *s)
{
    const size_t texels = (size_t)s->width * s->height;
    const struct places place = places_of(s);
    unsigned char *bytes = dx9_pattern(s, 1), *expected = malloc(4 * texels), *found = calloc(4, texels);
    cl_mem to = clCreateBuffer(s->context, CL_MEM_READ_WRITE, 4 * texels, NULL, NULL);
    for (size_t i = 0; i < texels; i++) {
        const unsigned char *pair = bytes + i / 2 * 4;
        const unsigned char texel[4] = {pair[place.v], pair[i % 2 ? place.y1 : place.y0], pair[place.u], 255};
        memcpy(expected + 4 * i, texel, 4);
    }
    dx9_fill(s, 1);
    dx9_acquire(s);
    CHECK_INT(clSetKernelArg(read_kernel, 1, sizeof(cl_mem), &to), CL_SUCCESS);
    run(s, read_kernel);
    CHECK_INT(clEnqueueReadBuffer(s->queue, to, CL_TRUE, 0, 4 * texels, found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(found, expected, 4 * texels);
    dx9_release(s);
    dx9_expect(s, 1);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
    free(found);
    free(expected);
    free(bytes);
}

/* Of what it writes each texel gives its Y; of the pair the first texel gives what lies first, U or V, the second the
 * other. */
static void kernel_writes(struct dx9_surface *s)
{
    const struct places place = places_of(s);
    unsigned char *expected = malloc(s->bytes);
    for (UINT y = 0; y < s->height; y++) {
        for (UINT x = 0; x < s->width; x += 2) {
            unsigned char *pair = expected + ((size_t)y * s->width + x) * 2;
            pair[place.y0] = (unsigned char)(x + y);
            pair[place.y1] = (unsigned char)(x + 1 + y);
            pair[place.u] = 60 + (place.u > place.v);
            pair[place.v] = 30 + (place.v > place.u);
        }
    }
    dx9_fill(s, 1);
    dx9_acquire(s);
    run(s, write_kernel);
    dx9_release(s);
    dx9_expect_bytes(s, expected);
    free(expected);
}

DX9_CASE("packed YUV: kernels", yuv_kernels, 0)
{
    read_kernel = rig_kernel(&dx9->rig, yuv_source, "get");
    write_kernel = rig_kernel(&dx9->rig, yuv_source, "put");
    if (!CHECK(read_kernel && write_kernel))
        return;
    each_beyond(dx9, 1, WIDTH, HEIGHT, kernel_reads);
    each_beyond(dx9, 1, WIDTH, HEIGHT, kernel_writes);
    CHECK_INT(clReleaseKernel(read_kernel), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(write_kernel), CL_SUCCESS);
}

static void check_sizes(struct dx9_surface *s)
{
    cl_image_format format = {0, 0};
    size_t number = 0;
    CHECK_INT(clGetImageInfo(s->planes[0], CL_IMAGE_FORMAT, sizeof(format), &format, NULL), CL_SUCCESS);
    CHECK_MEM(&format, &s->format->planes[0].cl, sizeof(format));
    CHECK_INT(clGetImageInfo(s->planes[0], CL_IMAGE_WIDTH, sizeof(number), &number, NULL), CL_SUCCESS);
    CHECK_INT(number, s->width);
    CHECK_INT(clGetImageInfo(s->planes[0], CL_IMAGE_ELEMENT_SIZE, sizeof(number), &number, NULL), CL_SUCCESS);
    CHECK_INT(number, 2);
    CHECK_INT(clGetImageInfo(s->planes[0], CL_IMAGE_ROW_PITCH, sizeof(number), &number, NULL), CL_SUCCESS);
    CHECK_INT(number, 2 * s->width);
}

/* Pairs are moved whole: x and width are even. */
static void regions(struct dx9_surface *s)
{
    enum { X = 4, Y = 3, W = 10, H = 5 };
    const size_t odd_origin[3] = {1, 0, 0}, odd_region[3] = {3, 2, 1}, even_region[3] = {2, 2, 1};
    const size_t part_origin[3] = {X, Y, 0}, part[3] = {W, H, 1};
    unsigned char few[64] = {0}, *expected = dx9_pattern(s, 1), *new = dx9_pattern(s, 2);
    const size_t row = 2 * (size_t)s->width;
    check_sizes(s);
    dx9_fill(s, 1);
    dx9_acquire(s);
    CHECK_INT(clEnqueueReadImage(s->queue, s->planes[0], CL_TRUE, odd_origin, even_region, 0, 0, few, 0, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(clEnqueueWriteImage(s->queue, s->planes[0], CL_TRUE, origin, odd_region, 0, 0, few, 0, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(clEnqueueFillImage(s->queue, s->planes[0], few, odd_origin, even_region, 0, NULL, NULL),
              CL_INVALID_VALUE);
    CHECK_INT(clEnqueueFillImage(s->queue, s->planes[0], few, origin, odd_region, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueWriteImage(s->queue, s->planes[0], CL_TRUE, part_origin, part, row, 0, new + Y *row + 2 * X, 0,
                                  NULL, NULL),
              CL_SUCCESS);
    dx9_release(s);
    for (size_t y = Y; y < Y + H; y++)
        memcpy(expected + y * row + 2 * X, new + y *row + 2 * X, 2 * W);
    dx9_expect_bytes(s, expected);
    free(new);
    free(expected);
}

DX9_CASE("packed YUV: regions", yuv_regions, 0)
{
    each_beyond(dx9, 1, WIDTH, HEIGHT, regions);
}

/* Such images can be made without a surface too, in the contexts that share them: copies go between both. */
static void copies(struct dx9_surface *s)
{
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = s->width, .image_height = s->height};
    cl_image_desc odd = desc;
    const size_t region[3] = {s->width, s->height, 1};
    struct dx9_surface ordinary = *s;
    cl_int status = 1;
    odd.image_width--;
    CHECK(clCreateImage(s->context, CL_MEM_READ_WRITE, &s->format->planes[0].cl, &odd, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_IMAGE_SIZE);
    ordinary.planes[0] = clCreateImage(s->context, CL_MEM_READ_WRITE, &s->format->planes[0].cl, &desc, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    dx9_fill(s, 1);
    dx9_acquire(s);
    CHECK_INT(clEnqueueCopyImage(s->queue, s->planes[0], ordinary.planes[0], origin, origin, region, 0, NULL, NULL),
              CL_SUCCESS);
    dx9_cl_expect(&ordinary, 1);
    dx9_cl_fill(&ordinary, 2);
    CHECK_INT(clEnqueueCopyImage(s->queue, ordinary.planes[0], s->planes[0], origin, origin, region, 0, NULL, NULL),
              CL_SUCCESS);
    dx9_release(s);
    dx9_expect(s, 2);
    CHECK_INT(clReleaseMemObject(ordinary.planes[0]), CL_SUCCESS);
}

DX9_CASE("packed YUV: copies", yuv_copies, 0)
{
    each_beyond(dx9, 1, WIDTH, HEIGHT, copies);
}

static void maps(struct dx9_surface *s)
{
    const size_t region[3] = {s->width, s->height, 1}, row = 2 * (size_t)s->width;
    unsigned char *new = dx9_pattern(s, 2), *old = dx9_pattern(s, 1);
    size_t pitch = 0;
    cl_int status = 1;
    dx9_fill(s, 1);
    dx9_acquire(s);
    unsigned char *mapped = clEnqueueMapImage(s->queue, s->planes[0], CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin,
                                              region, &pitch, NULL, 0, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        bool same = true;
        for (size_t y = 0; y < s->height; y++) {
            same = same && memcmp(mapped + y * pitch, old + y * row, row) == 0;
            memcpy(mapped + y * pitch, new + y *row, row);
        }
        CHECK(same);
        CHECK_INT(clEnqueueUnmapMemObject(s->queue, s->planes[0], mapped, 0, NULL, NULL), CL_SUCCESS);
    }
    dx9_release(s);
    dx9_expect(s, 2);
    free(old);
    free(new);
}

/* The colour is V, Y, U, 1, as a kernel would write it. */
static void fills(struct dx9_surface *s)
{
    const size_t region[3] = {s->width, s->height, 1};
    const struct places place = places_of(s);
    const float colour[4] = {30 / 255.0f, 90 / 255.0f, 60 / 255.0f, 0.5f};
    unsigned char *expected = malloc(s->bytes);
    for (size_t i = 0; i < s->bytes; i++)
        expected[i] = i % 4 == place.u ? 60 : i % 4 == place.v ? 30 : 90;
    dx9_fill(s, 1);
    dx9_acquire(s);
    CHECK_INT(clEnqueueFillImage(s->queue, s->planes[0], colour, origin, region, 0, NULL, NULL), CL_SUCCESS);
    dx9_release(s);
    dx9_expect_bytes(s, expected);
    free(expected);
}

DX9_CASE("packed YUV: maps and fills", yuv_maps_and_fills, 0)
{
    each_beyond(dx9, 1, WIDTH, HEIGHT, maps);
    each_beyond(dx9, 1, WIDTH, HEIGHT, fills);
}

DX9_CASE("packed YUV: an odd width", yuv_odd_width, 0)
{
    struct dx9_surface s;
    cl_int status = 1;
    if (!dx9_make(&s, dx9, &dx9_beyond[1], DX9_PLAIN, WIDTH + 1, HEIGHT)) {
        SKIP("Direct3D makes no such surface");
        return;
    }
    CHECK(dx9_create(dx9, dx9->rig.context, CL_MEM_READ_WRITE, s.surface, 0, &status) == NULL);
    CHECK_INT(status, CL_INVALID_DX9_MEDIA_SURFACE_KHR);
    dx9_close_surface(&s);
}

/* ---- a video processor's surfaces ---- */

/* Planes that come and go one by one leave each other alone. */
static void planes_apart(struct dx9_surface *s)
{
    const UINT planes = s->format->plane_count;
    dx9_round_trip(s);
    dx9_fill(s, 4);
    for (UINT p = 0; p < planes; p++)
        dx9_acquire_plane(s, p);
    dx9_cl_fill(s, 5);
    for (UINT p = 0; p < planes; p++)
        dx9_release_plane(s, p);
    dx9_expect(s, 5);
    /* A plane that is not acquired may change meanwhile; an import shows Direct3D's bytes of both. */
    if (over_import())
        return;
    unsigned char *expected = dx9_pattern(s, 7), *new = dx9_pattern(s, 8);
    dx9_fill(s, 6);
    dx9_acquire_plane(s, 0);
    dx9_cl_write(s, 0, new);
    dx9_fill(s, 7);
    dx9_release_plane(s, 0);
    memcpy(expected, new, dx9_plane_bytes(s, 0));
    dx9_expect_bytes(s, expected);
    free(new);
    free(expected);
}

/* Surfaces of one kind in the formats that Direct3D makes it in; DXVA-HD's own if `dxva` is not NULL. */
static unsigned each_video_format(struct dx9 *dx9, IDXVAHD_Device *dxva, enum dx9_kind kind)
{
    const struct dx9_format *const formats[] = {NV12, &dx9_formats[1], P010};
    unsigned made = 0;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct dx9_surface s;
        if (!dx9_make(&s, dx9, formats[i], kind, WIDTH, HEIGHT))
            continue;
        if (!dxva && !dx9_keeps(&s)) { /* DXVK makes render targets of these formats and gives other bytes back */
            dx9_close_surface(&s);
            continue;
        }
        made++;
        if (dxva) {
            rig_release(s.surface);
            s.surface = dx9_dxva_surface(dxva, formats[i], i % 2 == 0, WIDTH, HEIGHT);
        }
        if (s.surface && dx9_share(&s, CL_MEM_READ_WRITE))
            planes_apart(&s);
        dx9_close_surface(&s);
    }
    return made;
}

static void video_surfaces(struct dx9 *dx9)
{
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva)
        return;
    CHECK(each_video_format(dx9, dxva, DX9_PLAIN) >= 2);
    rig_release(dxva);
}

CASE("DXVA-HD: planes of its surfaces", video_surfaces_case)
{
    dx9_run(true, 0, video_surfaces);
}

/* They can't be locked: their planes go through a copy of the whole surface. */
DX9_CASE("planes of render targets", planar_targets, 0)
{
    if (each_video_format(dx9, NULL, DX9_TARGET) == 0)
        SKIP("this Direct3D has no render targets with planes");
}

TAP_MAIN
