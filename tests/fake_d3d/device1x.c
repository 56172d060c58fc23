/* ID3D10Device and ID3D11Device, and what makes them. */
#include "d3d1x.h"

#include <stdlib.h>

#include "fake_stubs.h"

struct fake_device1x *fake_device1x_of(struct fake_object *object)
{
    return (struct fake_device1x *)(object->device ? &object->device->object : object);
}

HRESULT fake_enter1x(struct fake_call *call, struct fake_object *object, enum fake_method method)
{
    struct fake_device1x *device = fake_device1x_of(object);

    return fake_enter(call, &device->base, method,
                      device->version == 11 && object->class->is_device ? FAKE_ANY_THREAD : FAKE_ONE_THREAD);
}

/* ---- resources ---- */

/* The common end of the Create functions of resources. `misc`: as the version has it. */
static HRESULT make(struct fake_object *object, enum fake_method method, struct fake_desc *desc, unsigned misc,
                    const void *data, void *place)
{
    struct fake_device1x *device = fake_device1x_of(object);
    void **out = place;
    struct fake_call call;
    HRESULT hr = fake_enter1x(&call, object, method);

    if (out)
        *out = NULL;
    desc->misc = device->version == 11 ? misc : fake_misc_from10(misc);
    if (SUCCEEDED(hr))
        hr = fake_resource_make(&device->base, &fake_types(device->version)[desc->kind], desc, data, out);
    fake_leave(&call);
    return hr;
}

HRESULT FORWARD(create_buffer, const void *given, const void *data, void *out)
{
    const D3D11_BUFFER_DESC *buffer = given;
    struct fake_desc desc = {.kind = FAKE_BUFFER, .height = 1, .depth = 1, .mips = 1, .layers = 1, .samples = 1};

    if (!buffer)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(DXGI_FORMAT_UNKNOWN);
    desc.width = buffer->ByteWidth;
    desc.usage = buffer->Usage;
    desc.bind = buffer->BindFlags;
    desc.cpu = buffer->CPUAccessFlags;
    desc.stride = fake_device1x_of(object)->version == 11 ? buffer->StructureByteStride : 0;
    return make(object, method, &desc, buffer->MiscFlags, data, out);
}

HRESULT FORWARD(create_texture1d, const void *given, const void *data, void *out)
{
    const D3D11_TEXTURE1D_DESC *texture = given;
    struct fake_desc desc = {.kind = FAKE_TEXTURE1D, .height = 1, .depth = 1, .samples = 1};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.mips = texture->MipLevels;
    desc.layers = texture->ArraySize;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    return make(object, method, &desc, texture->MiscFlags, data, out);
}

HRESULT FORWARD(create_texture2d, const void *given, const void *data, void *out)
{
    const D3D11_TEXTURE2D_DESC *texture = given;
    struct fake_desc desc = {.kind = FAKE_TEXTURE2D, .depth = 1};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.height = texture->Height;
    desc.mips = texture->MipLevels;
    desc.layers = texture->ArraySize;
    desc.samples = texture->SampleDesc.Count;
    desc.quality = texture->SampleDesc.Quality;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    return make(object, method, &desc, texture->MiscFlags, data, out);
}

HRESULT FORWARD(create_texture3d, const void *given, const void *data, void *out)
{
    const D3D11_TEXTURE3D_DESC *texture = given;
    struct fake_desc desc = {.kind = FAKE_TEXTURE3D, .layers = 1, .samples = 1};

    if (!texture)
        return E_INVALIDARG;
    desc.format = fake_format_dxgi(texture->Format);
    desc.width = texture->Width;
    desc.height = texture->Height;
    desc.depth = texture->Depth;
    desc.mips = texture->MipLevels;
    desc.usage = texture->Usage;
    desc.bind = texture->BindFlags;
    desc.cpu = texture->CPUAccessFlags;
    return make(object, method, &desc, texture->MiscFlags, data, out);
}

static HRESULT create_query(struct fake_object *object, enum fake_method method, const D3D11_QUERY_DESC *desc,
                            bool predicate, void **out)
{
    struct fake_call call;
    HRESULT hr = fake_enter1x(&call, object, method);

    if (out)
        *out = NULL;
    if (SUCCEEDED(hr) && !predicate && desc->Query != D3D11_QUERY_EVENT)
        hr = E_NOTIMPL;
    if (SUCCEEDED(hr))
        hr = fake_query_make(fake_device1x_of(object), predicate, desc, out);
    fake_leave(&call);
    return hr;
}

