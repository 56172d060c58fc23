#include "rig_d3d.h"

#include <CL/cl_d3d10.h>

_Static_assert(sizeof(struct rig_rows) == sizeof(D3D10_SUBRESOURCE_DATA), "rig_rows is handed to Direct3D 10");

const struct rig_api rig_d3d10 = {
    .version = 10,
    .extension = "cl_khr_d3d10_sharing",
    .invalid_device = CL_INVALID_D3D10_DEVICE_KHR,
    .invalid_resource = CL_INVALID_D3D10_RESOURCE_KHR,
    .already_acquired = CL_D3D10_RESOURCE_ALREADY_ACQUIRED_KHR,
    .not_acquired = CL_D3D10_RESOURCE_NOT_ACQUIRED_KHR,
    .device_source = CL_D3D10_DEVICE_KHR,
    .adapter_source = CL_D3D10_DXGI_ADAPTER_KHR,
    .preferred_set = CL_PREFERRED_DEVICES_FOR_D3D10_KHR,
    .all_set = CL_ALL_DEVICES_FOR_D3D10_KHR,
    .context_device = CL_CONTEXT_D3D10_DEVICE_KHR,
    .prefer_shared = CL_CONTEXT_D3D10_PREFER_SHARED_RESOURCES_KHR,
    .mem_resource = CL_MEM_D3D10_RESOURCE_KHR,
    .image_subresource = CL_IMAGE_D3D10_SUBRESOURCE_KHR,
    .command_acquire = CL_COMMAND_ACQUIRE_D3D10_OBJECTS_KHR,
    .command_release = CL_COMMAND_RELEASE_D3D10_OBJECTS_KHR,
};

static HRESULT open(UINT flags, void **device)
{
    return D3D10CreateDevice(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, flags, D3D10_SDK_VERSION, (ID3D10Device **)device);
}

static void *owner(void *resource)
{
    ID3D10Device *device = NULL;
    ID3D10DeviceChild_GetDevice((ID3D10DeviceChild *)resource, &device);
    return device;
}

static UINT cpu_access(D3D10_USAGE usage)
{
    if (usage == D3D10_USAGE_STAGING)
        return D3D10_CPU_ACCESS_READ | D3D10_CPU_ACCESS_WRITE;
    return usage == D3D10_USAGE_DYNAMIC ? D3D10_CPU_ACCESS_WRITE : 0;
}

/* A rig_desc has Direct3D 11's flags. All have the same value here except two. */
static UINT misc_flags(UINT misc)
{
    UINT result = misc & ~(UINT)(D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX | D3D11_RESOURCE_MISC_GDI_COMPATIBLE);
    if (misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)
        result |= D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX;
    if (misc & D3D11_RESOURCE_MISC_GDI_COMPATIBLE)
        result |= D3D10_RESOURCE_MISC_GDI_COMPATIBLE;
    return result;
}

static HRESULT make(void *device, const struct rig_desc *desc, const struct rig_rows *initial, void **resource)
{
    static const D3D10_USAGE usages[] = {D3D10_USAGE_DEFAULT, D3D10_USAGE_IMMUTABLE, D3D10_USAGE_DYNAMIC,
                                         D3D10_USAGE_STAGING};
    const D3D10_SUBRESOURCE_DATA *data = (const D3D10_SUBRESOURCE_DATA *)initial;
    const D3D10_USAGE usage = usages[desc->usage];
    const UINT access = cpu_access(usage), misc = misc_flags(desc->misc);
    if (!desc->height) {
        const D3D10_BUFFER_DESC d = {desc->width, usage, desc->bind, access, misc};
        return ID3D10Device_CreateBuffer((ID3D10Device *)device, &d, data, (ID3D10Buffer **)resource);
    }
    const UINT levels = desc->levels ? desc->levels : 1;
    if (desc->depth) {
        const D3D10_TEXTURE3D_DESC d = {desc->width, desc->height, desc->depth, levels, desc->format,
                                        usage,       desc->bind,   access,      misc};
        return ID3D10Device_CreateTexture3D((ID3D10Device *)device, &d, data, (ID3D10Texture3D **)resource);
    }
    const D3D10_TEXTURE2D_DESC d = {desc->width,  desc->height,
                                    levels,       desc->slices ? desc->slices : 1,
                                    desc->format, {desc->samples ? desc->samples : 1, 0},
                                    usage,        desc->bind,
                                    access,       misc};
    return ID3D10Device_CreateTexture2D((ID3D10Device *)device, &d, data, (ID3D10Texture2D **)resource);
}

static HRESULT map(void *device, void *resource, const struct rig_desc *desc, UINT subresource, enum rig_map mode,
                   struct rig_rows *mapped)
{
    static const D3D10_MAP modes[] = {D3D10_MAP_READ, D3D10_MAP_WRITE, D3D10_MAP_WRITE_DISCARD};
    HRESULT result;
    (void)device;
    if (!desc->height) {
        void *data = NULL;
        result = ID3D10Buffer_Map((ID3D10Buffer *)resource, modes[mode], 0, &data);
        *mapped = (struct rig_rows){data, desc->width, desc->width};
    } else if (desc->depth) {
        D3D10_MAPPED_TEXTURE3D m = {0};
        result = ID3D10Texture3D_Map((ID3D10Texture3D *)resource, subresource, modes[mode], 0, &m);
        *mapped = (struct rig_rows){m.pData, m.RowPitch, m.DepthPitch};
    } else {
        D3D10_MAPPED_TEXTURE2D m = {0};
        result = ID3D10Texture2D_Map((ID3D10Texture2D *)resource, subresource, modes[mode], 0, &m);
        *mapped = (struct rig_rows){m.pData, m.RowPitch, 0};
    }
    return result;
}

static void unmap(void *device, void *resource, const struct rig_desc *desc, UINT subresource)
{
    (void)device;
    if (!desc->height)
        ID3D10Buffer_Unmap((ID3D10Buffer *)resource);
    else if (desc->depth)
        ID3D10Texture3D_Unmap((ID3D10Texture3D *)resource, subresource);
    else
        ID3D10Texture2D_Unmap((ID3D10Texture2D *)resource, subresource);
}

static void update(void *device, void *resource, UINT subresource, const struct rig_rows *rows)
{
    ID3D10Device_UpdateSubresource((ID3D10Device *)device, (ID3D10Resource *)resource, subresource, NULL, rows->data,
                                   rows->row_pitch, rows->slice_pitch);
}

static void copy(void *device, void *to, void *from, UINT subresource)
{
    ID3D10Device_CopySubresourceRegion((ID3D10Device *)device, (ID3D10Resource *)to, 0, 0, 0, 0, (ID3D10Resource *)from,
                                       subresource, NULL);
}

static void flush(void *device)
{
    ID3D10Device_Flush((ID3D10Device *)device);
}

static HRESULT finish(void *device)
{
    static const D3D10_QUERY_DESC desc = {D3D10_QUERY_EVENT, 0};
    ID3D10Query *query = NULL;
    HRESULT result = ID3D10Device_CreateQuery((ID3D10Device *)device, &desc, &query);
    if (FAILED(result))
        return result;
    BOOL reached = FALSE;
    ID3D10Query_End(query);
    do
        result = ID3D10Query_GetData(query, &reached, sizeof(reached), 0);
    while (result == S_FALSE);
    ID3D10Query_Release(query);
    return result;
}

const struct rig_ops rig_ops_d3d10 = {
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
