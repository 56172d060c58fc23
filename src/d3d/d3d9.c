/* Direct3D 9, 9Ex and DXVA-HD: video surfaces as cl_khr_dx9_media_sharing shares them.
 *
 * What is mapped is the surface itself. A lock lasts only as long as the rows are copied: several planes of one surface are
 * acquired side by side, and a surface can be locked once. Surfaces that can't be locked go through system memory
 * surfaces. Direct3D 9 has no protection that could be switched on, so the device is touched in the calls of the
 * application alone. */
#include "d3d/d3d9.h"
#include "d3d/dxgi.h"
#include "d3d/dxvahd.h"
#include "d3d/formats.h"
#include "d3d/staging.h"

#include <CL/cl_dx9_media_sharing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

/* What a thread does between begin and end. */
static _Thread_local struct {
    IDirect3DDevice9 *device; /* the one at work, with a reference and a claim; NULL: none yet */
    bool any_lost;            /* it or another one before it */
    /* The surface of the device that is locked: its planes usually follow one another in a list, and each lock waits for
     * Direct3D. */
    IDirect3DSurface9 *surface; /* not owned: that of an object in the list; NULL: none */
    DWORD flags;
    D3DLOCKED_RECT rect;
    uint32_t height;
} at_work;

/* A device of which a thread has the surfaces for itself: a lock on a surface keeps others out with an error, and ours must
 * not meet each other. A thread has one claim at most, and nothing else that one who has a claim could wait for. */
struct claim {
    const IDirect3DDevice9 *device;
    struct claim *after;
};
static os_mutex claims_lock = OS_MUTEX_INIT; /* guards the list; never held in a call of Direct3D */
static os_condition claim_over = OS_CONDITION_INIT;
static struct claim *claims;
static _Thread_local struct claim own_claim; /* in the list while a device is at work */

/* How the CPU gets at a surface. */
enum way {
    NO_WAY,     /* not known yet */
    BY_LOCK,    /* LockRect on the surface itself */
    BY_TARGET,  /* GetRenderTargetData: it is a render target */
    BY_STRETCH, /* StretchRect to a render target of ours first: it is a level of a plain texture */
};

struct staging {
    enum way way;
    IDirect3DSurface9 *memory; /* system memory copy; NULL for BY_LOCK */
    IDirect3DSurface9 *target; /* of BY_STRETCH */
};

/* ---- devices ---- */

static void *query_same(void *object, const GUID *iid)
{
    void *found = com_query(object, iid);
    if (found == object)
        return found;
    com_release(found);
    return NULL;
}

/* FFmpeg names plain Direct3D 9 devices as 9Ex ones: a device is taken for what it is. */
static void *open_device(void *object)
{
    void *device = query_same(object, &IID_IDirect3DDevice9);
    return device ? device : query_same(object, &IID_IDirect3DDevice9Ex);
}

static void *open_dxva_device(void *object)
{
    void *device = dxvahd_open(object);
    if (device == object)
        return device;
    com_release(device);
    return NULL;
}

static bool identify(IDirect3DDevice9 *device, struct d3d_adapter *adapter)
{
    D3DDEVICE_CREATION_PARAMETERS made;
    D3DADAPTER_IDENTIFIER9 identifier;
    IDirect3D9 *d3d = NULL;
    if (!d3d_check("IDirect3DDevice9::GetCreationParameters", IDirect3DDevice9_GetCreationParameters(device, &made)) ||
        !d3d_check("IDirect3DDevice9::GetDirect3D", IDirect3DDevice9_GetDirect3D(device, &d3d)))
        return false;
    const bool known = d3d_check("IDirect3D9::GetAdapterIdentifier",
                                 IDirect3D9_GetAdapterIdentifier(d3d, made.AdapterOrdinal, 0, &identifier));
    if (known) {
        memset(adapter, 0, sizeof(*adapter));
        snprintf(adapter->description, sizeof(adapter->description), "%.255s", identifier.Description);
        adapter->vendor = identifier.VendorId;
        adapter->device = identifier.DeviceId;
        IDirect3D9Ex *ex = com_query(d3d, &IID_IDirect3D9Ex);
        LUID luid;
        if (ex && SUCCEEDED(IDirect3D9Ex_GetAdapterLUID(ex, made.AdapterOrdinal, &luid)))
            memcpy(adapter->luid, &luid, sizeof(adapter->luid));
        com_release(ex);
        adapter->software = dxgi_software(adapter);
    }
    com_release(d3d);
    return known;
}

