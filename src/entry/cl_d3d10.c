/* The functions of cl_khr_d3d10_sharing, and the query of cl_intel_sharing_format_query. */
#include "entry/cl_d3d.h"

#define VERSION 10
#include "entry/cl_d3d1x.inc"

/* Unlike those of the other APIs this query has no parameter for a plane, as in the extension's header. */
CL_API_ENTRY cl_int CL_API_CALL clGetSupportedD3D10TextureFormatsINTEL(cl_context context, cl_mem_flags flags,
                                                                       cl_mem_object_type image_type,
                                                                       cl_uint num_entries, DXGI_FORMAT *d3d10_formats,
                                                                       cl_uint *num_texture_formats)
{
    entry_open();
    return share_get_formats(&d3d10_api, "clGetSupportedD3D10TextureFormatsINTEL", context, flags, image_type, 0,
                             num_entries, (cl_uint *)d3d10_formats, num_texture_formats);
}
