/* A layer that makes a driver keep copies of its own of memory that an application gives it, as drivers for GPUs do. Below
 * cld3d, as the driver would be. CLD3D_TEST_COPIES says of what: "images", "buffers". */
#include "layer_entry.h"

#include <stdlib.h>
#include <string.h>

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

static void replace(void)
{
    table.clCreateImage = create_image;
    table.clCreateBuffer = create_buffer;
}
