/* The rows of Direct3D 9's surfaces.
 *
 * The surface itself is mapped. It is locked only while rows are copied, because several planes of one surface may be
 * acquired at a time, and a surface can be locked only once. Surfaces that cannot be locked are copied through surfaces
 * in system memory. Direct3D 9 has no multithread protection, so the device is used only in calls of the
 * application. */
#include "d3d/d3d9.h"
#include "d3d/dxgi.h"
#include "d3d/dxvk.h"
#include "d3d/formats.h"
#include "next/next.h"
#include "os/os.h"

#include <stdlib.h>

/* The work of a thread between begin and end. */
static _Thread_local struct {
    IDirect3DDevice9 *device; /* the current one, with a reference and the turn; NULL: none yet */
    bool any_failed;          /* this device or an earlier one was lost, or did not take what was written */
    /* The surface of the device that is locked: its planes usually follow one another in a list, and each lock waits for
     * Direct3D. */
    IDirect3DSurface9 *surface; /* not owned: that of an object in the list; NULL: none */
    DWORD flags;
    D3DLOCKED_RECT rect;
    uint32_t height;
} at_work;

/* Held by the thread that uses a device: while a surface is locked, other locks of it fail. Direct3D is called under it,
 * but nothing that waits for another thread in a call of cld3d. */
static os_mutex turn = OS_MUTEX_INIT;

struct staging {
    bool known;                /* how the CPU accesses the surface */
    DWORD reading;             /* the flags of locks for reading */
    IDirect3DSurface9 *memory; /* a copy in system memory; NULL: it locks the surface itself */
    IDirect3DSurface9 *target; /* a render target through which the bytes get there; NULL: the surface is one */
};

HRESULT d3d9_issue_event(IDirect3DDevice9 *device, IDirect3DQuery9 **query)
{
    *query = NULL;
    HRESULT result = IDirect3DDevice9_CreateQuery(device, D3DQUERYTYPE_EVENT, query);
    if (FAILED(result))
        return result;
    result = IDirect3DQuery9_Issue(*query, D3DISSUE_END);
    if (FAILED(result)) {
        com_release(*query);
        *query = NULL;
    }
    return result;
}

HRESULT d3d9_poll_event(IDirect3DQuery9 *query)
{
    BOOL done = FALSE;
    return IDirect3DQuery9_GetData(query, &done, sizeof(done), D3DGETDATA_FLUSH);
}

static bool is_loss(HRESULT state)
{
    return state == D3DERR_DEVICELOST || state == D3DERR_DEVICENOTRESET || state == D3DERR_DEVICEHUNG ||
           state == D3DERR_DEVICEREMOVED || state == D3DERR_DRIVERINTERNALERROR;
}

/* A lost device also locks and copies without an error, but without effect. It is checked after the work, to detect a
 * loss in the meantime. Windows answers TestCooperativeLevel only on the thread that created the device; a query also
 * fails on a lost device, and works on any thread. */
static bool still_there(IDirect3DDevice9 *device)
{
    IDirect3DDevice9Ex *extended = com_query(device, &IID_IDirect3DDevice9Ex);
    const char *call = extended ? "IDirect3DDevice9Ex::CheckDeviceState" : "IDirect3DDevice9::TestCooperativeLevel";
    HRESULT state =
        extended ? IDirect3DDevice9Ex_CheckDeviceState(extended, NULL) : IDirect3DDevice9_TestCooperativeLevel(device);
    com_release(extended);
    if (FAILED(state) && !is_loss(state)) {
        IDirect3DQuery9 *query;
        call = "IDirect3DQuery9::GetData";
        state = d3d9_issue_event(device, &query);
        if (SUCCEEDED(state))
            state = d3d9_poll_event(query);
        com_release(query);
    }
    return !is_loss(state) || d3d_check(call, state);
}

