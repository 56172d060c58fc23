/* IDirect3DSurface9 and IDirect3DTexture9: locks above all. */
#include "device9.h"

#include <stdlib.h>

#include "fake_stubs.h"

static struct fake_surface9 *surface_of(IDirect3DSurface9 *iface)
{
    return (struct fake_surface9 *)fake_object_of(iface);
}

static struct fake_texture9 *texture_of(IDirect3DTexture9 *iface)
{
    return (struct fake_texture9 *)fake_object_of(iface);
}

/* ---- Locks ---- */

static HRESULT check_lock(const struct fake_surface9 *surface, DWORD flags, const char *method)
{
    bool discard = flags & D3DLOCK_DISCARD;

    if (!surface->traits.lockable)
        return D3DERR_INVALIDCALL;
    if (discard && (!(surface->traits.usage & D3DUSAGE_DYNAMIC) || flags & D3DLOCK_READONLY))
        return D3DERR_INVALIDCALL;
    if (surface->store->subresources[surface->level].map) {
        fake_violation("%s: the surface is already locked", method);
        return D3DERR_INVALIDCALL;
    }
    return D3D_OK;
}

/* Waits for pending work. A lost device has none, but its memory is gone: `lost` says so. */
static HRESULT wait_for_work(struct fake_surface9 *surface, DWORD flags, bool *lost)
{
    struct fake_device *device = surface->object.device;
    HRESULT hr;

    if (flags & D3DLOCK_DISCARD) {
        fake_queue_detach(device, surface->store);
        return D3D_OK;
    }
    hr = fake_queue_wait(device, surface->store, !(flags & D3DLOCK_READONLY), !(flags & D3DLOCK_DONOTWAIT));
    if (hr == DXGI_ERROR_WAS_STILL_DRAWING)
        return D3DERR_WASSTILLDRAWING;
    *lost = FAILED(hr);
    return D3D_OK;
}

/* DXVK 2.6 takes an off-screen plain surface that it has not written for empty: the first lock shows zeros, whatever is in the
 * image, and its end writes them there. */
static void forget_untouched(struct fake_surface9 *surface)
{
    if (surface->traits.plain && surface->traits.pool == D3DPOOL_DEFAULT && !surface->touched &&
        fake_vulkan_way() != FAKE_D3D_VULKAN_OFF)
        memset(surface->store->bytes, 0, surface->store->size);
    surface->touched = true;
}

/* All of the surface: nobody locks a part. */
static HRESULT lock(struct fake_surface9 *surface, enum fake_method method, D3DLOCKED_RECT *out, DWORD flags)
{
    struct fake_store *store = surface->store;
    bool writes = !(flags & D3DLOCK_READONLY), lost, discard;
    struct fake_call call;
    HRESULT hr = fake_enter9(&call, surface->object.device, method, &lost);

    if (SUCCEEDED(hr))
        hr = out ? check_lock(surface, flags, fake_method_name(method)) : D3DERR_INVALIDCALL;
    if (SUCCEEDED(hr) && !lost)
        hr = wait_for_work(surface, flags, &lost);
    discard = flags & D3DLOCK_DISCARD || (lost && surface->traits.pool == D3DPOOL_DEFAULT);
    if (SUCCEEDED(hr)) {
        forget_untouched(surface);
        fake_store_map(store, surface->level, true, writes, discard, "IDirect3DSurface9::LockRect");
        out->Pitch = (INT)store->subresources[surface->level].map_view.pitch;
        out->pBits = store->subresources[surface->level].map_view.base;
    }
    fake_leave(&call);
    return hr;
}

static HRESULT unlock(struct fake_surface9 *surface, enum fake_method method)
{
    struct fake_store *store = surface->store;
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, surface->object.device, method, &lost);

    if (!store->subresources[surface->level].map) {
        fake_violation("%s: the surface is not locked", fake_method_name(method));
        hr = D3DERR_INVALIDCALL;
    } else {
        fake_store_unmap(store, surface->level, fake_method_name(method));
    }
    fake_leave(&call);
    return hr;
}

/* ---- IDirect3DSurface9 ---- */

static HRESULT STDMETHODCALLTYPE surface_LockRect(IDirect3DSurface9 *iface, D3DLOCKED_RECT *out, const RECT *rect,
                                                  DWORD flags)
{
    if (rect)
        fake_missing(FAKE_IDirect3DSurface9_LockRect);
    return rect ? D3DERR_INVALIDCALL : lock(surface_of(iface), FAKE_IDirect3DSurface9_LockRect, out, flags);
}

