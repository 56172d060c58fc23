/* An OpenCL.dll whose driver crashes when its devices are asked for. */
#include <CL/cl.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* it looks at nothing */
#define EXPORT __declspec(dllexport)

EXPORT void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    return NULL;
}

EXPORT cl_int CL_API_CALL clGetPlatformIDs(cl_uint room, cl_platform_id *list, cl_uint *count)
{
    if (count)
        *count = 1;
    if (list)
        list[0] = (cl_platform_id)&clGetPlatformIDs;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *needed)
{
    return CL_INVALID_VALUE;
}

EXPORT cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *list,
                                         cl_uint *count)
{
    return *(volatile cl_int *)NULL;
}
