#include "info.h"
#include "info_text.h"

#include <CL/cl_dx9_media_sharing.h>
#include <stdio.h>

static void open_device(const struct direct3d *d3d, struct adapter *adapter)
{
    char *why = adapter->d3d[API_D3D9].why;
    IDirect3DDevice9Ex *device = NULL;
    D3DPRESENT_PARAMETERS present = {
        .BackBufferWidth = 1,
        .BackBufferHeight = 1,
        .Windowed = TRUE,
        .SwapEffect = D3DSWAPEFFECT_DISCARD,
        .hDeviceWindow = CreateWindowA("STATIC", "cld3dinfo", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, NULL, NULL, NULL,
                                       NULL), /* never shown; DXVK takes no other program's window */
    };
    if (!d3d->d3d9 || !adapter->in_d3d9) {
        why_say(why, "%s", d3d->d3d9 ? "Direct3D 9 does not know this adapter" : d3d->d3d9_why);
        return;
    }
    const HRESULT result = IDirect3D9Ex_CreateDeviceEx(
        d3d->d3d9, adapter->d3d9_ordinal, D3DDEVTYPE_HAL, present.hDeviceWindow,
        D3DCREATE_HARDWARE_VERTEXPROCESSING | D3DCREATE_FPU_PRESERVE | D3DCREATE_MULTITHREADED, &present, NULL,
        &device);
    if (FAILED(result) || !device) {
        why_d3d(why, "CreateDeviceEx", result);
        return;
    }
    D3DCAPS9 caps = {.PixelShaderVersion = 0};
    IDirect3DDevice9Ex_GetDeviceCaps(device, &caps);
    adapter->d3d[API_D3D9].device = device;
    snprintf(adapter->d3d[API_D3D9].level, sizeof(adapter->d3d[API_D3D9].level), "shader model %u.%u",
             (unsigned)D3DSHADER_VERSION_MAJOR(caps.PixelShaderVersion),
             (unsigned)D3DSHADER_VERSION_MINOR(caps.PixelShaderVersion));
}

/* Copies the locked surface to `to`, or `from` to it. */
static bool transfer(IDirect3DSurface9 *surface, const struct texture_shape *shape, uint8_t *to, const uint8_t *from,
                     char *why)
{
    D3DLOCKED_RECT locked;
    const HRESULT result = IDirect3DSurface9_LockRect(surface, &locked, NULL, to ? D3DLOCK_READONLY : 0);
    if (FAILED(result)) {
        why_d3d(why, "LockRect", result);
        return false;
    }
    if (to)
        planes_copy(shape, to, shape->pitch, locked.pBits, (unsigned)locked.Pitch);
    else
        planes_copy(shape, locked.pBits, (unsigned)locked.Pitch, from, shape->pitch);
    IDirect3DSurface9_UnlockRect(surface);
    return true;
}

static IUnknown *make_texture(void *device, const struct texture_shape *shape, const uint8_t *texels, char *why)
{
    IDirect3DSurface9 *surface = NULL;
    const HRESULT result =
        IDirect3DDevice9Ex_CreateOffscreenPlainSurface((IDirect3DDevice9Ex *)device, TRIAL_EXTENT, TRIAL_EXTENT,
                                                       (D3DFORMAT)shape->first->code, D3DPOOL_DEFAULT, &surface, NULL);
    if (FAILED(result) || !surface) {
        why_d3d(why, "CreateOffscreenPlainSurface", result);
        return NULL;
    }
    if (transfer(surface, shape, NULL, texels, why))
        return (IUnknown *)surface;
    IDirect3DSurface9_Release(surface);
    return NULL;
}

static bool read_texture(void *device, const struct texture_shape *shape, IUnknown *texture, uint8_t *texels, char *why)
{
    (void)device;
    return transfer((IDirect3DSurface9 *)texture, shape, texels, NULL, why);
}

static cl_int devices_of(void (*function)(void), cl_platform_id platform, const struct adapter *adapter, bool preferred,
                         cl_uint room, cl_device_id *devices, cl_uint *count)
{
    cl_dx9_media_adapter_type_khr type = CL_ADAPTER_D3D9EX_KHR;
    IDirect3DDevice9Ex *device = adapter->d3d[API_D3D9].device;
    return ((clGetDeviceIDsFromDX9MediaAdapterKHR_fn)function)(
        platform, 1, &type, &device,
        preferred ? CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR : CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR, room,
        devices, count);
}

