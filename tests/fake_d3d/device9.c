/* IDirect3DDevice9 and IDirect3DDevice9Ex. */
#include "device9.h"

#include <stdlib.h>
#include <string.h>

#include "fake_stubs.h"

static struct fake_device9 *device_of(IDirect3DDevice9Ex *iface)
{
    return (struct fake_device9 *)fake_object_of(iface);
}

HRESULT fake_child9_get_device(struct fake_object *object, enum fake_method method, IDirect3DDevice9 **out)
{
    HRESULT hr = fake_touch(object, method);
    struct fake_device9 *device = (struct fake_device9 *)object->device;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    fake_object_ref(&device->base.object);
    *out = (IDirect3DDevice9 *)&device->face;
    return D3D_OK;
}

HRESULT fake_enter9(struct fake_call *call, struct fake_device *device, enum fake_method method, bool *lost)
{
    HRESULT hr = fake_enter(call, device, method, FAKE_ONE_THREAD);

    *lost = FAILED(device->removed);
    return *lost && hr == device->removed_answer ? D3D_OK : hr;
}

/* With CheckDeviceState in its place it has nothing more to tell. */
static HRESULT STDMETHODCALLTYPE device_TestCooperativeLevel(IDirect3DDevice9Ex *iface)
{
    struct fake_device9 *device = device_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, FAKE_IDirect3DDevice9Ex_TestCooperativeLevel, &lost);

    if (SUCCEEDED(hr) && fake_knob_creator_asks() && !pthread_equal(device->base.creator, pthread_self()))
        hr = D3DERR_INVALIDCALL;
    else if (SUCCEEDED(hr) && !device->extended)
        hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_CheckDeviceState(IDirect3DDevice9Ex *iface, HWND window)
{
    struct fake_device9 *device = device_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, FAKE_IDirect3DDevice9Ex_CheckDeviceState, &lost);

    (void)window;
    if (SUCCEEDED(hr))
        hr = device->base.removed;
    fake_leave(&call);
    return hr;
}

/* Brings a lost device back, unless it still has what does not survive that. */
static HRESULT reset(struct fake_device9 *device, enum fake_method method, const D3DPRESENT_PARAMETERS *parameters)
{
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, &device->base, method, &lost);

    if (SUCCEEDED(hr) && !parameters)
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr) && device->base.removed == D3DERR_DEVICELOST && !device->extended)
        hr = D3DERR_DEVICELOST; /* not before it says D3DERR_DEVICENOTRESET */
    if (SUCCEEDED(hr) && !device->extended && atomic_load(&device->default_pool))
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr))
        device->base.removed = D3D_OK;
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE device_Reset(IDirect3DDevice9Ex *iface, D3DPRESENT_PARAMETERS *parameters)
{
    return reset(device_of(iface), FAKE_IDirect3DDevice9Ex_Reset, parameters);
}

static HRESULT STDMETHODCALLTYPE device_GetDirect3D(IDirect3DDevice9Ex *iface, IDirect3D9 **out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DDevice9Ex_GetDirect3D);
    struct fake_d3d9 *d3d9 = device_of(iface)->d3d9;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    fake_object_ref(&d3d9->object);
    *out = (IDirect3D9 *)&d3d9->face;
    return D3D_OK;
}

static HRESULT STDMETHODCALLTYPE device_GetCreationParameters(IDirect3DDevice9Ex *iface,
                                                              D3DDEVICE_CREATION_PARAMETERS *out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DDevice9Ex_GetCreationParameters);

    if (FAILED(hr))
        return hr;
    if (!out)
        return D3DERR_INVALIDCALL;
    *out = device_of(iface)->parameters;
    return D3D_OK;
}

/* ---- what makes surfaces, textures and queries, and its rules ---- */

#define MAX_SIZE 8192

