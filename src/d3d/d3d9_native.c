/* Surfaces of Direct3D 9 as Vulkan images, and waits for the device. */
#include "d3d/d3d9.h"

#include "d3d/dxgi.h"
#include "d3d/dxvk.h"
#include "d3d/formats.h"

bool d3d9_is_in(IDirect3DSurface9 *surface, const GUID *kind)
{
    void *container = NULL;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, kind, &container)))
        return false;
    com_release(container);
    return true;
}

/* Finds the level of `texture` that the surface is. */
static bool find_level(IDirect3DSurface9 *surface, IDirect3DTexture9 *texture, uint32_t *level)
{
    const DWORD count = IDirect3DTexture9_GetLevelCount(texture);
    bool found = false;
    for (*level = 0; *level < count && !found; *level += !found) {
        IDirect3DSurface9 *one = NULL;
        if (FAILED(IDirect3DTexture9_GetSurfaceLevel(texture, *level, &one)))
            continue;
        found = one == surface;
        com_release(one);
    }
    return found;
}

/* Surfaces that do not belong to a texture are images with one level; faces of cube maps are excluded. */
static bool place_in_image(IDirect3DSurface9 *surface, uint32_t *level)
{
    IDirect3DTexture9 *texture = NULL;
    *level = 0;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, &IID_IDirect3DTexture9, (void **)&texture)))
        return !d3d9_is_in(surface, &IID_IDirect3DBaseTexture9);
    const bool found = find_level(surface, texture, level);
    com_release(texture);
    return found;
}

static bool find_image(IDirect3DDevice9 *device, const struct surface *surface, struct native_place *place, char *why,
                       size_t why_size)
{
    const struct format_row *format = surface->desc.format;
    D3DSURFACE_DESC d;
    *place = (struct native_place){0};
    if (FAILED(IDirect3DSurface9_GetDesc((IDirect3DSurface9 *)surface->resource, &d)))
        return native_refuse(why, why_size, "the surface's description cannot be obtained");
    if (d.Usage & D3DUSAGE_DYNAMIC)
        return native_refuse(why, why_size, "a dynamic texture's contents may be elsewhere");
    if (d.Usage & D3DUSAGE_AUTOGENMIPMAP)
        return native_refuse(why, why_size, "Direct3D generates the other levels only from writes that it sees");
    if (format->planes > 1 || cl_order_packed_yuv(format->cl.image_channel_order))
        return native_refuse(why, why_size, "Direct3D 9 stores video surfaces in other formats");
    if (d3d9_is_in(surface->resource, &IID_IDirect3DSwapChain9))
        return native_refuse(why, why_size, "the surface is a buffer of a swap chain");
    if (!place_in_image(surface->resource, &place->level))
        return native_refuse(why, why_size, "the surface is not a level of a plain texture");
    place->image = dxvk_image(device, surface->resource, &place->layout);
    if (!place->image || !dxvk_queue_family(device, &place->family))
        return native_refuse(why, why_size, "this Direct3D does not run on Vulkan, or does not report its images");
    return true;
}

static bool find(const struct surface *surface, struct native_place *place, char *why, size_t why_size)
{
    IDirect3DDevice9 *device = d3d9_enter(surface->resource);
    if (!device)
        return native_refuse(why, why_size, "the surface reports no device");
    const bool found = find_image(device, surface, place, why, why_size);
    return d3d9_leave() ? found : native_refuse(why, why_size, "the device is lost");
}

static bool find_again(const struct surface *surface, struct native_place *place)
{
    IDirect3DDevice9 *device = d3d9_enter(surface->resource);
    place->image = device ? dxvk_image(device, surface->resource, &place->layout) : 0;
    return device && d3d9_leave() && place->image != 0;
}

/* DXVK 2.6 treats an off-screen plain surface that Direct3D has not written as empty: its first lock returns zeros, and
 * the unlock writes them over what OpenCL wrote. After a lock it reads the image back each time. Each surface is locked
 * only once, because a lock copies there and back; a mark on the surface records it, and is destroyed with the
 * surface. */
