/* DXVA-HD for the tests over a real Direct3D 9Ex: a dxva2.dll beside the programs, since Wine 8's has no
 * DXVAHD_CreateDevice. Video surfaces are off-screen plain ones, as Microsoft's page on DXVAHD_SURFACE_TYPE has it; nothing is
 * processed. */
#include <d3d9.h>

/* Mingw's header forgets WINAPI, which counts where programs have 32 bits. */
#define DXVAHD_CreateDevice DXVAHD_CreateDevice_without_winapi
#include <dxvahd.h>
#undef DXVAHD_CreateDevice
#include <initguid.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

DEFINE_GUID(iid_unknown, 0x00000000, 0x0000, 0x0000, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46);
DEFINE_GUID(iid_device, 0x95f12dfd, 0xd77e, 0x49be, 0x81, 0x5f, 0x57, 0xd5, 0x79, 0x63, 0x4d, 0x6d);

struct device {
    IDXVAHD_Device face;
    atomic_ulong references;
    IDirect3DDevice9Ex *d3d; /* one reference */
};

static struct device *device_of(IDXVAHD_Device *face)
{
    return (struct device *)face;
}

static ULONG STDMETHODCALLTYPE add_ref(IDXVAHD_Device *face)
{
    return atomic_fetch_add(&device_of(face)->references, 1) + 1;
}

static ULONG STDMETHODCALLTYPE release(IDXVAHD_Device *face)
{
    struct device *device = device_of(face);
    const ULONG left = atomic_fetch_sub(&device->references, 1) - 1;
    if (left == 0) {
        IDirect3DDevice9Ex_Release(device->d3d);
        free(device);
    }
    return left;
}

static HRESULT STDMETHODCALLTYPE query_interface(IDXVAHD_Device *face, REFIID iid, void **object)
{
    const bool known = IsEqualGUID(iid, &iid_unknown) || IsEqualGUID(iid, &iid_device);
    *object = known ? face : NULL;
    if (!known)
        return E_NOINTERFACE;
    add_ref(face);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE create_video_surface(IDXVAHD_Device *face, UINT width, UINT height, D3DFORMAT format,
                                                      D3DPOOL pool, DWORD usage, DXVAHD_SURFACE_TYPE type, UINT count,
                                                      IDirect3DSurface9 **surfaces, HANDLE *handle)
{
    HRESULT result = !surfaces || !count || usage || (handle && count > 1) ? E_INVALIDARG : S_OK;
    UINT made = 0;
    (void)type; /* input and output surfaces are made alike */
    while (SUCCEEDED(result) && made < count) {
        result = IDirect3DDevice9Ex_CreateOffscreenPlainSurface(device_of(face)->d3d, width, height, format, pool,
                                                                &surfaces[made], handle);
        made += SUCCEEDED(result);
    }
    while (FAILED(result) && made > 0) {
        made--;
        IDirect3DSurface9_Release(surfaces[made]);
    }
    return result;
}

/* Nobody calls the others. */
static IDXVAHD_DeviceVtbl device_table = {
    .QueryInterface = query_interface,
    .AddRef = add_ref,
    .Release = release,
    .CreateVideoSurface = create_video_surface,
};

__declspec(dllexport) HRESULT WINAPI
    DXVAHD_CreateDevice(IDirect3DDevice9Ex *d3d, const DXVAHD_CONTENT_DESC *content, DXVAHD_DEVICE_USAGE usage,
                        PDXVAHDSW_Plugin plugin, IDXVAHD_Device **made)
{
    (void)usage, (void)plugin;
    if (!d3d || !content || !made)
        return E_INVALIDARG;
    *made = NULL;
    struct device *device = calloc(1, sizeof(*device));
    if (!device)
        return E_OUTOFMEMORY;
    device->face.lpVtbl = &device_table;
    atomic_init(&device->references, 1);
    device->d3d = d3d;
    IDirect3DDevice9Ex_AddRef(d3d);
    *made = &device->face;
    return S_OK;
}
