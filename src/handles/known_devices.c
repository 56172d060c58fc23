#include "handles/known_devices.h"

#include "os/os.h"

#include <stdatomic.h>

/* A set of handles, which are only compared. Nothing is removed. */
struct set {
    const void *handles[256];
    atomic_uint count; /* grows after the handle is there */
};

static struct set platforms, devices;
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

/* A list of `count` handles, from a successful call. */
static void add_list(struct set *set, cl_uint count, const void *list)
{
    void *const *handles = list;
    os_lock(&lock);
    for (cl_uint i = 0; i < count; i++) {
        const unsigned place = atomic_load_explicit(&set->count, memory_order_relaxed);
        if (has(set, handles[i]) || place == sizeof(set->handles) / sizeof(set->handles[0]))
            continue;
        set->handles[place] = handles[i];
        atomic_store_explicit(&set->count, place + 1, memory_order_release);
    }
    os_unlock(&lock);
}

/* The functions below these. */
static __typeof__(&clGetPlatformIDs) platforms_below;
static __typeof__(&clGetDeviceIDs) devices_below;

static cl_int CL_API_CALL get_platform_ids(cl_uint num_entries, cl_platform_id *list, cl_uint *num_platforms)
{
    cl_uint own = 0, *found = num_platforms || !list ? num_platforms : &own;
    const cl_int status = platforms_below(num_entries, list, found);
    if (status == CL_SUCCESS && list)
        add_list(&platforms, *found < num_entries ? *found : num_entries, list);
    return status;
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                         cl_device_id *list, cl_uint *num_devices)
{
    cl_uint own = 0, *found = num_devices || !list ? num_devices : &own;
    const cl_int status = devices_below(platform, device_type, num_entries, list, found);
    if (status == CL_SUCCESS && list)
        add_list(&devices, *found < num_entries ? *found : num_entries, list);
    return status;
}

bool known_platform(const void *handle)
{
    return has(&platforms, handle);
}

bool known_device(const void *handle)
{
    return has(&devices, handle);
}

void known_devices_install(cl_icd_dispatch *table)
{
    platforms_below = table->clGetPlatformIDs;
    devices_below = table->clGetDeviceIDs;
    table->clGetPlatformIDs = get_platform_ids;
    table->clGetDeviceIDs = get_device_ids;
}
