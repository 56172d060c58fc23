/* A layer that makes a driver's handles look as AMD's do: their dispatch table begins with NULL, since nobody calls
 * clGetPlatformIDs through it. Below cld3d, as the driver would be. */
#define _DEFAULT_SOURCE /* sysconf */
#include "layer_entry.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The driver's own table is changed, wherever it lies: all its handles point there. */
static void make_sparse(cl_platform_id platform)
{
    void **dispatch = *(void ***)platform;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (mprotect((void *)((uintptr_t)dispatch / page * page), (size_t)page, PROT_READ | PROT_WRITE) == 0)
        dispatch[0] = NULL;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    const cl_int status = below->clGetPlatformIDs(room, platforms, count);
    for (cl_uint i = 0; status == CL_SUCCESS && platforms && i < room && (!count || i < *count); i++)
        make_sparse(platforms[i]);
    return status;
}

static void replace(void)
{
    table.clGetPlatformIDs = get_platforms;
}