HRESULT FORWARD(create_query, const void *given, void *out)
{
    return given ? create_query(object, method, given, false, out) : E_INVALIDARG;
}

HRESULT FORWARD(create_predicate, const void *given, void *out)
{
    const D3D11_QUERY_DESC *desc = given;

    if (!desc || desc->Query != D3D11_QUERY_OCCLUSION_PREDICATE)
        return E_INVALIDARG;
    return create_query(object, method, desc, true, out);
}

HRESULT FORWARD(check_format_support, DXGI_FORMAT id, UINT *support)
{
    HRESULT hr = fake_touch(object, method);
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

static HRESULT open_shared(struct fake_object *object, enum fake_method method, HANDLE handle, bool nt, REFIID iid,
                           void **out)
{
    struct fake_device1x *device = fake_device1x_of(object);
    struct fake_call call;
    HRESULT hr = fake_enter1x(&call, object, method);

    *out = NULL;
    if (SUCCEEDED(hr))
        hr = fake_resource_open(&device->base, fake_types(device->version), handle, nt, iid, out);
    fake_leave(&call);
    return hr;
}

HRESULT FORWARD(open_shared, HANDLE handle, REFIID iid, void **out)
{
    if (!out)
        return fake_device1x_of(object)->version == 11 ? S_FALSE : E_INVALIDARG;
    return open_shared(object, method, handle, false, iid, out);
}

HRESULT FORWARD(open_shared1, HANDLE handle, REFIID iid, void **out)
{
    return open_shared(object, method, handle, true, iid, out);
}

/* ---- what a device tells ---- */

unsigned FORWARD0(feature_level)
{
    fake_touch(object, method);
    return fake_device1x_of(object)->base.level;
}

HRESULT FORWARD0(removed_reason)
{
    struct fake_call call;
    HRESULT hr;

    fake_enter1x(&call, object, method);
    hr = call.device->removed;
    fake_leave(&call);
    return hr;
}

void FORWARD(immediate_context, ID3D11DeviceContext **out)
{
    struct fake_context11 *context = &fake_device1x_of(object)->context;

    fake_touch(object, method);
    fake_object_ref(&context->object);
    *out = (ID3D11DeviceContext *)&context->face;
}

/* ---- tables ---- */

static const ID3D10Device1Vtbl device10_vtbl = {FAKE_STUBS_ID3D10Device1};
static const ID3D11DeviceVtbl device11_vtbl = {FAKE_STUBS_ID3D11Device};
static const ID3D11Device1Vtbl device11_1_vtbl = {FAKE_STUBS_ID3D11Device1};
static const ID3D11DeviceContextVtbl context_vtbl = {FAKE_STUBS_ID3D11DeviceContext};

#define FACE(member) offsetof(struct fake_device1x, member)
/* The interfaces that both have; the version's own come behind. */
#define DEVICE_IFACES(device)                                                                           \
    {&IID_IUnknown, FACE(face)}, {&(device), FACE(face)}, {&IID_IDXGIObject, FACE(dxgi)},               \
        {&IID_IDXGIDevice, FACE(dxgi)}, {&IID_IDXGIDevice1, FACE(dxgi)}, {&fake_iid_stays, FACE(dxgi)}, \
        {&fake_iid_interop_queue, FACE(interop_queue)},                                                 \
    {                                                                                                   \
        &IID_ID3D10Multithread, FACE(multithread)                                                       \
    }

static const struct fake_iid device10_ifaces[] = {DEVICE_IFACES(IID_ID3D10Device), {NULL, 0}};
static const struct fake_iid device10_1_ifaces[] = {
    DEVICE_IFACES(IID_ID3D10Device), {&IID_ID3D10Device1, FACE(face)}, {NULL, 0}};
static const struct fake_iid device11_ifaces[] = {DEVICE_IFACES(IID_ID3D11Device),
                                                  {&IID_ID3D11Device1, FACE(face1)},
                                                  {&fake_iid_interop_device, FACE(interop)},
                                                  {NULL, 0}};
static const struct fake_iid context_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_context11, face)},
    {&IID_ID3D11DeviceChild, offsetof(struct fake_context11, face)},
    {&IID_ID3D11DeviceContext, offsetof(struct fake_context11, face)},
    {&IID_ID3D10Multithread, offsetof(struct fake_context11, multithread)},
    {NULL, 0},
};

