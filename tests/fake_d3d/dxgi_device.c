/* The DXGI and multithreading interfaces that devices and resources of Direct3D 10 and 11 have. */
#include "fake_internal.h"

#include "fake_stubs.h"

/* ---- IDXGIDevice ---- */

static struct fake_device *device_of(const void *iface)
{
    return (struct fake_device *)fake_object_of(iface);
}

static HRESULT STDMETHODCALLTYPE dxgi_device_GetAdapter(IDXGIDevice1 *iface, IDXGIAdapter **out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDXGIDevice1_GetAdapter);
    struct fake_adapter *adapter = device_of(iface)->adapter;

    if (!out)
        return E_INVALIDARG;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    fake_object_ref(&adapter->object);
    *out = (IDXGIAdapter *)&adapter->face.i;
    return S_OK;
}

static const IDXGIDevice1Vtbl dxgi_device_vtbl = {
    FAKE_STUBS_IDXGIDevice1,
    .GetAdapter = dxgi_device_GetAdapter,
};

void fake_dxgi_device_init(struct fake_dxgi_device *cell, struct fake_device *device)
{
    cell->face.i.lpVtbl = (IDXGIDevice1Vtbl *)&dxgi_device_vtbl;
    cell->face.object = &device->object;
}

/* ---- ID3D10Multithread, which is also ID3D11Multithread ---- */

/* The cell may belong to a device or to its context. */
static struct fake_device *protected_of(ID3D10Multithread *iface)
{
    struct fake_object *object = fake_object_of(iface);

    return object->class->is_device ? (struct fake_device *)object : object->device;
}

static void STDMETHODCALLTYPE multithread_Enter(ID3D10Multithread *iface)
{
    struct fake_device *device = protected_of(iface);

    fake_touch(fake_object_of(iface), FAKE_ID3D10Multithread_Enter);
    if (atomic_load(&device->is_protected)) {
        pthread_mutex_lock(&device->user_lock);
        device->entered++;
    }
}

static void STDMETHODCALLTYPE multithread_Leave(ID3D10Multithread *iface)
{
    struct fake_device *device = protected_of(iface);

    fake_touch(fake_object_of(iface), FAKE_ID3D10Multithread_Leave);
    if (atomic_load(&device->is_protected)) {
        device->entered--;
        pthread_mutex_unlock(&device->user_lock);
    }
}

static BOOL STDMETHODCALLTYPE multithread_Set(ID3D10Multithread *iface, BOOL on)
{
    struct fake_device *device = protected_of(iface);

    fake_touch(fake_object_of(iface), FAKE_ID3D10Multithread_SetMultithreadProtected);
    return atomic_exchange(&device->is_protected, on && !device->single_threaded);
}

static const ID3D10MultithreadVtbl multithread_vtbl = {
    FAKE_STUBS_ID3D10Multithread,
    .Enter = multithread_Enter,
    .Leave = multithread_Leave,
    .SetMultithreadProtected = multithread_Set,
};

void fake_multithread_init(struct fake_multithread *cell, struct fake_object *object)
{
    cell->face.i.lpVtbl = (ID3D10MultithreadVtbl *)&multithread_vtbl;
    cell->face.object = object;
}

/* ---- IDXGIResource ---- */

static HRESULT STDMETHODCALLTYPE dxgi_resource_GetUsage(IDXGIResource *iface, DXGI_USAGE *usage)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDXGIResource_GetUsage);
    unsigned bind = fake_resource_of(iface)->store->desc.bind;

    if (FAILED(hr))
        return hr;
    if (!usage)
        return E_INVALIDARG;
    *usage = (bind & D3D11_BIND_SHADER_RESOURCE ? DXGI_USAGE_SHADER_INPUT : 0) |
             (bind & D3D11_BIND_RENDER_TARGET ? DXGI_USAGE_RENDER_TARGET_OUTPUT : 0) |
             (fake_knob_back_buffers() ? DXGI_USAGE_BACK_BUFFER : 0);
    return S_OK;
}

const IDXGIResourceVtbl fake_dxgi_resource_vtbl = {
    FAKE_STUBS_IDXGIResource,
    .GetUsage = dxgi_resource_GetUsage,
};

/* ---- IDXGIKeyedMutex ---- */
