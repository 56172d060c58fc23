/* A layer that makes a driver's handles look as AMD's do: their dispatch table begins with NULL, since nobody calls
 * clGetPlatformIDs through it. Below cld3d, as the driver would be. */
#define _DEFAULT_SOURCE /* sysconf */
#include <CL/cl_layer.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

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

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *to, size_t *size_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (to && room < sizeof(version)))
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, &version, sizeof(version));
    if (size_ret)
        *size_ret = sizeof(version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **table_ret)
{
    (void)entries;
    below = target;
    table = *target;
    table.clGetPlatformIDs = get_platforms;
    *entries_ret = sizeof(table) / sizeof(void *);
    *table_ret = &table;
    return CL_SUCCESS;
}
