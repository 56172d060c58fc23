/* The methods of IDirect3DDevice9 that make surfaces, textures and queries, and their rules. */
#include "device9.h"

#include "fake_stubs.h"

#define MAX_SIZE 8192

static unsigned full_chain(UINT width, UINT height)
{
    UINT size = width | height;
    unsigned levels = 0;

    for (; size; size >>= 1)
        levels++;
    return levels;
}

/* What holds for surfaces and textures alike; fills in a full chain of levels. */
static HRESULT check(const struct fake_device9 *device, struct fake_traits9 *traits)
{
    const struct fake_format *format = traits->format;
    unsigned chain = full_chain(traits->width, traits->height);

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
    if (!*out)
        return E_OUTOFMEMORY;
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
        *out = surface ? &surface->face.i : NULL;
        hr = surface ? D3D_OK : E_OUTOFMEMORY;
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

HRESULT STDMETHODCALLTYPE fake_device9_CreateRenderTarget(IDirect3DDevice9Ex *iface, UINT width, UINT height,
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

HRESULT STDMETHODCALLTYPE fake_device9_CreateTexture(IDirect3DDevice9Ex *iface, UINT width, UINT height, UINT levels,
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
        *out = texture ? &texture->face.i : NULL;
        hr = texture ? D3D_OK : E_OUTOFMEMORY;
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

HRESULT STDMETHODCALLTYPE fake_device9_CreateQuery(IDirect3DDevice9Ex *iface, D3DQUERYTYPE type, IDirect3DQuery9 **out)
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
