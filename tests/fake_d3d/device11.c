/* ID3D11Device and D3D11CreateDevice. */
#include "device11.h"

#include <stdlib.h>

#include "fake_stubs.h"

static struct fake_device11 *device_of(ID3D11Device *iface)
{
    return (struct fake_device11 *)fake_object_of(iface);
}

/* The common end of the Create functions of resources. */
static HRESULT make(ID3D11Device *iface, enum fake_method method, struct fake_desc *desc,
                    const D3D11_SUBRESOURCE_DATA *data, void **out)
{
    struct fake_device11 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, &device->base, method, FAKE_ANY_THREAD);

    if (out)
        *out = NULL;
    if (SUCCEEDED(hr))
        hr = fake_resource_make(&device->base, &fake_types11[desc->kind], desc, data, out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CreateBuffer(ID3D11Device *iface, const D3D11_BUFFER_DESC *buffer,
                                                     const D3D11_SUBRESOURCE_DATA *data, ID3D11Buffer **out)
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
    desc.misc = buffer->MiscFlags;
    desc.stride = buffer->StructureByteStride;
    return make(iface, FAKE_ID3D11Device_CreateBuffer, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture1D(ID3D11Device *iface, const D3D11_TEXTURE1D_DESC *texture,
                                                        const D3D11_SUBRESOURCE_DATA *data, ID3D11Texture1D **out)
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
    desc.misc = texture->MiscFlags;
    return make(iface, FAKE_ID3D11Device_CreateTexture1D, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture2D(ID3D11Device *iface, const D3D11_TEXTURE2D_DESC *texture,
                                                        const D3D11_SUBRESOURCE_DATA *data, ID3D11Texture2D **out)
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
    desc.misc = texture->MiscFlags;
    return make(iface, FAKE_ID3D11Device_CreateTexture2D, &desc, data, (void **)out);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture3D(ID3D11Device *iface, const D3D11_TEXTURE3D_DESC *texture,
                                                        const D3D11_SUBRESOURCE_DATA *data, ID3D11Texture3D **out)
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
    desc.misc = texture->MiscFlags;
    return make(iface, FAKE_ID3D11Device_CreateTexture3D, &desc, data, (void **)out);
}

static HRESULT create_query(struct fake_device *device, const D3D11_QUERY_DESC *desc, ID3D11Query **out)
{
    struct fake_query *query;

    if (desc->Query != D3D11_QUERY_EVENT)
        return E_NOTIMPL;
    if (!out)
        return S_FALSE;
    query = fake_query_create(device, &fake_query11_class, desc->Query, desc->MiscFlags);
    if (!query)
        return E_OUTOFMEMORY;
    query->face.query11.i.lpVtbl = (ID3D11QueryVtbl *)&fake_query11_vtbl;
    *out = &query->face.query11.i;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE device_CreateQuery(ID3D11Device *iface, const D3D11_QUERY_DESC *desc,
                                                    ID3D11Query **out)
{
    struct fake_device11 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    if (!desc)
        return E_INVALIDARG;
    if (out)
        *out = NULL;
    hr = fake_enter(&call, &device->base, FAKE_ID3D11Device_CreateQuery, FAKE_ANY_THREAD);
    if (SUCCEEDED(hr))
        hr = create_query(&device->base, desc, out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_OpenSharedResource(ID3D11Device *iface, HANDLE handle, REFIID iid, void **out)
{
    struct fake_device11 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    if (!out)
        return S_FALSE;
    *out = NULL;
    hr = fake_enter(&call, &device->base, FAKE_ID3D11Device_OpenSharedResource, FAKE_ANY_THREAD);
    if (SUCCEEDED(hr))
        hr = fake_resource_open(&device->base, fake_types11, handle, iid, out);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CheckFormatSupport(ID3D11Device *iface, DXGI_FORMAT id, UINT *support)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_ID3D11Device_CheckFormatSupport);
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

static HRESULT STDMETHODCALLTYPE device_CheckMultisampleQualityLevels(ID3D11Device *iface, DXGI_FORMAT id, UINT count,
                                                                      UINT *levels)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_ID3D11Device_CheckMultisampleQualityLevels);
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

static D3D_FEATURE_LEVEL STDMETHODCALLTYPE device_GetFeatureLevel(ID3D11Device *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D11Device_GetFeatureLevel);
    return device_of(iface)->level;
}

static UINT STDMETHODCALLTYPE device_GetCreationFlags(ID3D11Device *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D11Device_GetCreationFlags);
    return device_of(iface)->flags;
}

static HRESULT STDMETHODCALLTYPE device_GetDeviceRemovedReason(ID3D11Device *iface)
{
    struct fake_device11 *device = device_of(iface);
    struct fake_call call;
    HRESULT hr;

    fake_enter(&call, &device->base, FAKE_ID3D11Device_GetDeviceRemovedReason, FAKE_ANY_THREAD);
    hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

static void STDMETHODCALLTYPE device_GetImmediateContext(ID3D11Device *iface, ID3D11DeviceContext **out)
{
    struct fake_device11 *device = device_of(iface);

    fake_touch(&device->base.object, FAKE_ID3D11Device_GetImmediateContext);
    fake_object_ref(&device->context.object);
    *out = &device->context.face.i;
}

static const ID3D11DeviceVtbl device_vtbl = {
    FAKE_STUBS_ID3D11Device,
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
    .GetImmediateContext = device_GetImmediateContext,
};

static const struct fake_iid device_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_device11, face)},
    {&IID_ID3D11Device, offsetof(struct fake_device11, face)},
    {&IID_IDXGIObject, offsetof(struct fake_device11, dxgi)},
    {&IID_IDXGIDevice, offsetof(struct fake_device11, dxgi)},
    {&IID_IDXGIDevice1, offsetof(struct fake_device11, dxgi)},
    {&fake_iid_stays, offsetof(struct fake_device11, dxgi)},
    {&fake_iid_interop_device, offsetof(struct fake_device11, interop)},
    {&fake_iid_interop_queue, offsetof(struct fake_device11, interop_queue)},
    {&IID_ID3D10Multithread, offsetof(struct fake_device11, multithread)},
    {NULL, 0},
};

static void device_destroy(struct fake_object *object)
{
    fake_device_finish((struct fake_device *)object);
    free(object);
}

static const struct fake_class device_class = {
    "ID3D11Device",
    device_ifaces,
    device_destroy,
    true,
};

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
    device->interop.vtbl = &fake_interop_device_vtbl;
    device->interop.object = &device->base.object;
    device->interop_queue.vtbl = &fake_interop_queue_vtbl;
    device->interop_queue.object = &device->base.object;
    fake_dxgi_device_init(&device->dxgi, &device->base);
    fake_multithread_init(&device->multithread, &device->base.object);
    fake_context11_init(&device->context, device);
    device->flags = flags;
    device->level = level;
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
