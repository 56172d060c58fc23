/* Beyond the tables of cl_khr_dx9_media_sharing: P010, packed YUV, surfaces of video processors, and the same extension
 * by Intel's older names. */
#include "common/dx9.h"
#include "sharing.h"

#include <CL/cl_gl.h>

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

/* ---- Intel's names ---- */

struct intel {
    clGetDeviceIDsFromDX9INTEL_fn get_device_ids;
    clCreateFromDX9MediaSurfaceINTEL_fn create;
    clEnqueueAcquireDX9ObjectsINTEL_fn acquire;
    clEnqueueReleaseDX9ObjectsINTEL_fn release;
};

static bool find(const struct dx9 *dx9, const char *name, void *function)
{
    void *address = clGetExtensionFunctionAddressForPlatform(dx9->rig.platform, name);
    memcpy(function, &address, sizeof(address));
    return CHECK(address != NULL);
}

static bool find_intel(const struct dx9 *dx9, struct intel *intel)
{
    return find(dx9, "clGetDeviceIDsFromDX9INTEL", &intel->get_device_ids) &&
           find(dx9, "clCreateFromDX9MediaSurfaceINTEL", &intel->create) &&
           find(dx9, "clEnqueueAcquireDX9ObjectsINTEL", &intel->acquire) &&
           find(dx9, "clEnqueueReleaseDX9ObjectsINTEL", &intel->release);
}

static cl_context_properties intel_property(const struct dx9 *dx9)
{
    return dx9->extended ? CL_CONTEXT_D3D9EX_DEVICE_INTEL : CL_CONTEXT_D3D9_DEVICE_INTEL;
}

/* A context by Intel's property, in place of the rig's. */
static bool intel_open(struct dx9 *dx9, struct intel *intel)
{
    cl_int status = 1;
    if (!find_intel(dx9, intel))
        return false;
    dx9->rig.context = dx9_make_context(dx9, intel_property(dx9), dx9->device, &status);
    return CHECK_INT(status, CL_SUCCESS) && rig_open_queue(&dx9->rig, 0);
}

