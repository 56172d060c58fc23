/* The resources and queries of Direct3D 10. They are mapped by methods of their own; otherwise they
 * go like those of Direct3D 11, and the functions here are in the order of resource11.c. */
#include "device10.h"

#include "fake_stubs.h"

static const struct {
    unsigned misc10, misc11;
} misc_flags[] = {
    {D3D10_RESOURCE_MISC_GENERATE_MIPS, D3D11_RESOURCE_MISC_GENERATE_MIPS},
    {D3D10_RESOURCE_MISC_SHARED, D3D11_RESOURCE_MISC_SHARED},
    {D3D10_RESOURCE_MISC_TEXTURECUBE, D3D11_RESOURCE_MISC_TEXTURECUBE},
    {D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX},
    {D3D10_RESOURCE_MISC_GDI_COMPATIBLE, D3D11_RESOURCE_MISC_GDI_COMPATIBLE},
};

#define MISC_FLAGS (sizeof misc_flags / sizeof misc_flags[0])

unsigned fake_misc_from10(unsigned misc)
{
    unsigned result = 0;
    size_t i;

    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc10 ? misc_flags[i].misc11 : 0;
    return result;
}

unsigned fake_misc_to10(unsigned misc)
{
    unsigned result = 0;
    size_t i;

    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc11 ? misc_flags[i].misc10 : 0;
    return result;
}

void fake_child10_get_device(struct fake_object *object, enum fake_method method, ID3D10Device **out)
{
    struct fake_device10 *device = (struct fake_device10 *)object->device;

    fake_touch(object, method);
    fake_object_ref(&device->base.object);
    *out = (ID3D10Device *)&device->face.i;
}

void fake_resource10_get_type(struct fake_object *object, enum fake_method method, D3D10_RESOURCE_DIMENSION *type)
{
    static const D3D10_RESOURCE_DIMENSION types[] = {
        [FAKE_BUFFER] = D3D10_RESOURCE_DIMENSION_BUFFER,
        [FAKE_TEXTURE1D] = D3D10_RESOURCE_DIMENSION_TEXTURE1D,
        [FAKE_TEXTURE2D] = D3D10_RESOURCE_DIMENSION_TEXTURE2D,
        [FAKE_TEXTURE3D] = D3D10_RESOURCE_DIMENSION_TEXTURE3D,
    };

    fake_touch(object, method);
    *type = types[((struct fake_resource *)object)->store->desc.kind];
}

static const struct fake_desc *desc_of(const void *iface, enum fake_method method)
{
    fake_touch(fake_object_of(iface), method);
    return &fake_resource_of(iface)->store->desc;
}

static void STDMETHODCALLTYPE buffer_GetDesc(ID3D10Buffer *iface, D3D10_BUFFER_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D10Buffer_GetDesc);

    *out = (D3D10_BUFFER_DESC){
        .ByteWidth = desc->width,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = fake_misc_to10(desc->misc),
    };
}

static void STDMETHODCALLTYPE texture1d_GetDesc(ID3D10Texture1D *iface, D3D10_TEXTURE1D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D10Texture1D_GetDesc);

    *out = (D3D10_TEXTURE1D_DESC){
        .Width = desc->width,
        .MipLevels = desc->mips,
        .ArraySize = desc->layers,
        .Format = desc->format->id,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = fake_misc_to10(desc->misc),
    };
}

static void STDMETHODCALLTYPE texture2d_GetDesc(ID3D10Texture2D *iface, D3D10_TEXTURE2D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D10Texture2D_GetDesc);

    *out = (D3D10_TEXTURE2D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .MipLevels = desc->mips,
        .ArraySize = desc->layers,
        .Format = desc->format->id,
        .SampleDesc = {desc->samples, desc->quality},
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = fake_misc_to10(desc->misc),
    };
}

static void STDMETHODCALLTYPE texture3d_GetDesc(ID3D10Texture3D *iface, D3D10_TEXTURE3D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D10Texture3D_GetDesc);

    *out = (D3D10_TEXTURE3D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .Depth = desc->depth,
        .MipLevels = desc->mips,
        .Format = desc->format->id,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = fake_misc_to10(desc->misc),
    };
}

/* ---- Maps ---- */

