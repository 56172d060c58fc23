/* Factories and adapters. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

#include "fake_stubs.h"

struct fake_factory {
    struct fake_object object;
    struct fake_iface face;
    unsigned count;
    DXGI_ADAPTER_DESC1 descs[FAKE_D3D_MAX_ADAPTERS];
};

/* Guards the adapters that a test has set. */
static pthread_mutex_t adapters_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned adapter_count; /* 0: the default one */
static DXGI_ADAPTER_DESC1 adapters[FAKE_D3D_MAX_ADAPTERS];
static GUID adapter_identifier;

static void describe(DXGI_ADAPTER_DESC1 *desc, const struct fake_d3d_adapter *adapter)
{
    size_t i, length = strlen(adapter->description);

    memset(desc, 0, sizeof *desc);
    for (i = 0; i < length && i < 127; i++)
        desc->Description[i] = (WCHAR)adapter->description[i];
    desc->VendorId = adapter->vendor;
    desc->DeviceId = adapter->device;
    desc->DedicatedVideoMemory = (SIZE_T)1 << 30;
    desc->SharedSystemMemory = (SIZE_T)1 << 30;
    desc->AdapterLuid = adapter->luid;
}

void fake_d3d_set_adapters(unsigned count, const struct fake_d3d_adapter *list)
{
    unsigned i;

    pthread_mutex_lock(&adapters_lock);
    adapter_count = count < FAKE_D3D_MAX_ADAPTERS ? count : FAKE_D3D_MAX_ADAPTERS;
    for (i = 0; i < adapter_count; i++)
        describe(&adapters[i], &list[i]);
    pthread_mutex_unlock(&adapters_lock);
}

unsigned fake_adapters(DXGI_ADAPTER_DESC1 descs[FAKE_D3D_MAX_ADAPTERS])
{
    static const struct fake_d3d_adapter usual = {
        "Fake Direct3D Adapter",
        0x1af4,
        0x1050,
        {0x2a, 0},
    };
    unsigned count;

    pthread_mutex_lock(&adapters_lock);
    count = adapter_count;
    memcpy(descs, adapters, sizeof adapters);
    pthread_mutex_unlock(&adapters_lock);
    if (!count)
        describe(&descs[count++], &usual);
    return count;
}

void fake_d3d_set_identifier(GUID identifier)
{
    pthread_mutex_lock(&adapters_lock);
    adapter_identifier = identifier;
    pthread_mutex_unlock(&adapters_lock);
}

GUID fake_identifier(void)
{
    GUID identifier;

    pthread_mutex_lock(&adapters_lock);
    identifier = adapter_identifier;
    pthread_mutex_unlock(&adapters_lock);
    return identifier;
}

/* ---- IDXGIAdapter ---- */

static struct fake_adapter *adapter_of(IDXGIAdapter1 *iface)
{
    return (struct fake_adapter *)fake_object_of(iface);
}

static void adapter_destroy(struct fake_object *object)
{
    struct fake_adapter *adapter = (struct fake_adapter *)object;

    fake_object_unref(&adapter->factory->object);
    free(adapter);
}

static HRESULT STDMETHODCALLTYPE adapter_GetParent(IDXGIAdapter1 *iface, REFIID iid, void **out)
{
    fake_count(FAKE_IDXGIAdapter1_GetParent);
    return fake_object_query(&adapter_of(iface)->factory->object, FAKE_IDXGIFactory1_QueryInterface, iid, out);
}

static HRESULT STDMETHODCALLTYPE adapter_GetDesc(IDXGIAdapter1 *iface, DXGI_ADAPTER_DESC *desc)
{
    HRESULT hr = fake_count(FAKE_IDXGIAdapter1_GetDesc);

    if (FAILED(hr))
        return hr;
    if (!desc)
        return E_INVALIDARG;
    /* The later structure only adds a member at the end. */
    memcpy(desc, &adapter_of(iface)->desc, sizeof *desc);
    return S_OK;
}

static const IDXGIAdapter1Vtbl adapter_vtbl = {
    FAKE_STUBS_IDXGIAdapter1,
    .GetParent = adapter_GetParent,
    .GetDesc = adapter_GetDesc,
};

static const struct fake_iid adapter_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_adapter, face)},
    {&IID_IDXGIObject, offsetof(struct fake_adapter, face)},
    {&IID_IDXGIAdapter, offsetof(struct fake_adapter, face)},
    {&IID_IDXGIAdapter1, offsetof(struct fake_adapter, face)},
    {NULL, 0},
};

static const struct fake_class adapter_class = {
    .name = "IDXGIAdapter",
    .ifaces = adapter_ifaces,
    .destroy = adapter_destroy,
};

/* Keeps a reference on the factory. */
static struct fake_adapter *adapter_in(struct fake_factory *factory, unsigned index)
{
    struct fake_adapter *adapter;

    if (index >= factory->count)
        return NULL;
    adapter = fake_alloc(sizeof *adapter);
    adapter->face = fake_face(&adapter_vtbl, &adapter->object);
    adapter->index = index;
    adapter->desc = factory->descs[index];
    adapter->factory = factory;
    fake_object_ref(&factory->object);
    fake_object_init(&adapter->object, sizeof *adapter, &adapter_class, NULL);
    return adapter;
}

/* ---- IDXGIFactory ---- */

static void factory_destroy(struct fake_object *object)
{
    free(object);
}

static const IDXGIFactory1Vtbl factory_vtbl = {
    FAKE_STUBS_IDXGIFactory1,
};

static const struct fake_iid factory_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_factory, face)},
    {&IID_IDXGIObject, offsetof(struct fake_factory, face)},
    {&IID_IDXGIFactory, offsetof(struct fake_factory, face)},
    {&IID_IDXGIFactory1, offsetof(struct fake_factory, face)},
    {NULL, 0},
};

static const struct fake_class factory_class = {
    .name = "IDXGIFactory",
    .ifaces = factory_ifaces,
    .destroy = factory_destroy,
};

static struct fake_factory *factory_create(void)
{
    struct fake_factory *factory = fake_alloc(sizeof *factory);

    factory->face = fake_face(&factory_vtbl, &factory->object);
    factory->count = fake_adapters(factory->descs);
    fake_object_init(&factory->object, sizeof *factory, &factory_class, NULL);
    return factory;
}

struct fake_adapter *fake_adapter_create(unsigned index)
{
    struct fake_factory *factory = factory_create();
    struct fake_adapter *adapter = adapter_in(factory, index);

    fake_object_unref(&factory->object);
    return adapter;
}

struct fake_adapter *fake_adapter_for(IDXGIAdapter *iface)
{
    if (!iface)
        return fake_adapter_create(0);
    fake_object_ref(fake_object_of(iface));
    return (struct fake_adapter *)fake_object_of(iface);
}