static bool lock_once(IDirect3DSurface9 *surface)
{
    static const GUID note = {0x6a4f5b1e, 0x3c0d, 0x4f57, {0x9d, 0x1b, 0x52, 0x8e, 0x70, 0xa4, 0xc3, 0x19}};
    unsigned char locked = TRUE;
    DWORD size = sizeof(locked);
    D3DLOCKED_RECT rows;
    if (SUCCEEDED(IDirect3DSurface9_GetPrivateData(surface, &note, &locked, &size)))
        return true;
    if (!d3d_check("IDirect3DSurface9::LockRect", IDirect3DSurface9_LockRect(surface, &rows, NULL, D3DLOCK_READONLY)) ||
        !d3d_check("IDirect3DSurface9::UnlockRect", IDirect3DSurface9_UnlockRect(surface)))
        return false;
    IDirect3DSurface9_SetPrivateData(surface, &note, &locked, sizeof(locked), 0);
    return true;
}

static bool is_read_back(IDirect3DSurface9 *surface)
{
    D3DSURFACE_DESC d;
    return SUCCEEDED(IDirect3DSurface9_GetDesc(surface, &d)) &&
           ((d.Usage & D3DUSAGE_RENDERTARGET) || d3d9_is_in(surface, &IID_IDirect3DTexture9) || lock_once(surface));
}

static bool flush_deferred(const struct surface *surface, const struct native_place *place)
{
    IDirect3DDevice9 *device = d3d9_enter(surface->resource);
    const bool done = device && is_read_back(surface->resource) &&
                      dxvk_flush_deferred(device, surface->resource, place->level, place->layer);
    return device && d3d9_leave() && done;
}

static int reached(void *query)
{
    const HRESULT result = d3d9_poll_event(query);
    return FAILED(result) ? -1 : result == S_OK;
}

static bool finish_device(IDirect3DDevice9 *device)
{
    IDirect3DQuery9 *query;
    const bool done = d3d_check("IDirect3DDevice9::CreateQuery or Issue (event)", d3d9_issue_event(device, &query)) &&
                      (dxvk_wait(reached, query) || d3d_check("IDirect3DQuery9::GetData", D3DERR_DEVICELOST));
    com_release(query);
    return done;
}

static bool finish(const struct surface *surface)
{
    IDirect3DDevice9 *device = d3d9_enter(surface->resource);
    const bool done = device && finish_device(device);
    return device && d3d9_leave() && done;
}

static bool submit(const struct surface *surface)
{
    IDirect3DDevice9 *device = d3d9_enter(surface->resource);
    const bool done = device && dxvk_submit(device);
    return device && d3d9_leave() && done;
}

static bool alive(const struct surface *surface)
{
    return d3d9_enter(surface->resource) && d3d9_leave();
}

/* Only for Direct3D 9 devices: a DXVA-HD device cannot create textures. */
static void *make_probe(void *object, uint64_t *image)
{
    IDirect3DDevice9 *device = com_query(object, &IID_IDirect3DDevice9);
    IDirect3DTexture9 *texture = NULL;
    uint32_t layout;
    *image = 0;
    if (!device)
        return NULL;
    if (FAILED(IDirect3DDevice9_CreateTexture(device, PROBE_SIZE, PROBE_SIZE, 1, D3DUSAGE_RENDERTARGET, D3DFMT_A8R8G8B8,
                                              D3DPOOL_DEFAULT, &texture, NULL)))
        texture = NULL;
    *image = texture ? dxvk_image(device, texture, &layout) : 0;
    com_release(device);
    if (*image)
        return texture;
    com_release(texture);
    return NULL;
}

const struct native_ops d3d9_native = {
    .find = find,
    .find_again = find_again,
    .flush_deferred = flush_deferred,
    .finish = finish,
    .submit = submit,
    .alive = alive,
    .make_probe = make_probe,
};