/* On anything but S_OK the view is all zero. */
static HRESULT map(const void *iface, enum fake_method method, UINT subresource, D3D10_MAP type, UINT flags,
                   struct fake_view *view)
{
    struct fake_resource *resource = fake_resource_of(iface);
    struct fake_device *device = resource->object.device;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, method, FAKE_ONE_THREAD);

    *view = (struct fake_view){NULL, 0, 0};
    if (SUCCEEDED(hr))
        hr = fake_map(device, resource->store, subresource, (D3D11_MAP)type, flags, fake_method_name(method), view);
    fake_leave(&call);
    return hr;
}

static void unmap(const void *iface, enum fake_method method, UINT subresource)
{
    struct fake_resource *resource = fake_resource_of(iface);
    struct fake_call call;

    /* A map ends on a lost device too. */
    fake_enter(&call, resource->object.device, method, FAKE_ONE_THREAD);
    fake_unmap(resource->store, subresource, fake_method_name(method));
    fake_leave(&call);
}

static HRESULT STDMETHODCALLTYPE buffer_Map(ID3D10Buffer *iface, D3D10_MAP type, UINT flags, void **out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Buffer_Map, 0, type, flags, &view);

    *out = view.base;
    return hr;
}

static void STDMETHODCALLTYPE buffer_Unmap(ID3D10Buffer *iface)
{
    unmap(iface, FAKE_ID3D10Buffer_Unmap, 0);
}

static HRESULT STDMETHODCALLTYPE texture1d_Map(ID3D10Texture1D *iface, UINT subresource, D3D10_MAP type, UINT flags,
                                               void **out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Texture1D_Map, subresource, type, flags, &view);

    *out = view.base;
    return hr;
}

static void STDMETHODCALLTYPE texture1d_Unmap(ID3D10Texture1D *iface, UINT subresource)
{
    unmap(iface, FAKE_ID3D10Texture1D_Unmap, subresource);
}

static HRESULT STDMETHODCALLTYPE texture2d_Map(ID3D10Texture2D *iface, UINT subresource, D3D10_MAP type, UINT flags,
                                               D3D10_MAPPED_TEXTURE2D *out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Texture2D_Map, subresource, type, flags, &view);

    out->pData = view.base;
    out->RowPitch = (UINT)view.pitch;
    return hr;
}

static void STDMETHODCALLTYPE texture2d_Unmap(ID3D10Texture2D *iface, UINT subresource)
{
    unmap(iface, FAKE_ID3D10Texture2D_Unmap, subresource);
}

static HRESULT STDMETHODCALLTYPE texture3d_Map(ID3D10Texture3D *iface, UINT subresource, D3D10_MAP type, UINT flags,
                                               D3D10_MAPPED_TEXTURE3D *out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Texture3D_Map, subresource, type, flags, &view);

    out->pData = view.base;
    out->RowPitch = (UINT)view.pitch;
    out->DepthPitch = (UINT)view.slice;
    return hr;
}

static void STDMETHODCALLTYPE texture3d_Unmap(ID3D10Texture3D *iface, UINT subresource)
{
    unmap(iface, FAKE_ID3D10Texture3D_Unmap, subresource);
}

static const ID3D10BufferVtbl buffer_vtbl = {
    FAKE_STUBS_ID3D10Buffer,
    .GetDesc = buffer_GetDesc,
    .Map = buffer_Map,
    .Unmap = buffer_Unmap,
};

static const ID3D10Texture1DVtbl texture1d_vtbl = {
    FAKE_STUBS_ID3D10Texture1D,
    .GetDesc = texture1d_GetDesc,
    .Map = texture1d_Map,
    .Unmap = texture1d_Unmap,
};

static const ID3D10Texture2DVtbl texture2d_vtbl = {
    FAKE_STUBS_ID3D10Texture2D,
    .GetDesc = texture2d_GetDesc,
    .Map = texture2d_Map,
    .Unmap = texture2d_Unmap,
};

static const ID3D10Texture3DVtbl texture3d_vtbl = {
    FAKE_STUBS_ID3D10Texture3D,
    .GetDesc = texture3d_GetDesc,
    .Map = texture3d_Map,
    .Unmap = texture3d_Unmap,
};