static bool device_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter)
{
    (void)object_is_adapter; /* an adapter is a device here */
    IDirect3DDevice9 *device = com_query(object, &IID_IDirect3DDevice9);
    const bool known = device && identify(device, adapter);
    com_release(device);
    return known;
}

static bool dxva_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter)
{
    (void)object_is_adapter;
    void *dxva = dxvahd_open(object);
    IDirect3DDevice9 *device = dxvahd_d3d_device(dxva);
    if (!device || !identify(device, adapter))
        *adapter = (struct d3d_adapter){.description = "DXVA-HD"};
    com_release(device);
    com_release(dxva);
    return dxva != NULL;
}

/* ---- surfaces ---- */

static bool of_device(IDirect3DSurface9 *surface, void *device)
{
    IDirect3DDevice9 *owner = NULL, *expected = com_query(device, &IID_IDirect3DDevice9);
    bool same = true; /* where a DXVA-HD device does not tell */
    if (!expected)
        expected = dxvahd_d3d_device(device);
    if (expected) {
        same = SUCCEEDED(IDirect3DSurface9_GetDevice(surface, &owner)) && com_identity(owner) == com_identity(expected);
        com_release(owner);
    }
    com_release(expected);
    return same;
}

/* Chroma that belongs to pairs of texels: Wine makes such surfaces in odd sizes too, but without memory for the last
 * rows of chroma. */
static bool cuts_pairs(const struct format_row *format, const D3DSURFACE_DESC *d)
{
    const struct format_row *last = format_last_plane(format);
    const unsigned pair_x = cl_order_packed_yuv(format->cl.image_channel_order) ? 2 : 1u << last->shift_x;
    return d->Width % pair_x || d->Height % (1u << last->shift_y);
}

static enum describe_status describe_surface(const D3DSURFACE_DESC *d, uint32_t plane, struct surface_desc *desc,
                                             char *why, size_t why_size)
{
    if (d->Pool != D3DPOOL_DEFAULT) {
        snprintf(why, why_size, "the surface is in pool %d; only those in D3DPOOL_DEFAULT can be shared", (int)d->Pool);
        return DESCRIBE_OTHER_KIND;
    }
    if (d->MultiSampleType != D3DMULTISAMPLE_NONE) {
        snprintf(why, why_size, "the surface is multisampled; share one with a single sample");
        return DESCRIBE_MULTISAMPLED;
    }
    const struct format_row *first = format_from_d3d9(d->Format, 0);
    if (!first) {
        snprintf(why, why_size, "D3DFORMAT 0x%x is not in the tables of formats that can be shared", (unsigned)d->Format);
        return DESCRIBE_BAD_FORMAT;
    }
    const struct format_row *format = format_from_d3d9(d->Format, plane);
    if (!format) {
        snprintf(why, why_size, "plane %u is out of range: %s has %u", plane, first->name, first->planes);
        return DESCRIBE_BAD_SUBRESOURCE;
    }
    if (cuts_pairs(format, d)) {
        snprintf(why, why_size, "the surface has %ux%u texels; %s needs even numbers", (unsigned)d->Width,
                 (unsigned)d->Height, format->name);
        return DESCRIBE_OTHER_KIND;
    }
    *desc = (struct surface_desc){.kind = SURFACE_IMAGE_2D, .format = format, .depth = 1,
                                  .width = d->Width >> format->shift_x, .height = d->Height >> format->shift_y};
    return DESCRIBED;
}

/* Such a surface can't always be locked, another of the same usage can. */
static bool is_texture_level(IDirect3DSurface9 *surface)
{
    void *texture = NULL;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, &IID_IDirect3DBaseTexture9, &texture)))
        return false;
    com_release(texture);
    return true;
}