static void unlock(void)
{
    if (at_work.surface && !d3d_check("IDirect3DSurface9::UnlockRect", IDirect3DSurface9_UnlockRect(at_work.surface)) &&
        !(at_work.flags & D3DLOCK_READONLY))
        at_work.any_failed = true;
    at_work.surface = NULL;
}

/* Locks one surface until the next lock or unlock; no other stays locked. */
static bool lock(IDirect3DSurface9 *surface, DWORD flags)
{
    D3DSURFACE_DESC d;
    if (at_work.surface == surface && at_work.flags == flags)
        return true;
    unlock();
    if (!d3d_check("IDirect3DSurface9::GetDesc", IDirect3DSurface9_GetDesc(surface, &d)) ||
        !d3d_check("IDirect3DSurface9::LockRect", IDirect3DSurface9_LockRect(surface, &at_work.rect, NULL, flags)))
        return false;
    at_work.surface = surface;
    at_work.flags = flags;
    at_work.height = d.Height;
    return true;
}

/* Ends the work on a device. */
static void leave_device(void)
{
    IDirect3DDevice9 *device = at_work.device;
    if (!device)
        return;
    unlock();
    if (!still_there(device))
        at_work.any_failed = true;
    at_work.device = NULL;
    os_unlock(&turn);
    com_release(device);
}

/* The device of a surface, which this thread uses alone, and which is checked for loss when the work ends; or NULL. */
static IDirect3DDevice9 *enter_device(void *resource)
{
    IDirect3DDevice9 *device = d3d9_device_of(resource);
    if (device && device == at_work.device) {
        com_release(device);
        return device;
    }
    leave_device();
    if (device)
        os_lock(&turn);
    at_work.device = device;
    return device;
}

static void begin(void)
{
    at_work.any_failed = false;
}

bool d3d9_leave(void)
{
    leave_device();
    return !at_work.any_failed;
}

static bool can_lock(IDirect3DSurface9 *surface, DWORD flags)
{
    D3DLOCKED_RECT rect;
    if (at_work.surface == surface)
        return true;
    const bool done = SUCCEEDED(IDirect3DSurface9_LockRect(surface, &rect, NULL, flags));
    if (done)
        IDirect3DSurface9_UnlockRect(surface);
    return done;
}

/* Planar formats and packed YUV: a render target in these formats belongs to a video processor. */
static bool is_video(const struct format_row *format)
{
    return format->planes > 1 || cl_order_packed_yuv(format->cl.image_channel_order);
}

/* Called at the first map, because Direct3D is not called before. Render targets are read back as render targets even if
 * they can be locked, because a lock makes drivers permanently slow. This does not apply to those of video processors,
 * which drivers may refuse to read back. */
static bool find_access(struct surface *surface, IDirect3DDevice9 *device)
{
    struct staging *staging = surface->staging;
    IDirect3DSurface9 *resource = surface->resource;
    D3DSURFACE_DESC d;
    uint32_t family;
    if (staging->known)
        return true;
    if (!d3d_check("IDirect3DSurface9::GetDesc", IDirect3DSurface9_GetDesc(resource, &d)))
        return false;
    /* In the new WoW64 Wine's OpenGL puts an address of its own over the first 4 bytes of a mapped buffer, and only the
     * unmap of a writable one puts the program's bytes back (Wine 9.0 to 10.0). So there wined3d's dynamic textures are
     * locked as if for writing. DXVK has no part in that. */
    staging->reading = next_is_wider && !dxvk_queue_family(device, &family) ? 0 : D3DLOCK_READONLY;
    const bool target = (d.Usage & D3DUSAGE_RENDERTARGET) != 0;
    if ((!target || is_video(surface->desc.format)) && can_lock(resource, staging->reading)) {
        staging->known = true;
        return true;
    }
    if (!target && !staging->target &&
        !d3d_check("IDirect3DDevice9::CreateRenderTarget (staging)",
                   IDirect3DDevice9_CreateRenderTarget(device, d.Width, d.Height, d.Format, D3DMULTISAMPLE_NONE, 0,
                                                       FALSE, &staging->target, NULL)))
        return false;
    staging->known = d3d_check("IDirect3DDevice9::CreateOffscreenPlainSurface (staging)",
                               IDirect3DDevice9_CreateOffscreenPlainSurface(device, d.Width, d.Height, d.Format,
                                                                            D3DPOOL_SYSTEMMEM, &staging->memory, NULL));
    return staging->known;
}

