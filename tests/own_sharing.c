/* A layer that makes any driver look as one with Direct3D sharing of its own, for test_passthrough: below cld3d, as a driver
 * would be. It lists cl_khr_d3d11_sharing and cl_khr_dx9_media_sharing, takes the context property and has most of their
 * functions, one under NVIDIA's name alone and one not at all. Their answers are unmistakable. */
#include "own_sharing.h"

#include "layer_entry.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_int CL_API_CALL get_ids(cl_platform_id platform, cl_uint source, void *object, cl_uint set, cl_uint room,
                                  cl_device_id *devices, cl_uint *count)
{
    (void)platform, (void)source, (void)object, (void)set, (void)room, (void)devices;
    *count = OWN_DEVICE_COUNT;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_media_ids(cl_platform_id platform, cl_uint adapters, const cl_uint *types,
                                        void *const *list, cl_uint set, cl_uint room, cl_device_id *devices,
                                        cl_uint *count)
{
    (void)platform, (void)types, (void)list, (void)set, (void)room, (void)devices;
    *count = OWN_DEVICE_COUNT + adapters;
    return CL_SUCCESS;
}

enum { ADAPTER_D3D9EX = 0x2021 }; /* CL_ADAPTER_D3D9EX_KHR */

static cl_mem make(cl_context context, cl_mem_flags flags, size_t size, cl_int *status)
{
    return below->clCreateBuffer(context, flags, size, NULL, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, void *resource, cl_int *status)
{
    (void)resource;
    return make(context, flags, OWN_BUFFER_BYTES, status);
}

static cl_mem CL_API_CALL create_texture(cl_context context, cl_mem_flags flags, void *resource, cl_uint subresource,
                                         cl_int *status)
{
    (void)resource;
    return make(context, flags, OWN_BUFFER_BYTES + subresource, status);
}

/* What a loader gives by Khronos's name where the driver has the function under NVIDIA's alone. */
static cl_mem CL_API_CALL create_nothing(cl_context context, cl_mem_flags flags, void *resource, cl_uint subresource,
                                         cl_int *status)
{
    (void)context, (void)flags, (void)resource, (void)subresource;
    *status = CL_INVALID_OPERATION;
    return NULL;
}

static cl_mem CL_API_CALL create_surface(cl_context context, cl_mem_flags flags, cl_uint type, void *info,
                                         cl_uint plane, cl_int *status)
{
    const int *const *surface = info;
    if (type == OWN_ADAPTER_TYPE)
        return make(context, flags, OWN_BUFFER_BYTES + plane + (size_t) * (const int *)info, status);
    return type != ADAPTER_D3D9EX ? NULL
                                  : make(context, flags,
                                         OWN_BUFFER_BYTES + plane + (size_t)*surface[0] * OWN_RESOURCE_BYTES +
                                             (size_t)*surface[1] * OWN_HANDLE_BYTES,
                                         status);
}

static cl_mem CL_API_CALL create_intel(cl_context context, cl_mem_flags flags, const int *resource, const int *handle,
                                       cl_uint plane, cl_int *status)
{
    return make(context, flags,
                OWN_BUFFER_BYTES + plane + (size_t)*resource * OWN_RESOURCE_BYTES + (size_t)*handle * OWN_HANDLE_BYTES,
                status);
}

static cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    (void)queue, (void)objects, (void)wait_count, (void)wait, (void)event;
    return OWN_ACQUIRE_CODE - (cl_int)count;
}

static cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                                  const cl_event *wait, cl_event *event)
{
    (void)queue, (void)objects, (void)wait_count, (void)wait, (void)event;
    return OWN_RELEASE_CODE - (cl_int)count;
}

static cl_int CL_API_CALL get_mem_info(cl_mem memory, cl_mem_info name, size_t room, void *to, size_t *size_ret)
{
    void *const resource = (void *)(size_t)OWN_RESOURCE;
    if (name == 0x401E) /* CL_MEM_D3D11_RESOURCE_KHR */
        return give_answer(&resource, sizeof(resource), room, to, size_ret);
    return below->clGetMemObjectInfo(memory, name, room, to, size_ret);
}

static cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_uint subresource = OWN_SUBRESOURCE;
    if (name == 0x401F) /* CL_IMAGE_D3D11_SUBRESOURCE_KHR */
        return give_answer(&subresource, sizeof(subresource), room, to, size_ret);
    return below->clGetImageInfo(image, name, room, to, size_ret);
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

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name)
{
    void *address;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0)
            return memcpy(&address, &functions[i].function, sizeof(address)), address;
    return below->clGetExtensionFunctionAddressForPlatform(platform, name);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    static const char own[] = "cl_khr_d3d11_sharing cl_khr_dx9_media_sharing ";
    cl_platform_id platform = NULL;
    if (name != CL_DEVICE_EXTENSIONS ||
        below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
        return below->clGetDeviceInfo(device, name, room, to, size_ret);
    char text[32768] = "";
    const cl_int status =
        below->clGetDeviceInfo(device, name, sizeof(text) - sizeof(own), text + sizeof(own) - 1, NULL);
    memcpy(text, own, sizeof(own) - 1);
    return status == CL_SUCCESS ? give_answer(text, strlen(text) + 1, room, to, size_ret) : status;
}

/* Takes the property of the extension, which the real driver below does not know. False: a property is refused. */
static bool take_property(const cl_context_properties *properties, cl_context_properties plain[32], cl_int *status)
{
    size_t length = 0;
    memset(plain, 0, 32 * sizeof(*plain));
    for (const cl_context_properties *p = properties; p && *p && length < 30; p += 2)
        if (*p == CL_CONTEXT_INTEROP_USER_SYNC) { /* as NVIDIA's driver for Windows does */
            *status = CL_INVALID_PROPERTY;
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

typedef void(CL_CALLBACK *notify_function)(const char *, const void *, size_t, void *);

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices, notify_function notify, void *data,
                                             cl_int *status)
{
    cl_context_properties plain[32];
    return take_property(properties, plain, status)
               ? below->clCreateContext(plain[0] ? plain : NULL, count, devices, notify, data, status)
               : NULL;
}

static cl_context CL_API_CALL create_from_type(const cl_context_properties *properties, cl_device_type type,
                                               notify_function notify, void *data, cl_int *status)
{
    cl_context_properties plain[32];
    return take_property(properties, plain, status)
               ? below->clCreateContextFromType(plain[0] ? plain : NULL, type, notify, data, status)
               : NULL;
}

static void replace(void)
{
    table.clGetExtensionFunctionAddressForPlatform = get_address;
    table.clGetDeviceInfo = get_device_info;
    table.clCreateContext = create_context;
    table.clCreateContextFromType = create_from_type;
    table.clGetMemObjectInfo = get_mem_info;
    table.clGetImageInfo = get_image_info;
}
