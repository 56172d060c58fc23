/* IDirect3DDevice9 and IDirect3DDevice9Ex: the device itself and its loss. */
#include "device9.h"

#include <stdlib.h>

#include "fake_stubs.h"

static struct fake_device9 *device_of(IDirect3DDevice9Ex *iface)
{
    return (struct fake_device9 *)fake_object_of(iface);
}

HRESULT fake_child9_get_device(struct fake_object *object, enum fake_method method, IDirect3DDevice9 **out)
{
    HRESULT hr = fake_touch(object, method);
    struct fake_device9 *device = (struct fake_device9 *)object->device;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    fake_object_ref(&device->base.object);
    *out = (IDirect3DDevice9 *)&device->face.i;
    return D3D_OK;
}

HRESULT fake_enter9(struct fake_call *call, struct fake_device *device, enum fake_method method, bool *lost)
{
    HRESULT hr = fake_enter(call, device, method, FAKE_ONE_THREAD);

    *lost = FAILED(device->removed);
    return *lost && hr == device->removed_answer ? D3D_OK : hr;
}

/* With CheckDeviceState in its place it has nothing more to tell. */
static HRESULT STDMETHODCALLTYPE device_TestCooperativeLevel(IDirect3DDevice9Ex *iface)
{
    struct fake_device9 *device = device_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, FAKE_IDirect3DDevice9Ex_TestCooperativeLevel, &lost);

    if (SUCCEEDED(hr) && fake_knob_creator_asks() && !pthread_equal(device->base.creator, pthread_self()))
        hr = D3DERR_INVALIDCALL;
    else if (SUCCEEDED(hr) && !device->extended)
        hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CheckDeviceState(IDirect3DDevice9Ex *iface, HWND window)
{
    struct fake_device9 *device = device_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, FAKE_IDirect3DDevice9Ex_CheckDeviceState, &lost);

    (void)window;
    if (SUCCEEDED(hr))
        hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

/* Brings a lost device back, unless it still has what does not survive that. */
static HRESULT reset(struct fake_device9 *device, enum fake_method method, const D3DPRESENT_PARAMETERS *parameters)
{
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, method, &lost);

    if (SUCCEEDED(hr) && !parameters)
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr) && device->base.removed == D3DERR_DEVICELOST && !device->extended)
        hr = D3DERR_DEVICELOST; /* not before it says D3DERR_DEVICENOTRESET */
    if (SUCCEEDED(hr) && !device->extended && atomic_load(&device->default_pool))
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr))
        device->base.removed = D3D_OK;
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_Reset(IDirect3DDevice9Ex *iface, D3DPRESENT_PARAMETERS *parameters)
{
    return reset(device_of(iface), FAKE_IDirect3DDevice9Ex_Reset, parameters);
}

static HRESULT STDMETHODCALLTYPE device_GetDirect3D(IDirect3DDevice9Ex *iface, IDirect3D9 **out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DDevice9Ex_GetDirect3D);
    struct fake_d3d9 *d3d9 = device_of(iface)->d3d9;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    fake_object_ref(&d3d9->object);
    *out = (IDirect3D9 *)&d3d9->face.i;
    return D3D_OK;
}

static HRESULT STDMETHODCALLTYPE device_GetCreationParameters(IDirect3DDevice9Ex *iface,
                                                              D3DDEVICE_CREATION_PARAMETERS *out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DDevice9Ex_GetCreationParameters);

    if (FAILED(hr))
        return hr;
    if (!out)
        return D3DERR_INVALIDCALL;
    *out = device_of(iface)->parameters;
    return D3D_OK;
}

static const IDirect3DDevice9ExVtbl device_vtbl = {
    FAKE_STUBS_IDirect3DDevice9Ex,
    .TestCooperativeLevel = device_TestCooperativeLevel,
    .CheckDeviceState = device_CheckDeviceState,
    .Reset = device_Reset,
    .GetDirect3D = device_GetDirect3D,
    .GetCreationParameters = device_GetCreationParameters,
    .CreateTexture = fake_device9_CreateTexture,
    .CreateRenderTarget = fake_device9_CreateRenderTarget,
    .CreateOffscreenPlainSurface = fake_device9_CreateOffscreenPlainSurface,
    .CreateQuery = fake_device9_CreateQuery,
    .GetRenderTargetData = fake_device9_GetRenderTargetData,
    .UpdateSurface = fake_device9_UpdateSurface,
    .StretchRect = fake_device9_StretchRect,
    .ColorFill = fake_device9_ColorFill,
};

#define FACE offsetof(struct fake_device9, face)

static const struct fake_iid device_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DDevice9, FACE},
    {&fake_iid_interop_queue9, offsetof(struct fake_device9, interop_queue)},
    {NULL, 0},
};
static const struct fake_iid device9ex_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DDevice9, FACE},
    {&IID_IDirect3DDevice9Ex, FACE},
    {&fake_iid_interop_queue9, offsetof(struct fake_device9, interop_queue)},
    {NULL, 0},
};

#undef FACE

static void device_destroy(struct fake_object *object)
{
    struct fake_device9 *device = (struct fake_device9 *)object;

    fake_device_finish(&device->base);
    fake_object_unref(&device->d3d9->object);
    free(device);
}

static const struct fake_class device_class = {"IDirect3DDevice9", device_ifaces, device_destroy, true};
static const struct fake_class device9ex_class = {"IDirect3DDevice9Ex", device9ex_ifaces, device_destroy, true};

HRESULT fake_device9_create(struct fake_d3d9 *d3d9, UINT adapter, D3DDEVTYPE type, HWND window, DWORD flags,
                            struct fake_device9 **out)
{
    struct fake_device9 *device = calloc(1, sizeof *device);

    if (!device)
        return E_OUTOFMEMORY;
    fake_device_init(&device->base, sizeof *device, d3d9->extended ? &device9ex_class : &device_class, NULL,
                     D3DERR_DEVICELOST);
    atomic_store(&device->base.is_protected, (flags & D3DCREATE_MULTITHREADED) != 0);
    device->face.i.lpVtbl = (IDirect3DDevice9ExVtbl *)&device_vtbl;
    device->face.object = &device->base.object;
    device->interop_queue.vtbl = &fake_interop_queue9_vtbl;
    device->interop_queue.object = &device->base.object;
    device->extended = d3d9->extended;
    device->parameters = (D3DDEVICE_CREATION_PARAMETERS){adapter, type, window, flags};
    device->d3d9 = d3d9;
    fake_object_ref(&d3d9->object);
    *out = device;
    return D3D_OK;
}
