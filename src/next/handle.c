#include "next/handle.h"

#include "os/os.h"

#include <stdint.h>

#if defined(_WIN32) && !defined(_WIN64)
/* Whether the host's memory has a pointer at `handle`, and behind that one at `slot`. */
static bool host_has_function(const void *handle, size_t slot)
{
    const char *table = NULL;
    const void *function = NULL;
    return (uintptr_t)handle % sizeof(table) == 0 && os_read(handle, &table, sizeof(table)) && table &&
           (uintptr_t)table % sizeof(function) == 0 && os_read(table + slot, &function, sizeof(function)) && function;
}

/* A system may forbid Wine's server to look. Then nothing is known of any handle. */
static bool host_is_seen(void)
{
    cl_platform_id platform = NULL;
    return next.clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
           host_has_function(platform, offsetof(cl_icd_dispatch, clGetPlatformInfo));
}

static bool may_be_hosts(const void *handle, size_t slot)
{
    return host_has_function(handle, slot) || !host_is_seen();
}
#else
static bool may_be_hosts(const void *handle, size_t slot)
{
    (void)handle;
    (void)slot;
    return true;
}
#endif

bool handle_plausible(const void *handle, size_t slot)
{
    return handle && (os_is_wine() ? may_be_hosts(handle, slot) : os_has_function(handle, slot));
}
