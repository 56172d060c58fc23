/* Direct3D 11: copies and maps by the immediate context. */
#include "d3d/d3d1x.h"

#include <CL/cl_d3d11.h>

/* The immediate context, with one reference. It is queried each time, because a reference to it would keep the device
 * alive. */
static ID3D11DeviceContext *context_of(void *device)
{
    ID3D11DeviceContext *context;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    return context;
}

static bool is_below_level_10(void *device)
{
    return ID3D11Device_GetFeatureLevel((ID3D11Device *)device) < D3D_FEATURE_LEVEL_10_0;
}

static void copy(void *device, void *to, UINT to_subresource, UINT to_x, void *from, UINT from_subresource,
                 const D3D11_BOX *part)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_CopySubresourceRegion(context, to, to_subresource, to_x, 0, 0, from, from_subresource, part);
    com_release(context);
}

static HRESULT map_level(void *device, const struct surface_desc *desc, void *resource, UINT subresource,
                         D3D11_MAP mode, struct d3d1x_level *level)
{
    ID3D11DeviceContext *context = context_of(device);
    D3D11_MAPPED_SUBRESOURCE m = {0};
    const HRESULT result = ID3D11DeviceContext_Map(context, resource, subresource, mode, 0, &m);
    (void)desc;
    com_release(context);
    *level = (struct d3d1x_level){m.pData, m.RowPitch, m.DepthPitch};
    return result;
}

static void unmap_level(void *device, const struct surface_desc *desc, void *resource, UINT subresource)
{
    ID3D11DeviceContext *context = context_of(device);
    (void)desc;
    ID3D11DeviceContext_Unmap(context, resource, subresource);
    com_release(context);
}

static void flush(void *device)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_Flush(context);
    com_release(context);
}

static void *get_predicate(void *device, BOOL *value)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11Predicate *predicate = NULL;
    ID3D11DeviceContext_GetPredication(context, &predicate, value);
    com_release(context);
    return predicate;
}

static void set_predicate(void *device, void *predicate, BOOL value)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_SetPredication(context, (ID3D11Predicate *)predicate, value);
    com_release(context);
}

static HRESULT end_event(void *device, void **query)
{
    const D3D11_QUERY_DESC desc = {D3D11_QUERY_EVENT, 0};
    const HRESULT result = ID3D11Device_CreateQuery((ID3D11Device *)device, &desc, (ID3D11Query **)query);
    if (FAILED(result))
        return result;
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)*query);
    com_release(context);
    return result;
}

static int reached(void *query)
{
    ID3D11Device *device = NULL;
    BOOL done = FALSE;
    ID3D11Query_GetDevice((ID3D11Query *)query, &device);
    ID3D11DeviceContext *context = context_of(device);
    const HRESULT result = ID3D11DeviceContext_GetData(context, (ID3D11Asynchronous *)query, &done, sizeof(done), 0);
    com_release(context);
    com_release(device);
    return FAILED(result) ? -1 : result == S_OK;
}

#define VERSION 11
#include "d3d/d3d1x.inc"
