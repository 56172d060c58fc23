#include "share/passthrough.h"

#include "log.h"
#include "next/query.h"
#include "settings.h"
#include "share/extensions.h"
#include "handles/handle_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool from_all;

void passthrough_from_all(void)
{
    from_all = true;
}

static bool lists_sharing(const char *text)
{
    bool found = false;
    for (unsigned i = 0; i < extension_count && !found; i++)
        found = words_have(text, extensions[i].name, strlen(extensions[i].name));
    return found;
}

static bool device_has_own(cl_device_id device)
{
    size_t size = 0;
    if (below()->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS)
        return false;
    char *text = calloc(1, size + 1);
    const bool own = text && below()->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, text, NULL) == CL_SUCCESS &&
                     lists_sharing(text);
    free(text);
    return own;
}

/* Drivers list the extensions in the device's string; one device of the platform is enough. */
static bool platform_has_own(cl_platform_id platform)
{
    struct device_list devices;
    if (devices_of_platform(below(), platform, &devices) != CL_SUCCESS)
        return false;
    bool own = false;
    for (cl_uint i = 0; i < devices.count; i++)
        own = own || device_has_own(devices.at[i]);
    return own;
}

bool passthrough_platform(cl_platform_id platform)
{
    return from_all || (!setting_on(SETTING_FORCE) && platform_has_own(platform));
}

bool passthrough_device(cl_device_id device)
{
    cl_platform_id platform = NULL;
    return device_may_be(device) &&
           below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS &&
           passthrough_platform(platform);
}

/* Whether any driver may share by itself. Only then is a driver asked about an invalid handle: some drivers answer for
 * handles of any kind, with a value that is not a device. */
static bool passthrough_possible(void)
{
    struct platform_list platforms;
    bool possible = platforms_of(below(), &platforms) != CL_SUCCESS;
    for (cl_uint i = 0; i < platforms.count; i++)
        possible = possible || passthrough_platform(platforms.at[i]);
    return possible;
}

bool passthrough_context(cl_context context)
{
    struct device_list devices;
    return handle_may_be(context, clGetContextInfo) && !handle_is_other(HANDLE_CONTEXT, context) &&
           passthrough_possible() && devices_of_context(below(), context, &devices) == CL_SUCCESS && devices.count &&
           passthrough_device(devices.at[0]);
}

bool passthrough_queue(cl_command_queue queue)
{
    cl_device_id device = NULL;
    return handle_may_be(queue, clGetCommandQueueInfo) && !handle_is_other(HANDLE_QUEUE, queue) &&
           passthrough_possible() &&
           below()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) == CL_SUCCESS &&
           passthrough_device(device);
}

bool passthrough_memory(cl_mem memory)
{
    cl_context context = NULL;
    return handle_may_be(memory, clGetMemObjectInfo) && !handle_is_other(HANDLE_MEMORY, memory) &&
           passthrough_possible() &&
           below()->clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS &&
           !registry_has(RECORD_CONTEXT, context) && passthrough_context(context);
}

bool passthrough_new_context(const cl_context_properties *properties, cl_uint device_count, const cl_device_id *devices)
{
    cl_platform_id platform = NULL;
    if (devices && device_count)
        return passthrough_device(devices[0]);
    for (const cl_context_properties *p = properties; p && *p; p += 2)
        if (*p == CL_CONTEXT_PLATFORM)
            platform = (cl_platform_id)p[1];
    /* Without a platform the loader uses its first one. */
    if (!platform && below()->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS)
        return false;
    return platform_valid(platform) && passthrough_platform(platform);
}

/* ---- the driver's functions ---- */

/* The caller casts the result to the function's type. A driver may have the functions under cl_nv_'s names, which are
 * tried first: loaders for Windows return a function for each of Khronos's names, whether the driver has it or not. */
