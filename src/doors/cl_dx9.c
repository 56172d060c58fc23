/* The four functions of cl_khr_dx9_media_sharing. The extension is not offered yet: it is in no extension string, and its
 * functions say so. They are exported because every OpenCL.dll of a Khronos loader exports them. */
#include "doors/cl_d3d.h"
#include "log.h"

#include <CL/cl_dx9_media_sharing.h>

static cl_int not_offered(const char *call)
{
    return log_refuse(call, CL_INVALID_OPERATION, "cl_khr_dx9_media_sharing is not offered; look at the extension strings");
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDsFromDX9MediaAdapterKHR(cl_platform_id platform, cl_uint num_media_adapters,
                                                                     cl_dx9_media_adapter_type_khr *media_adapter_type,
                                                                     void *media_adapters,
                                                                     cl_dx9_media_adapter_set_khr media_adapter_set,
                                                                     cl_uint num_entries, cl_device_id *devices,
                                                                     cl_uint *num_devices)
{
    (void)platform, (void)num_media_adapters, (void)media_adapter_type, (void)media_adapters, (void)media_adapter_set;
    (void)num_entries, (void)devices, (void)num_devices;
    return not_offered("clGetDeviceIDsFromDX9MediaAdapterKHR");
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromDX9MediaSurfaceKHR(cl_context context, cl_mem_flags flags,
                                                               cl_dx9_media_adapter_type_khr adapter_type,
                                                               void *surface_info, cl_uint plane, cl_int *errcode_ret)
{
    (void)context, (void)flags, (void)adapter_type, (void)surface_info, (void)plane;
    const cl_int status = not_offered("clCreateFromDX9MediaSurfaceKHR");
    if (errcode_ret)
        *errcode_ret = status;
    return NULL;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueAcquireDX9MediaSurfacesKHR(cl_command_queue command_queue, cl_uint num_objects,
                                                                    const cl_mem *mem_objects,
                                                                    cl_uint num_events_in_wait_list,
                                                                    const cl_event *event_wait_list, cl_event *event)
{
    (void)command_queue, (void)num_objects, (void)mem_objects, (void)num_events_in_wait_list, (void)event_wait_list;
    (void)event;
    return not_offered("clEnqueueAcquireDX9MediaSurfacesKHR");
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReleaseDX9MediaSurfacesKHR(cl_command_queue command_queue, cl_uint num_objects,
                                                                    const cl_mem *mem_objects,
                                                                    cl_uint num_events_in_wait_list,
                                                                    const cl_event *event_wait_list, cl_event *event)
{
    (void)command_queue, (void)num_objects, (void)mem_objects, (void)num_events_in_wait_list, (void)event_wait_list;
    (void)event;
    return not_offered("clEnqueueReleaseDX9MediaSurfacesKHR");
}
