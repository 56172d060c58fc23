/* ID3D10Device, D3D10CreateDevice and D3D10CreateDevice1. The device does
 * what is the context's in Direct3D 11. */
#include "device10.h"

#include <stdlib.h>

#include "fake_stubs.h"

#define NAME(before, after) before##10##after
#define DEVICE ID3D10Device1
#define METHOD(name) FAKE_ID3D10Device1_##name
#define LEVEL D3D10_FEATURE_LEVEL1
#define THREADS FAKE_ONE_THREAD
#define MISC(flags) fake_misc_from10(flags)
#define STRIDE(buffer) 0
#define NO_RESOURCE E_INVALIDARG
#include "device1x.inc"

#define WORKER DEVICE
#define WORK(name) METHOD(name)
#define WORKER_DEVICE(iface) (&device_of(iface)->base)
#include "work1x.inc"

static const ID3D10Device1Vtbl device_vtbl = {
    FAKE_STUBS_ID3D10Device1,
    DEVICE_METHODS,
    .CopyResource = work_CopyResource,
    .CopySubresourceRegion = work_CopySubresourceRegion,
    .UpdateSubresource = work_UpdateSubresource,
    .Flush = work_Flush,
    .SetPredication = work_SetPredication,
    .GetPredication = work_GetPredication,
};

static const struct fake_iid device_ifaces[] = {DEVICE_IFACES, {NULL, 0}};
static const struct fake_iid device1_ifaces[] = {
    DEVICE_IFACES,
    {&IID_ID3D10Device1, FACE(face)},
    {NULL, 0},
};

static const struct fake_class device_class = {"ID3D10Device", device_ifaces, device_destroy, true};
static const struct fake_class device1_class = {"ID3D10Device1", device1_ifaces, device_destroy, true};

/* Unlike its successor it protects itself against threads unless it is told not to. */
static HRESULT device_create(const struct fake_class *class, IDXGIAdapter *adapter_iface, UINT flags,
                             D3D10_FEATURE_LEVEL1 level, struct fake_device10 **out)
{
    struct fake_adapter *adapter = fake_adapter_for(adapter_iface);
    struct fake_device10 *device = adapter ? calloc(1, sizeof *device) : NULL;

    if (!device) {
        if (adapter)
            fake_object_unref(&adapter->object);
        return E_OUTOFMEMORY;
    }
    fake_device_init(&device->base, sizeof *device, class, adapter, DXGI_ERROR_DEVICE_REMOVED);
    device->base.single_threaded = flags & D3D10_CREATE_DEVICE_SINGLETHREADED;
    atomic_store(&device->base.is_protected, !device->base.single_threaded);
    device->face.i.lpVtbl = (ID3D10Device1Vtbl *)&device_vtbl;
    device->face.object = &device->base.object;
    device->interop_queue.vtbl = &fake_interop_queue_vtbl;
    device->interop_queue.object = &device->base.object;
    fake_dxgi_device_init(&device->dxgi, &device->base);
    fake_multithread_init(&device->multithread, &device->base.object);
    device->flags = flags;
    device->base.level = level;
    *out = device;
    return S_OK;
}

HRESULT WINAPI D3D10CreateDevice(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE software, UINT flags, UINT sdk,
                                 ID3D10Device **out)
{
    struct fake_device10 *device;
    HRESULT hr;

    (void)type;
    (void)software;
    if (sdk != D3D10_SDK_VERSION || !out)
        return E_INVALIDARG;
    *out = NULL;
    hr = device_create(&device_class, adapter, flags, D3D10_FEATURE_LEVEL_10_0, &device);
    if (SUCCEEDED(hr))
        *out = (ID3D10Device *)&device->face.i;
    return hr;
}

HRESULT WINAPI D3D10CreateDevice1(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE software, UINT flags,
                                  D3D10_FEATURE_LEVEL1 level, UINT sdk, ID3D10Device1 **out)
{
    struct fake_device10 *device;
    HRESULT hr;

    (void)type;
    (void)software;
    if (sdk != D3D10_1_SDK_VERSION || !out)
        return E_INVALIDARG;
    *out = NULL;
    hr = device_create(&device1_class, adapter, flags, level, &device);
    if (SUCCEEDED(hr))
        *out = &device->face.i;
    return hr;
}
