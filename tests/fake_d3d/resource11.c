/* The resources and queries of Direct3D 11. */
#include "device11.h"

#include "fake_stubs.h"

void fake_child11_get_device(struct fake_object *object, enum fake_method method, ID3D11Device **out)
{
    struct fake_device11 *device = (struct fake_device11 *)object->device;

    fake_touch(object, method);
    fake_object_ref(&device->base.object);
    *out = &device->face.i;
}

void fake_resource11_get_type(struct fake_object *object, enum fake_method method, D3D11_RESOURCE_DIMENSION *type)
{
    static const D3D11_RESOURCE_DIMENSION types[] = {
        [FAKE_BUFFER] = D3D11_RESOURCE_DIMENSION_BUFFER,
        [FAKE_TEXTURE1D] = D3D11_RESOURCE_DIMENSION_TEXTURE1D,
        [FAKE_TEXTURE2D] = D3D11_RESOURCE_DIMENSION_TEXTURE2D,
        [FAKE_TEXTURE3D] = D3D11_RESOURCE_DIMENSION_TEXTURE3D,
    };

    fake_touch(object, method);
    *type = types[((struct fake_resource *)object)->store->desc.kind];
}

static const struct fake_desc *desc_of(const void *iface, enum fake_method method)
{
    fake_touch(fake_object_of(iface), method);
    return &fake_resource_of(iface)->store->desc;
}

static void STDMETHODCALLTYPE buffer_GetDesc(ID3D11Buffer *iface, D3D11_BUFFER_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D11Buffer_GetDesc);

    *out = (D3D11_BUFFER_DESC){
        .ByteWidth = desc->width,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = desc->misc,
        .StructureByteStride = desc->stride,
    };
}

static void STDMETHODCALLTYPE texture1d_GetDesc(ID3D11Texture1D *iface, D3D11_TEXTURE1D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D11Texture1D_GetDesc);

    *out = (D3D11_TEXTURE1D_DESC){
        .Width = desc->width,
        .MipLevels = desc->mips,
        .ArraySize = desc->layers,
        .Format = desc->format->id,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = desc->misc,
    };
}

static void STDMETHODCALLTYPE texture2d_GetDesc(ID3D11Texture2D *iface, D3D11_TEXTURE2D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D11Texture2D_GetDesc);

    *out = (D3D11_TEXTURE2D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .MipLevels = desc->mips,
        .ArraySize = desc->layers,
        .Format = desc->format->id,
        .SampleDesc = {desc->samples, desc->quality},
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = desc->misc,
    };
}

static void STDMETHODCALLTYPE texture3d_GetDesc(ID3D11Texture3D *iface, D3D11_TEXTURE3D_DESC *out)
{
    const struct fake_desc *desc = desc_of(iface, FAKE_ID3D11Texture3D_GetDesc);

    *out = (D3D11_TEXTURE3D_DESC){
        .Width = desc->width,
        .Height = desc->height,
        .Depth = desc->depth,
        .MipLevels = desc->mips,
        .Format = desc->format->id,
        .Usage = desc->usage,
        .BindFlags = desc->bind,
        .CPUAccessFlags = desc->cpu,
        .MiscFlags = desc->misc,
    };
}

static const ID3D11BufferVtbl buffer_vtbl = {
    FAKE_STUBS_ID3D11Buffer,
    .GetDesc = buffer_GetDesc,
};

static const ID3D11Texture1DVtbl texture1d_vtbl = {
    FAKE_STUBS_ID3D11Texture1D,
    .GetDesc = texture1d_GetDesc,
};

static const ID3D11Texture2DVtbl texture2d_vtbl = {
    FAKE_STUBS_ID3D11Texture2D,
    .GetDesc = texture2d_GetDesc,
};

static const ID3D11Texture3DVtbl texture3d_vtbl = {
    FAKE_STUBS_ID3D11Texture3D,
    .GetDesc = texture3d_GetDesc,
};