static enum describe_status describe(void *device, void *resource, enum surface_kind kind, uint32_t plane,
                                     struct surface_desc *desc, char *why, size_t why_size)
{
    (void)kind; /* a surface is a 2D image */
    if (!com_identity(resource)) {
        snprintf(why, why_size, "resource %p is no COM object", resource);
        return DESCRIBE_NOT_AN_OBJECT;
    }
    IDirect3DSurface9 *surface = query_same(resource, &IID_IDirect3DSurface9);
    if (!surface) {
        snprintf(why, why_size, "resource %p is no IDirect3DSurface9", resource);
        return DESCRIBE_OTHER_KIND;
    }
    D3DSURFACE_DESC d;
    enum describe_status status = DESCRIBE_OTHER_KIND;
    if (!of_device(surface, device)) {
        snprintf(why, why_size, "the surface belongs to another Direct3D 9 device than the context's");
        status = DESCRIBE_OTHER_DEVICE;
    } else if (!d3d_check("IDirect3DSurface9::GetDesc", IDirect3DSurface9_GetDesc(surface, &d))) {
        snprintf(why, why_size, "the surface does not describe itself");
    } else {
        status = describe_surface(&d, plane, desc, why, why_size);
        if (status == DESCRIBED)
            desc->staging_kind = (uint32_t)d.Usage << 1 | is_texture_level(surface);
    }
    com_release(surface);
    return status;
}

static IDirect3DDevice9 *device_of(void *resource)
{
    IDirect3DDevice9 *device = NULL;
    if (!d3d_check("IDirect3DSurface9::GetDevice", IDirect3DSurface9_GetDevice((IDirect3DSurface9 *)resource, &device)))
        return NULL;
    return device;
}

static void *owner(void *resource)
{
    IDirect3DSurface9 *surface = query_same(resource, &IID_IDirect3DSurface9);
    IDirect3DDevice9 *device = surface ? device_of(surface) : NULL;
    com_release(surface);
    return device;
}

/* ---- shared handles ---- */

/* Makes a texture like that of which the surface is a level. */
static void *open_texture(IDirect3DDevice9 *device, IDirect3DTexture9 *like, HANDLE *handle)
{
    D3DSURFACE_DESC d;
    IDirect3DTexture9 *texture = NULL;
    if (FAILED(IDirect3DTexture9_GetLevelDesc(like, 0, &d)) ||
        FAILED(IDirect3DDevice9_CreateTexture(device, d.Width, d.Height, IDirect3DTexture9_GetLevelCount(like), d.Usage,
                                              d.Format, d.Pool, &texture, handle)))
        return NULL;
    return texture;
}

static void *open_surface(IDirect3DDevice9 *device, IDirect3DSurface9 *like, HANDLE *handle)
{
    D3DSURFACE_DESC d;
    IDirect3DSurface9 *surface = NULL;
    if (FAILED(IDirect3DSurface9_GetDesc(like, &d)))
        return NULL;
    const HRESULT made =
        d.Usage & D3DUSAGE_RENDERTARGET
            ? IDirect3DDevice9_CreateRenderTarget(device, d.Width, d.Height, d.Format, d.MultiSampleType,
                                                  d.MultiSampleQuality, FALSE, &surface, handle)
            : IDirect3DDevice9_CreateOffscreenPlainSurface(device, d.Width, d.Height, d.Format, d.Pool, &surface, handle);
    return SUCCEEDED(made) ? surface : NULL;
}

/* Makes a resource like `surface` on a handle; on NULL a new one, with a handle of its own. */
static bool open_like(IDirect3DDevice9 *device, IDirect3DSurface9 *surface, HANDLE *handle)
{
    IDirect3DTexture9 *texture = NULL;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, &IID_IDirect3DTexture9, (void **)&texture)))
        texture = NULL;
    void *opened = texture ? open_texture(device, texture, handle) : open_surface(device, surface, handle);
    com_release(texture);
    com_release(opened);
    return opened != NULL;
}

/* Handles of Direct3D 9Ex are numbers of its own that no function of Windows knows. A Direct3D that can't share, like
 * Wine's, takes any for good, but gives none either. */
static bool opens_handle(void *resource, void *handle)
{
    IDirect3DDevice9 *device = device_of(resource);
    HANDLE own = NULL, given = handle;
    const bool opened = device && open_like(device, resource, &own) && own && open_like(device, resource, &given);
    com_release(device);
    return opened;
}

/* ---- staging ---- */

/* A lost device locks and copies without an error, but without effect too. Asked when the work is over, so that a loss
 * meanwhile is seen. Threads that did not make the device may get other errors here, which tell nothing. */
