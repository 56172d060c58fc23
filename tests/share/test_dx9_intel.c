/* cl_khr_dx9_media_sharing by Intel's older names, with Intel's rules: cl_intel_dx9_media_sharing. Devices and contexts are in
 * test_devices.c and test_contexts.c. */
#include "common/dx9.h"
#include "sharing.h"

enum { WIDTH = 66, HEIGHT = 50 };

#define NV12 (&dx9_formats[0])

struct intel {
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
    return find(dx9, "clCreateFromDX9MediaSurfaceINTEL", &intel->create) &&
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
}

/* Each extension answers for the objects of its own function. The handle comes back as it was given, where Direct3D gives one. */
DX9_CASE("Intel: queries", intel_queries, RIG_NO_CONTEXT)
{
    struct intel intel;
    struct dx9_surface s;
    IDirect3DSurface9 *surface = NULL;
    HANDLE handle = NULL;
    char answer[64];
    cl_uint plane = 4711;
    cl_int status = 1;
    if (!intel_open(dx9, &intel) || !dx9_open_surface(&s, dx9, NV12, DX9_PLAIN, WIDTH, HEIGHT))
        return;
    CHECK_INT(IDirect3DDevice9_CreateOffscreenPlainSurface(dx9->device, WIDTH, HEIGHT, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                                           &surface, dx9_gives_handles(dx9) ? &handle : NULL),
              D3D_OK);
#ifndef _WIN32 /* Wine's gives none */
    CHECK_INT(handle != NULL, dx9->extended);
#endif
    cl_mem objects[] = {intel.create(dx9->rig.context, 0, s.surface, NULL, 1, &status),
                        intel.create(dx9->rig.context, 0, surface, handle, 0, &status)};
    check_pointer(objects[0], CL_MEM_DX9_RESOURCE_INTEL, s.surface);
    check_pointer(objects[0], CL_MEM_DX9_SHARED_HANDLE_INTEL, NULL);
    check_pointer(objects[1], CL_MEM_DX9_RESOURCE_INTEL, surface);
    check_pointer(objects[1], CL_MEM_DX9_SHARED_HANDLE_INTEL, handle);
    for (cl_uint i = 0; i < 2; i++) {
        CHECK_INT(clGetImageInfo(objects[i], CL_IMAGE_DX9_PLANE_INTEL, sizeof(plane), &plane, NULL), CL_SUCCESS);
        CHECK_INT(plane, 1 - i);
        CHECK_INT(clGetMemObjectInfo(objects[i], CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, sizeof(answer), answer, NULL),
                  CL_INVALID_DX9_MEDIA_SURFACE_KHR);
        CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
    }
    CHECK_INT(clGetMemObjectInfo(s.planes[0], CL_MEM_DX9_RESOURCE_INTEL, sizeof(answer), answer, NULL),
              CL_INVALID_DX9_RESOURCE_INTEL);
    CHECK_INT(clGetImageInfo(s.planes[0], CL_IMAGE_DX9_PLANE_INTEL, sizeof(answer), answer, NULL),
              CL_INVALID_DX9_RESOURCE_INTEL);
    rig_release(surface);
    dx9_close_surface(&s);
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

DX9EX_CASE("Intel: DXVA-HD", intel_dxva, RIG_NO_CONTEXT)
{
    struct intel intel;
    struct dx9 side = *dx9;
    cl_int status = 1;
    IDXVAHD_Device *dxva = dx9_make_dxva(dx9);
    if (!dxva || !find_intel(dx9, &intel))
        return;
    side.adapter_type = CL_ADAPTER_DXVA_KHR;
    side.rig.context = dx9_make_context(dx9, CL_CONTEXT_DXVA_DEVICE_INTEL, dxva, &status);
    if (CHECK_INT(status, CL_SUCCESS) && rig_open_queue(&side.rig, 0)) {
        intel_frames(&side, &intel);
        CHECK_INT(clReleaseCommandQueue(side.rig.queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(side.rig.context), CL_SUCCESS);
    }
    rig_release(dxva);
}

TAP_MAIN
