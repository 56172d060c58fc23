/* The DXGI and multithreading interfaces that devices and resources of Direct3D 10 and 11 have. */
#include "fake_internal.h"

#include <time.h>

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
    *out = (IDXGIAdapter *)&adapter->face;
    return S_OK;
}

const IDXGIDevice1Vtbl fake_dxgi_device_vtbl = {
    FAKE_STUBS_IDXGIDevice1,
    .GetAdapter = dxgi_device_GetAdapter,
};

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

const ID3D10MultithreadVtbl fake_multithread_vtbl = {
    FAKE_STUBS_ID3D10Multithread,
    .Enter = multithread_Enter,
    .Leave = multithread_Leave,
    .SetMultithreadProtected = multithread_Set,
};

/* ---- IDXGIResource ---- */

static HRESULT STDMETHODCALLTYPE dxgi_resource_GetUsage(IDXGIResource1 *iface, DXGI_USAGE *usage)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDXGIResource1_GetUsage);
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

static HRESULT give_handle(IDXGIResource1 *iface, enum fake_method method, bool nt, HANDLE *out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), method);
    struct fake_store *store = fake_resource_of(iface)->store;

    *out = NULL;
    if (FAILED(hr))
        return hr;
    if (!fake_desc_shared(&store->desc) || nt != !!(store->desc.misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE))
        return E_INVALIDARG;
    *out = fake_handle_of(store);
    return *out ? S_OK : E_OUTOFMEMORY;
}

static HRESULT STDMETHODCALLTYPE dxgi_resource_GetSharedHandle(IDXGIResource1 *iface, HANDLE *out)
{
    return give_handle(iface, FAKE_IDXGIResource1_GetSharedHandle, false, out);
}

static HRESULT STDMETHODCALLTYPE dxgi_resource_CreateSharedHandle(IDXGIResource1 *iface,
                                                                  const SECURITY_ATTRIBUTES *rights, DWORD access,
                                                                  const WCHAR *name, HANDLE *out)
{
    (void)rights, (void)access, (void)name;
    return give_handle(iface, FAKE_IDXGIResource1_CreateSharedHandle, true, out);
}

const IDXGIResource1Vtbl fake_dxgi_resource_vtbl = {
    FAKE_STUBS_IDXGIResource1,
    .GetUsage = dxgi_resource_GetUsage,
    .GetSharedHandle = dxgi_resource_GetSharedHandle,
    .CreateSharedHandle = dxgi_resource_CreateSharedHandle,
};

/* ---- IDXGIKeyedMutex ---- */

static HRESULT STDMETHODCALLTYPE keyed_AcquireSync(IDXGIKeyedMutex *iface, UINT64 key, DWORD timeout)
{
    const struct timespec millisecond = {0, 1000000};
    struct fake_resource *resource = fake_resource_of(iface);
    HRESULT hr = fake_touch(&resource->object, FAKE_IDXGIKeyedMutex_AcquireSync);

    if (FAILED(hr))
        return hr;
    for (; !fake_keyed_pass(resource->store, NULL, resource->object.device, key); timeout -= timeout != INFINITE) {
        if (!timeout)
            return WAIT_TIMEOUT;
        nanosleep(&millisecond, NULL);
    }
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE keyed_ReleaseSync(IDXGIKeyedMutex *iface, UINT64 key)
{
    struct fake_resource *resource = fake_resource_of(iface);
    HRESULT hr = fake_touch(&resource->object, FAKE_IDXGIKeyedMutex_ReleaseSync);

    return FAILED(hr) || fake_keyed_pass(resource->store, resource->object.device, NULL, key) ? hr : E_FAIL;
}

const IDXGIKeyedMutexVtbl fake_keyed_mutex_vtbl = {
    FAKE_STUBS_IDXGIKeyedMutex,
    .AcquireSync = keyed_AcquireSync,
    .ReleaseSync = keyed_ReleaseSync,
};