static bool still_there(IDirect3DDevice9 *device)
{
    IDirect3DDevice9Ex *extended = com_query(device, &IID_IDirect3DDevice9Ex);
    const char *call = extended ? "IDirect3DDevice9Ex::CheckDeviceState" : "IDirect3DDevice9::TestCooperativeLevel";
    const HRESULT state = extended ? IDirect3DDevice9Ex_CheckDeviceState(extended, NULL)
                                   : IDirect3DDevice9_TestCooperativeLevel(device);
    com_release(extended);
    const bool lost = state == D3DERR_DEVICELOST || state == D3DERR_DEVICENOTRESET || state == D3DERR_DEVICEHUNG ||
                      state == D3DERR_DEVICEREMOVED;
    return !lost || d3d_check(call, state);
}

static void unlock(void)
{
    if (at_work.surface)
        IDirect3DSurface9_UnlockRect(at_work.surface);
    at_work.surface = NULL;
}

/* Locks a surface, as the only one, until the next lock or unlock. */
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

static bool claimed_locked(const IDirect3DDevice9 *device)
{
    const struct claim *claim = claims;
    while (claim && claim->device != device)
        claim = claim->after;
    return claim != NULL;
}

/* Waits while another thread has the device. */
static void claim(const IDirect3DDevice9 *device)
{
    os_lock(&claims_lock);
    while (claimed_locked(device))
        os_wait(&claim_over, &claims_lock, 1000);
    own_claim = (struct claim){device, claims};
    claims = &own_claim;
    os_unlock(&claims_lock);
}

static void end_claim(void)
{
    os_lock(&claims_lock);
    struct claim **place = &claims;
    while (*place != &own_claim)
        place = &(*place)->after;
    *place = own_claim.after;
    os_wake_all(&claim_over);
    os_unlock(&claims_lock);
}

/* The work on a device is over. */
static void leave_device(void)
{
    IDirect3DDevice9 *device = at_work.device;
    if (!device)
        return;
    unlock();
    if (!still_there(device))
        at_work.any_lost = true;
    at_work.device = NULL;
    end_claim();
    com_release(device);
}

/* The device of a surface, which is this thread's and looked after until the work is over, or NULL. */
static IDirect3DDevice9 *enter_device(void *resource)
{
    IDirect3DDevice9 *device = device_of(resource);
    if (device && device == at_work.device) {
        com_release(device);
        return device;
    }
    leave_device();
    if (device)
        claim(device);
    at_work.device = device;
    return device;
}

static void begin(void)
{
    at_work.any_lost = false;
}

static bool end(void)
{
    leave_device();
    return !at_work.any_lost;
}

static bool can_lock(IDirect3DSurface9 *surface)
{
    D3DLOCKED_RECT rect;
    if (at_work.surface == surface)
        return true;
    const bool done = SUCCEEDED(IDirect3DSurface9_LockRect(surface, &rect, NULL, D3DLOCK_READONLY));
    if (done)
        IDirect3DSurface9_UnlockRect(surface);
    return done;
}

/* Render targets are read back as such even if they can be locked: locking one makes drivers slow for good. Not so the
 * planar ones, which are a video processor's. */
static bool make_way(struct staging *staging, IDirect3DDevice9 *device, IDirect3DSurface9 *resource, bool planar)
{
    D3DSURFACE_DESC d;
    if (!d3d_check("IDirect3DSurface9::GetDesc", IDirect3DSurface9_GetDesc(resource, &d)))
        return false;
    if ((planar || !(d.Usage & D3DUSAGE_RENDERTARGET)) && can_lock(resource)) {
        staging->way = BY_LOCK;
        return true;
    }
    staging->way = d.Usage & D3DUSAGE_RENDERTARGET ? BY_TARGET : BY_STRETCH;
    if (staging->way == BY_STRETCH &&
        !d3d_check("IDirect3DDevice9::CreateRenderTarget (staging)",
                   IDirect3DDevice9_CreateRenderTarget(device, d.Width, d.Height, d.Format, D3DMULTISAMPLE_NONE, 0, FALSE,
                                                       &staging->target, NULL)))
        return false;
    return d3d_check("IDirect3DDevice9::CreateOffscreenPlainSurface (staging)",
                     IDirect3DDevice9_CreateOffscreenPlainSurface(device, d.Width, d.Height, d.Format, D3DPOOL_SYSTEMMEM,
                                                                  &staging->memory, NULL));
}

