#include "info.h"

#include <CL/cl_d3d11.h>
#include <stdio.h>

#define NAME(before, after) before##11##after
#define NUMBER "11"

static void *open_device(const struct direct3d *d3d, const struct adapter *adapter, char *level)
{
    const PFN_D3D11_CREATE_DEVICE create =
        (PFN_D3D11_CREATE_DEVICE)library_function(&d3d->runtimes[API_D3D11], "D3D11CreateDevice");
    D3D_FEATURE_LEVEL reached = D3D_FEATURE_LEVEL_9_1;
    ID3D11Device *device = NULL;
    if (!adapter->dxgi || !create) {
        why_say(level, "%s", create ? "DXGI does not know this adapter" : "d3d11.dll has no D3D11CreateDevice");
        return NULL;
    }
    const HRESULT result = create((IDXGIAdapter *)adapter->dxgi, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, NULL, 0,
                                  D3D11_SDK_VERSION, &device, &reached, NULL);
    if (device)
        why_say(level, "feature level %u_%u", (unsigned)reached >> 12, (unsigned)reached >> 8 & 15); /* 0xb000: 11.0 */
    else
        why_d3d(level, "D3D11CreateDevice", result);
    return device;
}

static bool read_copy(void *device, ID3D11Texture2D *texture, ID3D11Texture2D *staging, struct texels *texels,
                      char *why)
{
    D3D11_MAPPED_SUBRESOURCE mapped;
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)staging, (ID3D11Resource *)texture);
    const HRESULT result = ID3D11DeviceContext_Map(context, (ID3D11Resource *)staging, 0, D3D11_MAP_READ, 0, &mapped);
    if (SUCCEEDED(result)) {
        planes_copy(texels, texels->bytes, texels->pitch, mapped.pData, mapped.RowPitch);
        ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)staging, 0);
    } else {
        why_d3d(why, "Map", result);
    }
    ID3D11DeviceContext_Release(context);
    return SUCCEEDED(result);
}

#include "info_d3d1x.inc"
