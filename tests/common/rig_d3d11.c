#include "rig_d3d.h"

#include <CL/cl_d3d11.h>

_Static_assert(sizeof(struct rig_rows) == sizeof(D3D11_SUBRESOURCE_DATA), "rig_rows is handed to Direct3D 11");

const struct rig_api rig_d3d11 = {
    .version = 11,
    .extension = "cl_khr_d3d11_sharing",
    .invalid_device = CL_INVALID_D3D11_DEVICE_KHR,
    .invalid_resource = CL_INVALID_D3D11_RESOURCE_KHR,
    .already_acquired = CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR,
    .not_acquired = CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR,
    .device_source = CL_D3D11_DEVICE_KHR,
    .adapter_source = CL_D3D11_DXGI_ADAPTER_KHR,
    .preferred_set = CL_PREFERRED_DEVICES_FOR_D3D11_KHR,
    .all_set = CL_ALL_DEVICES_FOR_D3D11_KHR,
    .context_device = CL_CONTEXT_D3D11_DEVICE_KHR,
    .prefer_shared = CL_CONTEXT_D3D11_PREFER_SHARED_RESOURCES_KHR,
    .mem_resource = CL_MEM_D3D11_RESOURCE_KHR,
    .image_subresource = CL_IMAGE_D3D11_SUBRESOURCE_KHR,
    .command_acquire = CL_COMMAND_ACQUIRE_D3D11_OBJECTS_KHR,
    .command_release = CL_COMMAND_RELEASE_D3D11_OBJECTS_KHR,
};

static HRESULT open(UINT flags, void **device)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    return D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, flags, &level, 1, D3D11_SDK_VERSION,
                             (ID3D11Device **)device, NULL, NULL);
}

static void *owner(void *resource)
{
    ID3D11Device *device = NULL;
    ID3D11DeviceChild_GetDevice((ID3D11DeviceChild *)resource, &device);
    return device;
}

static UINT cpu_access(D3D11_USAGE usage)
{
    if (usage == D3D11_USAGE_STAGING)
        return D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    return usage == D3D11_USAGE_DYNAMIC ? D3D11_CPU_ACCESS_WRITE : 0;
}

static HRESULT make(void *device, const struct rig_desc *desc, const struct rig_rows *initial, void **resource)
{
    static const D3D11_USAGE usages[] = {D3D11_USAGE_DEFAULT, D3D11_USAGE_IMMUTABLE, D3D11_USAGE_DYNAMIC,
                                         D3D11_USAGE_STAGING};
    const D3D11_SUBRESOURCE_DATA *data = (const D3D11_SUBRESOURCE_DATA *)initial;
    const D3D11_USAGE usage = usages[desc->usage];
    const UINT access = cpu_access(usage);
    if (!desc->height) {
        const D3D11_BUFFER_DESC d = {desc->width, usage, desc->bind, access, desc->misc, 0};
        return ID3D11Device_CreateBuffer((ID3D11Device *)device, &d, data, (ID3D11Buffer **)resource);
    }
    const UINT levels = desc->levels ? desc->levels : 1;
    if (desc->depth) {
        const D3D11_TEXTURE3D_DESC d = {desc->width, desc->height, desc->depth, levels,    desc->format,
                                        usage,       desc->bind,   access,      desc->misc};
        return ID3D11Device_CreateTexture3D((ID3D11Device *)device, &d, data, (ID3D11Texture3D **)resource);
    }
    const D3D11_TEXTURE2D_DESC d = {desc->width,  desc->height,
                                    levels,       desc->slices ? desc->slices : 1,
                                    desc->format, {desc->samples ? desc->samples : 1, 0},
                                    usage,        desc->bind,
                                    access,       desc->misc};
    return ID3D11Device_CreateTexture2D((ID3D11Device *)device, &d, data, (ID3D11Texture2D **)resource);
}

static ID3D11DeviceContext *context_of(void *device)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext((ID3D11Device *)device, &context);
    return context;
}

static HRESULT map(void *device, void *resource, const struct rig_desc *desc, UINT subresource, enum rig_map mode,
                   struct rig_rows *mapped)
{
    static const D3D11_MAP modes[] = {D3D11_MAP_READ, D3D11_MAP_WRITE, D3D11_MAP_WRITE_DISCARD};
    ID3D11DeviceContext *context = context_of(device);
    D3D11_MAPPED_SUBRESOURCE m = {0};
    const HRESULT result =
        ID3D11DeviceContext_Map(context, (ID3D11Resource *)resource, subresource, modes[mode], 0, &m);
    ID3D11DeviceContext_Release(context);
    *mapped = (struct rig_rows){m.pData, m.RowPitch, m.DepthPitch};
    (void)desc;
    return result;
}

static void unmap(void *device, void *resource, const struct rig_desc *desc, UINT subresource)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)resource, subresource);
    ID3D11DeviceContext_Release(context);
    (void)desc;
}

static void update(void *device, void *resource, UINT subresource, const struct rig_rows *rows)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_UpdateSubresource(context, (ID3D11Resource *)resource, subresource, NULL, rows->data,
                                          rows->row_pitch, rows->slice_pitch);
    ID3D11DeviceContext_Release(context);
}

static void copy(void *device, void *to, void *from, UINT subresource)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_CopySubresourceRegion(context, (ID3D11Resource *)to, 0, 0, 0, 0, (ID3D11Resource *)from,
                                              subresource, NULL);
    ID3D11DeviceContext_Release(context);
}

static void flush(void *device)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11DeviceContext_Flush(context);
    ID3D11DeviceContext_Release(context);
}

static HRESULT finish(void *device)
{
    static const D3D11_QUERY_DESC desc = {D3D11_QUERY_EVENT, 0};
    ID3D11Query *query = NULL;
    HRESULT result = ID3D11Device_CreateQuery((ID3D11Device *)device, &desc, &query);
    if (FAILED(result))
        return result;
    ID3D11DeviceContext *context = context_of(device);
    BOOL reached = FALSE;
    ID3D11DeviceContext_End(context, (ID3D11Asynchronous *)query);
    do
        result = ID3D11DeviceContext_GetData(context, (ID3D11Asynchronous *)query, &reached, sizeof(reached), 0);
    while (result == S_FALSE);
    ID3D11DeviceContext_Release(context);
    ID3D11Query_Release(query);
    return result;
}

const struct rig_ops rig_ops_d3d11 = {
    .open = open,
    .owner = owner,
    .make = make,
    .map = map,
    .unmap = unmap,
    .update = update,
    .copy = copy,
    .flush = flush,
    .finish = finish,
};
