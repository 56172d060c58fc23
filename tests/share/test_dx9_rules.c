/* The rules of cl_khr_dx9_media_sharing for objects that are there: what can be asked of them, and the extension's own codes and types
 * in acquire, release and use. Creation is in test_dx9_create.c, bytes are in test_dx9_data.c, lifetimes in test_dx9_lifetime.c; what
 * all extensions have in common is in test_acquire.c and test_uses.c. */
#include "common/dx9.h"
#include "sharing.h"

enum { WIDTH = 64, HEIGHT = 48 };

#define NV12 (&dx9_formats[0])
#define BAD_SURFACE CL_INVALID_DX9_MEDIA_SURFACE_KHR

/* ---- queries ---- */

#define CHECK_QUERY(get, object, name, type, expected)                                       \
    do {                                                                                     \
        const type expected_ = (expected);                                                   \
        type found_;                                                                         \
        size_t size_ = 0;                                                                    \
        memset(&found_, 0xEE, sizeof(found_));                                               \
        CHECK_INT(get((object), (name), sizeof(found_), &found_, &size_), CL_SUCCESS);       \
        CHECK_INT(size_, sizeof(type));                                                      \
        CHECK_MEM(&found_, &expected_, sizeof(type));                                        \
        CHECK_INT(get((object), (name), sizeof(type) - 1, &found_, NULL), CL_INVALID_VALUE); \
    } while (0)

static void check_plane(struct dx9_surface *s, UINT p)
{
    const size_t width = dx9_plane_width(s, p), height = dx9_plane_height(s, p);
    const size_t texel = format_texel(&s->format->planes[p]);
    const cl_dx9_surface_info_khr info = {s->surface, NULL};
    cl_mem object = s->planes[p];
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, cl_uint, s->dx9->adapter_type);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, cl_dx9_surface_info_khr, info);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, cl_uint, p);
    CHECK_QUERY(clGetMemObjectInfo, object, CL_MEM_TYPE, cl_mem_object_type, CL_MEM_OBJECT_IMAGE2D);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_FORMAT, cl_image_format, s->format->planes[p].cl);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ELEMENT_SIZE, size_t, texel);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_WIDTH, size_t, width);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_HEIGHT, size_t, height);
    CHECK_QUERY(clGetImageInfo, object, CL_IMAGE_ROW_PITCH, size_t, width * texel);
}

/* The type comes back as it was given, not as the device is. */
DX9_CASE("queries: every plane of every format", queries, 0)
{
    struct dx9 given = *dx9;
    for (unsigned i = 0; i < DX9_FORMAT_COUNT + DX9_BEYOND_COUNT; i++) {
        const struct dx9_format *format = i < DX9_FORMAT_COUNT ? &dx9_formats[i] : &dx9_beyond[i - DX9_FORMAT_COUNT];
        struct dx9_surface s;
        const int before = dx9_failures();
        given.adapter_type = i % 2 ? CL_ADAPTER_D3D9_KHR : CL_ADAPTER_D3D9EX_KHR;
        if (!dx9_make(&s, &given, format, DX9_PLAIN, 66, 50)) {
            CHECK(i >= DX9_FORMAT_COUNT); /* P010 and packed YUV only as far as Direct3D has them */
            continue;
        }
        const ULONG refs = rig_refs(s.surface);
        if (dx9_share(&s, CL_MEM_READ_WRITE))
            for (UINT p = 0; p < s.format->plane_count; p++)
                check_plane(&s, p);
        CHECK_INT(rig_refs(s.surface), refs + s.format->plane_count);
        dx9_close_surface(&s);
        dx9_remark(before, "with %s", format->name);
    }
}

static void ask_foreign(cl_mem object, bool image, cl_int code)
{
    char answer[64];
    size_t size = 4711;
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, sizeof(answer), answer, &size), code);
    CHECK_INT(clGetMemObjectInfo(object, CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, &size), code);
    if (image)
        CHECK_INT(clGetImageInfo(object, CL_IMAGE_DX9_MEDIA_PLANE_KHR, sizeof(answer), answer, &size), code);
    CHECK_INT(size, 4711);
}

