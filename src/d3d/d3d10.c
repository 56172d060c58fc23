/* Direct3D 10: the device is its own context, and a resource is mapped by its own interface. */
#include "d3d/d3d1x.h"

#include <CL/cl_d3d10.h>

_Static_assert((int)D3D10_USAGE_IMMUTABLE == (int)D3D11_USAGE_IMMUTABLE &&
                   (int)D3D10_USAGE_DYNAMIC == (int)D3D11_USAGE_DYNAMIC &&
                   (int)D3D10_USAGE_STAGING == (int)D3D11_USAGE_STAGING &&
                   (int)D3D10_CPU_ACCESS_READ == (int)D3D11_CPU_ACCESS_READ &&
                   (int)D3D10_BIND_SHADER_RESOURCE == (int)D3D11_BIND_SHADER_RESOURCE &&
                   (int)D3D10_BIND_VERTEX_BUFFER == (int)D3D11_BIND_VERTEX_BUFFER &&
                   (int)D3D10_BIND_RENDER_TARGET == (int)D3D11_BIND_RENDER_TARGET &&
                   sizeof(D3D10_BOX) == sizeof(D3D11_BOX) &&
                   (int)D3D10_CPU_ACCESS_WRITE == (int)D3D11_CPU_ACCESS_WRITE &&
                   sizeof(D3D10_SUBRESOURCE_DATA) == sizeof(D3D11_SUBRESOURCE_DATA) &&
                   (int)D3D10_MAP_READ == (int)D3D11_MAP_READ &&
                   (int)D3D10_MAP_READ_WRITE == (int)D3D11_MAP_READ_WRITE &&
                   (int)D3D10_MAP_WRITE_DISCARD == (int)D3D11_MAP_WRITE_DISCARD,
               "the values of Direct3D 10 and 11 are the same");

/* Direct3D 10.0 devices have no feature levels. */
static bool is_below_level_10(void *device)
{
    ID3D10Device1 *later = com_query(device, &IID_ID3D10Device1);
    const bool low = later && ID3D10Device1_GetFeatureLevel(later) < D3D10_FEATURE_LEVEL_10_0;
    com_release(later);
    return low;
}

static void copy(void *device, void *to, UINT to_subresource, UINT to_x, void *from, UINT from_subresource,
                 const D3D11_BOX *part)
{
    ID3D10Device_CopySubresourceRegion((ID3D10Device *)device, to, to_subresource, to_x, 0, 0, from, from_subresource,
                                       (const D3D10_BOX *)part);
}

static HRESULT map_level(void *device, const struct surface_desc *desc, void *resource, UINT subresource,
                         D3D11_MAP mode, struct d3d1x_level *level)
{
    HRESULT result;
    (void)device;
    if (desc->kind == SURFACE_BUFFER) {
        *level = (struct d3d1x_level){NULL, desc->width, desc->width};
        return ID3D10Buffer_Map((ID3D10Buffer *)resource, (D3D10_MAP)mode, 0, &level->data);
    }
    if (desc->kind == SURFACE_IMAGE_2D) {
        D3D10_MAPPED_TEXTURE2D m = {0};
        result = ID3D10Texture2D_Map((ID3D10Texture2D *)resource, subresource, (D3D10_MAP)mode, 0, &m);
        *level = (struct d3d1x_level){m.pData, m.RowPitch, 0};
    } else {
        D3D10_MAPPED_TEXTURE3D m = {0};
        result = ID3D10Texture3D_Map((ID3D10Texture3D *)resource, subresource, (D3D10_MAP)mode, 0, &m);
        *level = (struct d3d1x_level){m.pData, m.RowPitch, m.DepthPitch};
    }
    return result;
}

static void unmap_level(void *device, const struct surface_desc *desc, void *resource, UINT subresource)
{
    (void)device;
    if (desc->kind == SURFACE_BUFFER)
        ID3D10Buffer_Unmap((ID3D10Buffer *)resource);
    else if (desc->kind == SURFACE_IMAGE_2D)
        ID3D10Texture2D_Unmap((ID3D10Texture2D *)resource, subresource);
    else
        ID3D10Texture3D_Unmap((ID3D10Texture3D *)resource, subresource);
}

static void flush(void *device)
{
    ID3D10Device_Flush((ID3D10Device *)device);
}

static void *get_predicate(void *device, BOOL *value)
{
    ID3D10Predicate *predicate = NULL;
    ID3D10Device_GetPredication((ID3D10Device *)device, &predicate, value);
    return predicate;
}

static void set_predicate(void *device, void *predicate, BOOL value)
{
    ID3D10Device_SetPredication((ID3D10Device *)device, (ID3D10Predicate *)predicate, value);
}

static HRESULT end_event(void *device, void **query)
{
    const D3D10_QUERY_DESC desc = {D3D10_QUERY_EVENT, 0};
    const HRESULT result = ID3D10Device_CreateQuery((ID3D10Device *)device, &desc, (ID3D10Query **)query);
    if (SUCCEEDED(result))
        ID3D10Query_End((ID3D10Query *)*query);
    return result;
}

static int reached(void *query)
{
    BOOL done = FALSE;
    const HRESULT result = ID3D10Query_GetData((ID3D10Query *)query, &done, sizeof(done), 0);
    return FAILED(result) ? -1 : result == S_OK;
}

#define VERSION 10
#include "d3d/d3d1x.inc"