/* What holds for surfaces and textures alike; fills in a full chain of levels. */
static HRESULT check(const struct fake_device9 *device, struct fake_traits9 *traits)
{
    const struct fake_format *format = traits->format;
    unsigned chain = fake_full_chain(traits->width | traits->height);

    if (!format || !traits->width || !traits->height || traits->width > MAX_SIZE || traits->height > MAX_SIZE)
        return D3DERR_INVALIDCALL;
    /* Pairs of packed YUV (2 x 1) may be cut off. */
    if (format->block_height > 1 && !fake_knob_odd_planes() &&
        (traits->width % format->block_width || traits->height % format->block_height))
        return D3DERR_INVALIDCALL;
    if (!traits->levels)
        traits->levels = chain;
    if (traits->levels > chain)
        return D3DERR_INVALIDCALL;
    if (traits->pool == D3DPOOL_MANAGED && (device->extended || traits->plain))
        return D3DERR_INVALIDCALL;
    if (traits->usage & D3DUSAGE_RENDERTARGET &&
        (traits->pool != D3DPOOL_DEFAULT || !(format->support & D3D11_FORMAT_SUPPORT_RENDER_TARGET)))
        return D3DERR_INVALIDCALL;
    return D3D_OK;
}

/* Only extended devices share, and only what lies in their own memory. */
static HRESULT check_sharing(const struct fake_device9 *device, const struct fake_traits9 *traits, const HANDLE *handle)
{
    if (!handle)
        return D3D_OK;
    if (!device->extended || traits->pool != D3DPOOL_DEFAULT || traits->samples)
        return D3DERR_INVALIDCALL;
    return D3D_OK;
}

/* Not kernel handles: nothing to close, and even, as the real ones are. */
static HANDLE new_handle(void)
{
    static atomic_uint count;
    return (HANDLE)(uintptr_t)(0x40000002 + 0x40 * atomic_fetch_add(&count, 1));
}

/* New memory. Nothing opens that of a handle. */
static HRESULT make_store(const struct fake_traits9 *traits, HANDLE *handle, struct fake_store **out)
{
    struct fake_desc desc = {
        .kind = FAKE_SURFACE9,
        .format = traits->format,
        .width = traits->width,
        .height = traits->height,
        .depth = 1,
        .mips = traits->levels,
        .layers = 1,
        .samples = 1,
        .cpu = traits->lockable ? D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE : 0,
        .misc = handle ? D3D11_RESOURCE_MISC_SHARED : 0,
    };

    if (handle && *handle)
        return D3DERR_INVALIDCALL;
    *out = fake_store_create(&desc, NULL);
    if (handle)
        *handle = new_handle();
    return D3D_OK;
}

/* The middle of all Create methods: the checks and the memory. Locked. */
static HRESULT prepare(struct fake_device9 *device, struct fake_traits9 *traits, HANDLE *handle, bool lost,
                       struct fake_store **store)
{
    HRESULT hr = check(device, traits);

    if (SUCCEEDED(hr))
        hr = check_sharing(device, traits, handle);
    if (SUCCEEDED(hr) && lost && traits->pool == D3DPOOL_DEFAULT)
        hr = D3DERR_DEVICELOST;
    return FAILED(hr) ? hr : make_store(traits, handle, store);
}

static HRESULT make_surface(IDirect3DDevice9Ex *iface, enum fake_method method, struct fake_traits9 *traits,
                            IDirect3DSurface9 **out, HANDLE *handle)
{
    struct fake_device9 *device = (struct fake_device9 *)fake_object_of(iface);
    struct fake_surface9 *surface;
    struct fake_store *store;
    struct fake_call call;
    bool lost;
    HRESULT hr;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    hr = fake_enter9(&call, &device->base, method, &lost);
    if (SUCCEEDED(hr))
        hr = prepare(device, traits, handle, lost, &store);
    if (SUCCEEDED(hr)) {
        surface = fake_surface9_create(device, traits, store);
        *out = (IDirect3DSurface9 *)&surface->face;
    }
    fake_leave(&call);
    return hr;
}

HRESULT STDMETHODCALLTYPE fake_device9_CreateOffscreenPlainSurface(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                                   D3DFORMAT format, D3DPOOL pool,
                                                                   IDirect3DSurface9 **out, HANDLE *handle)
{
    struct fake_traits9 traits = {
        .format = fake_format_d3d9(format),
        .width = width,
        .height = height,
        .levels = 1,
        .pool = pool,
        .plain = true,
        .lockable = true,
    };

    return make_surface(iface, FAKE_IDirect3DDevice9Ex_CreateOffscreenPlainSurface, &traits, out, handle);
}

