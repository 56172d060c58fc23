#include "info.h"
#include "info_text.h"

#include <CL/cl_d3d10.h>
#include <stdio.h>

typedef HRESULT(WINAPI *create_device_fn)(IDXGIAdapter *adapter, D3D10_DRIVER_TYPE type, HMODULE rasteriser, UINT flags,
                                          UINT sdk_version, ID3D10Device **device);

static void open_device(const struct direct3d *d3d, struct adapter *adapter)
{
    char *why = adapter->d3d[API_D3D10].why;
    const create_device_fn create = (create_device_fn)library_function(&d3d->runtimes[API_D3D10], "D3D10CreateDevice");
    ID3D10Device *device = NULL;
    if (!adapter->dxgi) {
        why_say(why, "DXGI does not know this adapter");
        return;
    }
    if (!create) {
        why_say(why, "d3d10.dll has no D3D10CreateDevice");
        return;
    }
    const HRESULT result =
        create((IDXGIAdapter *)adapter->dxgi, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_SDK_VERSION, &device);
    if (FAILED(result) || !device) {
        why_d3d(why, "D3D10CreateDevice", result);
        return;
    }
    adapter->d3d[API_D3D10].device = device;
    snprintf(adapter->d3d[API_D3D10].level, sizeof(adapter->d3d[API_D3D10].level), "feature level 10_0");
}

static IUnknown *make_texture(void *device, const struct texture_shape *shape, const uint8_t *texels, char *why)
{
    const D3D10_SUBRESOURCE_DATA data = {.pSysMem = texels, .SysMemPitch = shape->pitch};
    const D3D10_TEXTURE2D_DESC desc = {
        .Width = TRIAL_EXTENT,
        .Height = TRIAL_EXTENT,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = (DXGI_FORMAT)shape->first->code,
        .SampleDesc.Count = 1,
        .Usage = D3D10_USAGE_DEFAULT,
        .BindFlags = D3D10_BIND_SHADER_RESOURCE,
    };
    ID3D10Texture2D *texture = NULL;
    const HRESULT result = ID3D10Device_CreateTexture2D((ID3D10Device *)device, &desc, &data, &texture);
    if (SUCCEEDED(result) && texture)
        return (IUnknown *)texture;
    why_d3d(why, "CreateTexture2D", result);
    return NULL;
}

static bool read_staging(ID3D10Texture2D *staging, const struct texture_shape *shape, uint8_t *texels, char *why)
{
    D3D10_MAPPED_TEXTURE2D mapped;
    const HRESULT result = ID3D10Texture2D_Map(staging, 0, D3D10_MAP_READ, 0, &mapped);
    if (FAILED(result)) {
        why_d3d(why, "Map", result);
        return false;
    }
    planes_copy(shape, texels, shape->pitch, mapped.pData, mapped.RowPitch);
    ID3D10Texture2D_Unmap(staging, 0);
    return true;
}

static bool read_texture(void *device, const struct texture_shape *shape, IUnknown *texture, uint8_t *texels, char *why)
{
    D3D10_TEXTURE2D_DESC desc;
    ID3D10Texture2D *staging = NULL;
    ID3D10Texture2D_GetDesc((ID3D10Texture2D *)texture, &desc);
    desc.Usage = D3D10_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D10_CPU_ACCESS_READ;
    const HRESULT result = ID3D10Device_CreateTexture2D((ID3D10Device *)device, &desc, NULL, &staging);
    if (FAILED(result)) {
        why_d3d(why, "CreateTexture2D (staging)", result);
        return false;
    }
    ID3D10Device_CopyResource((ID3D10Device *)device, (ID3D10Resource *)staging, (ID3D10Resource *)texture);
    const bool read = read_staging(staging, shape, texels, why);
    ID3D10Texture2D_Release(staging);
    return read;
}