static HRESULT STDMETHODCALLTYPE surface_UnlockRect(IDirect3DSurface9 *iface)
{
    return unlock(surface_of(iface), FAKE_IDirect3DSurface9_UnlockRect);
}

static void describe(const struct fake_surface9 *surface, D3DSURFACE_DESC *out)
{
    const struct fake_traits9 *traits = &surface->traits;
    const struct fake_subresource *sub = &surface->store->subresources[surface->level];

    *out = (D3DSURFACE_DESC){
        .Format = traits->format->id,
        .Type = D3DRTYPE_SURFACE,
        .Usage = traits->usage,
        .Pool = traits->pool,
        .MultiSampleType = traits->samples,
        .MultiSampleQuality = traits->quality,
        .Width = sub->width,
        .Height = sub->height,
    };
}

static HRESULT STDMETHODCALLTYPE surface_GetDesc(IDirect3DSurface9 *iface, D3DSURFACE_DESC *out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DSurface9_GetDesc);

    if (FAILED(hr))
        return hr;
    if (!out)
        return D3DERR_INVALIDCALL;
    describe(surface_of(iface), out);
    return D3D_OK;
}

/* A level is in its texture, any other surface in its device. */
static HRESULT STDMETHODCALLTYPE surface_GetContainer(IDirect3DSurface9 *iface, REFIID iid, void **out)
{
    struct fake_surface9 *surface = surface_of(iface);
    struct fake_object *container = surface->texture ? &surface->texture->object : &surface->object.device->object;

    return fake_object_query(container, FAKE_IDirect3DSurface9_GetContainer, iid, out);
}

static HRESULT STDMETHODCALLTYPE surface_SetPrivateData(IDirect3DSurface9 *iface, REFGUID name, const void *data,
                                                        DWORD size, DWORD flags)
{
    struct fake_surface9 *surface = surface_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, surface->object.device, FAKE_IDirect3DSurface9_SetPrivateData, &lost);

    if (SUCCEEDED(hr) && (flags || size > sizeof(surface->note))) {
        fake_missing(FAKE_IDirect3DSurface9_SetPrivateData);
        hr = D3DERR_INVALIDCALL;
    }
    if (SUCCEEDED(hr)) {
        surface->noted = *name;
        surface->note_size = size;
        memcpy(surface->note, data, size);
    }
    fake_leave(&call);
    return hr;
}

static HRESULT STDMETHODCALLTYPE surface_GetPrivateData(IDirect3DSurface9 *iface, REFGUID name, void *data, DWORD *size)
{
    struct fake_surface9 *surface = surface_of(iface);
    struct fake_call call;
    bool lost;
    HRESULT hr = fake_enter9(&call, surface->object.device, FAKE_IDirect3DSurface9_GetPrivateData, &lost);

    if (SUCCEEDED(hr) && (!surface->note_size || !IsEqualGUID(name, &surface->noted)))
        hr = D3DERR_NOTFOUND;
    else if (SUCCEEDED(hr) && *size < surface->note_size)
        hr = D3DERR_MOREDATA;
    else if (SUCCEEDED(hr))
        memcpy(data, surface->note, surface->note_size);
    *size = SUCCEEDED(hr) || hr == D3DERR_MOREDATA ? surface->note_size : *size;
    fake_leave(&call);
    return hr;
}

static const IDirect3DSurface9Vtbl surface_vtbl = {
    FAKE_STUBS_IDirect3DSurface9,
    .SetPrivateData = surface_SetPrivateData,
    .GetPrivateData = surface_GetPrivateData,
    .GetContainer = surface_GetContainer,
    .GetDesc = surface_GetDesc,
    .LockRect = surface_LockRect,
    .UnlockRect = surface_UnlockRect,
};

#define FACE offsetof(struct fake_surface9, face)

static const struct fake_iid surface_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DResource9, FACE},
    {&IID_IDirect3DSurface9, FACE},
    {&fake_iid_interop9, offsetof(struct fake_surface9, interop)},
    {NULL, 0},
};

#undef FACE

/* Counts, on the device, what a reset does not survive. */
static void count_default_pool(struct fake_object *object, const struct fake_traits9 *traits, int difference)
{
    struct fake_device9 *device = (struct fake_device9 *)object->device;

    if (traits->pool == D3DPOOL_DEFAULT)
        atomic_fetch_add(&device->default_pool, (unsigned)difference);
}