static HRESULT STDMETHODCALLTYPE device_CreateRenderTarget(IDirect3DDevice9Ex *iface, UINT width, UINT height,
                                                           D3DFORMAT format, D3DMULTISAMPLE_TYPE samples, DWORD quality,
                                                           BOOL lockable, IDirect3DSurface9 **out, HANDLE *handle)
{
    struct fake_traits9 traits = {
        .format = fake_format_d3d9(format),
        .width = width,
        .height = height,
        .levels = 1,
        .usage = D3DUSAGE_RENDERTARGET,
        .pool = D3DPOOL_DEFAULT,
        .samples = samples,
        .quality = quality,
        .lockable = lockable,
    };

    if (lockable && samples)
        return D3DERR_INVALIDCALL;
    return make_surface(iface, FAKE_IDirect3DDevice9Ex_CreateRenderTarget, &traits, out, handle);
}

static HRESULT STDMETHODCALLTYPE device_CreateTexture(IDirect3DDevice9Ex *iface, UINT width, UINT height, UINT levels,
                                                      DWORD usage, D3DFORMAT format, D3DPOOL pool,
                                                      IDirect3DTexture9 **out, HANDLE *handle)
{
    struct fake_device9 *device = (struct fake_device9 *)fake_object_of(iface);
    struct fake_traits9 traits = {
        .format = fake_format_d3d9(format),
        .width = width,
        .height = height,
        .levels = levels,
        .usage = usage,
        .pool = pool,
        .lockable = pool != D3DPOOL_DEFAULT || usage & D3DUSAGE_DYNAMIC,
    };
    struct fake_texture9 *texture;
    struct fake_store *store;
    struct fake_call call;
    bool lost;
    HRESULT hr;

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    hr = fake_enter9(&call, &device->base, FAKE_IDirect3DDevice9Ex_CreateTexture, &lost);
    if (SUCCEEDED(hr) && traits.format && traits.format->layout != FAKE_PACKED)
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr) && usage & D3DUSAGE_DYNAMIC && (pool == D3DPOOL_MANAGED || usage & D3DUSAGE_RENDERTARGET))
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr))
        hr = prepare(device, &traits, handle, lost, &store);
    if (SUCCEEDED(hr)) {
        texture = fake_texture9_create(device, &traits, store);
        *out = (IDirect3DTexture9 *)&texture->face;
    }
    fake_leave(&call);
    return hr;
}

/* ---- Queries ---- */

static struct fake_query *query_of(IDirect3DQuery9 *iface)
{
    return (struct fake_query *)fake_object_of(iface);
}

static HRESULT STDMETHODCALLTYPE query_Issue(IDirect3DQuery9 *iface, DWORD flags)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, query->object.device, FAKE_IDirect3DQuery9_Issue, &lost);

    if (SUCCEEDED(hr) && flags != D3DISSUE_END)
        hr = D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr) && !lost)
        fake_query_end(query);
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE query_GetData(IDirect3DQuery9 *iface, void *data, DWORD size, DWORD flags)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_IDirect3DQuery9_GetData, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        hr = fake_query_data(query, data, size, flags & D3DGETDATA_FLUSH);
        if (hr == E_INVALIDARG || hr == DXGI_ERROR_INVALID_CALL)
            hr = D3DERR_INVALIDCALL;
    }
    fake_leave(&call);
    return hr;
}

static const IDirect3DQuery9Vtbl query_vtbl = {
    FAKE_STUBS_IDirect3DQuery9,
    .Issue = query_Issue,
    .GetData = query_GetData,
};

static const struct fake_iid query_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_query, face)},
    {&IID_IDirect3DQuery9, offsetof(struct fake_query, face)},
    {NULL, 0},
};

static const struct fake_class query_class = {"IDirect3DQuery9", query_ifaces, fake_query_destroy, false};

