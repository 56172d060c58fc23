/* Which OpenCL devices belong to a Direct3D device or adapter: clGetDeviceIDsFrom...KHR. */
#include "share/share.h"

#include "log.h"
#include "next/query.h"
#include "share/passthrough.h"

#include <stdio.h>
#include <string.h>

static cl_int platform_check(cl_platform_id platform)
{
    struct platform_list platforms;
    const cl_int status = platforms_of(below(), &platforms);
    bool found = false;
    for (cl_uint i = 0; i < platforms.count; i++)
        found = found || platforms.at[i] == platform;
    /* Loaders return a special code on a system without platforms. */
    return found || driver_short(status) ? status : CL_INVALID_PLATFORM;
}

bool platform_valid(cl_platform_id platform)
{
    return platform_check(platform) == CL_SUCCESS;
}

/* cld3d needs functions of OpenCL 1.2, which a loader may have and an older driver lacks: calling them would end the
 * process. A version that is not reported counts as recent. */
static cl_int is_recent(cl_device_id device, bool *recent)
{
    char text[256] = "";
    int major = 0, minor = 0;
    const cl_int status = below()->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(text) - 1, text, NULL);
    *recent = status != CL_SUCCESS || sscanf(text, "OpenCL %d.%d", &major, &minor) != 2 || major > 1 ||
              (major == 1 && minor >= 2);
    return status;
}

cl_int device_sharing(cl_device_id device, bool *shares)
{
    /* Buffers could be shared without images, but then only a part of the extension would be supported. */
    cl_bool images = CL_FALSE;
    cl_int status = below()->clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
    *shares = status == CL_SUCCESS && images;
    if (*shares)
        status = is_recent(device, shares);
    return driver_short(status) ? status : CL_SUCCESS; /* a lost device does not affect the others */
}

cl_int sharing_devices(cl_platform_id platform, struct device_list *devices)
{
    cl_uint kept = 0;
    cl_int status = devices_of_platform(below(), platform, devices);
    for (cl_uint i = 0; i < devices->count && status == CL_SUCCESS; i++) {
        bool shares;
        status = device_sharing(devices->at[i], &shares);
        if (shares)
            devices->at[kept++] = devices->at[i];
    }
    devices->count = status == CL_SUCCESS ? kept : 0;
    return status;
}

/* ---- from the OpenCL device to the adapter ---- */

/* The adapter that the device matches best; if it is the hardware of none, the first for which it is preferred all the
 * same. */
static bool find_adapter_of(cl_device_id device, struct d3d_adapter *adapter)
{
    enum { MOST = 16 };
    struct d3d_adapter adapters[MOST];
    const unsigned count = dxgi_list(adapters, MOST);
    int best = 0;
    for (unsigned i = 0; i < count; i++) {
        const int strength = match_strength(device, &adapters[i]);
        if (strength > best)
            *adapter = adapters[i];
        best = strength > best ? strength : best;
    }
    for (unsigned i = 0; i < count && !best; i++) {
        cl_device_id kept = device;
        best = (int)match_keep(&kept, 1, &adapters[i]);
        if (best)
            *adapter = adapters[i];
    }
    return best != 0;
}

cl_int share_get_luid(cl_device_id device, cl_device_info name, size_t capacity, void *to, size_t *size_ret)
{
    static const char call[] = "clGetDeviceInfo";
    struct d3d_adapter adapter = {.luid = {0}};
    cl_bool valid = CL_FALSE;
    bool shares;
    if ((below()->clGetDeviceInfo(device, DEVICE_LUID_VALID, sizeof(valid), &valid, NULL) == CL_SUCCESS && valid) ||
        device_sharing(device, &shares) != CL_SUCCESS || !shares || passthrough_device(device))
        return below()->clGetDeviceInfo(device, name, capacity, to, size_ret);
    valid = find_adapter_of(device, &adapter);
    const cl_uint node = valid ? 1 : 0;
    if (name == DEVICE_LUID_VALID)
        return answer(call, &valid, sizeof(valid), capacity, to, size_ret);
    /* Without a valid LUID the values are undefined, but the query is no error. */
    return name == DEVICE_LUID ? answer(call, adapter.luid, sizeof(adapter.luid), capacity, to, size_ret)
                               : answer(call, &node, sizeof(node), capacity, to, size_ret);
}

