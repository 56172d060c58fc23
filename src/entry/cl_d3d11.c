/* The functions of cl_khr_d3d11_sharing, and the query of cl_intel_sharing_format_query. */
#include "entry/cl_d3d.h"

#define VERSION 11
#include "entry/cl_d3d1x.inc"

CL_API_ENTRY cl_int CL_API_CALL clGetSupportedD3D11TextureFormatsINTEL(cl_context context, cl_mem_flags flags,
                                                                       cl_mem_object_type image_type, cl_uint plane,
                                                                       cl_uint num_entries, DXGI_FORMAT *d3d11_formats,
                                                                       cl_uint *num_texture_formats)
{
    entry_open();
    return share_get_formats(&d3d11_api, "clGetSupportedD3D11TextureFormatsINTEL", context, flags, image_type, plane,
                             num_entries, (cl_uint *)d3d11_formats, num_texture_formats);
}
