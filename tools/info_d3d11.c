#include "info.h"
#include "info_text.h"

#include <CL/cl_d3d11.h>
#include <stdio.h>

#define NAME(before, after) before##11##after
#define NUMBER "11"

static HRESULT create_device(const struct direct3d *d3d, struct adapter *adapter, D3D_FEATURE_LEVEL *level)
{
    static const D3D_FEATURE_LEVEL levels[] = {D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_10_1,
                                               D3D_FEATURE_LEVEL_10_0, D3D_FEATURE_LEVEL_9_3,  D3D_FEATURE_LEVEL_9_2,
                                               D3D_FEATURE_LEVEL_9_1};
    enum { COUNT = sizeof(levels) / sizeof(levels[0]) };
    const PFN_D3D11_CREATE_DEVICE create =
        (PFN_D3D11_CREATE_DEVICE)library_function(&d3d->runtimes[API_D3D11], "D3D11CreateDevice");
    ID3D11Device *device = NULL;
    if (!create)
        return E_NOTIMPL;
    IDXGIAdapter *dxgi = (IDXGIAdapter *)adapter->dxgi;
    HRESULT result =
        create(dxgi, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, levels, COUNT, D3D11_SDK_VERSION, &device, level, NULL);
    /* A Direct3D 11.0 does not know the first level and refuses the list. */
    if (result == E_INVALIDARG)
        result = create(dxgi, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, levels + 1, COUNT - 1, D3D11_SDK_VERSION, &device,
                        level, NULL);
    if (SUCCEEDED(result))
        adapter->d3d[API_D3D11].device = device;
    return result;
}

static void open_device(const struct direct3d *d3d, struct adapter *adapter)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_9_1;
    if (!adapter->dxgi) {
        why_say(adapter->d3d[API_D3D11].why, "DXGI does not know this adapter");
        return;
    }
    const HRESULT result = create_device(d3d, adapter, &level);
    if (!adapter->d3d[API_D3D11].device)
        why_d3d(adapter->d3d[API_D3D11].why, "D3D11CreateDevice", result);
    /* 0xb100 is level 11.1. */
    snprintf(adapter->d3d[API_D3D11].level, sizeof(adapter->d3d[API_D3D11].level), "feature level %u_%u",
             (unsigned)level >> 12, (unsigned)level >> 8 & 15);
}

static bool read_copy(void *device, ID3D11Texture2D *texture, ID3D11Texture2D *staging,
                      const struct texture_shape *shape, uint8_t *texels, char *why)
{
    D3D11_MAPPED_SUBRESOURCE mapped;
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)staging, (ID3D11Resource *)texture);
    const HRESULT result = ID3D11DeviceContext_Map(context, (ID3D11Resource *)staging, 0, D3D11_MAP_READ, 0, &mapped);
    if (SUCCEEDED(result)) {
        planes_copy(shape, texels, shape->pitch, mapped.pData, mapped.RowPitch);
        ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)staging, 0);
    } else {
        why_d3d(why, "Map", result);
    }
    ID3D11DeviceContext_Release(context);
    return SUCCEEDED(result);
}

#include "info_d3d1x.inc"
