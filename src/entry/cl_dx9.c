/* The four functions of cl_khr_dx9_media_sharing, and those of cl_intel_dx9_media_sharing. */
#include "entry/cl_d3d.h"

#include "log.h"
#include "share/passthrough.h"

#include <CL/cl_dx9_media_sharing.h>
#include <string.h>

/* cl_dx9_surface_info_khr, which the header has for Windows only. */
struct surface_info {
    IDirect3DSurface9 *resource;
    HANDLE shared_handle;
};

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDsFromDX9MediaAdapterKHR(
    cl_platform_id platform, cl_uint num_media_adapters, cl_dx9_media_adapter_type_khr *media_adapter_type,
    void *media_adapters, cl_dx9_media_adapter_set_khr media_adapter_set, cl_uint num_entries, cl_device_id *devices,
    cl_uint *num_devices)
{
    entry_open();
    /* `media_adapters` is an array of pointers, one for each type, although its C type suggests one pointer. */
    return share_get_media_device_ids(platform, num_media_adapters, media_adapter_type, media_adapters,
                                      media_adapter_set, num_entries, devices, num_devices);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromDX9MediaSurfaceKHR(cl_context context, cl_mem_flags flags,
                                                               cl_dx9_media_adapter_type_khr adapter_type,
                                                               void *surface_info, cl_uint plane, cl_int *errcode_ret)
{
    const char *call = d3d9_api.call.create_2d;
    struct surface_info info = {NULL, NULL};
    entry_open();
    if (!registry_has(RECORD_CONTEXT, context) && passthrough_context(context))
        return passthrough_create_media(call, context, flags, adapter_type, surface_info, plane, errcode_ret);
    const struct d3d_api *api = media_api(adapter_type);
    if (!api) {
        struct sharing_context *record;
        cl_int status = context_get(call, context, &record);
        record_release(record);
        if (status == CL_SUCCESS)
            status = log_refuse(call, CL_INVALID_OPERATION, "no device of context %p supports adapter_type 0x%x",
                                (void *)context, adapter_type);
        give_code(errcode_ret, status);
        return NULL;
    }
    /* A bad structure has no resource. It is refused in the specified order, after a bad context. */
    if (os_readable(surface_info, sizeof(info)))
        memcpy(&info, surface_info, sizeof(info));
    const struct object_request request = {
        api, call, flags, SURFACE_IMAGE_2D, info.resource, plane, info.shared_handle};
    return object_create(&request, context, errcode_ret);
}

COMMAND(clEnqueueAcquireDX9MediaSurfacesKHR, share_acquire, d3d9_api, const cl_mem *)
COMMAND(clEnqueueReleaseDX9MediaSurfacesKHR, share_release, d3d9_api, const cl_mem *)

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDsFromDX9INTEL(cl_platform_id platform,
                                                           cl_dx9_device_source_intel dx9_device_source,
                                                           void *dx9_object, cl_dx9_device_set_intel dx9_device_set,
                                                           cl_uint num_entries, cl_device_id *devices,
                                                           cl_uint *num_devices)
{
    entry_open();
    return share_get_device_ids(&d3d9_intel_api, platform, dx9_device_source, dx9_object, dx9_device_set, num_entries,
                                devices, num_devices);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromDX9MediaSurfaceINTEL(cl_context context, cl_mem_flags flags,
                                                                 IDirect3DSurface9 *resource, HANDLE shared_handle,
                                                                 UINT plane, cl_int *errcode_ret)
{
    const struct object_request request = {
        &d3d9_intel_api, d3d9_intel_api.call.create_2d, flags, SURFACE_IMAGE_2D, resource, plane, shared_handle};
    entry_open();
    return object_create(&request, context, errcode_ret);
}

COMMAND(clEnqueueAcquireDX9ObjectsINTEL, share_acquire, d3d9_intel_api, const cl_mem *)
COMMAND(clEnqueueReleaseDX9ObjectsINTEL, share_release, d3d9_intel_api, cl_mem *)
