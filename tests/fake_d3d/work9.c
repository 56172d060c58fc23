/* The methods of IDirect3DDevice9 that copy and fill. Misuse has an error code in Direct3D 9; only
 * a locked surface is a violation here too, since a real one may let it pass. */
#include "device9.h"

#include <stdlib.h>
#include <string.h>

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

HRESULT STDMETHODCALLTYPE fake_device9_GetRenderTargetData(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
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

HRESULT STDMETHODCALLTYPE fake_device9_UpdateSurface(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
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

HRESULT STDMETHODCALLTYPE fake_device9_StretchRect(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *source,
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
    bytes = malloc(count * size);
    if (!bytes)
        return E_OUTOFMEMORY;
    for (i = 0; i < count; i++)
        memcpy(bytes + i * size, texel, size);
    view = (struct fake_view){bytes, (box.right - box.left) * size, count * size};
    fake_queue_upload(device, surface->store, surface->level, &box, bytes, &view);
    surface->touched = true;
    return D3D_OK;
}

HRESULT STDMETHODCALLTYPE fake_device9_ColorFill(IDirect3DDevice9Ex *iface, IDirect3DSurface9 *surface,
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
