#include "emulate/known_devices.h"

#include "emulate/emulate.h"
#include "os/os.h"

/* A set of handles, which are only compared. Nothing is removed: platforms and their devices live as long as the
 * process, and the ends of sub-devices are not tracked. */
struct set {
    const void *handles[256];
    atomic_uint count; /* grows after the handle is there */
    atomic_bool full;  /* one is missing */
};

static struct set platforms, devices, parts;
/* Guards additions. */
static os_mutex lock = OS_MUTEX_INIT;

static bool has(struct set *set, const void *handle)
{
    const unsigned count = atomic_load_explicit(&set->count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (set->handles[i] == handle)
            return true;
    return false;
}

static void add_locked(struct set *set, const void *handle)
{
    const unsigned count = atomic_load_explicit(&set->count, memory_order_relaxed);
    if (!handle || has(set, handle))
        return;
    if (count == sizeof(set->handles) / sizeof(set->handles[0])) {
        atomic_store(&set->full, true);
        return;
    }
    set->handles[count] = handle;
    atomic_store_explicit(&set->count, count + 1, memory_order_release);
}

/* Where the driver stores the count of a list: cld3d needs it even if the program does not request it. */
static cl_uint *count_place(const void *list, cl_uint *wanted, cl_uint *own)
{
    return wanted || !list ? wanted : own;
}

/* A list with room for `room` handles that a call has filled with its first `found`. Returns the call's status. */
static cl_int add_list(struct set *set, cl_int status, void *list, cl_uint room, const cl_uint *found)
{
    void *const *handles = list;
    if (status != CL_SUCCESS || !list)
        return status;
    os_lock(&lock);
    for (cl_uint i = 0; i < room && i < *found; i++)
        add_locked(set, handles[i]);
    os_unlock(&lock);
    return status;
}

/* ---- what is listed ---- */

static cl_int CL_API_CALL get_platform_ids(cl_uint num_entries, cl_platform_id *list, cl_uint *num_platforms)
{
    cl_uint own = 0, *found = count_place(list, num_platforms, &own);
    return add_list(&platforms, underlying.clGetPlatformIDs(num_entries, list, found), list, num_entries, found);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                         cl_device_id *list, cl_uint *num_devices)
{
    cl_uint own = 0, *found = count_place(list, num_devices, &own);
    return add_list(&devices, underlying.clGetDeviceIDs(platform, device_type, num_entries, list, found), list,
                    num_entries, found);
}

static cl_int CL_API_CALL create_sub_devices(cl_device_id device, const cl_device_partition_property *properties,
                                             cl_uint num_devices, cl_device_id *list, cl_uint *num_devices_ret)
{
    cl_uint own = 0, *found = count_place(list, num_devices_ret, &own);
    return add_list(&parts, underlying.clCreateSubDevices(device, properties, num_devices, list, found), list,
                    num_devices, found);
}

static cl_int CL_API_CALL create_sub_devices_ext(cl_device_id device,
                                                 const cl_device_partition_property_ext *properties,
                                                 cl_uint num_entries, cl_device_id *list, cl_uint *num_devices)
{
    cl_uint own = 0, *found = count_place(list, num_devices, &own);
    return add_list(&parts, underlying.clCreateSubDevicesEXT(device, properties, num_entries, list, found), list,
                    num_entries, found);
}

/* ---- questions ---- */

bool known_platform(const void *handle)
{
    return has(&platforms, handle);
}

bool known_device(const void *handle)
{
    return has(&devices, handle);
}

/* Lists everything, because a program may have obtained a device from its context. */
static void list_all(void)
{
    enum { MOST = 64 };
    const cl_device_type types[] = {CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CUSTOM}; /* the first excludes the second */
    cl_platform_id all[MOST];
    cl_device_id some[MOST];
    cl_uint count = 0;
    if (get_platform_ids(MOST, all, &count) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count && i < MOST; i++)
        for (int type = 0; type < 2; type++)
            get_device_ids(all[i], types[type], MOST, some, NULL);
}

bool known_may_be_device(cl_device_id device)
{
    if (has(&devices, device) || has(&parts, device))
        return true;
    list_all();
    return has(&devices, device) || atomic_load(&devices.full) || atomic_load(&parts.full);
}

/* If a layer below wraps the platforms that it lists, a device may report a platform that is not listed. */
static bool told_by_device(cl_platform_id platform)
{
    const unsigned count = atomic_load_explicit(&devices.count, memory_order_acquire);
    bool told = false;
    for (unsigned i = 0; i < count && !told; i++) {
        cl_platform_id own = NULL;
        told = underlying.clGetDeviceInfo((cl_device_id)devices.handles[i], CL_DEVICE_PLATFORM, sizeof(own), &own,
                                          NULL) == CL_SUCCESS &&
               own == platform;
    }
    return told;
}

bool known_may_be_platform(cl_platform_id platform)
{
    if (has(&platforms, platform))
        return true;
    list_all();
    return has(&platforms, platform) || atomic_load(&platforms.full) || told_by_device(platform);
}

void known_devices_install(cl_icd_dispatch *table)
{
    table->clGetPlatformIDs = get_platform_ids;
    table->clGetDeviceIDs = get_device_ids;
    table->clCreateSubDevices = create_sub_devices;
    /* A loader may lack it and return the driver's by name. */
    if (!next_is_missing(table, "clCreateSubDevicesEXT"))
        table->clCreateSubDevicesEXT = create_sub_devices_ext;
}
