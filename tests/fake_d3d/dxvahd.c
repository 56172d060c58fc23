/* IDXVAHD_Device: only what makes surfaces. Nothing is processed. */
#include "device9.h"
#include "dxvahd.h"

#include <stdlib.h>

#include "fake_stubs.h"

struct fake_dxvahd {
    struct fake_object object; /* its device is the Direct3D 9 one */
    struct fake_iface face;
};

static HRESULT STDMETHODCALLTYPE dxvahd_CreateVideoSurface(IDXVAHD_Device *iface, UINT width, UINT height,
                                                           D3DFORMAT format, D3DPOOL pool, DWORD usage,
                                                           DXVAHD_SURFACE_TYPE type, UINT count,
                                                           IDirect3DSurface9 **out, HANDLE *handle)
{
    struct fake_object *object = fake_object_of(iface);
    IDirect3DDevice9Ex *device = (IDirect3DDevice9Ex *)&((struct fake_device9 *)object->device)->face;
    HRESULT hr = fake_touch(object, FAKE_IDXVAHD_Device_CreateVideoSurface);
    UINT made = 0;

    (void)type; /* input and output surfaces are off-screen plain ones */
    if (SUCCEEDED(hr) && (!out || !count || usage || (handle && count > 1)))
        hr = E_INVALIDARG;
    while (SUCCEEDED(hr) && made < count) {
        hr = fake_device9_CreateOffscreenPlainSurface(device, width, height, format, pool, &out[made], handle);
        made += SUCCEEDED(hr);
    }
    while (FAILED(hr) && made > 0)
        made--, IDirect3DSurface9_Release(out[made]);
    return hr;
}

static const IDXVAHD_DeviceVtbl dxvahd_vtbl = {
    FAKE_STUBS_IDXVAHD_Device,
    .CreateVideoSurface = dxvahd_CreateVideoSurface,
};

static const struct fake_iid dxvahd_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_dxvahd, face)},
    {&IID_IDXVAHD_Device, offsetof(struct fake_dxvahd, face)},
    {NULL, 0},
};

static void dxvahd_destroy(struct fake_object *object)
{
    free(object);
}

static const struct fake_class dxvahd_class = {"IDXVAHD_Device", dxvahd_ifaces, dxvahd_destroy, false};

HRESULT WINAPI DXVAHD_CreateDevice(IDirect3DDevice9Ex *iface, const DXVAHD_CONTENT_DESC *content,
                                   DXVAHD_DEVICE_USAGE usage, void *plugin, IDXVAHD_Device **out)
{
    struct fake_dxvahd *dxvahd;

    (void)usage;
    (void)plugin;
    if (!iface || !content || !out)
        return E_INVALIDARG;
    *out = NULL;
    dxvahd = fake_alloc(sizeof *dxvahd);
    dxvahd->face = fake_face(&dxvahd_vtbl, &dxvahd->object);
    fake_object_init(&dxvahd->object, sizeof *dxvahd, &dxvahd_class, (struct fake_device *)fake_object_of(iface));
    *out = (IDXVAHD_Device *)&dxvahd->face;
    return S_OK;
}