DX9_CASE("Intel: devices", intel_devices, RIG_NO_CONTEXT)
{
    const cl_uint all = CL_ALL_DEVICES_FOR_DX9_INTEL, preferred = CL_PREFERRED_DEVICES_FOR_DX9_INTEL;
    const cl_uint sources[] = {CL_D3D9_DEVICE_INTEL, CL_D3D9EX_DEVICE_INTEL};
    static size_t number = 4711;
    struct intel intel;
    cl_device_id device = NULL;
    cl_uint count = 0;
    if (!find_intel(dx9, &intel))
        return;
    cl_platform_id platform = dx9->rig.platform;
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(intel.get_device_ids(platform, sources[i], dx9->device, all, 1, &device, &count), CL_SUCCESS);
        CHECK(count >= 1 && device);
        CHECK_INT(intel.get_device_ids(platform, sources[i], dx9->device, preferred, 0, NULL, &count), CL_SUCCESS);
        CHECK(count >= 1);
        CHECK_INT(intel.get_device_ids(platform, sources[i], &number, all, 1, &device, &count), CL_INVALID_VALUE);
        CHECK_INT(intel.get_device_ids(platform, sources[i], NULL, all, 1, &device, &count), CL_INVALID_VALUE);
    }
    CHECK_INT(intel.get_device_ids(platform, CL_DXVA_DEVICE_INTEL, dx9->device, all, 1, &device, &count),
              CL_INVALID_VALUE);
    CHECK_INT(intel.get_device_ids(NULL, sources[0], dx9->device, all, 1, &device, &count), CL_INVALID_PLATFORM);
    CHECK_INT(intel.get_device_ids(platform, 0, dx9->device, all, 1, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(intel.get_device_ids(platform, CL_ADAPTER_D3D9_KHR, dx9->device, all, 1, &device, &count),
              CL_INVALID_VALUE);
    CHECK_INT(intel.get_device_ids(platform, sources[0], dx9->device, CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR, 1,
                                   &device, &count),
              CL_INVALID_VALUE);
    CHECK_INT(intel.get_device_ids(platform, sources[0], dx9->device, all, 0, &device, &count), CL_INVALID_VALUE);
    CHECK_INT(intel.get_device_ids(platform, sources[0], dx9->device, all, 0, NULL, NULL), CL_INVALID_VALUE);
}

DX9_CASE("Intel: contexts", intel_contexts, RIG_NO_CONTEXT)
{
    static size_t number = 4711;
    const ULONG refs = rig_refs(dx9->device);
    const cl_context_properties device = (cl_context_properties)dx9->device;
    struct rig d3d11;
    cl_int status = 1;
    void *echo = NULL;
    cl_context context = dx9_make_context(dx9, intel_property(dx9), dx9->device, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK_INT(rig_refs(dx9->device), refs + 1);
        CHECK_INT(clGetContextInfo(context, (cl_context_info)intel_property(dx9), sizeof(echo), &echo, NULL),
                  CL_SUCCESS);
        CHECK(echo == dx9->device);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        CHECK_INT(rig_refs(dx9->device), refs);
    }
    const cl_context_properties names[] = {CL_CONTEXT_D3D9_DEVICE_INTEL, CL_CONTEXT_D3D9EX_DEVICE_INTEL,
                                           CL_CONTEXT_DXVA_DEVICE_INTEL};
    for (size_t i = 0; i < 3; i++) {
        CHECK(dx9_make_context(dx9, names[i], &number, &status) == NULL);
        CHECK_INT(status, CL_INVALID_DX9_DEVICE_INTEL);
    }
    CHECK(dx9_make_context(dx9, CL_CONTEXT_DXVA_DEVICE_INTEL, dx9->device, &status) == NULL);
    CHECK_INT(status, CL_INVALID_DX9_DEVICE_INTEL);
    /* OpenGL beside it. The Khronos extension leaves that to the driver. */
    const cl_context_properties graphics[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)dx9->rig.platform,
                                              intel_property(dx9),
                                              device,
                                              CL_GL_CONTEXT_KHR,
                                              1,
                                              0};
    CHECK(clCreateContext(graphics, 1, &dx9->rig.cl_device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK_INT(rig_refs(dx9->device), refs);
    /* Both names of one device: still the same API. */
    const cl_context_properties both[] = {CL_CONTEXT_PLATFORM,
                                          (cl_context_properties)dx9->rig.platform,
                                          dx9->property,
                                          device,
                                          intel_property(dx9),
                                          device,
                                          0};
    context = clCreateContext(both, 1, &dx9->rig.cl_device, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    if (!rig_open(&d3d11, &rig_d3d11, RIG_NO_CONTEXT))
        return;
    const cl_context_properties mixed[] = {CL_CONTEXT_PLATFORM,
                                           (cl_context_properties)dx9->rig.platform,
                                           intel_property(dx9),
                                           device,
                                           rig_d3d11.context_device,
                                           (cl_context_properties)d3d11.device,
                                           0};
    CHECK(clCreateContext(mixed, 1, &dx9->rig.cl_device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK_INT(rig_refs(dx9->device), refs);
    rig_close(&d3d11);
}

static void intel_refuses(const struct dx9 *dx9, const struct intel *intel, cl_context context, cl_mem_flags flags,
                          void *surface, HANDLE handle, UINT plane, cl_int code)
{
    const ULONG refs = rig_refs(dx9->device);
    cl_int status = 1;
    CHECK(intel->create(context, flags, surface, handle, plane, &status) == NULL);
    CHECK_INT(status, code);
    CHECK(intel->create(context, flags, surface, handle, plane, NULL) == NULL);
    CHECK_INT(rig_refs(dx9->device), refs);
}

DX9_CASE("Intel: creation", intel_creation, RIG_NO_CONTEXT)
{
    const cl_int bad = CL_INVALID_DX9_RESOURCE_INTEL;
    struct intel intel;
    struct dx9_surface s, rgb;
    struct dx9 other;
    cl_int status = 1;
    if (!intel_open(dx9, &intel) || !CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    cl_context context = dx9->rig.context, plain = plain_context(&dx9->rig);
    const ULONG refs = rig_refs(s.surface);
    intel_refuses(dx9, &intel, NULL, 0, s.surface, NULL, 0, CL_INVALID_CONTEXT);
    intel_refuses(dx9, &intel, plain, 0, s.surface, NULL, 0, bad);
    intel_refuses(dx9, &intel, context, CL_MEM_USE_HOST_PTR, s.surface, NULL, 0, CL_INVALID_VALUE);
    intel_refuses(dx9, &intel, context, 0, s.surface, NULL, 2, CL_INVALID_VALUE);
    intel_refuses(dx9, &intel, context, 0, NULL, NULL, 0, bad);
    intel_refuses(dx9, &intel, context, 0, dx9->device, NULL, 0, bad);
    if (!dx9->extended && CHECK(dx9_make(&rgb, dx9, dx9_format_of(D3DFMT_A8R8G8B8), DX9_PLAIN, WIDTH, HEIGHT))) {
        intel_refuses(dx9, &intel, context, 0, rgb.surface, (HANDLE)0xDEADBEEC, 0, bad);
        dx9_close_surface(&rgb);
    }
    /* One object for each plane. */
    cl_mem first = intel.create(context, CL_MEM_READ_WRITE, s.surface, NULL, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem second = intel.create(context, CL_MEM_READ_WRITE, s.surface, NULL, 1, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(rig_refs(s.surface), refs + 2);
    intel_refuses(dx9, &intel, context, 0, s.surface, NULL, 0, bad);
    CHECK_INT(clReleaseMemObject(first), CL_SUCCESS);
    first = intel.create(context, CL_MEM_READ_WRITE, s.surface, NULL, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(first), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(second), CL_SUCCESS);
    CHECK_INT(rig_refs(s.surface), refs);
    dx9_close_surface(&s);
    if (dx9_open(&other, dx9->extended, RIG_NO_CONTEXT)) {
        if (CHECK(dx9_make(&s, &other, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
            intel_refuses(dx9, &intel, context, 0, s.surface, NULL, 0, bad);
        dx9_close_surface(&s);
        dx9_close(&other);
    }
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

static void check_pointer(cl_mem object, cl_mem_info name, const void *expected)
{
    void *found = (void *)1;
    size_t size = 0;
    CHECK_INT(clGetMemObjectInfo(object, name, sizeof(found), &found, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(found));
    CHECK(found == expected);
    CHECK_INT(clGetMemObjectInfo(object, name, sizeof(found) - 1, &found, NULL), CL_INVALID_VALUE);
}

/* Each extension answers for the objects of its own function. */
DX9_CASE("Intel: queries", intel_queries, RIG_NO_CONTEXT)
{
    struct intel intel;
    struct dx9_surface s;
    char answer[64];
    cl_uint plane = 4711;
    cl_int status = 1;
    if (!intel_open(dx9, &intel) || !dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    cl_mem object = intel.create(dx9->rig.context, 0, s.surface, NULL, 1, &status);
    CHECK_INT(status, CL_SUCCESS);
    check_pointer(object, CL_MEM_DX9_RESOURCE_INTEL, s.surface);
    check_pointer(object, CL_MEM_DX9_SHARED_HANDLE_INTEL, NULL);
    CHECK_INT(clGetImageInfo(object, CL_IMAGE_DX9_PLANE_INTEL, sizeof(plane), &plane, NULL), CL_SUCCESS);
    CHECK_INT(plane, 1);
    const cl_mem_info names[] = {CL_MEM_DX9_RESOURCE_INTEL, CL_MEM_DX9_SHARED_HANDLE_INTEL};
    for (size_t i = 0; i < 2; i++)
        CHECK_INT(clGetMemObjectInfo(s.planes[0], names[i], sizeof(answer), answer, NULL),
                  CL_INVALID_DX9_RESOURCE_INTEL);
    CHECK_INT(clGetImageInfo(s.planes[0], CL_IMAGE_DX9_PLANE_INTEL, sizeof(answer), answer, NULL),
              CL_INVALID_DX9_RESOURCE_INTEL);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, NULL),
              CL_INVALID_DX9_MEDIA_SURFACE_KHR);
    CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    dx9_close_surface(&s);
}

/* The handle comes back as it was given, where Direct3D gives one. */
DX9_CASE("Intel: shared handles", intel_handles, RIG_NO_CONTEXT)
{
    struct intel intel;
    IDirect3DSurface9 *surface = NULL;
    HANDLE handle = NULL;
    cl_int status = 1;
    if (!intel_open(dx9, &intel))
        return;
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                                           &surface, dx9->extended ? &handle : NULL),
              D3D_OK);
    cl_mem object = intel.create(dx9->rig.context, CL_MEM_READ_WRITE, surface, handle, 0, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        check_pointer(object, CL_MEM_DX9_RESOURCE_INTEL, surface);
        check_pointer(object, CL_MEM_DX9_SHARED_HANDLE_INTEL, handle);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    }
#ifndef _WIN32 /* Wine's gives none */
    CHECK_INT(handle != NULL, dx9->extended);
#endif
    rig_release(surface);
}

/* Bytes by Intel's functions, in a context of either kind. */
static void intel_frames(struct dx9 *dx9, const struct intel *intel)
{
    const cl_command_type types[] = {CL_COMMAND_ACQUIRE_DX9_OBJECTS_INTEL, CL_COMMAND_RELEASE_DX9_OBJECTS_INTEL};
    struct dx9_surface s;
    cl_int status = 1;
    cl_event events[2] = {NULL, NULL};
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    for (UINT p = 0; p < 2; p++)
        s.planes[p] = intel->create(dx9->rig.context, CL_MEM_READ_WRITE, s.surface, NULL, p, &status);
    CHECK_INT(status, CL_SUCCESS);
    dx9_fill(&s, 1);
    CHECK_INT(intel->release(s.queue, 2, s.planes, 0, NULL, NULL), CL_DX9_RESOURCE_NOT_ACQUIRED_INTEL);
    CHECK_INT(intel->acquire(s.queue, 2, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(intel->acquire(s.queue, 2, s.planes, 0, NULL, &events[0]), CL_SUCCESS);
    CHECK_INT(intel->acquire(s.queue, 2, s.planes, 0, NULL, NULL), CL_DX9_RESOURCE_ALREADY_ACQUIRED_INTEL);
    dx9_cl_expect(&s, 1);
    dx9_cl_fill(&s, 2);
    CHECK_INT(intel->release(s.queue, 2, s.planes, 0, NULL, &events[1]), CL_SUCCESS);
    dx9_expect(&s, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(rig_event_type(events[i]), types[i]);
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    }
    /* One object, both functions. */
    dx9_fill(&s, 3);
    dx9_acquire(&s);
    dx9_cl_expect(&s, 3);
    CHECK_INT(intel->release(s.queue, 2, s.planes, 0, NULL, NULL), CL_SUCCESS);
    dx9_close_surface(&s);
}

DX9_CASE("Intel: bytes", intel_bytes, RIG_NO_CONTEXT)
{
    struct intel intel;
    if (intel_open(dx9, &intel))
        intel_frames(dx9, &intel);
}

DX9_CASE("Intel: bytes in a context of the Khronos extension", intel_bytes_beside, 0)
{
    struct intel intel;
    if (find_intel(dx9, &intel))
        intel_frames(dx9, &intel);
}

static void intel_dxva(struct dx9 *dx9)
{
    struct intel intel;
    cl_uint count = 0;
    cl_int status = 1;
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva || !find_intel(dx9, &intel))
        return;
    CHECK_INT(intel.get_device_ids(dx9->rig.platform, CL_DXVA_DEVICE_INTEL, dxva, CL_ALL_DEVICES_FOR_DX9_INTEL, 0, NULL,
                                   &count),
              CL_SUCCESS);
    CHECK(count >= 1);
    dx9->rig.context = dx9_make_context(dx9, CL_CONTEXT_DXVA_DEVICE_INTEL, dxva, &status);
    if (CHECK_INT(status, CL_SUCCESS) && rig_open_queue(&dx9->rig, 0)) {
        dx9->adapter_type = CL_ADAPTER_DXVA_KHR;
        intel_frames(dx9, &intel);
    }
    rig_release(dxva);
    CHECK_INT(clReleaseCommandQueue(dx9->rig.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(dx9->rig.context), CL_SUCCESS);
    dx9->rig.queue = NULL;
    dx9->rig.context = NULL;
}

CASE("Intel: DXVA-HD", intel_dxva_case)
{
    dx9_run(true, RIG_NO_CONTEXT, intel_dxva);
}

/* ---- pinned rows ---- */

#ifndef _WIN32
DX9_CASE("memory of the device", own_memory, 0)
{
    if (!is_child("CLD3D_TEST_DRIVER"))
        return;
    CHECK(dx9_each_format(dx9, DX9_PLAIN, WIDTH, HEIGHT, dx9_round_trip) >= 8);
}

CASE("the rows of devices that have memory of their own are pinned", pinned_rows)
{
    char log_path[] = "/tmp/cld3d-pinned-XXXXXX";
    struct rig rig = {.api = &rig_d3d11};
    if (!takes_layers("CLD3D_TEST_COPIES_LAYER") || !rig_find_device(&rig, NULL))
        return;
    if (device_takes_dense_rows(rig.cl_device)) {
        SKIP("no rows are pinned for a device that takes rows without gaps alone");
        return;
    }
    close(mkstemp(log_path));
    test_setenv("CLD3D_TEST_DRIVER", "has memory of its own");
    test_setenv("CLD3D_LOG", "debug");
    test_setenv("CLD3D_LOG_FILE", log_path);
    CHECK_INT(run_over("CLD3D_TEST_COPIES_LAYER", "memory of the device"), 2);
    test_setenv("CLD3D_TEST_DRIVER", NULL);
    test_setenv("CLD3D_LOG", NULL);
    test_setenv("CLD3D_LOG_FILE", NULL);
    CHECK(lines_with(log_path, "rows lie in pinned memory") > 0);
    unlink(log_path);
}
#endif

TAP_MAIN
