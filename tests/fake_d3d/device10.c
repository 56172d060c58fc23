/* ID3D10Device, D3D10CreateDevice and D3D10CreateDevice1. In the order of device11.c; what is the
 * context's there comes last. */
#include "device10.h"

#include <stdlib.h>

#include "fake_stubs.h"

static struct fake_device10 *device_of(ID3D10Device1 *iface)
{
    return (struct fake_device10 *)fake_object_of(iface);
}

/* The common end of the Create functions of resources. */
static HRESULT make(ID3D10Device1 *iface, enum fake_method method, struct fake_desc *desc,
                    const D3D10_SUBRESOURCE_DATA *data, void **out)
{
    struct fake_device10 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, &device->base, method, FAKE_ONE_THREAD);

    if (out)
        *out = NULL;
    if (SUCCEEDED(hr)) /* the structure of the data is the same in both versions */
        hr = fake_resource_make(&device->base, &fake_types10[desc->kind], desc, (const D3D11_SUBRESOURCE_DATA *)data,
                                out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CreateBuffer(ID3D10Device1 *iface, const D3D10_BUFFER_DESC *buffer,
                                                     const D3D10_SUBRESOURCE_DATA *data, ID3D10Buffer **out)
{
    struct fake_desc desc = {.kind = FAKE_BUFFER};

    if (!buffer)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(DXGI_FORMAT_UNKNOWN);
    desc.width = buffer->ByteWidth;
    desc.height = desc.depth = desc.mips = desc.layers = desc.samples = 1;
    desc.usage = buffer->Usage;
    desc.bind = buffer->BindFlags;
    desc.cpu = buffer->CPUAccessFlags;
    desc.misc = fake_misc_from10(buffer->MiscFlags);
    return make(iface, FAKE_ID3D10Device1_CreateBuffer, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture1D(ID3D10Device1 *iface, const D3D10_TEXTURE1D_DESC *texture,
                                                        const D3D10_SUBRESOURCE_DATA *data, ID3D10Texture1D **out)
{
    struct fake_desc desc = {.kind = FAKE_TEXTURE1D};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.height = desc.depth = desc.samples = 1;
    desc.mips = texture->MipLevels;
    desc.layers = texture->ArraySize;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    desc.misc = fake_misc_from10(texture->MiscFlags);
    return make(iface, FAKE_ID3D10Device1_CreateTexture1D, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture2D(ID3D10Device1 *iface, const D3D10_TEXTURE2D_DESC *texture,
                                                        const D3D10_SUBRESOURCE_DATA *data, ID3D10Texture2D **out)
{
    struct fake_desc desc = {.kind = FAKE_TEXTURE2D};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.height = texture->Height;
    desc.depth = 1;
    desc.mips = texture->MipLevels;
    desc.layers = texture->ArraySize;
    desc.samples = texture->SampleDesc.Count;
    desc.quality = texture->SampleDesc.Quality;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    desc.misc = fake_misc_from10(texture->MiscFlags);
    return make(iface, FAKE_ID3D10Device1_CreateTexture2D, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture3D(ID3D10Device1 *iface, const D3D10_TEXTURE3D_DESC *texture,
                                                        const D3D10_SUBRESOURCE_DATA *data, ID3D10Texture3D **out)
{
    struct fake_desc desc = {.kind = FAKE_TEXTURE3D};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.height = texture->Height;
    desc.depth = texture->Depth;
    desc.mips = texture->MipLevels;
    desc.layers = desc.samples = 1;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    desc.misc = fake_misc_from10(texture->MiscFlags);
    return make(iface, FAKE_ID3D10Device1_CreateTexture3D, &desc, data, (void **)out);
}

static HRESULT create_query(struct fake_device *device, const D3D10_QUERY_DESC *desc, ID3D10Query **out)
{
    struct fake_query *query;

    if (desc->Query != D3D10_QUERY_EVENT)
        return E_NOTIMPL;
    if (!out)
        return S_FALSE;
    query = fake_query_create(device, &fake_query10_class, desc->Query, desc->MiscFlags);
    if (!query)
        return E_OUTOFMEMORY;
    query->face.query10.i.lpVtbl = (ID3D10QueryVtbl *)&fake_query10_vtbl;
    *out = &query->face.query10.i;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE device_CreateQuery(ID3D10Device1 *iface, const D3D10_QUERY_DESC *desc,
                                                    ID3D10Query **out)
{
    struct fake_device10 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    if (!desc)
        return E_INVALIDARG;
    if (out)
        *out = NULL;
    hr = fake_enter(&call, &device->base, FAKE_ID3D10Device1_CreateQuery, FAKE_ONE_THREAD);
    if (SUCCEEDED(hr))
        hr = create_query(&device->base, desc, out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_OpenSharedResource(ID3D10Device1 *iface, HANDLE handle, REFIID iid, void **out)
{
    struct fake_device10 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    if (!out)
        return E_INVALIDARG;
    *out = NULL;
    hr = fake_enter(&call, &device->base, FAKE_ID3D10Device1_OpenSharedResource, FAKE_ONE_THREAD);
    if (SUCCEEDED(hr))
        hr = fake_resource_open(&device->base, fake_types10, handle, iid, out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CheckFormatSupport(ID3D10Device1 *iface, DXGI_FORMAT id, UINT *support)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_ID3D10Device1_CheckFormatSupport);
    const struct fake_format *format = fake_format_dxgi(id);

    if (!support)
        return E_INVALIDARG;
    *support = 0;
    if (FAILED(hr))
        return hr;
    if (id == DXGI_FORMAT_UNKNOWN || !format)
        return E_FAIL;
    *support = fake_format_support(format);
    return *support ? S_OK : E_FAIL;
}

static HRESULT STDMETHODCALLTYPE device_CheckMultisampleQualityLevels(ID3D10Device1 *iface, DXGI_FORMAT id, UINT count,
                                                                      UINT *levels)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_ID3D10Device1_CheckMultisampleQualityLevels);
    const struct fake_format *format = fake_format_dxgi(id);
    unsigned support = format ? fake_format_support(format) : 0;

    if (!levels)
        return E_INVALIDARG;
    *levels = 0;
    if (FAILED(hr))
        return hr;
    if (support & D3D11_FORMAT_SUPPORT_MULTISAMPLE_RENDERTARGET &&
        (count == 1 || count == 2 || count == 4 || count == 8))
        *levels = 1;
    return S_OK;
}

static D3D10_FEATURE_LEVEL1 STDMETHODCALLTYPE device_GetFeatureLevel(ID3D10Device1 *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D10Device1_GetFeatureLevel);
    return device_of(iface)->level;
}

static UINT STDMETHODCALLTYPE device_GetCreationFlags(ID3D10Device1 *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D10Device1_GetCreationFlags);
    return device_of(iface)->flags;
}

static HRESULT STDMETHODCALLTYPE device_GetDeviceRemovedReason(ID3D10Device1 *iface)
{
    struct fake_device10 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    fake_enter(&call, &device->base, FAKE_ID3D10Device1_GetDeviceRemovedReason, FAKE_ONE_THREAD);
    hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

/* ---- Work ---- */

static void STDMETHODCALLTYPE device_CopyResource(ID3D10Device1 *iface, ID3D10Resource *target, ID3D10Resource *source)
{
    const char *method = fake_method_name(FAKE_ID3D10Device1_CopyResource);
    struct fake_device *device = &device_of(iface)->base;
    struct fake_resource *to, *from;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_ID3D10Device1_CopyResource, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        to = fake_resource_check(device, target, method);
        from = fake_resource_check(device, source, method);
        if (to && from)
            fake_copy_resource(device, to->store, from->store, method);
    }
    fake_leave(&call);
}

static void STDMETHODCALLTYPE device_CopySubresourceRegion(ID3D10Device1 *iface, ID3D10Resource *target,
                                                           UINT target_subresource, UINT x, UINT y, UINT z,
                                                           ID3D10Resource *source, UINT source_subresource,
                                                           const D3D10_BOX *box)
{
    const char *method = fake_method_name(FAKE_ID3D10Device1_CopySubresourceRegion);
    struct fake_device *device = &device_of(iface)->base;
    struct fake_resource *to, *from;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_ID3D10Device1_CopySubresourceRegion, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        to = fake_resource_check(device, target, method);
        from = fake_resource_check(device, source, method);
        if (to && from) {
            struct fake_copy copy = {.target = to->store,
                                     .source = from->store,
                                     .target_subresource = target_subresource,
                                     .source_subresource = source_subresource,
                                     .x = x,
                                     .y = y,
                                     .z = z};

            fake_copy_region(device, &copy, (const struct fake_box *)box, method);
        }
    }
    fake_leave(&call);
}

static void STDMETHODCALLTYPE device_UpdateSubresource(ID3D10Device1 *iface, ID3D10Resource *target, UINT subresource,
                                                       const D3D10_BOX *box, const void *data, UINT pitch, UINT slice)
{
    const char *method = fake_method_name(FAKE_ID3D10Device1_UpdateSubresource);
    struct fake_device *device = &device_of(iface)->base;
    struct fake_resource *to;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_ID3D10Device1_UpdateSubresource, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        to = fake_resource_check(device, target, method);
        if (to)
            fake_update(device, to->store, subresource, (const struct fake_box *)box, data, pitch, slice, method);
    }
    fake_leave(&call);
}

static void STDMETHODCALLTYPE device_Flush(ID3D10Device1 *iface)
{
    struct fake_call call;
    HRESULT hr = fake_enter(&call, &device_of(iface)->base, FAKE_ID3D10Device1_Flush, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_queue_submit(call.device);
    fake_leave(&call);
}

static const ID3D10Device1Vtbl device_vtbl = {
    FAKE_STUBS_ID3D10Device1,
    .CreateBuffer = device_CreateBuffer,
    .CreateTexture1D = device_CreateTexture1D,
    .CreateTexture2D = device_CreateTexture2D,
    .CreateTexture3D = device_CreateTexture3D,
    .CreateQuery = device_CreateQuery,
    .OpenSharedResource = device_OpenSharedResource,
    .CheckFormatSupport = device_CheckFormatSupport,
    .CheckMultisampleQualityLevels = device_CheckMultisampleQualityLevels,
    .GetFeatureLevel = device_GetFeatureLevel,
    .GetCreationFlags = device_GetCreationFlags,
    .GetDeviceRemovedReason = device_GetDeviceRemovedReason,
    .CopyResource = device_CopyResource,
    .CopySubresourceRegion = device_CopySubresourceRegion,
    .UpdateSubresource = device_UpdateSubresource,
    .Flush = device_Flush,
};

#define DEVICE_IFACES                                                                                                 \
    {&IID_IUnknown, offsetof(struct fake_device10, face)}, {&IID_ID3D10Device, offsetof(struct fake_device10, face)}, \
        {&IID_IDXGIObject, offsetof(struct fake_device10, dxgi)},                                                     \
        {&IID_IDXGIDevice, offsetof(struct fake_device10, dxgi)},                                                     \
        {&IID_IDXGIDevice1, offsetof(struct fake_device10, dxgi)},                                                    \
        {&fake_iid_stays, offsetof(struct fake_device10, dxgi)},                                                      \
        {&fake_iid_interop_queue, offsetof(struct fake_device10, interop_queue)},                                     \
    {                                                                                                                 \
        &IID_ID3D10Multithread, offsetof(struct fake_device10, multithread)                                           \
    }

static const struct fake_iid device_ifaces[] = {DEVICE_IFACES, {NULL, 0}};
static const struct fake_iid device1_ifaces[] = {
    DEVICE_IFACES,
    {&IID_ID3D10Device1, offsetof(struct fake_device10, face)},
    {NULL, 0},
};

#undef DEVICE_IFACES

static void device_destroy(struct fake_object *object)
{
    fake_device_finish((struct fake_device *)object);
    free(object);
}

static const struct fake_class device_class = {
    "ID3D10Device",
    device_ifaces,
    device_destroy,
    true,
};
static const struct fake_class device1_class = {
    "ID3D10Device1",
    device1_ifaces,
    device_destroy,
    true,
};

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
    device->level = level;
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