static next_function driver_function(cl_platform_id platform, const char *name)
{
    char older[64];
    const size_t stem = strcspn(name, "K"); /* ...KHR: the only K; Intel's names have none */
    snprintf(older, sizeof(older), "%.*sNV", (int)stem, name);
    next_function function = name[stem] ? next_by_name(below(), platform, older) : NULL;
    if (!function)
        function = next_by_name(below(), platform, name);
    if (!function)
        log_refuse(name, CL_INVALID_OPERATION,
                   "the driver has Direct3D sharing of its own, but not this function; %s=1 "
                   "replaces the driver's",
                   setting_variable(SETTING_FORCE));
    return function;
}

cl_int passthrough_get_device_ids(const char *call, cl_platform_id platform, cl_uint source, void *object, cl_uint set,
                                  cl_uint capacity, cl_device_id *devices, cl_uint *found)
{
    typedef cl_int(CL_API_CALL * get_ids)(cl_platform_id, cl_uint, void *, cl_uint, cl_uint, cl_device_id *, cl_uint *);
    const get_ids function = (get_ids)driver_function(platform, call);
    return function ? function(platform, source, object, set, capacity, devices, found) : CL_INVALID_OPERATION;
}

cl_int passthrough_get_media_device_ids(const char *call, cl_platform_id platform, cl_uint count, const cl_uint *types,
                                        void *const *adapters, cl_uint set, cl_uint capacity, cl_device_id *devices,
                                        cl_uint *found)
{
    typedef cl_int(CL_API_CALL * get_ids)(cl_platform_id, cl_uint, const cl_uint *, void *const *, cl_uint, cl_uint,
                                          cl_device_id *, cl_uint *);
    const get_ids function = (get_ids)driver_function(platform, call);
    return function ? function(platform, count, types, adapters, set, capacity, devices, found) : CL_INVALID_OPERATION;
}

typedef cl_mem(CL_API_CALL *create_media)(cl_context, cl_mem_flags, cl_uint, void *, cl_uint, cl_int *);

static cl_mem create(next_function function, const struct object_request *r, cl_context context, cl_int *errcode_ret)
{
    typedef cl_mem(CL_API_CALL * create_buffer)(cl_context, cl_mem_flags, void *, cl_int *);
    typedef cl_mem(CL_API_CALL * create_texture)(cl_context, cl_mem_flags, void *, cl_uint, cl_int *);
    typedef cl_mem(CL_API_CALL * create_intel)(cl_context, cl_mem_flags, void *, void *, cl_uint, cl_int *);
    if (r->kind == SURFACE_BUFFER)
        return ((create_buffer)function)(context, r->flags, r->resource, errcode_ret);
    if (r->api->family != FAMILY_DX9)
        return ((create_texture)function)(context, r->flags, r->resource, r->index, errcode_ret);
    if (!r->api->adapter_type)
        return ((create_intel)function)(context, r->flags, r->resource, r->shared_handle, r->index, errcode_ret);
    void *info[2] = {r->resource, r->shared_handle};
    return ((create_media)function)(context, r->flags, r->api->adapter_type, info, r->index, errcode_ret);
}

static next_function context_function(cl_context context, const char *name)
{
    return driver_function(context_platform(context), name);
}

cl_mem passthrough_create(const struct object_request *request, cl_context context, cl_int *errcode_ret)
{
    const next_function function = context_function(context, request->call);
    if (function)
        return create(function, request, context, errcode_ret);
    give_code(errcode_ret, CL_INVALID_OPERATION);
    return NULL;
}

cl_mem passthrough_create_media(const char *call, cl_context context, cl_mem_flags flags, cl_uint adapter_type,
                                void *surface_info, cl_uint plane, cl_int *errcode_ret)
{
    const next_function function = context_function(context, call);
    if (function)
        return ((create_media)function)(context, flags, adapter_type, surface_info, plane, errcode_ret);
    give_code(errcode_ret, CL_INVALID_OPERATION);
    return NULL;
}

cl_int passthrough_enqueue(const char *call, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                           cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    typedef cl_int(CL_API_CALL * enqueue)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                          cl_event *);
    cl_device_id device = NULL;
    cl_platform_id platform = NULL;
    below()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    const enqueue function = (enqueue)driver_function(platform, call);
    return function ? function(queue, count, objects, wait_count, wait, event) : CL_INVALID_OPERATION;
}
