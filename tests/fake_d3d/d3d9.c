/* IDirect3D9 and IDirect3D9Ex. */
#include "device9.h"

#include <stdlib.h>
#include <string.h>

#include "fake_stubs.h"

static struct fake_d3d9 *d3d9_of(IDirect3D9Ex *iface)
{
    return (struct fake_d3d9 *)fake_object_of(iface);
}

static HRESULT STDMETHODCALLTYPE d3d9_GetAdapterIdentifier(IDirect3D9Ex *iface, UINT index, DWORD flags,
                                                           D3DADAPTER_IDENTIFIER9 *out)
{
    HRESULT hr = fake_count(FAKE_IDirect3D9Ex_GetAdapterIdentifier);
    const struct fake_d3d9 *d3d9 = d3d9_of(iface);
    const DXGI_ADAPTER_DESC1 *desc;
    size_t i;

    (void)flags;
    if (FAILED(hr))
        return hr;
    if (index >= d3d9->count || !out)
        return D3DERR_INVALIDCALL;
    desc = &d3d9->adapters[index];
    memset(out, 0, sizeof *out);
    strcpy(out->Driver, "fake_d3d.dll");
    for (i = 0; desc->Description[i]; i++)
        out->Description[i] = (char)desc->Description[i];
    snprintf(out->DeviceName, sizeof out->DeviceName, "\\\\.\\DISPLAY%u", index + 1);
    out->VendorId = desc->VendorId;
    out->DeviceId = desc->DeviceId;
    out->DeviceIdentifier = fake_identifier();
    return D3D_OK;
}

static HRESULT STDMETHODCALLTYPE d3d9_GetAdapterLUID(IDirect3D9Ex *iface, UINT index, LUID *out)
{
    HRESULT hr = fake_count(FAKE_IDirect3D9Ex_GetAdapterLUID);
    const struct fake_d3d9 *d3d9 = d3d9_of(iface);

    if (FAILED(hr))
        return hr;
    if (index >= d3d9->count || !out)
        return D3DERR_INVALIDCALL;
    *out = d3d9->adapters[index].AdapterLuid;
    return D3D_OK;
}

static HRESULT create_device(IDirect3D9Ex *iface, enum fake_method method, UINT index, D3DDEVTYPE type, HWND window,
                             DWORD flags, const D3DPRESENT_PARAMETERS *parameters, void **out)
{
    HRESULT hr = fake_count(method);

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    if (index >= d3d9_of(iface)->count || !parameters)
        return D3DERR_INVALIDCALL;
    *out = &fake_device9_create(d3d9_of(iface), index, type, window, flags)->face;
    return D3D_OK;
}

static HRESULT STDMETHODCALLTYPE d3d9_CreateDevice(IDirect3D9Ex *iface, UINT index, D3DDEVTYPE type, HWND window,
                                                   DWORD flags, D3DPRESENT_PARAMETERS *parameters,
                                                   IDirect3DDevice9 **out)
{
    return create_device(iface, FAKE_IDirect3D9Ex_CreateDevice, index, type, window, flags, parameters, (void **)out);
}

static HRESULT STDMETHODCALLTYPE d3d9_CreateDeviceEx(IDirect3D9Ex *iface, UINT index, D3DDEVTYPE type, HWND window,
                                                     DWORD flags, D3DPRESENT_PARAMETERS *parameters,
                                                     D3DDISPLAYMODEEX *mode, IDirect3DDevice9Ex **out)
{
    (void)mode;
    return create_device(iface, FAKE_IDirect3D9Ex_CreateDeviceEx, index, type, window, flags, parameters, (void **)out);
}

static const IDirect3D9ExVtbl d3d9_vtbl = {
    FAKE_STUBS_IDirect3D9Ex,
    .GetAdapterIdentifier = d3d9_GetAdapterIdentifier,
    .CreateDevice = d3d9_CreateDevice,
    .CreateDeviceEx = d3d9_CreateDeviceEx,
    .GetAdapterLUID = d3d9_GetAdapterLUID,
};

#define FACE offsetof(struct fake_d3d9, face)

static const struct fake_iid d3d9_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3D9, FACE},
    {NULL, 0},
};
static const struct fake_iid d3d9ex_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3D9, FACE},
    {&IID_IDirect3D9Ex, FACE},
    {NULL, 0},
};

#undef FACE

static void d3d9_destroy(struct fake_object *object)
{
    free(object);
}

static const struct fake_class d3d9_class = {"IDirect3D9", d3d9_ifaces, d3d9_destroy, false};
static const struct fake_class d3d9ex_class = {"IDirect3D9Ex", d3d9ex_ifaces, d3d9_destroy, false};

static struct fake_d3d9 *d3d9_create(bool extended)
{
    struct fake_d3d9 *d3d9 = fake_alloc(sizeof *d3d9);

    d3d9->face = fake_face(&d3d9_vtbl, &d3d9->object);
    d3d9->extended = extended;
    d3d9->count = fake_adapters(d3d9->adapters);
    fake_object_init(&d3d9->object, sizeof *d3d9, extended ? &d3d9ex_class : &d3d9_class, NULL);
    return d3d9;
}

IDirect3D9 *WINAPI Direct3DCreate9(UINT sdk)
{
    /* The high bit asks for the debug version. */
    return (sdk & 0x7fffffff) == D3D_SDK_VERSION ? (IDirect3D9 *)&d3d9_create(false)->face : NULL;
}

HRESULT WINAPI Direct3DCreate9Ex(UINT sdk, IDirect3D9Ex **out)
{
    *out = NULL;
    if ((sdk & 0x7fffffff) != D3D_SDK_VERSION)
        return D3DERR_NOTAVAILABLE;
    *out = (IDirect3D9Ex *)&d3d9_create(true)->face;
    return S_OK;
}
