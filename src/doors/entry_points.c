#include "doors/entry_points.h"

#include "doors/cl_d3d.h"

#include <CL/cl_dx9_media_sharing.h>

#ifndef _WIN32
/* cl_icd.h declares them for Windows only. */
#define DECLARE(x)                                                                                                     \
    cl_int CL_API_CALL clGetDeviceIDsFromD3D##x##KHR(cl_platform_id, cl_uint, void *, cl_uint, cl_uint,                \
                                                     cl_device_id *, cl_uint *);                                       \
    cl_mem CL_API_CALL clCreateFromD3D##x##BufferKHR(cl_context, cl_mem_flags, ID3D##x##Buffer *, cl_int *);           \
    cl_mem CL_API_CALL clCreateFromD3D##x##Texture2DKHR(cl_context, cl_mem_flags, ID3D##x##Texture2D *, UINT,          \
                                                        cl_int *);                                                     \
    cl_mem CL_API_CALL clCreateFromD3D##x##Texture3DKHR(cl_context, cl_mem_flags, ID3D##x##Texture3D *, UINT,          \
                                                        cl_int *);                                                     \
    cl_int CL_API_CALL clEnqueueAcquireD3D##x##ObjectsKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,          \
                                                          const cl_event *, cl_event *);                               \
    cl_int CL_API_CALL clEnqueueReleaseD3D##x##ObjectsKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,          \
                                                          const cl_event *, cl_event *);
DECLARE(10)
DECLARE(11)
#undef DECLARE
cl_int CL_API_CALL clGetDeviceIDsFromDX9MediaAdapterKHR(cl_platform_id, cl_uint, cl_dx9_media_adapter_type_khr *, void *,
                                                        cl_dx9_media_adapter_set_khr, cl_uint, cl_device_id *, cl_uint *);
cl_mem CL_API_CALL clCreateFromDX9MediaSurfaceKHR(cl_context, cl_mem_flags, cl_dx9_media_adapter_type_khr, void *, cl_uint,
                                                  cl_int *);
cl_int CL_API_CALL clEnqueueAcquireDX9MediaSurfacesKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                       const cl_event *, cl_event *);
cl_int CL_API_CALL clEnqueueReleaseDX9MediaSurfacesKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                       const cl_event *, cl_event *);
#endif

#define ENTRY(function) {#function, (next_function)function}
const struct entry_point entry_points[] = {
    ENTRY(clGetDeviceIDsFromD3D11KHR),       ENTRY(clCreateFromD3D11BufferKHR),
    ENTRY(clCreateFromD3D11Texture2DKHR),    ENTRY(clCreateFromD3D11Texture3DKHR),
    ENTRY(clEnqueueAcquireD3D11ObjectsKHR),  ENTRY(clEnqueueReleaseD3D11ObjectsKHR),
    ENTRY(clGetDeviceIDsFromD3D10KHR),       ENTRY(clCreateFromD3D10BufferKHR),
    ENTRY(clCreateFromD3D10Texture2DKHR),    ENTRY(clCreateFromD3D10Texture3DKHR),
    ENTRY(clEnqueueAcquireD3D10ObjectsKHR),  ENTRY(clEnqueueReleaseD3D10ObjectsKHR),
    ENTRY(clGetDeviceIDsFromDX9MediaAdapterKHR), ENTRY(clCreateFromDX9MediaSurfaceKHR),
    ENTRY(clEnqueueAcquireDX9MediaSurfacesKHR),  ENTRY(clEnqueueReleaseDX9MediaSurfacesKHR),
};
#undef ENTRY
const unsigned entry_point_count = sizeof(entry_points) / sizeof(entry_points[0]);
