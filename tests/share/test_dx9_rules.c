/* The rules of cl_khr_dx9_media_sharing for objects that are there: what can be asked of them, acquire and release, and use.
 * Devices and contexts are in test_dx9_devices.c, creation is in test_dx9_create.c, bytes are in test_dx9_data.c, lifetimes
 * in test_dx9_lifetime.c. */
#include "common/dx9.h"
#include "sharing.h"

#include <CL/cl_d3d11.h>

enum { WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define BAD_SURFACE CL_INVALID_DX9_MEDIA_SURFACE_KHR

/* ---- queries ---- */

#define CHECK_QUERY(get, object, name, type, expected)                                      \
    do {                                                                                    \
        const type expected_ = (expected);                                                  \
        type found_[2];                                                                     \
        size_t size_ = 0;                                                                   \
        memset(found_, 0xEE, sizeof(found_));                                               \
        CHECK_INT(get((object), (name), 0, NULL, &size_), CL_SUCCESS);                      \
        CHECK_INT(size_, sizeof(type));                                                     \
        CHECK_INT(get((object), (name), sizeof(type), found_, NULL), CL_SUCCESS);           \
        CHECK_MEM(&found_[0], &expected_, sizeof(type));                                    \
        CHECK_INT(*(unsigned char *)&found_[1], 0xEE);                                      \
        CHECK_INT(get((object), (name), sizeof(type) - 1, found_, NULL), CL_INVALID_VALUE); \
    } while (0)

static void check_plane(struct dx9_surface *s, UINT p)
{
    const size_t width = dx9_plane_width(s, p), height = dx9_plane_height(s, p);
    const size_t texel = format_texel(&s->format->planes[p]);
    const cl_dx9_surface_info_khr info = {s->surface, NULL};
    cl_mem object = s->planes[p];
    cl_dx9_surface_info_khr found;
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, s->dx9->adapter_type);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, cl_dx9_surface_info_khr, info);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(found), &found, NULL), CL_SUCCESS);
    CHECK(found.shared_handle == NULL);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, cl_uint, p);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_TYPE, cl_mem_object_type, CL_MEM_OBJECT_IMAGE2D);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_FLAGS, cl_mem_flags, CL_MEM_READ_WRITE);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_CONTEXT, cl_context, s->context);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_REFERENCE_COUNT, cl_uint, 1);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem, NULL);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_OFFSET, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_FORMAT, cl_image_format, s->format->planes[p].cl);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ELEMENT_SIZE, size_t, texel);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_WIDTH, size_t, width);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_HEIGHT, size_t, height);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ROW_PITCH, size_t, width * texel);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_DEPTH, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_SLICE_PITCH, size_t, 0);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ARRAY_SIZE, size_t, 0);
}

static void check_planes(struct dx9_surface *s)
{
    const ULONG refs = rig_refs(s->surface);
    for (UINT p = 0; p < s->format->plane_count; p++)
        check_plane(s, p);
    CHECK_INT(rig_refs(s->surface), refs);
}

DX9_CASE("queries: every plane of every format", queries, 0)
{
    for (unsigned i = 0; i < DX9_FORMAT_COUNT + DX9_BEYOND_COUNT; i++) {
        const struct dx9_format *format = i < DX9_FORMAT_COUNT ? &dx9_formats[i] : &dx9_beyond[i - DX9_FORMAT_COUNT];
        struct dx9_surface s;
        const int before = dx9_failures();
        if (!dx9_make(&s, dx9, format, DX9_PLAIN, 66, 50)) {
            CHECK(i >= DX9_FORMAT_COUNT); /* P010 and packed YUV only as far as Direct3D has them */
            continue;
        }
        if (dx9_share(&s, CL_MEM_READ_WRITE))
            check_planes(&s);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", format->name);
    }
}

