#include "info.h"
#include "info_text.h"

#include <CL/cl_d3d11.h>
#include <stdio.h>

static HRESULT create_device(const struct direct3d *d3d, struct adapter *adapter, D3D_FEATURE_LEVEL *level)
{
    static const D3D_FEATURE_LEVEL levels[] = {D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_10_1,
                                               D3D_FEATURE_LEVEL_10_0, D3D_FEATURE_LEVEL_9_3,  D3D_FEATURE_LEVEL_9_2,
                                               D3D_FEATURE_LEVEL_9_1};
    enum { COUNT = sizeof(levels) / sizeof(levels[0]) };
    const PFN_D3D11_CREATE_DEVICE create =
        (PFN_D3D11_CREATE_DEVICE)library_function(&d3d->runtimes[API_D3D11], "D3D11CreateDevice");
    ID3D11Device *device = NULL;
    if (!create)
        return E_NOTIMPL;
    IDXGIAdapter *dxgi = (IDXGIAdapter *)adapter->dxgi;
    HRESULT result =
        create(dxgi, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, levels, COUNT, D3D11_SDK_VERSION, &device, level, NULL);
    /* A Direct3D 11.0 does not know the first level and refuses the list. */
    if (result == E_INVALIDARG)
        result = create(dxgi, D3D_DRIVER_TYPE_UNKNOWN, NULL, 0, levels + 1, COUNT - 1, D3D11_SDK_VERSION, &device,
                        level, NULL);
    if (SUCCEEDED(result))
        adapter->d3d[API_D3D11].device = device;
    return result;
}

static void open_device(const struct direct3d *d3d, struct adapter *adapter)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_9_1;
    if (!adapter->dxgi) {
        why_say(adapter->d3d[API_D3D11].why, "DXGI does not know this adapter");
        return;
    }
    const HRESULT result = create_device(d3d, adapter, &level);
    if (!adapter->d3d[API_D3D11].device)
        why_d3d(adapter->d3d[API_D3D11].why, "D3D11CreateDevice", result);
    /* 0xb100 is level 11.1. */
    snprintf(adapter->d3d[API_D3D11].level, sizeof(adapter->d3d[API_D3D11].level), "feature level %u_%u",
             (unsigned)level >> 12, (unsigned)level >> 8 & 15);
}

static IUnknown *make_texture(void *device, const struct texture_shape *shape, const uint8_t *texels, char *why)
{
    const D3D11_SUBRESOURCE_DATA data = {.pSysMem = texels, .SysMemPitch = shape->pitch};
    D3D11_TEXTURE2D_DESC desc = {
        .Width = TRIAL_EXTENT,
        .Height = TRIAL_EXTENT,
        .MipLevels = 1,
        .ArraySize = 1,
        .Format = (DXGI_FORMAT)shape->first->code,
        .SampleDesc.Count = 1,
        .Usage = D3D11_USAGE_DEFAULT,
        .BindFlags = D3D11_BIND_SHADER_RESOURCE,
    };
    ID3D11Texture2D *texture = NULL;
    HRESULT result = ID3D11Device_CreateTexture2D((ID3D11Device *)device, &desc, &data, &texture);
    if (FAILED(result)) {
        /* There may be such textures, and only shaders can't sample them. */
        desc.BindFlags = 0;
        result = ID3D11Device_CreateTexture2D((ID3D11Device *)device, &desc, &data, &texture);
    }
    if (SUCCEEDED(result) && texture)
        return (IUnknown *)texture;
    why_d3d(why, "CreateTexture2D", result);
    return NULL;
}

static bool read_staging(ID3D11DeviceContext *context, ID3D11Resource *staging, const struct texture_shape *shape,
                         uint8_t *texels, char *why)
{
    D3D11_MAPPED_SUBRESOURCE mapped;
    const HRESULT result = ID3D11DeviceContext_Map(context, staging, 0, D3D11_MAP_READ, 0, &mapped);
    if (FAILED(result)) {
        why_d3d(why, "Map", result);
        return false;
    }
    planes_copy(shape, texels, shape->pitch, mapped.pData, mapped.RowPitch);
    ID3D11DeviceContext_Unmap(context, staging, 0);
    return true;
}