static void forget_way(struct staging *staging)
{
    com_release(staging->memory);
    com_release(staging->target);
    staging->memory = staging->target = NULL;
    staging->way = NO_WAY;
}

/* With the first fetch: only then Direct3D is called. */
static bool find_way(struct surface *surface, IDirect3DDevice9 *device)
{
    struct staging *staging = surface->staging;
    const bool found = staging->way != NO_WAY ||
                       make_way(staging, device, surface->resource, surface->desc.format->planes > 1);
    if (!found)
        forget_way(staging);
    return found;
}

static void unstage(struct surface *surface)
{
    struct staging *staging = surface->staging;
    forget_way(staging);
    free(staging);
    surface->staging = NULL;
}

static bool stage(struct surface *surface)
{
    surface->staging = calloc(1, sizeof(struct staging));
    return surface->staging != NULL;
}

/* One that is nothing but the way. What Direct3D has made for the others would hold the device, and keep it from a reset. */
static bool staging_serves_alike(const struct surface *surface)
{
    const struct staging *staging = surface->staging;
    return !staging->memory && !(surface->desc.staging_kind >> 1 & D3DUSAGE_RENDERTARGET);
}

/* The surface's present texels in the system memory copy. */
static bool read_back(struct surface *surface, IDirect3DDevice9 *device)
{
    struct staging *staging = surface->staging;
    IDirect3DSurface9 *source = surface->resource;
    bool done = true;
    if (staging->way == BY_STRETCH) {
        done = d3d_check("IDirect3DDevice9::StretchRect",
                         IDirect3DDevice9_StretchRect(device, source, NULL, staging->target, NULL, D3DTEXF_NONE));
        source = staging->target;
    }
    if (done)
        done = d3d_check("IDirect3DDevice9::GetRenderTargetData",
                         IDirect3DDevice9_GetRenderTargetData(device, source, staging->memory));
    return done;
}

static struct mapped_surface locked_plane(const struct format_row *format)
{
    const size_t pitch = (size_t)at_work.rect.Pitch;
    char *plane = (char *)at_work.rect.pBits + format_plane_begin(format, pitch, at_work.height);
    return (struct mapped_surface){plane, pitch >> format->pitch_shift, 0};
}

/* A surface that can be locked stays so for its other planes. */
static bool map(struct surface *surface, bool write, struct mapped_surface *mapped)
{
    IDirect3DDevice9 *device = enter_device(surface->resource);
    if (!device || !find_way(surface, device))
        return false;
    const struct staging *staging = surface->staging;
    /* All planes go back at once, and the others may have changed meanwhile. */
    if (staging->memory && (!write || surface->desc.format->planes > 1) && !read_back(surface, device))
        return false;
    if (!lock(staging->memory ? staging->memory : surface->resource, write ? 0 : D3DLOCK_READONLY))
        return false;
    *mapped = locked_plane(surface->desc.format);
    return true;
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
        end();
    return device;
}