/* The type comes back as it was given, not as the device is. */
DX9_CASE("queries: the type as it was given", queries_of_types, 0)
{
    struct dx9_surface s;
    struct dx9 renamed = *dx9;
    if (!CHECK(dx9_make(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT)))
        return;
    s.dx9 = &renamed;
    for (cl_uint type = CL_ADAPTER_D3D9_KHR; type <= CL_ADAPTER_D3D9EX_KHR; type++) {
        renamed.adapter_type = type;
        dx9_share(&s, CL_MEM_READ_WRITE);
        CHECK_QUERY(clGetMemObjectInfo, s.planes[0], CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, type);
        CHECK_QUERY(clGetMemObjectInfo, s.planes[1], CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, type);
        CHECK_QUERY(clGetImageInfo, s.planes[1], CL_IMAGE_DX9_MEDIA_PLANE_KHR, cl_uint, 1);
        for (UINT p = 0; p < 2; p++)
            CHECK_INT(clReleaseMemObject(s.planes[p]), CL_SUCCESS);
        s.planes[0] = s.planes[1] = NULL;
    }
    dx9_close_surface(&s);
}

static void ask_foreign(cl_mem object, bool image)
{
    char answer[64];
    size_t size = 4711;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, sizeof(answer), answer, &size),
              BAD_SURFACE);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, &size),
              BAD_SURFACE);
    if (image)
        CHECK_INT(clGetImageInfo(object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, sizeof(answer), answer, &size), BAD_SURFACE);
    CHECK_INT(size, 4711);
}

static cl_mem plain_image(cl_context context)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
}

DX9_CASE("queries of other objects", queries_of_others, 0)
{
    struct rig d3d11;
    struct shared shared;
    char answer[64];
    cl_mem image = plain_image(dx9->rig.context);
    cl_mem buffer = clCreateBuffer(dx9->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    ask_foreign(image, true);
    ask_foreign(buffer, false);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(NULL, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, NULL),
              CL_INVALID_MEM_OBJECT);
    CHECK_INT(clGetImageInfo(NULL, CL_IMAGE_DX9_MEDIA_PLANE_KHR, sizeof(answer), answer, NULL), CL_INVALID_MEM_OBJECT);
    if (!rig_open(&d3d11, &rig_d3d11, 0))
        return;
    if (shared_open(&d3d11, KIND_2D, 1, &shared)) {
        ask_foreign(shared.object, true);
        shared_close(&shared);
    }
    rig_close(&d3d11);
}

/* ---- acquire and release ---- */

static rig_enqueue function_of(const struct dx9 *dx9, int which)
{
    return (rig_enqueue)(which ? dx9->release : dx9->acquire);
}

/* Both functions refuse these arguments and make no event. */
static void both_refuse(const struct dx9 *dx9, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                        cl_uint wait_count, const cl_event *wait, cl_int code)
{
    for (int which = 0; which < 2; which++) {
        cl_event event = (cl_event)&event;
        CHECK_INT(function_of(dx9, which)(queue, count, objects, wait_count, wait, &event), code);
        CHECK(event == (cl_event)&event);
        CHECK_INT(function_of(dx9, which)(queue, count, objects, wait_count, wait, NULL), code);
    }
}