#define FACE offsetof(struct fake_resource, face)
#define DXGI offsetof(struct fake_resource, dxgi)
#define RESOURCE_IFACES(own)                                                                          \
    {&IID_IUnknown, FACE}, {&IID_ID3D11DeviceChild, FACE}, {&IID_ID3D11Resource, FACE}, {&own, FACE}, \
        {&IID_IDXGIObject, DXGI}, {&IID_IDXGIDeviceSubObject, DXGI}, {&IID_IDXGIResource, DXGI},      \
    {                                                                                                 \
        &fake_iid_interop, offsetof(struct fake_resource, interop)                                    \
    }

static const struct fake_iid buffer_ifaces[] = {RESOURCE_IFACES(IID_ID3D11Buffer), {NULL, 0}};
static const struct fake_iid texture1d_ifaces[] = {RESOURCE_IFACES(IID_ID3D11Texture1D), {NULL, 0}};
static const struct fake_iid texture2d_ifaces[] = {RESOURCE_IFACES(IID_ID3D11Texture2D), {NULL, 0}};
static const struct fake_iid texture3d_ifaces[] = {RESOURCE_IFACES(IID_ID3D11Texture3D), {NULL, 0}};
static const struct fake_iid keyed_ifaces[] = {
    RESOURCE_IFACES(IID_ID3D11Texture2D),
    {&IID_IDXGIKeyedMutex, offsetof(struct fake_resource, mutex)},
    {NULL, 0},
};

#undef FACE
#undef DXGI
#undef RESOURCE_IFACES

static const struct fake_class buffer_class = {
    "ID3D11Buffer",
    buffer_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture1d_class = {
    "ID3D11Texture1D",
    texture1d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture2d_class = {
    "ID3D11Texture2D",
    texture2d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class texture3d_class = {
    "ID3D11Texture3D",
    texture3d_ifaces,
    fake_resource_destroy,
    false,
};
static const struct fake_class keyed_class = {
    "ID3D11Texture2D",
    keyed_ifaces,
    fake_resource_destroy,
    false,
};

const struct fake_resource_type fake_types11[] = {
    [FAKE_BUFFER] = {&buffer_class, NULL, &buffer_vtbl, 0},
    [FAKE_TEXTURE1D] = {&texture1d_class, NULL, &texture1d_vtbl, 16384},
    [FAKE_TEXTURE2D] = {&texture2d_class, &keyed_class, &texture2d_vtbl, 16384},
    [FAKE_TEXTURE3D] = {&texture3d_class, NULL, &texture3d_vtbl, 2048},
};

/* ---- Queries ---- */

static UINT STDMETHODCALLTYPE query_GetDataSize(ID3D11Query *iface)
{
    fake_touch(fake_object_of(iface), FAKE_ID3D11Query_GetDataSize);
    return sizeof(BOOL);
}

static void STDMETHODCALLTYPE query_GetDesc(ID3D11Query *iface, D3D11_QUERY_DESC *out)
{
    struct fake_query *query = (struct fake_query *)fake_object_of(iface);

    fake_touch(&query->object, FAKE_ID3D11Query_GetDesc);
    out->Query = query->type;
    out->MiscFlags = query->misc;
}

const ID3D11QueryVtbl fake_query11_vtbl = {
    FAKE_STUBS_ID3D11Query,
    .GetDataSize = query_GetDataSize,
    .GetDesc = query_GetDesc,
};

#define FACE offsetof(struct fake_query, face)

static const struct fake_iid query_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_ID3D11DeviceChild, FACE},
    {&IID_ID3D11Asynchronous, FACE},
    {&IID_ID3D11Query, FACE},
    {NULL, 0},
};

#undef FACE

const struct fake_class fake_query11_class = {
    "ID3D11Query",
    query_ifaces,
    fake_query_destroy,
    false,
};
