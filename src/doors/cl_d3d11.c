/* The six functions of cl_khr_d3d11_sharing, and the query of cl_intel_sharing_format_query: each is one call into the
 * core. */
#include "doors/cl_d3d.h"

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDsFromD3D11KHR(cl_platform_id platform,
                                                          cl_d3d11_device_source_khr d3d_device_source,
                                                          void *d3d_object, cl_d3d11_device_set_khr d3d_device_set,
                                                          cl_uint num_entries, cl_device_id *devices,
                                                          cl_uint *num_devices)
{
    door_open();
    return share_get_device_ids(&d3d11_api, platform, d3d_device_source, d3d_object, d3d_device_set, num_entries, devices,
                                num_devices);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromD3D11BufferKHR(cl_context context, cl_mem_flags flags,
                                                          ID3D11Buffer *resource, cl_int *errcode_ret)
{
    door_open();
    const struct object_request request = {.api = &d3d11_api, .call = d3d11_api.call.create_buffer, .flags = flags,
                                           .kind = SURFACE_BUFFER, .resource = resource};
    return object_create(&request, context, errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromD3D11Texture2DKHR(cl_context context, cl_mem_flags flags,
                                                             ID3D11Texture2D *resource, UINT subresource,
                                                             cl_int *errcode_ret)
{
    door_open();
    const struct object_request request = {.api = &d3d11_api, .call = d3d11_api.call.create_2d, .flags = flags,
                                           .kind = SURFACE_IMAGE_2D, .resource = resource, .index = subresource};
    return object_create(&request, context, errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromD3D11Texture3DKHR(cl_context context, cl_mem_flags flags,
                                                             ID3D11Texture3D *resource, UINT subresource,
                                                             cl_int *errcode_ret)
{
    door_open();
    const struct object_request request = {.api = &d3d11_api, .call = d3d11_api.call.create_3d, .flags = flags,
                                           .kind = SURFACE_IMAGE_3D, .resource = resource, .index = subresource};
    return object_create(&request, context, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueAcquireD3D11ObjectsKHR(cl_command_queue command_queue, cl_uint num_objects,
                                                               const cl_mem *mem_objects,
                                                               cl_uint num_events_in_wait_list,
                                                               const cl_event *event_wait_list, cl_event *event)
{
    door_open();
    return share_acquire(&d3d11_api, command_queue, num_objects, mem_objects, num_events_in_wait_list, event_wait_list,
                         event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReleaseD3D11ObjectsKHR(cl_command_queue command_queue, cl_uint num_objects,
                                                               const cl_mem *mem_objects,
                                                               cl_uint num_events_in_wait_list,
                                                               const cl_event *event_wait_list, cl_event *event)
{
    door_open();
    return share_release(&d3d11_api, command_queue, num_objects, mem_objects, num_events_in_wait_list, event_wait_list,
                         event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetSupportedD3D11TextureFormatsINTEL(cl_context context, cl_mem_flags flags,
                                                                     cl_mem_object_type image_type, cl_uint plane,
                                                                     cl_uint num_entries, DXGI_FORMAT *d3d11_formats,
                                                                     cl_uint *num_texture_formats)
{
    door_open();
    return share_get_formats(&d3d11_api, "clGetSupportedD3D11TextureFormatsINTEL", context, flags, image_type, plane,
                             num_entries, (cl_uint *)d3d11_formats, num_texture_formats);
}