static void unstage(struct surface *surface)
{
    struct staging *staging = surface->staging;
    com_release(staging->memory);
    com_release(staging->target);
    free(staging);
    surface->staging = NULL;
}

static bool stage(struct surface *surface)
{
    surface->staging = calloc(1, sizeof(struct staging));
    return surface->staging != NULL;
}

/* Whether the staging copy holds nothing created by Direct3D and can serve other surfaces. Resources created by
 * Direct3D would keep the device alive and prevent a reset. */
static bool staging_serves_alike(const struct surface *surface)
{
    const struct staging *staging = surface->staging;
    return !staging->memory && !staging->target && !(surface->desc.staging_kind >> 1 & D3DUSAGE_RENDERTARGET);
}

static struct mapped_surface locked_plane(const struct format_row *format)
{
    const size_t pitch = (size_t)at_work.rect.Pitch;
    char *plane = (char *)at_work.rect.pBits + format_plane_begin(format, pitch, at_work.height);
    return (struct mapped_surface){plane, pitch >> format->pitch_shift, 0};
}

/* A surface that is accessed by locking stays locked for its other planes. */
static bool map_rows(struct surface *surface, IDirect3DDevice9 *device, bool write)
{
    const struct staging *staging = surface->staging;
    /* All planes are copied back at once, and the others may have changed meanwhile. */
    if (staging->memory && (!write || surface->desc.format->planes > 1)) {
        IDirect3DSurface9 *target = staging->target ? staging->target : surface->resource;
        unlock(); /* another object may have locked the same surface */
        if (staging->target &&
            !d3d_check("IDirect3DDevice9::StretchRect",
                       IDirect3DDevice9_StretchRect(device, surface->resource, NULL, target, NULL, D3DTEXF_NONE)))
            return false;
        if (!d3d_check("IDirect3DDevice9::GetRenderTargetData",
                       IDirect3DDevice9_GetRenderTargetData(device, target, staging->memory)))
            return false;
    }
    return lock(staging->memory ? staging->memory : surface->resource, write ? 0 : staging->reading);
}

static bool map(struct surface *surface, bool write, struct mapped_surface *mapped)
{
    IDirect3DDevice9 *device = enter_device(surface->resource);
    if (!device || !find_access(surface, device) || !map_rows(surface, device, write))
        return false;
    *mapped = locked_plane(surface->desc.format);
    return true;
}

static bool maps_surface(const struct surface *surface)
{
    const struct staging *staging = surface->staging;
    return staging && staging->known && !staging->memory;
}

static void unmap(struct surface *surface)
{
    const struct staging *staging = surface->staging;
    if (staging->memory)
        unlock(); /* the next may read the same surface back */
}

IDirect3DDevice9 *d3d9_enter(void *surface)
{
    begin();
    IDirect3DDevice9 *device = enter_device(surface);
    if (!device)
        d3d9_leave();
    return device;
}

static bool store(struct surface *surface)
{
    const struct staging *staging = surface->staging;
    if (!staging->memory)
        return true;
    unlock();
    return d3d_check("IDirect3DDevice9::UpdateSurface",
                     IDirect3DDevice9_UpdateSurface(at_work.device, staging->memory, NULL, surface->resource, NULL));
}

const struct staging_ops d3d9_staging = {
    .stage = stage,
    .unstage = unstage,
    .staging_serves_alike = staging_serves_alike,
    .maps_briefly = true,
    .maps_surface = maps_surface,
    .begin = begin,
    .end = d3d9_leave,
    .map = map,
    .unmap = unmap,
    .store = store,
};