bool d3d9_leave(void)
{
    return end();
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

#define OPS(open, find_adapter)                                                                                        \
    {                                                                                                                  \
        .open_device = open, .identity = com_identity, .add_ref = com_add_ref, .release = com_release,                 \
        .owner = owner, .adapter = find_adapter, .describe = describe, .opens_handle = opens_handle,                   \
    }
static const struct d3d_ops device_ops = OPS(open_device, device_adapter), dxva_ops = OPS(open_dxva_device, dxva_adapter);
#undef OPS

static const struct staging_ops staging_ops = {
    .stage = stage,
    .unstage = unstage,
    .staging_serves_alike = staging_serves_alike,
    .maps_briefly = true,
    .begin = begin,
    .end = end,
    .map = map,
    .unmap = unmap,
    .store = store,
};

/* The three kinds of adapters differ in two tokens and their operations. */
#define API(title, type, property, operations)                                                                         \
    {                                                                                                                  \
        .name = title, .extension = "cl_khr_dx9_media_sharing", .ops = &operations, .staging = &staging_ops, .native = &d3d9_native,           \
        .family = FAMILY_DX9, .adapter_type = type, .no_interop = CL_INVALID_OPERATION,                                \
        .invalid_device = CL_INVALID_DX9_MEDIA_ADAPTER_KHR,                                                            \
        .invalid_resource = CL_INVALID_DX9_MEDIA_SURFACE_KHR,                                                          \
        .already_acquired = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR,                                                 \
        .not_acquired = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR,                                                         \
        .preferred_set = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,                                               \
        .all_set = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR, .context_device = property,                               \
        .mem_resource = CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, .mem_adapter_type = CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR,      \
        .mem_resource_size = 2 * sizeof(void *), .image_subresource = CL_IMAGE_DX9_MEDIA_PLANE_KHR,                    \
        .command_acquire = CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR,                                                  \
        .command_release = CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR,                                                  \
        .call = {"clGetDeviceIDsFromDX9MediaAdapterKHR", NULL, "clCreateFromDX9MediaSurfaceKHR", NULL,                 \
                 "clEnqueueAcquireDX9MediaSurfacesKHR", "clEnqueueReleaseDX9MediaSurfacesKHR"},                        \
    }
const struct d3d_api d3d9_api = API("Direct3D 9", CL_ADAPTER_D3D9_KHR, CL_CONTEXT_ADAPTER_D3D9_KHR, device_ops);
const struct d3d_api d3d9ex_api = API("Direct3D 9Ex", CL_ADAPTER_D3D9EX_KHR, CL_CONTEXT_ADAPTER_D3D9EX_KHR, device_ops);
const struct d3d_api dxva_api = API("DXVA-HD", CL_ADAPTER_DXVA_KHR, CL_CONTEXT_ADAPTER_DXVA_KHR, dxva_ops);
#undef API

/* The same by Intel's older names, with the rules that differ. Its objects are of one kind, whatever the device. */
#define API(title, source, property, operations)                                                                       \
    {                                                                                                                  \
        .name = title, .extension = "cl_intel_dx9_media_sharing", .ops = &operations, .staging = &staging_ops, .native = &d3d9_native,         \
        .family = FAMILY_DX9, .exclusive = true, .no_duplicates = true,                                                \
        .no_interop = CL_INVALID_DX9_RESOURCE_INTEL,                                                                   \
        .invalid_device = CL_INVALID_DX9_DEVICE_INTEL, .invalid_resource = CL_INVALID_DX9_RESOURCE_INTEL,              \
        .already_acquired = CL_DX9_RESOURCE_ALREADY_ACQUIRED_INTEL,                                                    \
        .not_acquired = CL_DX9_RESOURCE_NOT_ACQUIRED_INTEL, .device_source = source,                                   \
        .preferred_set = CL_PREFERRED_DEVICES_FOR_DX9_INTEL, .all_set = CL_ALL_DEVICES_FOR_DX9_INTEL,                  \
        .context_device = property, .mem_resource = CL_MEM_DX9_RESOURCE_INTEL,                                         \
        .mem_shared_handle = CL_MEM_DX9_SHARED_HANDLE_INTEL, .mem_resource_size = sizeof(void *),                      \
        .image_subresource = CL_IMAGE_DX9_PLANE_INTEL, .command_acquire = CL_COMMAND_ACQUIRE_DX9_OBJECTS_INTEL,        \
        .command_release = CL_COMMAND_RELEASE_DX9_OBJECTS_INTEL,                                                       \
        .call = {"clGetDeviceIDsFromDX9INTEL", NULL, "clCreateFromDX9MediaSurfaceINTEL", NULL,                         \
                 "clEnqueueAcquireDX9ObjectsINTEL", "clEnqueueReleaseDX9ObjectsINTEL"},                                \
    }
const struct d3d_api d3d9_intel_api = API("Direct3D 9", CL_D3D9_DEVICE_INTEL, CL_CONTEXT_D3D9_DEVICE_INTEL, device_ops);
const struct d3d_api d3d9ex_intel_api = API("Direct3D 9Ex", CL_D3D9EX_DEVICE_INTEL, CL_CONTEXT_D3D9EX_DEVICE_INTEL,
                                            device_ops);
const struct d3d_api dxva_intel_api = API("DXVA-HD", CL_DXVA_DEVICE_INTEL, CL_CONTEXT_DXVA_DEVICE_INTEL, dxva_ops);
#undef API
