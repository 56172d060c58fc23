/* ID3D11Device and D3D11CreateDevice. */
#include "device11.h"

#include <stdlib.h>

#include "fake_stubs.h"

#define NAME(before, after) before##11##after
#define DEVICE ID3D11Device
#define METHOD(name) FAKE_ID3D11Device_##name
#define LEVEL D3D_FEATURE_LEVEL
#define THREADS FAKE_ANY_THREAD
#define MISC(flags) (flags)
#define STRIDE(buffer) ((buffer)->StructureByteStride)
#define NO_RESOURCE S_FALSE
#include "device1x.inc"

static void STDMETHODCALLTYPE device_GetImmediateContext(ID3D11Device *iface, ID3D11DeviceContext **out)
{
    struct fake_device11 *device = device_of(iface);

    fake_touch(&device->base.object, FAKE_ID3D11Device_GetImmediateContext);
    fake_object_ref(&device->context.object);
    *out = &device->context.face.i;
}

static const ID3D11DeviceVtbl device_vtbl = {
    FAKE_STUBS_ID3D11Device,
    DEVICE_METHODS,
    .GetImmediateContext = device_GetImmediateContext,
};

static HRESULT STDMETHODCALLTYPE device1_OpenSharedResource1(ID3D11Device1 *iface, HANDLE handle, REFIID iid,
                                                             void **out)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_ID3D11Device1_OpenSharedResource1, THREADS);

    *out = NULL;
    if (SUCCEEDED(hr))
        hr = fake_resource_open(device, fake_types11, handle, true, iid, out);
    fake_leave(&call);
    return hr;
}

static const ID3D11Device1Vtbl device1_vtbl = {
    FAKE_STUBS_ID3D11Device1,
    .OpenSharedResource1 = device1_OpenSharedResource1,
};

static const struct fake_iid device_ifaces[] = {
    DEVICE_IFACES, {&IID_ID3D11Device1, FACE(face1)}, {&fake_iid_interop_device, FACE(interop)}, {NULL, 0}};

static const struct fake_class device_class = {"ID3D11Device", device_ifaces, device_destroy, true};

/* The first level asked for that the fake has; without a list, the highest before 11.1. */
static D3D_FEATURE_LEVEL choose_level(const D3D_FEATURE_LEVEL *levels, UINT count)
{
    UINT i;

    if (!levels || !count)
        return D3D_FEATURE_LEVEL_11_0;
    for (i = 0; i < count; i++)
        if (levels[i] >= D3D_FEATURE_LEVEL_9_1 && levels[i] <= D3D_FEATURE_LEVEL_11_1)
            return levels[i];
    return 0;
}

static struct fake_device11 *device_create(struct fake_adapter *adapter, UINT flags, D3D_FEATURE_LEVEL level)
{
    struct fake_device11 *device = calloc(1, sizeof *device);

    if (!device)
        return NULL;
    fake_device_init(&device->base, sizeof *device, &device_class, adapter, DXGI_ERROR_DEVICE_REMOVED);
    device->base.single_threaded = flags & D3D11_CREATE_DEVICE_SINGLETHREADED;
    device->face.i.lpVtbl = (ID3D11DeviceVtbl *)&device_vtbl;
    device->face.object = &device->base.object;
    device->face1.i.lpVtbl = (ID3D11Device1Vtbl *)&device1_vtbl;
    device->face1.object = &device->base.object;
    device->interop.vtbl = &fake_interop_device_vtbl;
    device->interop.object = &device->base.object;
    device->interop_queue.vtbl = &fake_interop_queue_vtbl;
    device->interop_queue.object = &device->base.object;
    fake_dxgi_device_init(&device->dxgi, &device->base);
    fake_multithread_init(&device->multithread, &device->base.object);
    fake_context11_init(&device->context, device);
    device->flags = flags;
    device->base.level = level;
    return device;
}

HRESULT WINAPI D3D11CreateDevice(IDXGIAdapter *adapter_iface, D3D_DRIVER_TYPE type, HMODULE software, UINT flags,
                                 const D3D_FEATURE_LEVEL *levels, UINT level_count, UINT sdk, ID3D11Device **out,
                                 D3D_FEATURE_LEVEL *level_out, ID3D11DeviceContext **context_out)
{
    D3D_FEATURE_LEVEL level = choose_level(levels, level_count);
    struct fake_adapter *adapter;
    struct fake_device11 *device;

    (void)software;
    if (out)
        *out = NULL;
    if (context_out)
        *context_out = NULL;
    if (sdk != D3D11_SDK_VERSION || !level)
        return E_INVALIDARG;
    /* An adapter has a driver type already. */
    if (adapter_iface && type != D3D_DRIVER_TYPE_UNKNOWN)
        return E_INVALIDARG;
    adapter = fake_adapter_for(adapter_iface);
    if (!adapter)
        return E_OUTOFMEMORY;
    device = device_create(adapter, flags, level);
    if (!device) {
        fake_object_unref(&adapter->object);
        return E_OUTOFMEMORY;
    }
    if (level_out)
        *level_out = level;
    if (context_out)
        device_GetImmediateContext(&device->face.i, context_out);
    if (out) {
        *out = &device->face.i;
        return S_OK;
    }
    fake_object_unref(&device->base.object);
    return context_out ? S_OK : S_FALSE;
}