static void destroy(struct fake_object *object)
{
    fake_device_finish((struct fake_device *)object);
    free(object);
}

static const struct fake_class device10_class = {"ID3D10Device", device10_ifaces, destroy, true};
static const struct fake_class device10_1_class = {"ID3D10Device1", device10_1_ifaces, destroy, true};
static const struct fake_class device11_class = {"ID3D11Device", device11_ifaces, destroy, true};
static const struct fake_class context_class = {"ID3D11DeviceContext", context_ifaces, NULL, false};

/* ---- creation ---- */

/* Direct3D 10 protects itself against threads unless it is told not to. */
static struct fake_device1x *create(const struct fake_class *class, IDXGIAdapter *adapter_iface, UINT flags,
                                    unsigned level)
{
    struct fake_adapter *adapter = fake_adapter_for(adapter_iface);
    struct fake_device1x *device = fake_alloc(sizeof *device);

    fake_device_init(&device->base, sizeof *device, class, adapter, DXGI_ERROR_DEVICE_REMOVED);
    device->version = class == &device11_class ? 11 : 10;
    device->base.level = level;
    device->base.single_threaded = flags & D3D11_CREATE_DEVICE_SINGLETHREADED; /* the same in Direct3D 10 */
    atomic_store(&device->base.is_protected, device->version == 10 && !device->base.single_threaded);
    device->face =
        fake_face(device->version == 11 ? (const void *)&device11_vtbl : &device10_vtbl, &device->base.object);
    device->face1 = fake_face(&device11_1_vtbl, &device->base.object);
    device->interop = fake_face(&fake_interop_device_vtbl, &device->base.object);
    device->interop_queue = fake_face(&fake_interop_queue_vtbl, &device->base.object);
    device->dxgi = fake_face(&fake_dxgi_device_vtbl, &device->base.object);
    device->multithread = fake_face(&fake_multithread_vtbl, &device->base.object);
    device->context.face = fake_face(&context_vtbl, &device->context.object);
    device->context.multithread = fake_face(&fake_multithread_vtbl, &device->context.object);
    fake_object_init_embedded(&device->context.object, sizeof device->context, &context_class, &device->base);
    return device;
}

HRESULT WINAPI D3D10CreateDevice(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE software, UINT flags, UINT sdk,
                                 ID3D10Device **out)
{
    (void)type;
    (void)software;
    if (sdk != D3D10_SDK_VERSION || !out)
        return E_INVALIDARG;
    *out = (ID3D10Device *)&create(&device10_class, adapter, flags, D3D10_FEATURE_LEVEL_10_0)->face;
    return S_OK;
}

HRESULT WINAPI D3D10CreateDevice1(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE software, UINT flags,
                                  D3D10_FEATURE_LEVEL1 level, UINT sdk, ID3D10Device1 **out)
{
    (void)type;
    (void)software;
    if (sdk != D3D10_1_SDK_VERSION || !out)
        return E_INVALIDARG;
    *out = (ID3D10Device1 *)&create(&device10_1_class, adapter, flags, level)->face;
    return S_OK;
}

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

HRESULT WINAPI D3D11CreateDevice(IDXGIAdapter *adapter, D3D_DRIVER_TYPE type, HMODULE software, UINT flags,
                                 const D3D_FEATURE_LEVEL *levels, UINT level_count, UINT sdk, ID3D11Device **out,
                                 D3D_FEATURE_LEVEL *level_out, ID3D11DeviceContext **context_out)
{
    D3D_FEATURE_LEVEL level = choose_level(levels, level_count);
    struct fake_device1x *device;

    (void)software;
    if (out)
        *out = NULL;
    if (context_out)
        *context_out = NULL;
    if (sdk != D3D11_SDK_VERSION || !level)
        return E_INVALIDARG;
    /* An adapter has a driver type already. */
    if (adapter && type != D3D_DRIVER_TYPE_UNKNOWN)
        return E_INVALIDARG;
    device = create(&device11_class, adapter, flags, level);
    if (level_out)
        *level_out = level;
    if (context_out)
        fake_immediate_context(&device->base.object, FAKE_ID3D11Device_GetImmediateContext, context_out);
    if (out) {
        *out = (ID3D11Device *)&device->face;
        return S_OK;
    }
    fake_object_unref(&device->base.object);
    return context_out ? S_OK : S_FALSE;
}