static HRESULT STDMETHODCALLTYPE device_CreateQuery(IDirect3DDevice9Ex *iface, D3DQUERYTYPE type, IDirect3DQuery9 **out)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_query *query;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_IDirect3DDevice9Ex_CreateQuery, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr) && type != D3DQUERYTYPE_EVENT)
        hr = D3DERR_NOTAVAILABLE;
    if (SUCCEEDED(hr) && out) { /* without, it was only asked for */
        query = fake_query_create(device, &query_class, type, 0);
        hr = query ? D3D_OK : E_OUTOFMEMORY;
        if (query) {
            query->face.vtbl = &query_vtbl;
            *out = (IDirect3DQuery9 *)&query->face;
        }
    }
    fake_leave(&call);
    return hr;
}

/* ---- what copies and fills: misuse has an error code, only a locked surface is a violation, which a real one may let pass ---- */

static const struct fake_subresource *sub_of(const struct fake_surface9 *surface)
{
    return &surface->store->subresources[surface->level];
}

static bool unlocked(const struct fake_surface9 *surface, enum fake_method method)
{
    if (!sub_of(surface)->map)
        return true;
    fake_violation("%s: a surface is locked", fake_method_name(method));
    return false;
}

/* All of a surface; false for a part, which nobody copies or fills. */
static bool box_of(const struct fake_surface9 *surface, const RECT *rect, struct fake_box *box)
{
    *box = fake_store_whole(surface->store, surface->level);
    return !rect;
}

static HRESULT copy(struct fake_device *device, struct fake_surface9 *source, const struct fake_box *box,
                    struct fake_surface9 *target, unsigned x, unsigned y)
{
    const struct fake_subresource *sub = sub_of(target);
    struct fake_box place = {x, y, 0, x + box->right - box->left, y + box->bottom - box->top, 1};
    struct fake_copy copy = {
        .target = target->store,
        .source = source->store,
        .target_subresource = target->level,
        .source_subresource = source->level,
        .x = x,
        .y = y,
        .box = *box,
    };

    if (place.right > sub->width || place.bottom > sub->height ||
        !fake_format_box_fits(target->traits.format, &place, sub->width, sub->height))
        return D3DERR_INVALIDCALL;
    fake_queue_copy(device, &copy);
    target->touched = true;
    return D3D_OK;
}

/* ---- GetRenderTargetData ---- */

static HRESULT get_render_target_data(struct fake_device *device, struct fake_surface9 *source,
                                      struct fake_surface9 *target)
{
    const enum fake_method method = FAKE_IDirect3DDevice9Ex_GetRenderTargetData;
    const struct fake_subresource *from, *to;
    struct fake_box box;

    if (!source || !target)
        return D3DERR_INVALIDCALL;
    from = sub_of(source);
    to = sub_of(target);
    if (!(source->traits.usage & D3DUSAGE_RENDERTARGET) || source->traits.samples ||
        target->traits.pool != D3DPOOL_SYSTEMMEM || source->traits.format != target->traits.format ||
        from->width != to->width || from->height != to->height)
        return D3DERR_INVALIDCALL;
    if (!unlocked(source, method) || !unlocked(target, method))
        return D3DERR_INVALIDCALL;
    box_of(source, NULL, &box);
    return copy(device, source, &box, target, 0, 0);
}

static HRESULT STDMETHODCALLTYPE device_GetRenderTargetData(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                            IDirect3DSurface9 *target)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_IDirect3DDevice9Ex_GetRenderTargetData, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        hr = get_render_target_data(device, fake_surface9_check(device, source), fake_surface9_check(device, target));
    fake_leave(&call);
    return hr;
}

/* ---- UpdateSurface ---- */

static HRESULT update_surface(struct fake_device *device, struct fake_surface9 *source, const RECT *rect,
                              struct fake_surface9 *target, const POINT *point)
{
    const enum fake_method method = FAKE_IDirect3DDevice9Ex_UpdateSurface;
    struct fake_box box;

    if (!source || !target || source->traits.pool != D3DPOOL_SYSTEMMEM || target->traits.pool != D3DPOOL_DEFAULT ||
        target->traits.samples || source->traits.format != target->traits.format || !box_of(source, rect, &box))
        return D3DERR_INVALIDCALL;
    if (point && (point->x < 0 || point->y < 0))
        return D3DERR_INVALIDCALL;
    if (!unlocked(source, method) || !unlocked(target, method))
        return D3DERR_INVALIDCALL;
    return copy(device, source, &box, target, point ? (unsigned)point->x : 0, point ? (unsigned)point->y : 0);
}

