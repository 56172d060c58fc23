#include "entry/entry_points.h"

#include "entry/cl_d3d.h"
#include "entry/entry.h"

#include <CL/cl_dx9_media_sharing.h>
#include <string.h>

#ifndef _WIN32
/* cl_icd.h declares them for Windows only. */
#define DECLARE(x)                                                                                            \
    cl_int CL_API_CALL clGetDeviceIDsFromD3D##x##KHR(cl_platform_id, cl_uint, void *, cl_uint, cl_uint,       \
                                                     cl_device_id *, cl_uint *);                              \
    cl_mem CL_API_CALL clCreateFromD3D##x##BufferKHR(cl_context, cl_mem_flags, ID3D##x##Buffer *, cl_int *);  \
    cl_mem CL_API_CALL clCreateFromD3D##x##Texture2DKHR(cl_context, cl_mem_flags, ID3D##x##Texture2D *, UINT, \
                                                        cl_int *);                                            \
    cl_mem CL_API_CALL clCreateFromD3D##x##Texture3DKHR(cl_context, cl_mem_flags, ID3D##x##Texture3D *, UINT, \
                                                        cl_int *);                                            \
    cl_int CL_API_CALL clEnqueueAcquireD3D##x##ObjectsKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint, \
                                                          const cl_event *, cl_event *);                      \
    cl_int CL_API_CALL clEnqueueReleaseD3D##x##ObjectsKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint, \
                                                          const cl_event *, cl_event *);
DECLARE(10)
DECLARE(11)
#undef DECLARE
cl_int CL_API_CALL clGetDeviceIDsFromDX9MediaAdapterKHR(cl_platform_id, cl_uint, cl_dx9_media_adapter_type_khr *,
                                                        void *, cl_dx9_media_adapter_set_khr, cl_uint, cl_device_id *,
                                                        cl_uint *);
cl_mem CL_API_CALL clCreateFromDX9MediaSurfaceKHR(cl_context, cl_mem_flags, cl_dx9_media_adapter_type_khr, void *,
                                                  cl_uint, cl_int *);
cl_int CL_API_CALL clEnqueueAcquireDX9MediaSurfacesKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                       const cl_event *, cl_event *);
cl_int CL_API_CALL clEnqueueReleaseDX9MediaSurfacesKHR(cl_command_queue, cl_uint, const cl_mem *, cl_uint,
                                                       const cl_event *, cl_event *);
#endif

#define ENTRY(function)                       \
    {                                         \
#function, (next_function)function, 0 \
    }
#define SLOT(function)                                                          \
    {                                                                           \
#function, (next_function)function, offsetof(cl_icd_dispatch, function) \
    }
/* A function of the Khronos extension and its twin of the NVIDIA one, which differ only in name, such as
 * clEnqueueAcquireD3D11ObjectsKHR and clEnqueueAcquireD3D11ObjectsNV. */
#define TWINS(stem)                             \
    SLOT(stem##KHR),                            \
    {                                           \
#stem "NV", (next_function)stem##KHR, 0 \
    }
const struct entry_point entry_points[] = {
    TWINS(clGetDeviceIDsFromD3D11),
    TWINS(clCreateFromD3D11Buffer),
    TWINS(clCreateFromD3D11Texture2D),
    TWINS(clCreateFromD3D11Texture3D),
    TWINS(clEnqueueAcquireD3D11Objects),
    TWINS(clEnqueueReleaseD3D11Objects),
    TWINS(clGetDeviceIDsFromD3D10),
    TWINS(clCreateFromD3D10Buffer),
    TWINS(clCreateFromD3D10Texture2D),
    TWINS(clCreateFromD3D10Texture3D),
    TWINS(clEnqueueAcquireD3D10Objects),
    TWINS(clEnqueueReleaseD3D10Objects),
    SLOT(clGetDeviceIDsFromDX9MediaAdapterKHR),
    SLOT(clCreateFromDX9MediaSurfaceKHR),
    SLOT(clEnqueueAcquireDX9MediaSurfacesKHR),
    SLOT(clEnqueueReleaseDX9MediaSurfacesKHR),
    ENTRY(clGetDeviceIDsFromDX9INTEL),
    ENTRY(clCreateFromDX9MediaSurfaceINTEL),
    ENTRY(clEnqueueAcquireDX9ObjectsINTEL),
    ENTRY(clEnqueueReleaseDX9ObjectsINTEL),
    ENTRY(clGetSupportedD3D11TextureFormatsINTEL),
    ENTRY(clGetSupportedD3D10TextureFormatsINTEL),
    ENTRY(clGetSupportedDX9MediaSurfaceFormatsINTEL),
    /* With this function another cld3d above detects this one. */
    ENTRY(cld3d_report),
};
#undef ENTRY
#undef SLOT
#undef TWINS
const size_t entry_point_count = sizeof(entry_points) / sizeof(entry_points[0]);

next_function entry_point(const char *name)
{
    for (size_t i = 0; name && i < entry_point_count; i++)
        if (strcmp(entry_points[i].name, name) == 0)
            return entry_points[i].function;
    return NULL;
}