static cl_int devices_of(void (*function)(void), cl_platform_id platform, const struct adapter *adapter, bool preferred,
                         cl_uint room, cl_device_id *devices, cl_uint *count)
{
    return ((clGetDeviceIDsFromD3D10KHR_fn)function)(
        platform, CL_D3D10_DXGI_ADAPTER_KHR, adapter->dxgi,
        preferred ? CL_PREFERRED_DEVICES_FOR_D3D10_KHR : CL_ALL_DEVICES_FOR_D3D10_KHR, room, devices, count);
}

static cl_mem share(void (*function)(void), cl_context context, IUnknown *resource, cl_uint plane, cl_int *status)
{
    return ((clCreateFromD3D10Texture2DKHR_fn)function)(context, CL_MEM_READ_WRITE, (ID3D10Texture2D *)resource, plane,
                                                        status);
}

/* ---- kinds of resources ---- */

static IUnknown *make_kind(void *device, DXGI_FORMAT format, UINT extent, UINT levels, UINT bind)
{
    const D3D10_TEXTURE2D_DESC desc = {.Width = extent,
                                       .Height = extent,
                                       .MipLevels = levels,
                                       .ArraySize = 1,
                                       .Format = format,
                                       .SampleDesc.Count = 1,
                                       .BindFlags = bind};
    ID3D10Texture2D *texture = NULL;
    return SUCCEEDED(ID3D10Device_CreateTexture2D((ID3D10Device *)device, &desc, NULL, &texture)) ? (IUnknown *)texture
                                                                                                  : NULL;
}

static IUnknown *make_plain(void *device)
{
    return make_kind(device, DXGI_FORMAT_R8G8B8A8_UNORM, KIND_EXTENT, 1, D3D10_BIND_SHADER_RESOURCE);
}

static IUnknown *make_levels(void *device)
{
    return make_kind(device, DXGI_FORMAT_R8G8B8A8_UNORM, 2 * KIND_EXTENT, 3,
                     D3D10_BIND_SHADER_RESOURCE | D3D10_BIND_RENDER_TARGET);
}

static IUnknown *make_planes(void *device)
{
    return make_kind(device, DXGI_FORMAT_NV12, KIND_EXTENT, 1, D3D10_BIND_SHADER_RESOURCE);
}

static IUnknown *make_buffer(void *device)
{
    const D3D10_BUFFER_DESC desc = {.ByteWidth = KIND_BYTES, .BindFlags = D3D10_BIND_VERTEX_BUFFER};
    ID3D10Buffer *buffer = NULL;
    return SUCCEEDED(ID3D10Device_CreateBuffer((ID3D10Device *)device, &desc, NULL, &buffer)) ? (IUnknown *)buffer
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

static cl_mem share_buffer(void (*function)(void), cl_context context, IUnknown *resource, cl_int *status)
{
    return ((clCreateFromD3D10BufferKHR_fn)function)(context, CL_MEM_READ_WRITE, (ID3D10Buffer *)resource, status);
}

const struct api d3d10_info = {
    .name = "Direct3D 10",
    .number = "10",
    .short_name = "D3D10",
    .dll = "d3d10.dll",
    .extension = "cl_khr_d3d10_sharing",
    .get_devices = "clGetDeviceIDsFromD3D10KHR",
    .create = "clCreateFromD3D10Texture2DKHR",
    .acquire = "clEnqueueAcquireD3D10ObjectsKHR",
    .release = "clEnqueueReleaseD3D10ObjectsKHR",
    .context_property = CL_CONTEXT_D3D10_DEVICE_KHR,
    .formats = dxgi_formats,
    .format_count = &dxgi_format_count,
    .plain_format = DXGI_FORMAT_R8G8B8A8_UNORM,
    .open = open_device,
    .make_texture = make_texture,
    .read_texture = read_texture,
    .devices_of = devices_of,
    .share = share,
    .kinds = {{"texture", "clCreateFromD3D10Texture2DKHR", make_plain, share_first},
              {"level", "clCreateFromD3D10Texture2DKHR", make_levels, share_second},
              {"plane", "clCreateFromD3D10Texture2DKHR", make_planes, share_second},
              {"buffer", "clCreateFromD3D10BufferKHR", make_buffer, share_buffer}},
};