#define FACE offsetof(struct fake_resource, face)
#define DXGI offsetof(struct fake_resource, dxgi)
#define RESOURCE_IFACES(own)                                                                          \
    {&IID_IUnknown, FACE}, {&IID_ID3D10DeviceChild, FACE}, {&IID_ID3D10Resource, FACE}, {&own, FACE}, \
        {&IID_IDXGIObject, DXGI}, {&IID_IDXGIDeviceSubObject, DXGI}, {&IID_IDXGIResource, DXGI},      \
    {                                                                                                 \
        &fake_iid_interop, offsetof(struct fake_resource, interop)                                    \
    }

static const struct fake_iid buffer_ifaces[] = {RESOURCE_IFACES(IID_ID3D10Buffer), {NULL, 0}};
static const struct fake_iid texture1d_ifaces[] = {RESOURCE_IFACES(IID_ID3D10Texture1D), {NULL, 0}};
static const struct fake_iid texture2d_ifaces[] = {RESOURCE_IFACES(IID_ID3D10Texture2D), {NULL, 0}};
static const struct fake_iid texture3d_ifaces[] = {RESOURCE_IFACES(IID_ID3D10Texture3D), {NULL, 0}};
static const struct fake_iid keyed_ifaces[] = {
    RESOURCE_IFACES(IID_ID3D10Texture2D),
    {&IID_IDXGIKeyedMutex, offsetof(struct fake_resource, mutex)},
    {NULL, 0},
};

#undef FACE
#undef DXGI
#undef RESOURCE_IFACES

static const struct fake_class buffer_class = {
    "ID3D10Buffer",
    buffer_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture1d_class = {
    "ID3D10Texture1D",
    texture1d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture2d_class = {
    "ID3D10Texture2D",
    texture2d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture3d_class = {
    "ID3D10Texture3D",
    texture3d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class keyed_class = {
    "ID3D10Texture2D",
    keyed_ifaces,
    fake_resource_destroy,
    false,
};

const struct fake_resource_type fake_types10[] = {
    [FAKE_BUFFER] = {&buffer_class, NULL, &buffer_vtbl, 0},
    [FAKE_TEXTURE1D] = {&texture1d_class, NULL, &texture1d_vtbl, 8192},
    [FAKE_TEXTURE2D] = {&texture2d_class, &keyed_class, &texture2d_vtbl, 8192},
    [FAKE_TEXTURE3D] = {&texture3d_class, NULL, &texture3d_vtbl, 2048},
};

/* ---- Queries ---- */

static struct fake_query *query_of(ID3D10Query *iface)
{
    return (struct fake_query *)fake_object_of(iface);
}

static void STDMETHODCALLTYPE query_Begin(ID3D10Query *iface)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_Begin, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_query_begin(query, fake_method_name(FAKE_ID3D10Query_Begin));
    fake_leave(&call);
}

static void STDMETHODCALLTYPE query_End(ID3D10Query *iface)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_End, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_query_end(query);
    fake_leave(&call);
}

static HRESULT STDMETHODCALLTYPE query_GetData(ID3D10Query *iface, void *data, UINT size, UINT flags)
{
    bool may_flush = !(flags & D3D10_ASYNC_GETDATA_DONOTFLUSH);
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_GetData, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        hr = fake_query_data(query, data, size, may_flush);
    fake_leave(&call);
    return hr;
}

static UINT STDMETHODCALLTYPE query_GetDataSize(ID3D10Query *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D10Query_GetDataSize);
    return sizeof(BOOL);
}

static void STDMETHODCALLTYPE query_GetDesc(ID3D10Query *iface, D3D10_QUERY_DESC *out)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D10Query_GetDesc);
    out->Query = query_of(iface)->type;
    out->MiscFlags = query_of(iface)->misc;
}

const ID3D10QueryVtbl fake_query10_vtbl = {
    FAKE_STUBS_ID3D10Query,           .Begin = query_Begin,     .End = query_End, .GetData = query_GetData,
    .GetDataSize = query_GetDataSize, .GetDesc = query_GetDesc,
};

#define FACE offsetof(struct fake_query, face)

static const struct fake_iid query_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_ID3D10DeviceChild, FACE},
    {&IID_ID3D10Asynchronous, FACE},
    {&IID_ID3D10Query, FACE},
    {NULL, 0},
};

#undef FACE

const struct fake_class fake_query10_class = {
    "ID3D10Query",
    query_ifaces,
    fake_query_destroy,
    false,
};