static HRESULT STDMETHODCALLTYPE device_UpdateSurface(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                      const RECT *rect, IDirect3DSurface9 *target, const POINT *point)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, device, FAKE_IDirect3DDevice9Ex_UpdateSurface, &lost);

    if (SUCCEEDED(hr) && !lost)
        hr = update_surface(device, fake_surface9_check(device, source), rect, fake_surface9_check(device, target),
                            point);
    fake_leave(&call);
    return hr;
}

/* ---- StretchRect ---- */

/* Into render targets from anywhere, and between off-screen plain surfaces. */
static bool stretch_allowed(const struct fake_surface9 *source, const struct fake_surface9 *target)
{
    if (source->traits.pool != D3DPOOL_DEFAULT || target->traits.pool != D3DPOOL_DEFAULT)
        return false;
    if (source == target)
        return false;
    return target->traits.usage & D3DUSAGE_RENDERTARGET || (source->traits.plain && target->traits.plain);
}

/* The fake converts nothing but between formats that differ only in whether alpha counts. */
static bool formats_agree(D3DFORMAT a, D3DFORMAT b)
{
    if (a == D3DFMT_X8R8G8B8)
        a = D3DFMT_A8R8G8B8;
    if (b == D3DFMT_X8R8G8B8)
        b = D3DFMT_A8R8G8B8;
    return a == b;
}

static HRESULT stretch(struct fake_device *device, struct fake_surface9 *source, const RECT *source_rect,
                       struct fake_surface9 *target, const RECT *target_rect)
{
    const enum fake_method method = FAKE_IDirect3DDevice9Ex_StretchRect;
    struct fake_box from, to;

    if (!source || !target || !stretch_allowed(source, target) || !box_of(source, source_rect, &from) ||
        !box_of(target, target_rect, &to))
        return D3DERR_INVALIDCALL;
    if (!unlocked(source, method) || !unlocked(target, method))
        return D3DERR_INVALIDCALL;
    if (from.right - from.left != to.right - to.left || from.bottom - from.top != to.bottom - to.top ||
        !formats_agree(source->traits.format->id, target->traits.format->id)) {
        fake_missing(method);
        return D3DERR_INVALIDCALL;
    }
    return copy(device, source, &from, target, to.left, to.top);
}

static HRESULT STDMETHODCALLTYPE device_StretchRect(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
                                                    const RECT *source_rect, IDirect3DSurface9 *target,
                                                    const RECT *target_rect, D3DTEXTUREFILTERTYPE filter)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, device, FAKE_IDirect3DDevice9Ex_StretchRect, &lost);

    (void)filter;
    if (SUCCEEDED(hr) && !lost)
        hr = stretch(device, fake_surface9_check(device, source), source_rect, fake_surface9_check(device, target),
                     target_rect);
    fake_leave(&call);
    return hr;
}

/* ---- ColorFill ---- */

/* The bytes of one texel of this colour; returns how many, 0 for formats that the fake does not
 * fill. */
static size_t texel_of(const struct fake_format *format, D3DCOLOR colour, unsigned char texel[16])
{
    unsigned char alpha = (unsigned char)(colour >> 24), red = (unsigned char)(colour >> 16);
    unsigned char green = (unsigned char)(colour >> 8), blue = (unsigned char)colour;
    const unsigned char bgra[4] = {blue, green, red, alpha};
    const float floats[4] = {red / 255.0f, green / 255.0f, blue / 255.0f, alpha / 255.0f};

    switch (format->id) {
    case D3DFMT_A8R8G8B8:
    case D3DFMT_X8R8G8B8: memcpy(texel, bgra, 4); return 4;
    case D3DFMT_G32R32F: memcpy(texel, floats, format->bytes); return format->bytes;
    default: return 0;
    }
}

