#include "rig_d3d.h"

#include <CL/cl_d3d11.h>

static HRESULT open(UINT flags, void **device)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    return D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, flags, &level, 1, D3D11_SDK_VERSION,
                             (ID3D11Device **)device, NULL, NULL);
}

#define CONTEXT ID3D11DeviceContext
#define COMMAND(name) ID3D11DeviceContext_##name

static ID3D11DeviceContext *context_of(void *device)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    return context;
}

static HRESULT map(void *device, void *resource, const struct rig_desc *desc, UINT subresource, enum rig_map mode,
                   struct rig_rows *mapped)
{
    static const D3D11_MAP modes[] = {D3D11_MAP_READ, D3D11_MAP_WRITE, D3D11_MAP_WRITE_DISCARD};
    ID3D11DeviceContext *context = context_of(device);
    D3D11_MAPPED_SUBRESOURCE m = {0};
    const HRESULT result =
        ID3D11DeviceContext_Map(context, (ID3D11Resource *)resource, subresource, modes[mode], 0, &m);
    ID3D11DeviceContext_Release(context);
    *mapped = (struct rig_rows){m.pData, m.RowPitch, m.DepthPitch};
    (void)desc;
    return result;
}

static void unmap(void *device, void *resource, const struct rig_desc *desc, UINT subresource)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)resource, subresource);
    ID3D11DeviceContext_Release(context);
    (void)desc;
}

static HRESULT finish(void *device)
{
    static const D3D11_QUERY_DESC desc = {D3D11_QUERY_EVENT, 0};
    ID3D11Query *query = NULL;
    HRESULT result = ID3D11Device_CreateQuery((ID3D11Device *)device, &desc, &query);
    if (FAILED(result))
        return result;
    ID3D11DeviceContext *context = context_of(device);
    BOOL reached = FALSE;
    ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)query);
    do
        result = ID3D11DeviceContext_GetData(context, (ID3D11Asynchronous *)query, &reached, sizeof(reached), 0);
    while (result == S_FALSE);
    ID3D11DeviceContext_Release(context);
    ID3D11Query_Release(query);
    return result;
}

#define VERSION 11
#define MISC(flags) (flags)
#include "rig_d3d1x.inc"
