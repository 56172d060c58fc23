/* A layer that makes a driver keep copies of its own of memory that an application gives it, as drivers for GPUs do. Below
 * cld3d, as the driver would be. CLD3D_TEST_COPIES says of what: "images", "buffers". */
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

static cl_mem_flags changed(const char *kind, cl_mem_flags flags)
{
    const char *kinds = getenv("CLD3D_TEST_COPIES");
    if (!(flags & CL_MEM_USE_HOST_PTR) || !kinds || !strstr(kinds, kind))
        return flags;
    return (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *desc, void *host, cl_int *status)
{
    return below->clCreateImage(context, changed("images", flags), format, desc, host, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    return below->clCreateBuffer(context, changed("buffers", flags), size, host, status);
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
    table.clCreateImage = create_image;
    table.clCreateBuffer = create_buffer;
    *entries_ret = sizeof(table) / sizeof(void *);
    *table_ret = &table;
    return CL_SUCCESS;
}