static HRESULT fill(struct fake_device *device, struct fake_surface9 *surface, const RECT *rect, D3DCOLOR colour)
{
    const enum fake_method method = FAKE_IDirect3DDevice9Ex_ColorFill;
    unsigned char texel[16], *bytes;
    struct fake_view view;
    struct fake_box box;
    size_t size, count, i;

    if (!surface || surface->traits.pool != D3DPOOL_DEFAULT || !box_of(surface, rect, &box))
        return D3DERR_INVALIDCALL;
    if (!surface->traits.plain && !(surface->traits.usage & D3DUSAGE_RENDERTARGET))
        return D3DERR_INVALIDCALL;
    if (!unlocked(surface, method))
        return D3DERR_INVALIDCALL;
    size = texel_of(surface->traits.format, colour, texel);
    if (!size) {
        fake_missing(method);
        return E_NOTIMPL;
    }
    count = (size_t)(box.right - box.left) * (box.bottom - box.top);
    bytes = fake_alloc(count * size);
    for (i = 0; i < count; i++)
        memcpy(bytes + i * size, texel, size);
    view = (struct fake_view){bytes, (box.right - box.left) * size, count * size};
    fake_queue_upload(device, surface->store, surface->level, &box, bytes, &view);
    surface->touched = true;
    return D3D_OK;
}

static HRESULT STDMETHODCALLTYPE device_ColorFill(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *surface,
                                                  const RECT *rect, D3DCOLOR colour)
{
    struct fake_device *device = (struct fake_device *)fake_object_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, device, FAKE_IDirect3DDevice9Ex_ColorFill, &lost);

    if (SUCCEEDED(hr) && !lost)
        hr = fill(device, fake_surface9_check(device, surface), rect, colour);
    fake_leave(&call);
    return hr;
}

/* ---- the device ---- */

static const IDirect3DDevice9ExVtbl device_vtbl = {
    FAKE_STUBS_IDirect3DDevice9Ex,
    .TestCooperativeLevel = device_TestCooperativeLevel,
    .CheckDeviceState = device_CheckDeviceState,
    .Reset = device_Reset,
    .GetDirect3D = device_GetDirect3D,
    .GetCreationParameters = device_GetCreationParameters,
    .CreateTexture = device_CreateTexture,
    .CreateRenderTarget = device_CreateRenderTarget,
    .CreateOffscreenPlainSurface = fake_device9_CreateOffscreenPlainSurface,
    .CreateQuery = device_CreateQuery,
    .GetRenderTargetData = device_GetRenderTargetData,
    .UpdateSurface = device_UpdateSurface,
    .StretchRect = device_StretchRect,
    .ColorFill = device_ColorFill,
};

#define FACE offsetof(struct fake_device9, face)

static const struct fake_iid device_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DDevice9, FACE},
    {&fake_iid_interop_queue9, offsetof(struct fake_device9, interop_queue)},
    {NULL, 0},
};
static const struct fake_iid device9ex_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DDevice9, FACE},
    {&IID_IDirect3DDevice9Ex, FACE},
    {&fake_iid_interop_queue9, offsetof(struct fake_device9, interop_queue)},
    {NULL, 0},
};

#undef FACE

static void device_destroy(struct fake_object *object)
{
    struct fake_device9 *device = (struct fake_device9 *)object;

    fake_device_finish(&device->base);
    fake_object_unref(&device->d3d9->object);
    free(device);
}

static const struct fake_class device_class = {"IDirect3DDevice9", device_ifaces, device_destroy, true};
static const struct fake_class device9ex_class = {"IDirect3DDevice9Ex", device9ex_ifaces, device_destroy, true};

struct fake_device9 *fake_device9_create(struct fake_d3d9 *d3d9, UINT adapter, D3DDEVTYPE type, HWND window,
                                         DWORD flags)
{
    struct fake_device9 *device = fake_alloc(sizeof *device);

    fake_device_init(&device->base, sizeof *device, d3d9->extended ? &device9ex_class : &device_class, NULL,
                     D3DERR_DEVICELOST);
    atomic_store(&device->base.is_protected, (flags & D3DCREATE_MULTITHREADED) != 0);
    device->face = fake_face(&device_vtbl, &device->base.object);
    device->interop_queue = fake_face(&fake_interop_queue9_vtbl, &device->base.object);
    device->extended = d3d9->extended;
    device->parameters = (D3DDEVICE_CREATION_PARAMETERS){adapter, type, window, flags};
    device->d3d9 = d3d9;
    fake_object_ref(&d3d9->object);
    return device;
}
