#include "info.h"

#include <CL/cl_d3d10.h>
#include <stdio.h>

#define NAME(before, after) before##10##after
#define NUMBER "10"

typedef HRESULT(WINAPI *create_device_fn)(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE rasteriser, UINT flags,
                                          UINT sdk_version, ID3D10Device **device);

static void *open_device(const struct direct3d *d3d, const struct adapter *adapter, char *level)
{
    const create_device_fn create = (create_device_fn)library_function(&d3d->runtimes[API_D3D10], "D3D10CreateDevice");
    ID3D10Device *device = NULL;
    if (!adapter->dxgi || !create) {
        why_say(level, "%s", create ? "DXGI does not know this adapter" : "d3d10.dll has no D3D10CreateDevice");
        return NULL;
    }
    const HRESULT result =
        create((IDXGIAdapter *)adapter->dxgi, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_SDK_VERSION, &device);
    if (device)
        why_say(level, "feature level 10_0");
    else
        why_d3d(level, "D3D10CreateDevice", result);
    return device;
}

static bool read_copy(void *device, ID3D10Texture2D *texture, ID3D10Texture2D *staging, struct texels *texels,
                      char *why)
{
    D3D10_MAPPED_TEXTURE2D mapped;
    ID3D10Device_CopyResource((ID3D10Device *)device, (ID3D10Resource *)staging, (ID3D10Resource *)texture);
    const HRESULT result = ID3D10Texture2D_Map(staging, 0, D3D10_MAP_READ, 0, &mapped);
    if (FAILED(result)) {
        why_d3d(why, "Map", result);
        return false;
    }
    planes_copy(texels, texels->bytes, texels->pitch, mapped.pData, mapped.RowPitch);
    ID3D10Texture2D_Unmap(staging, 0);
    return true;
}

#include "info_d3d1x.inc"