static bool read_texture(void *device, const struct texture_shape *shape, IUnknown *texture, uint8_t *texels, char *why)
{
    D3D11_TEXTURE2D_DESC desc;
    ID3D11Texture2D *staging = NULL;
    ID3D11Texture2D_GetDesc((ID3D11Texture2D *)texture, &desc);
    desc.Usage = D3D11_USAGE_STAGING;
    desc.BindFlags = 0;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    const HRESULT result = ID3D11Device_CreateTexture2D((ID3D11Device *)device, &desc, NULL, &staging);
    if (FAILED(result)) {
        why_d3d(why, "CreateTexture2D (staging)", result);
        return false;
    }
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)staging, (ID3D11Resource *)texture);
    const bool read = read_staging(context, (ID3D11Resource *)staging, shape, texels, why);
    ID3D11DeviceContext_Release(context);
    ID3D11Texture2D_Release(staging);
    return read;
}

static cl_int devices_of(void (*function)(void), cl_platform_id platform, const struct adapter *adapter, bool preferred,
                         cl_uint room, cl_device_id *devices, cl_uint *count)
{
    return ((clGetDeviceIDsFromD3D11KHR_fn)function)(
        platform, CL_D3D11_DXGI_ADAPTER_KHR, adapter->dxgi,
        preferred ? CL_PREFERRED_DEVICES_FOR_D3D11_KHR : CL_ALL_DEVICES_FOR_D3D11_KHR, room, devices, count);
}

static cl_mem share(void (*function)(void), cl_context context, IUnknown *resource, cl_uint plane, cl_int *status)
{
    return ((clCreateFromD3D11Texture2DKHR_fn)function)(context, CL_MEM_READ_WRITE, (ID3D11Texture2D *)resource, plane,
                                                        status);
}

/* ---- kinds of resources ---- */

static IUnknown *make_kind(void *device, DXGI_FORMAT format, UINT extent, UINT levels, UINT bind)
{
    const D3D11_TEXTURE2D_DESC desc = {.Width = extent,
                                       .Height = extent,
                                       .MipLevels = levels,
                                       .ArraySize = 1,
                                       .Format = format,
                                       .SampleDesc.Count = 1,
                                       .BindFlags = bind};
    ID3D11Texture2D *texture = NULL;
    return SUCCEEDED(ID3D11Device_CreateTexture2D((ID3D11Device *)device, &desc, NULL, &texture)) ? (IUnknown *)texture
                                                                                                  : NULL;
}

static IUnknown *make_plain(void *device)
{
    return make_kind(device, DXGI_FORMAT_R8G8B8A8_UNORM, KIND_EXTENT, 1, D3D11_BIND_SHADER_RESOURCE);
}

static IUnknown *make_levels(void *device)
{
    return make_kind(device, DXGI_FORMAT_R8G8B8A8_UNORM, 2 * KIND_EXTENT, 3,
                     D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET);
}

static IUnknown *make_planes(void *device)
{
    return make_kind(device, DXGI_FORMAT_NV12, KIND_EXTENT, 1, D3D11_BIND_SHADER_RESOURCE);
}

static IUnknown *make_buffer(void *device)
{
    const D3D11_BUFFER_DESC desc = {.ByteWidth = KIND_BYTES, .BindFlags = D3D11_BIND_VERTEX_BUFFER};
    ID3D11Buffer *buffer = NULL;
    return SUCCEEDED(ID3D11Device_CreateBuffer((ID3D11Device *)device, &desc, NULL, &buffer)) ? (IUnknown *)buffer
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
    return ((clCreateFromD3D11BufferKHR_fn)function)(context, CL_MEM_READ_WRITE, (ID3D11Buffer *)resource, status);
}

const struct api d3d11_info = {
    .name = "Direct3D 11",
    .number = "11",
    .short_name = "D3D11",
    .dll = "d3d11.dll",
    .extension = "cl_khr_d3d11_sharing",
    .get_devices = "clGetDeviceIDsFromD3D11KHR",
    .create = "clCreateFromD3D11Texture2DKHR",
    .acquire = "clEnqueueAcquireD3D11ObjectsKHR",
    .release = "clEnqueueReleaseD3D11ObjectsKHR",
    .context_property = CL_CONTEXT_D3D11_DEVICE_KHR,
    .formats = dxgi_formats,
    .format_count = &dxgi_format_count,
    .plain_format = DXGI_FORMAT_R8G8B8A8_UNORM,
    .open = open_device,
    .make_texture = make_texture,
    .read_texture = read_texture,
    .devices_of = devices_of,
    .share = share,
    .kinds = {{"texture", "clCreateFromD3D11Texture2DKHR", make_plain, share_first},
              {"level", "clCreateFromD3D11Texture2DKHR", make_levels, share_second},
              {"plane", "clCreateFromD3D11Texture2DKHR", make_planes, share_second},
              {"buffer", "clCreateFromD3D11BufferKHR", make_buffer, share_buffer}},
};
