/* What the tests ask the fake Direct3D for, over another: it counts and breaks nothing. */
#include "fake_d3d.h"

#include "dxvahd.h"

#include <d3d10misc.h>

void fake_d3d_reset(void)
{
}

unsigned fake_d3d_violations(void)
{
    return 0;
}

const char *fake_d3d_last_violation(void)
{
    return "";
}

void fake_d3d_odd_planes(bool on)
{
    (void)on;
}

void fake_d3d_tight_pitch(bool on)
{
    (void)on;
}

unsigned fake_d3d_live(void)
{
    return 0;
}

void fake_d3d_list_live(FILE *out, const char *prefix)
{
    (void)out;
    (void)prefix;
}

/* DXVK's device of Direct3D 11 is one of Direct3D 10 too; d3d10.dll, which makes the latter on Windows, is none of its libraries. */
HRESULT WINAPI D3D10CreateDevice(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE software, UINT flags,
                                 UINT version, ID3D10Device **device)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_10_0;
    ID3D11Device *made = NULL;
    const D3D_DRIVER_TYPE kind = adapter ? D3D_DRIVER_TYPE_UNKNOWN : D3D_DRIVER_TYPE_HARDWARE;
    HRESULT result = D3D11CreateDevice(adapter, kind, software, flags, &level, 1, D3D11_SDK_VERSION, &made, NULL, NULL);
    (void)type;
    (void)version;
    if (FAILED(result))
        return result;
    result = ID3D11Device_QueryInterface(made, &IID_ID3D10Device, (void **)device);
    ID3D11Device_Release(made);
    return result;
}

HRESULT WINAPI DXVAHD_CreateDevice(IDirect3DDevice9Ex *device, const DXVAHD_CONTENT_DESC *content,
                                   DXVAHD_DEVICE_USAGE usage, void *plugin, IDXVAHD_Device **out)
{
    (void)device;
    (void)content;
    (void)usage;
    (void)plugin;
    *out = NULL;
    return E_NOTIMPL;
}
