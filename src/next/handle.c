#include "next/handle.h"

#include "os/os.h"

#include <stdint.h>

/* The table of a cl_khr_icd 2.0 object may have no functions: its first entry is a mark, and loaders call through
 * another table. */
#define MARK ((uintptr_t)0x4F50454E434C3331) /* OPENCL31 */
#define MARK_PLACE offsetof(cl_icd_dispatch, clGetPlatformIDs)

#if defined(_WIN32) && !defined(_WIN64)
/* Memory can be the host's code if it is readable and Windows either does not know it or knows it as executable. */
static bool may_be_code(const void *address)
{
    char byte;
    return address && os_read(address, &byte, sizeof(byte)) && (!os_readable(address, 1) || os_executable(address));
}

/* Whether host memory has a pointer to a table at `handle`, and that table has at `slot` a pointer to what may be a
 * function. */
static bool host_has_function(const void *handle, size_t slot)
{
    const char *table = NULL;
    const void *function = NULL;
    uintptr_t mark = 0;
    if ((uintptr_t)handle % sizeof(table) || !os_read(handle, &table, sizeof(table)) || !table ||
        (uintptr_t)table % sizeof(function))
        return false;
    return (os_read(table + slot, &function, sizeof(function)) && may_be_code(function)) ||
           (os_read(table + MARK_PLACE, &mark, sizeof(mark)) && mark == MARK);
}

/* Whether host memory can be inspected: a system may deny this to Wine's server, and then no handle can be checked. */
static bool host_is_seen(void)
{
    cl_platform_id platform = NULL;
    return next.clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
           host_has_function(platform, offsetof(cl_icd_dispatch, clGetPlatformInfo));
}

static bool may_be_hosts(const void *handle, size_t slot)
{
    return handles_are_checked || host_has_function(handle, slot) || !host_is_seen();
}
#else
static bool may_be_hosts(const void *handle, size_t slot)
{
    (void)handle;
    (void)slot;
    return true;
}
#endif

bool handles_are_checked;

bool handle_plausible(const void *handle, size_t slot)
{
    return handle && (os_is_wine() ? may_be_hosts(handle, slot)
                                   : os_has_function(handle, slot) || os_has_value(handle, MARK_PLACE, MARK));
}
