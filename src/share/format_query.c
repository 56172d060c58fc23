/* cl_intel_sharing_format_query: which Direct3D formats a context can share. */
#include "share/share.h"

#include "d3d/formats.h"
#include "log.h"
#include "share/passthrough.h"

#include <stdlib.h>

/* The image formats that a context supports, native and emulated. The caller frees the list. */
static cl_int list_images(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_image_format **list,
                          cl_uint *count)
{
    cl_int status = below()->clGetSupportedImageFormats(context, flags, type, 0, NULL, count);
    *list = NULL;
    if (status != CL_SUCCESS || *count == 0)
        return status;
    *list = calloc(*count, sizeof(**list));
    if (!*list)
        return CL_OUT_OF_HOST_MEMORY;
    return below()->clGetSupportedImageFormats(context, flags, type, *count, *list, NULL);
}

static bool listed(const cl_image_format *list, cl_uint count, cl_image_format format)
{
    for (cl_uint i = 0; i < count; i++)
        if (cl_format_equal(list[i], format))
            return true;
    return false;
}

/* Only 2D and 3D textures can be shared, and video formats only as 2D textures; Direct3D 9 shares only surfaces. The
 * query of Direct3D 10 has no plane, because it does not list planar formats (cl_intel_sharing_format_query,
 * issues). */
static bool shares(const struct d3d_api *api, const struct format_row *row, cl_mem_object_type type)
{
    if (type == CL_MEM_OBJECT_IMAGE2D)
        return row->planes == 1 || api != &d3d10_api;
    return type == CL_MEM_OBJECT_IMAGE3D && row->planes == 1 && api->family != FAMILY_DX9;
}

/* Checks the arguments here, because drivers check them differently or not at all. */
static cl_int check_question(const char *call, cl_mem_flags flags, cl_mem_object_type type)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY | CL_MEM_KERNEL_READ_AND_WRITE;
    if (!flags || (flags & ~access) || (flags & (flags - 1)))
        return log_refuse(call, CL_INVALID_VALUE, "the flags 0x%llx must name exactly one kind of access",
                          (unsigned long long)flags);
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return log_refuse(call, CL_INVALID_VALUE, "0x%x is not an image type", type);
    return CL_SUCCESS;
}

cl_int share_get_formats(const struct d3d_api *api, const char *call, cl_context handle, cl_mem_flags flags,
                         cl_mem_object_type type, cl_uint plane, cl_uint capacity, cl_uint *codes, cl_uint *found)
{
    struct sharing_context *context = NULL;
    cl_image_format *images = NULL;
    cl_uint image_count = 0, count = 0;
    if (!registry_has(RECORD_CONTEXT, handle) && passthrough_context(handle))
        return passthrough_get_formats(api, call, handle, flags, type, plane, capacity, codes, found);
    cl_int status = context_get(call, handle, &context);
    if (status == CL_SUCCESS && (!context || !context_serves(context, api)))
        status = log_refuse(call, CL_INVALID_CONTEXT, "the context was not created with a %s device", api->name);
    if (status == CL_SUCCESS)
        status = check_question(call, flags, type);
    if (status == CL_SUCCESS && ((capacity == 0 && codes) || (!codes && !found)))
        status = log_refuse(call, CL_INVALID_VALUE, "num_entries is %u with a list at %p and a count at %p", capacity,
                            (void *)codes, (void *)found);
    if (status == CL_SUCCESS)
        status = log_next(call, "clGetSupportedImageFormats", list_images(handle, flags, type, &images, &image_count));
    const bool dx9 = api->family == FAMILY_DX9;
    const struct format_row *rows = dx9 ? d3d9_formats : dxgi_formats;
    const unsigned row_count = dx9 ? d3d9_format_count : dxgi_format_count;
    for (unsigned i = 0; status == CL_SUCCESS && i < row_count; i++) {
        if (rows[i].plane != plane || !shares(api, &rows[i], type) || !listed(images, image_count, rows[i].cl))
            continue;
        if (codes && count < capacity)
            codes[count] = rows[i].code;
        count++;
    }
    if (status == CL_SUCCESS && found)
        *found = count;
    free(images);
    record_release(context);
    return status;
}
