/* Drivers for Windows, which have Direct3D sharing of their own, for test_passthrough. It lists cl_khr_d3d11_sharing and
 * cl_khr_dx9_media_sharing, takes the context property and has most of their functions, one under NVIDIA's name alone and one not at
 * all. Their answers are unmistakable. */
#include "own_sharing.h"

#include "layer.h"

#include <stdio.h>

static cl_int CL_API_CALL get_ids(cl_platform_id platform, cl_uint source, void *object, cl_uint set, cl_uint room,
                                  cl_device_id *devices, cl_uint *count)
{
    *count = OWN_DEVICE_COUNT;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_media_ids(cl_platform_id platform, cl_uint adapters, const cl_uint *types,
                                        void *const *list, cl_uint set, cl_uint room, cl_device_id *devices,
                                        cl_uint *count)
{
    *count = OWN_DEVICE_COUNT + adapters;
    return CL_SUCCESS;
}

static cl_mem make(cl_context context, cl_mem_flags flags, size_t more_bytes, cl_int *status)
{
    return below->clCreateBuffer(context, flags, OWN_BUFFER_BYTES + more_bytes, NULL, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, void *resource, cl_int *status)
{
    return make(context, flags, 0, status);
}

static cl_mem CL_API_CALL create_texture(cl_context context, cl_mem_flags flags, void *resource, cl_uint subresource,
                                         cl_int *status)
{
    return make(context, flags, subresource, status);
}

/* What a loader gives by Khronos's name where the driver has the function under NVIDIA's alone. */
static cl_mem CL_API_CALL create_nothing(cl_context context, cl_mem_flags flags, void *resource, cl_uint subresource,
                                         cl_int *status)
{
    return refuse(status, CL_INVALID_OPERATION);
}

static cl_mem CL_API_CALL create_intel(cl_context context, cl_mem_flags flags, const int *resource, const int *handle,
                                       cl_uint plane, cl_int *status)
{
    return make(context, flags, plane + (size_t)*resource * OWN_RESOURCE_BYTES + (size_t)*handle * OWN_HANDLE_BYTES,
                status);
}

static cl_mem CL_API_CALL create_surface(cl_context context, cl_mem_flags flags, cl_uint type, void *info,
                                         cl_uint plane, cl_int *status)
{
    enum { ADAPTER_D3D9EX = 0x2021 }; /* CL_ADAPTER_D3D9EX_KHR */
    const int *const *surface = info;
    if (type == OWN_ADAPTER_TYPE)
        return make(context, flags, plane + (size_t) * (const int *)info, status);
    return type == ADAPTER_D3D9EX ? create_intel(context, flags, surface[0], surface[1], plane, status) : NULL;
}

static cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    return OWN_ACQUIRE_CODE - (cl_int)count;
}

static cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    return OWN_RELEASE_CODE - (cl_int)count;
}

REPLACES(clGetMemObjectInfo)
{
    void *const resource = (void *)(size_t)OWN_RESOURCE;
    return param_name == 0x401E /* CL_MEM_D3D11_RESOURCE_KHR */ ? ANSWER(resource) : PASS(clGetMemObjectInfo);
}

REPLACES(clGetImageInfo)
{
    const cl_uint subresource = OWN_SUBRESOURCE;
    return param_name == 0x401F /* CL_IMAGE_D3D11_SUBRESOURCE_KHR */ ? ANSWER(subresource) : PASS(clGetImageInfo);
}

typedef void (*function)(void);

static const struct {
    const char *name;
    function function;
} functions[] = {
    {"clGetDeviceIDsFromD3D11KHR", (function)get_ids},
    {"clCreateFromD3D11BufferKHR", (function)create_buffer},
    {"clCreateFromD3D11Texture2DKHR", (function)create_nothing},
    {"clCreateFromD3D11Texture2DNV", (function)create_texture},
    {"clEnqueueAcquireD3D11ObjectsKHR", (function)acquire},
    {"clEnqueueReleaseD3D11ObjectsKHR", (function)release},
    {"clGetDeviceIDsFromDX9MediaAdapterKHR", (function)get_media_ids},
    {"clCreateFromDX9MediaSurfaceKHR", (function)create_surface},
    {"clCreateFromDX9MediaSurfaceINTEL", (function)create_intel},
};

REPLACES(clGetExtensionFunctionAddressForPlatform)
{
    void *address;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, function_name) == 0)
            return memcpy(&address, &functions[i].function, sizeof(address)), address;
    return PASS(clGetExtensionFunctionAddressForPlatform);
}

REPLACES(clGetDeviceInfo)
{
    static const char listed[] = "cl_khr_d3d11_sharing cl_khr_dx9_media_sharing ";
    enum { LENGTH = sizeof(listed) - 1 };
    char text[32768] = "";
    if (param_name != CL_DEVICE_EXTENSIONS)
        return PASS(clGetDeviceInfo);
    const cl_int status = below->clGetDeviceInfo(device, param_name, sizeof(text) - LENGTH - 1, text + LENGTH, NULL);
    memcpy(text, listed, LENGTH);
    return status == CL_SUCCESS ? ANSWER_TEXT(text) : status;
}

/* Takes the property of the extension, which the real driver below does not know. False: a property is refused. */
static bool take_property(const cl_context_properties *properties, cl_context_properties plain[32])
{
    size_t length = 0;
    memset(plain, 0, 32 * sizeof(*plain));
    for (const cl_context_properties *p = properties; p && *p && length < 30; p += 2)
        if (*p == CL_CONTEXT_INTEROP_USER_SYNC) { /* as NVIDIA's driver for Windows does */
            return false;
        } else if (*p != OWN_CONTEXT_PROPERTY) {
            plain[length++] = p[0];
            plain[length++] = p[1];
        } else {
            /* For the test to see, in a place that nothing between it and us touches. */
            char value[32];
            snprintf(value, sizeof(value), "%llx", (unsigned long long)p[1]);
            setenv(OWN_SEEN_VARIABLE, value, 1);
        }
    return true;
}

REPLACES(clCreateContext)
{
    cl_context_properties plain[32];
    if (!take_property(properties, plain))
        return refuse(errcode_ret, CL_INVALID_PROPERTY);
    properties = plain[0] ? plain : NULL;
    return PASS(clCreateContext);
}

REPLACES(clCreateContextFromType)
{
    cl_context_properties plain[32];
    if (!take_property(properties, plain))
        return refuse(errcode_ret, CL_INVALID_PROPERTY);
    properties = plain[0] ? plain : NULL;
    return PASS(clCreateContextFromType);
}