/* ---- the calls ---- */

/* The checks that follow the platform in all of these functions. */
static cl_int check_lists(const struct d3d_api *api, cl_uint set, cl_uint capacity, const cl_device_id *devices,
                          const cl_uint *found)
{
    const char *call = api->call.get_device_ids;
    if (set != api->preferred_set && set != api->all_set)
        return log_refuse(call, CL_INVALID_VALUE, "the device set is 0x%x; it can be 0x%x (preferred) or 0x%x (all)",
                          set, api->preferred_set, api->all_set);
    if (capacity == 0 && devices)
        return log_refuse(call, CL_INVALID_VALUE, "num_entries is 0, but devices is not NULL");
    if (!devices && !found)
        return log_refuse(call, CL_INVALID_VALUE, "devices and num_devices are both NULL");
    return CL_SUCCESS;
}

static cl_int check_platform(const struct d3d_api *api, cl_platform_id platform)
{
    const cl_int status = platform_check(platform);
    if (status == CL_INVALID_PLATFORM)
        return log_refuse(api->call.get_device_ids, status, "%p is not a platform from clGetPlatformIDs",
                          (void *)platform);
    return log_next(api->call.get_device_ids, "clGetPlatformIDs", status);
}

/* The specification does not define an error for a bad object; CL_INVALID_VALUE fits best. */
static cl_int find_adapter(const struct d3d_api *api, bool object_is_adapter, void *object, struct d3d_adapter *adapter)
{
    const char *call = api->call.get_device_ids;
    if (object_is_adapter)
        return d3d_is_object(object) && api->ops->adapter(object, true, adapter)
                   ? CL_SUCCESS
                   : log_refuse(call, CL_INVALID_VALUE, "%p is not an IDXGIAdapter", object);
    void *device = d3d_is_object(object) ? api->ops->open_device(object) : NULL;
    if (!device)
        return log_refuse(call, CL_INVALID_VALUE, "%p is not a %s device", object, api->name);
    const bool found = api->ops->adapter(device, false, adapter);
    if (found)
        match_identify(api, device, adapter);
    com_release(device);
    return found ? CL_SUCCESS
                 : log_refuse(call, CL_OUT_OF_RESOURCES,
                              "the adapter of the %s device %p cannot be determined; the device may be lost", api->name,
                              object);
}

/* The devices of the platform, before those that belong to no adapter are left out. */
static cl_int list_devices(const struct d3d_api *api, cl_platform_id platform, struct device_list *devices)
{
    const cl_int status = sharing_devices(platform, devices);
    return status == CL_DEVICE_NOT_FOUND ? CL_SUCCESS : log_next(api->call.get_device_ids, "clGetDeviceIDs", status);
}

/* Keeps those that belong to an adapter, or to the adapter of a device. */
static cl_int keep_devices(const struct d3d_api *api, bool preferred, bool object_is_adapter, void *object,
                           struct device_list *devices)
{
    struct d3d_adapter adapter;
    const cl_int status = find_adapter(api, object_is_adapter, object, &adapter);
    if (status != CL_SUCCESS)
        return status;
    if (preferred)
        devices->count = match_keep(devices->at, devices->count, &adapter);
    log_write(LOG_DEBUG, "%s: %u %s devices for adapter '%s' (%04x:%04x)%s%s", api->call.get_device_ids, devices->count,
              preferred ? "preferred" : "possible", adapter.description, adapter.vendor, adapter.device,
              preferred ? ": " : "", preferred ? match_reason() : "");
    return CL_SUCCESS;
}

