#include "info.h"

#include <CL/cl_dx9_media_sharing.h>
#include <stdio.h>

static void *open_device(const struct direct3d *d3d, const struct adapter *adapter, char *level)
{
    IDirect3DDevice9Ex *device = NULL;
    D3DPRESENT_PARAMETERS present = {
        .BackBufferWidth = 1,
        .BackBufferHeight = 1,
        .Windowed = TRUE,
        .SwapEffect = D3DSWAPEFFECT_DISCARD,
        .hDeviceWindow = CreateWindowA("STATIC", "cld3dinfo", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL, NULL,
                                       NULL), /* never shown; DXVK takes no other program's window */
    };
    if (!adapter->in_d3d9) {
        why_say(level, "Direct3D 9 %s", d3d->d3d9 ? "does not know this adapter" : "cannot be initialised");
        return NULL;
    }
    const HRESULT result = IDirect3D9Ex_CreateDeviceEx(
        d3d->d3d9, adapter->d3d9_ordinal, D3DDEVTYPE_HAL, present.hDeviceWindow,
        D3DCREATE_HARDWARE_VERTEXPROCESSING | D3DCREATE_FPU_PRESERVE | D3DCREATE_MULTITHREADED, &present, NULL,
        &device);
    if (device)
        why_say(level, "works");
    else
        why_d3d(level, "CreateDeviceEx", result);
    return device;
}

static HRESULT make_level(IDirect3DDevice9Ex *device, const struct kind *kind, IDirect3DSurface9 **surface)
{
    IDirect3DTexture9 *texture = NULL;
    HRESULT result =
        IDirect3DDevice9Ex_CreateTexture(device, kind->extent, kind->extent, kind->levels, D3DUSAGE_RENDERTARGET,
                                         (D3DFORMAT)kind->format, D3DPOOL_DEFAULT, &texture, NULL);
    if (FAILED(result))
        return result;
    result = IDirect3DTexture9_GetSurfaceLevel(texture, 1, surface);
    IDirect3DTexture9_Release(texture);
    return result;
}

static HRESULT make_surface(IDirect3DDevice9Ex *device, const struct kind *kind, IDirect3DSurface9 **surface)
{
    const D3DFORMAT format = (D3DFORMAT)kind->format;
    if (kind->levels > 1)
        return make_level(device, kind, surface);
    if (kind->target)
        return IDirect3DDevice9Ex_CreateRenderTarget(device, kind->extent, kind->extent, format, D3DMULTISAMPLE_NONE, 0,
                                                     FALSE, surface, NULL);
    return IDirect3DDevice9Ex_CreateOffscreenPlainSurface(device, kind->extent, kind->extent, format, D3DPOOL_DEFAULT,
                                                          surface, NULL);
}

static bool lock(IDirect3DSurface9 *surface, D3DLOCKED_RECT *locked, DWORD flags, char *why)
{
    const HRESULT result = IDirect3DSurface9_LockRect(surface, locked, NULL, flags);
    if (FAILED(result))
        why_d3d(why, "LockRect", result);
    return SUCCEEDED(result);
}

static IUnknown *make(void *device, const struct kind *kind, const struct texels *texels, char *why)
{
    D3DLOCKED_RECT locked;
    IDirect3DSurface9 *surface = NULL;
    const HRESULT result = make_surface((IDirect3DDevice9Ex *)device, kind, &surface);
    if (FAILED(result) || !surface) {
        why_d3d(why, "creating a surface", result);
        return NULL;
    }
    if (!texels)
        return (IUnknown *)surface;
    if (lock(surface, &locked, 0, why)) {
        planes_copy(texels, locked.pBits, (unsigned)locked.Pitch, texels->bytes, texels->pitch);
        IDirect3DSurface9_UnlockRect(surface);
        return (IUnknown *)surface;
    }
    IDirect3DSurface9_Release(surface);
    return NULL;
}

static bool read_texture(void *device, IUnknown *texture, struct texels *texels, char *why)
{
    D3DLOCKED_RECT locked;
    (void)device;
    if (!lock((IDirect3DSurface9 *)texture, &locked, D3DLOCK_READONLY, why))
        return false;
    planes_copy(texels, texels->bytes, texels->pitch, locked.pBits, (unsigned)locked.Pitch);
    IDirect3DSurface9_UnlockRect((IDirect3DSurface9 *)texture);
    return true;
}

const struct api d3d9_info = {
    .name = "Direct3D 9Ex",
    .dll = "d3d9.dll",
    .extension = "cl_khr_dx9_media_sharing",
    .get_devices = "clGetDeviceIDsFromDX9MediaAdapterKHR",
    .create = "clCreateFromDX9MediaSurfaceKHR",
    .acquire = "clEnqueueAcquireDX9MediaSurfacesKHR",
    .release = "clEnqueueReleaseDX9MediaSurfacesKHR",
    .context_property = CL_CONTEXT_ADAPTER_D3D9EX_KHR,
    .source = CL_ADAPTER_D3D9EX_KHR,
    .preferred = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
    .all = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,
    .formats = d3d9_formats,
    .format_count = &d3d9_format_count,
    .find_format = format_from_d3d9,
    .open = open_device,
    .make = make,
    .read = read_texture,
    .kinds = {{"surface", D3DFMT_A8R8G8B8, KIND_EXTENT, 1, false, false, 0},
              {"render target", D3DFMT_A8R8G8B8, KIND_EXTENT, 1, true, false, 0},
              {"level", D3DFMT_A8R8G8B8, 2 * KIND_EXTENT, 3, true, false, 0},
              {"plane", MAKEFOURCC('N', 'V', '1', '2'), KIND_EXTENT, 1, false, false, 1}},
};
