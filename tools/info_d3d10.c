#include "info.h"
#include "info_text.h"

#include <CL/cl_d3d10.h>
#include <stdio.h>

#define NAME(before, after) before##10##after
#define NUMBER "10"

typedef HRESULT(WINAPI *create_device_fn)(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE rasteriser, UINT flags,
                                          UINT sdk_version, ID3D10Device **device);

static void open_device(const struct direct3d *d3d, struct adapter *adapter)
{
    char *why = adapter->d3d[API_D3D10].why;
    const create_device_fn create = (create_device_fn)library_function(&d3d->runtimes[API_D3D10], "D3D10CreateDevice");
    ID3D10Device *device = NULL;
    if (!adapter->dxgi) {
        why_say(why, "DXGI does not know this adapter");
        return;
    }
    if (!create) {
        why_say(why, "d3d10.dll has no D3D10CreateDevice");
        return;
    }
    const HRESULT result =
        create((IDXGIAdapter *)adapter->dxgi, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_SDK_VERSION, &device);
    if (FAILED(result) || !device) {
        why_d3d(why, "D3D10CreateDevice", result);
        return;
    }
    adapter->d3d[API_D3D10].device = device;
    snprintf(adapter->d3d[API_D3D10].level, sizeof(adapter->d3d[API_D3D10].level), "feature level 10_0");
}

static bool read_copy(void *device, ID3D10Texture2D *texture, ID3D10Texture2D *staging,
                      const struct texture_shape *shape, uint8_t *texels, char *why)
{
    D3D10_MAPPED_TEXTURE2D mapped;
    ID3D10Device_CopyResource((ID3D10Device *)device, (ID3D10Resource *)staging, (ID3D10Resource *)texture);
    const HRESULT result = ID3D10Texture2D_Map(staging, 0, D3D10_MAP_READ, 0, &mapped);
    if (FAILED(result)) {
        why_d3d(why, "Map", result);
        return false;
    }
    planes_copy(shape, texels, shape->pitch, mapped.pData, mapped.RowPitch);
    ID3D10Texture2D_Unmap(staging, 0);
    return true;
}

#include "info_d3d1x.inc"