static void surface_destroy(struct fake_object *object)
{
    struct fake_surface9 *surface = (struct fake_surface9 *)object;

    count_default_pool(object, &surface->traits, -1);
    fake_store_release(surface->store);
    free(surface);
}

static const struct fake_class surface_class = {"IDirect3DSurface9", surface_ifaces, surface_destroy, false};

static void surface_init(struct fake_surface9 *surface, const struct fake_traits9 *traits, struct fake_store *store)
{
    surface->face = fake_face(&surface_vtbl, &surface->object);
    surface->interop = fake_face(&fake_interop9_vtbl, &surface->object);
    surface->traits = *traits;
    surface->store = store;
}

struct fake_surface9 *fake_surface9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store)
{
    struct fake_surface9 *surface = fake_alloc(sizeof *surface);

    surface_init(surface, traits, store);
    fake_object_init(&surface->object, sizeof *surface, &surface_class, &device->base);
    count_default_pool(&surface->object, traits, 1);
    return surface;
}

struct fake_surface9 *fake_surface9_check(struct fake_device *device, IDirect3DSurface9 *iface)
{
    struct fake_surface9 *surface = iface ? surface_of(iface) : NULL;

    return surface && surface->object.device == device ? surface : NULL;
}

/* ---- IDirect3DTexture9 ---- */

static HRESULT STDMETHODCALLTYPE texture_GetSurfaceLevel(IDirect3DTexture9 *iface, UINT level, IDirect3DSurface9 **out)
{
    HRESULT hr = fake_touch(fake_object_of(iface), FAKE_IDirect3DTexture9_GetSurfaceLevel);
    struct fake_texture9 *texture = texture_of(iface);

    if (!out)
        return D3DERR_INVALIDCALL;
    *out = NULL;
    if (FAILED(hr))
        return hr;
    if (level >= texture->traits.levels)
        return D3DERR_INVALIDCALL;
    fake_object_ref(&texture->object);
    *out = (IDirect3DSurface9 *)&texture->levels[level].face;
    return D3D_OK;
}

static const IDirect3DTexture9Vtbl texture_vtbl = {
    FAKE_STUBS_IDirect3DTexture9,
    .GetSurfaceLevel = texture_GetSurfaceLevel,
};

#define FACE offsetof(struct fake_texture9, face)

static const struct fake_iid texture_ifaces[] = {
    {&IID_IUnknown, FACE},
    {&IID_IDirect3DResource9, FACE},
    {&IID_IDirect3DBaseTexture9, FACE},
    {&IID_IDirect3DTexture9, FACE},
    {&fake_iid_interop9, offsetof(struct fake_texture9, interop)},
    {NULL, 0},
};

#undef FACE

static void texture_destroy(struct fake_object *object)
{
    struct fake_texture9 *texture = (struct fake_texture9 *)object;

    count_default_pool(object, &texture->traits, -1);
    fake_store_release(texture->store);
    free(texture);
}

static const struct fake_class texture_class = {"IDirect3DTexture9", texture_ifaces, texture_destroy, false};

/* The levels share the texture's references, so one of them keeps the whole texture alive. */
struct fake_texture9 *fake_texture9_create(struct fake_device9 *device, const struct fake_traits9 *traits,
                                           struct fake_store *store)
{
    size_t size = sizeof(struct fake_texture9) + traits->levels * sizeof(struct fake_surface9);
    struct fake_texture9 *texture = fake_alloc(size);
    unsigned i;

    texture->face = fake_face(&texture_vtbl, &texture->object);
    texture->interop = fake_face(&fake_interop9_vtbl, &texture->object);
    texture->traits = *traits;
    texture->store = store;
    for (i = 0; i < traits->levels; i++) {
        struct fake_surface9 *level = &texture->levels[i];

        surface_init(level, traits, store);
        fake_object_init_embedded(&level->object, sizeof *level, &surface_class, &device->base);
        level->object.owner = &texture->object;
        level->texture = texture;
        level->level = i;
    }
    fake_object_init(&texture->object, size, &texture_class, &device->base);
    count_default_pool(&texture->object, traits, 1);
    return texture;
}

struct fake_store *fake_surface9_store(struct fake_object *object, unsigned *subresource)
{
    struct fake_surface9 *surface = (struct fake_surface9 *)object;

    if (object->class == &texture_class) {
        *subresource = 0;
        return ((struct fake_texture9 *)object)->store;
    }
    if (object->class != &surface_class)
        return NULL;
    *subresource = surface->level;
    return surface->store;
}