static cl_mem share(void (*function)(void), cl_context context, IUnknown *resource, cl_uint plane, cl_int *status)
{
    cl_dx9_surface_info_khr surface = {(IDirect3DSurface9 *)resource, NULL};
    return ((clCreateFromDX9MediaSurfaceKHR_fn)function)(context, CL_MEM_READ_WRITE, CL_ADAPTER_D3D9EX_KHR, &surface,
                                                         plane, status);
}

/* ---- kinds of resources ---- */

static IUnknown *make_plain(void *device)
{
    IDirect3DSurface9 *surface = NULL;
    return SUCCEEDED(IDirect3DDevice9Ex_CreateOffscreenPlainSurface((IDirect3DDevice9Ex *)device, KIND_EXTENT,
                                                                    KIND_EXTENT, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT,
                                                                    &surface, NULL))
               ? (IUnknown *)surface
               : NULL;
}

static IUnknown *make_target(void *device)
{
    IDirect3DSurface9 *surface = NULL;
    return SUCCEEDED(IDirect3DDevice9Ex_CreateRenderTarget((IDirect3DDevice9Ex *)device, KIND_EXTENT, KIND_EXTENT,
                                                           D3DFMT_A8R8G8B8, D3DMULTISAMPLE_NONE, 0, FALSE, &surface,
                                                           NULL))
               ? (IUnknown *)surface
               : NULL;
}

static IUnknown *make_level(void *device)
{
    IDirect3DTexture9 *texture = NULL;
    IDirect3DSurface9 *surface = NULL;
    if (FAILED(IDirect3DDevice9Ex_CreateTexture((IDirect3DDevice9Ex *)device, 2 * KIND_EXTENT, 2 * KIND_EXTENT, 3,
                                                D3DUSAGE_RENDERTARGET, D3DFMT_A8R8G8B8, D3DPOOL_DEFAULT, &texture,
                                                NULL)))
        return NULL;
    const HRESULT result = IDirect3DTexture9_GetSurfaceLevel(texture, 1, &surface);
    IDirect3DTexture9_Release(texture);
    return SUCCEEDED(result) ? (IUnknown *)surface : NULL;
}

static IUnknown *make_planes(void *device)
{
    IDirect3DSurface9 *surface = NULL;
    return SUCCEEDED(IDirect3DDevice9Ex_CreateOffscreenPlainSurface(
               (IDirect3DDevice9Ex *)device, KIND_EXTENT, KIND_EXTENT, (D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'),
               D3DPOOL_DEFAULT, &surface, NULL))
               ? (IUnknown *)surface
               : NULL;
}

static cl_mem share_first(void (*function)(void), cl_context context, IUnknown *resource, cl_int *status)
{
    return share(function, context, resource, 0, status);
}

static cl_mem share_second(void (*function)(void), cl_context context, IUnknown *resource, cl_int *status)
{
    return share(function, context, resource, 1, status);
}

const struct api d3d9_info = {
    .name = "Direct3D 9Ex",
    .number = "9Ex",
    .short_name = "D3D9",
    .dll = "d3d9.dll",
    .extension = "cl_khr_dx9_media_sharing",
    .get_devices = "clGetDeviceIDsFromDX9MediaAdapterKHR",
    .create = "clCreateFromDX9MediaSurfaceKHR",
    .acquire = "clEnqueueAcquireDX9MediaSurfacesKHR",
    .release = "clEnqueueReleaseDX9MediaSurfacesKHR",
    .context_property = CL_CONTEXT_ADAPTER_D3D9EX_KHR,
    .formats = d3d9_formats,
    .format_count = &d3d9_format_count,
    .plain_format = D3DFMT_A8R8G8B8,
    .open = open_device,
    .make_texture = make_texture,
    .read_texture = read_texture,
    .devices_of = devices_of,
    .share = share,
    .kinds = {{"surface", "clCreateFromDX9MediaSurfaceKHR", make_plain, share_first},
              {"render target", "clCreateFromDX9MediaSurfaceKHR", make_target, share_first},
              {"level", "clCreateFromDX9MediaSurfaceKHR", make_level, share_first},
              {"plane", "clCreateFromDX9MediaSurfaceKHR", make_planes, share_second}},
};