DX9_CASE("queries of other objects", queries_of_others, 0)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    struct rig d3d11;
    struct shared shared;
    cl_mem image = clCreateImage(dx9->rig.context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    cl_mem buffer = clCreateBuffer(dx9->rig.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    ask_foreign(image, true, BAD_SURFACE);
    ask_foreign(buffer, false, BAD_SURFACE);
    ask_foreign(NULL, true, CL_INVALID_MEM_OBJECT);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    if (!rig_open(&d3d11, &rig_d3d11, 0))
        return;
    if (shared_open(&d3d11, KIND_2D, 1, &shared)) {
        ask_foreign(shared.object, true, BAD_SURFACE);
        shared_close(&shared);
    }
    rig_close(&d3d11);
}

/* ---- acquire, release and use ---- */

DX9_CASE("contexts of other kinds", contexts, 0)
{
    struct dx9_surface s;
    struct rig d3d11;
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT) || !rig_open(&d3d11, &rig_d3d11, 0))
        return;
    CHECK_INT(dx9->acquire(NULL, 2, s.planes, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(dx9->acquire(d3d11.queue, 2, s.planes, 0, NULL, NULL), CL_INVALID_CONTEXT);
    CHECK_INT(dx9->release(d3d11.queue, 2, s.planes, 0, NULL, NULL), CL_INVALID_CONTEXT);
    CHECK_INT(d3d11.acquire(d3d11.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    CHECK_INT(d3d11.acquire(dx9->rig.queue, 1, s.planes, 0, NULL, NULL), CL_INVALID_CONTEXT);
    rig_close(&d3d11);
    dx9_close_surface(&s);
}

/* A command that uses plane 1. */
static cl_int use(const struct dx9_surface *s)
{
    static const size_t origin[3] = {0, 0, 0}, region[3] = {4, 4, 1};
    static unsigned char bytes[64];
    return clEnqueueReadImage(s->queue, s->planes[1], CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL);
}

/* Each plane is an object. Another queue of the context may release. */
DX9_CASE("who owns what", states, 0)
{
    const cl_int already = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR, not = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR;
    struct dx9_surface s;
    cl_command_queue second = make_queue(&dx9->rig, dx9->rig.context, 0);
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    const cl_mem twice[] = {s.planes[0], s.planes[0]};
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not );
    CHECK_INT(dx9->acquire(s.queue, 2, twice, 0, NULL, NULL), already);
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[0], 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(use(&s), not );
    CHECK_INT(dx9->acquire(s.queue, 2, s.planes, 0, NULL, NULL), already);
    CHECK_INT(dx9->release(s.queue, 2, s.planes, 0, NULL, NULL), not );
    CHECK_INT(dx9->acquire(second, 1, &s.planes[0], 0, NULL, NULL), already);
    CHECK_INT(dx9->acquire(s.queue, 1, &s.planes[1], 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(use(&s), CL_SUCCESS);
    CHECK_INT(dx9->release(s.queue, 2, twice, 0, NULL, NULL), not );
    CHECK_INT(dx9->release(second, 2, s.planes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(use(&s), not );
    dx9_close_surface(&s);
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
}

DX9_CASE("events", events, 0)
{
    const rig_enqueue functions[] = {(rig_enqueue)dx9->acquire, (rig_enqueue)dx9->release};
    const cl_command_type types[] = {CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR,
                                     CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR};
    struct dx9_surface s;
    if (!dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    for (int i = 0; i < 2; i++) {
        for (cl_uint count = 0; count <= 2; count += 2) {
            cl_event event = NULL;
            CHECK_INT(functions[i](s.queue, count, count ? s.planes : NULL, 0, NULL, &event), CL_SUCCESS);
            CHECK_INT(rig_event_type(event), types[i]);
            finish_event(event);
        }
    }
    dx9_close_surface(&s);
}

TAP_MAIN