DX9_CASE("acquire and release: queues", queues, 0)
{
    struct dx9_surface s;
    struct rig d3d11;
    cl_context plain = plain_context(&dx9->rig);
    cl_command_queue queue = make_queue(&dx9->rig, plain, 0);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    both_refuse(dx9, NULL, 2, s.planes, 0, NULL, CL_INVALID_COMMAND_QUEUE);
    both_refuse(dx9, queue, 2, s.planes, 0, NULL, CL_INVALID_CONTEXT);
    if (rig_open(&d3d11, &rig_d3d11, 0)) {
        both_refuse(dx9, d3d11.queue, 2, s.planes, 0, NULL, CL_INVALID_CONTEXT);
        CHECK_INT(d3d11.acquire(d3d11.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
        CHECK_INT(d3d11.acquire(dx9->rig.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_CONTEXT);
        rig_close(&d3d11);
    }
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

DX9_CASE("acquire and release: who owns what", states, 0)
{
    const cl_int already = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR, not = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR;
    struct dx9_surface s;
    cl_command_queue second = make_queue(&dx9->rig, dx9->rig.context, 0);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    const cl_mem twice[] = {s.planes[0], s.planes[0]};
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not );
    CHECK_INT(dx9->acquire(s.queue, 2, twice, 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 1, s.planes, 0, NULL, NULL), not );
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[1], 0, NULL, NULL), CL_SUCCESS);
    /* All or none. */
    CHECK_INT(dx9->acquire(s.queue, 2, s.planes, 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not );
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[0], 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(dx9->acquire(second, 1, &s.planes[0], 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 2, twice, 0, NULL, NULL), not );
    /* Another queue of the context may release. */
    CHECK_INT(dx9->release(second, 2, s.planes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(dx9->release(second, 2, s.planes, 0, NULL, NULL), not );
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
}

DX9_CASE("acquire and release: events", events, RIG_PROFILING)
{
    const cl_command_type types[] = {CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR,
                                     CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR};
    struct dx9_surface s;
    cl_event gate = user_event(dx9->rig.context);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    for (int which = 0; which < 2; which++) {
        cl_event event = NULL;
        cl_ulong start = 0, end = 0;
        CHECK_INT(function_of(dx9, which)(s.queue, 2, s.planes, 1, &gate, &event), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
        CHECK_INT(rig_event_type(event), types[which]);
        CHECK_INT(rig_event_status(event), CL_COMPLETE);
        CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL), CL_SUCCESS);
        CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL), CL_SUCCESS);
        CHECK(start <= end);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        CHECK_INT(function_of(dx9, which)(s.queue, 0, NULL, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(rig_event_type(event), types[which]);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    dx9_close_surface(&s);
}

/* ---- use without acquire ---- */

static const char use_source[] = "kernel void use(read_only image2d_t image, global float4 *to)\n"
                                 "{\n"
                                 "    to[0] = read_imagef(image, (int2)(0, 0));\n"
                                 "}\n";

static cl_int launch(struct dx9_surface *s, cl_kernel kernel)
{
    const size_t one = 1;
    return clEnqueueNDRangeKernel(s->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

/* The calls that use an object return `code`. */
static void use(struct dx9_surface *s, cl_kernel kernel, cl_int code)
{
    static const size_t origin[3] = {0, 0, 0}, region[3] = {4, 4, 1};
    static unsigned char bytes[64];
    const float colour[4] = {0, 0, 0, 1};
    size_t pitch;
    cl_int status = 1;
    cl_mem image = s->planes[1], buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    CHECK_INT(clEnqueueReadImage(s->queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueWriteImage(s->queue, image, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueFillImage(s->queue, image, colour, origin, region, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueCopyImageToBuffer(s->queue, image, buffer, origin, region, 0, 0, NULL, NULL), code);
    CHECK_INT(clEnqueueCopyBufferToImage(s->queue, buffer, image, 0, origin, region, 0, NULL, NULL), code);
    void *mapped =
        clEnqueueMapImage(s->queue, image, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, 0, NULL, NULL, &status);
    CHECK_INT(status, code);
    if (mapped)
        CHECK_INT(clEnqueueUnmapMemObject(s->queue, image, mapped, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueMigrateMemObjects(s->queue, 1, &image, 0, 0, NULL, NULL), code);
    CHECK_INT(launch(s, kernel), code);
    dx9_wait(s->queue);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

DX9_CASE("use of what is not acquired", uses, 0)
{
    struct dx9_surface s;
    cl_kernel kernel = rig_kernel(&dx9->rig, use_source, "use");
    cl_mem to = clCreateBuffer(dx9->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    if (!CHECK(kernel != NULL) || !dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &s.planes[1]), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to), CL_SUCCESS);
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_acquire_plane(&s, 0); /* the other plane is another object */
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_acquire_plane(&s, 1);
    use(&s, kernel, CL_SUCCESS);
    dx9_release(&s);
    use(&s, kernel, CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR);
    dx9_close_surface(&s);
    CHECK_INT(clReleaseMemObject(to), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

TAP_MAIN