static cl_int give_devices(const struct device_list *list, cl_uint capacity, cl_device_id *devices, cl_uint *found)
{
    for (cl_uint i = 0; devices && i < list->count && i < capacity; i++)
        devices[i] = list->at[i];
    if (found)
        *found = list->count;
    return list->count ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* The API that a source stands for: Intel's function has one for each kind of device. */
static const struct d3d_api *source_api(const struct d3d_api *api, cl_uint source)
{
    for (unsigned i = 0; i < d3d_api_count && source; i++)
        if (strcmp(d3d_apis[i]->call.get_device_ids, api->call.get_device_ids) == 0 &&
            (source == d3d_apis[i]->device_source || source == d3d_apis[i]->adapter_source))
            return d3d_apis[i];
    return NULL;
}

cl_int share_get_device_ids(const struct d3d_api *api, cl_platform_id platform, cl_uint source, void *object,
                            cl_uint set, cl_uint capacity, cl_device_id *devices, cl_uint *found)
{
    const struct d3d_api *of = source_api(api, source);
    struct device_list list;
    cl_int status = check_platform(api, platform);
    if (status == CL_SUCCESS && passthrough_platform(platform))
        return passthrough_get_device_ids(api->call.get_device_ids, platform, source, object, set, capacity, devices,
                                          found);
    if (status == CL_SUCCESS && !of)
        status = log_refuse(api->call.get_device_ids, CL_INVALID_VALUE,
                            "device source 0x%x is not valid for this function; 0x%x is a %s device", source,
                            api->device_source, api->name);
    if (status == CL_SUCCESS)
        status = check_lists(api, set, capacity, devices, found);
    if (status == CL_SUCCESS)
        status = list_devices(api, platform, &list);
    if (status == CL_SUCCESS)
        status = keep_devices(of, set == api->preferred_set, source == of->adapter_source, object, &list);
    return status == CL_SUCCESS ? give_devices(&list, capacity, devices, found) : status;
}

const struct d3d_api *media_api(cl_uint adapter_type)
{
    for (unsigned i = 0; i < d3d_api_count && adapter_type; i++)
        if (d3d_apis[i]->adapter_type == adapter_type)
            return d3d_apis[i];
    return NULL;
}

/* Whether a program passes a device where the specification has an array of them. AMD's RapidFire does so, with one type and a
 * count of three. An array is recognized by its first device before its own address is tested: the device's function table may lie in
 * executable memory, and the array would then look like a COM object. */
static bool is_device(const cl_uint *types, void *const *objects)
{
    if (os_readable(objects, sizeof(*objects)) && d3d_is_object(objects[0]))
        return false;
    const struct d3d_api *api = os_readable(types, sizeof(*types)) ? media_api(types[0]) : NULL;
    void *object = (void *)(uintptr_t)objects;
    void *device = api && d3d_is_object(object) ? api->ops->open_device(object) : NULL;
    if (device)
        com_release(device);
    return device != NULL;
}

cl_int share_get_media_device_ids(cl_platform_id platform, cl_uint adapter_count, const cl_uint *types,
                                  void *const *objects, cl_uint set, cl_uint capacity, cl_device_id *devices,
                                  cl_uint *found)
{
    const struct d3d_api *api = &d3d9_api; /* the family's tokens */
    struct device_list list;
    cl_int status = check_platform(api, platform);
    if (status == CL_SUCCESS && passthrough_platform(platform))
        return passthrough_get_media_device_ids(api->call.get_device_ids, platform, adapter_count, types, objects, set,
                                                capacity, devices, found);
    void *const one = (void *)(uintptr_t)objects;
    if (status == CL_SUCCESS && adapter_count && is_device(types, objects)) {
        adapter_count = 1;
        objects = &one;
    }
    if (status == CL_SUCCESS && (adapter_count == 0 || !os_readable_array(types, adapter_count, sizeof(*types)) ||
                                 !os_readable_array(objects, adapter_count, sizeof(*objects))))
        status = log_refuse(api->call.get_device_ids, CL_INVALID_VALUE,
                            "invalid list: %u adapters, types at %p, adapters at %p", adapter_count,
                            (const void *)types, (const void *)objects);
    if (status == CL_SUCCESS)
        status = check_lists(api, set, capacity, devices, found);
    if (status == CL_SUCCESS)
        status = list_devices(api, platform, &list);
    for (cl_uint i = 0; i < adapter_count && status == CL_SUCCESS; i++) {
        const struct d3d_api *of = media_api(types[i]);
        status = of ? keep_devices(of, set == api->preferred_set, false, objects[i], &list)
                    : log_refuse(api->call.get_device_ids, CL_INVALID_VALUE,
                                 "adapter type %u is 0x%x, which is not one of the three types of the extension", i,
                                 types[i]);
    }
    return status == CL_SUCCESS ? give_devices(&list, capacity, devices, found) : status;
}
