/* Direct3D 10: the operations and the descriptor. Same order of functions as d3d11.c. The device is its own context, and
 * a resource is mapped by its own interface. */
#include "d3d/dxgi.h"
#include "d3d/formats.h"

#include <CL/cl_d3d10.h>

static void *open_device(void *object)
{
    ID3D10Device *device = com_query(object, &IID_ID3D10Device);
    if (device != object) {
        com_release(device);
        return NULL;
    }
    if (!(ID3D10Device_GetCreationFlags(device) & D3D10_CREATE_DEVICE_SINGLETHREADED))
        dxgi_protect(device);
    return device;
}

static enum describe_status describe_kind(void *resource, enum surface_kind kind, uint32_t index,
                                          struct surface_desc *desc, char *why, size_t why_size)
{
    if (kind == SURFACE_BUFFER) {
        D3D10_BUFFER_DESC d;
        ID3D10Buffer_GetDesc((ID3D10Buffer *)resource, &d);
        return dxgi_describe_buffer(d.ByteWidth, d.Usage == D3D10_USAGE_IMMUTABLE, d.Usage == D3D10_USAGE_DYNAMIC, desc,
                                    why, why_size);
    }
    struct texture_facts facts;
    if (kind == SURFACE_IMAGE_2D) {
        D3D10_TEXTURE2D_DESC d;
        ID3D10Texture2D_GetDesc((ID3D10Texture2D *)resource, &d);
        facts = (struct texture_facts){d.Format, d.Width, d.Height, 1, d.MipLevels, d.ArraySize, d.SampleDesc.Count,
                                       d.Usage == D3D10_USAGE_IMMUTABLE, d.Usage == D3D10_USAGE_DYNAMIC};
    } else {
        D3D10_TEXTURE3D_DESC d;
        ID3D10Texture3D_GetDesc((ID3D10Texture3D *)resource, &d);
        facts = (struct texture_facts){d.Format, d.Width, d.Height, d.Depth, d.MipLevels, 1, 1,
                                       d.Usage == D3D10_USAGE_IMMUTABLE, d.Usage == D3D10_USAGE_DYNAMIC};
    }
    return dxgi_describe_texture(&facts, kind, index, desc, why, why_size);
}

static const GUID *const kinds[] = {&IID_ID3D10Buffer, &IID_ID3D10Texture2D, &IID_ID3D10Texture3D};

static void *owner_of(void *resource)
{
    ID3D10Device *owner = NULL;
    ID3D10DeviceChild_GetDevice((ID3D10DeviceChild *)resource, &owner);
    return owner;
}

static enum describe_status describe(void *device, void *resource, enum surface_kind kind, uint32_t index,
                                     struct surface_desc *desc, char *why, size_t why_size)
{
    static const char *const names[] = {"ID3D10Buffer", "ID3D10Texture2D", "ID3D10Texture3D"};
    const struct child_facts child = {kinds[kind], names[kind], owner_of};
    const enum describe_status status = dxgi_describe_child(&child, device, resource, why, why_size);
    return status == DESCRIBED ? describe_kind(resource, kind, index, desc, why, why_size) : status;
}

static bool stage(struct surface *surface)
{
    const struct surface_desc *desc = &surface->desc;
    ID3D10Device *device = surface->device;
    const UINT access = D3D10_CPU_ACCESS_READ | D3D10_CPU_ACCESS_WRITE;
    const UINT width = dxgi_staging_width(desc), height = dxgi_staging_height(desc);
    if (desc->kind == SURFACE_BUFFER) {
        const D3D10_BUFFER_DESC d = {
            .ByteWidth = width, .Usage = D3D10_USAGE_STAGING, .CPUAccessFlags = access};
        return d3d_check("ID3D10Device::CreateBuffer (staging)",
                         ID3D10Device_CreateBuffer(device, &d, NULL, (ID3D10Buffer **)&surface->staging));
    }
    if (desc->kind == SURFACE_IMAGE_2D) {
        const D3D10_TEXTURE2D_DESC d = {.Width = width, .Height = height, .MipLevels = 1, .ArraySize = 1,
            .Format = (DXGI_FORMAT)desc->format->code, .SampleDesc = {1, 0}, .Usage = D3D10_USAGE_STAGING, .CPUAccessFlags = access};
        return d3d_check("ID3D10Device::CreateTexture2D (staging)",
                         ID3D10Device_CreateTexture2D(device, &d, NULL, (ID3D10Texture2D **)&surface->staging));
    }
    const D3D10_TEXTURE3D_DESC d = {.Width = width, .Height = height, .Depth = desc->depth, .MipLevels = 1,
        .Format = (DXGI_FORMAT)desc->format->code, .Usage = D3D10_USAGE_STAGING, .CPUAccessFlags = access};
    return d3d_check("ID3D10Device::CreateTexture3D (staging)",
                     ID3D10Device_CreateTexture3D(device, &d, NULL, (ID3D10Texture3D **)&surface->staging));
}

static bool fetch(struct surface *surface)
{
    ID3D10Device *device = surface->device;
    ID3D10Device_CopySubresourceRegion(device, surface->staging, 0, 0, 0, 0, surface->resource,
                                       surface->desc.subresource, NULL);
    return d3d_check("ID3D10Device::CopySubresourceRegion", ID3D10Device_GetDeviceRemovedReason(device));
}

/* What the three kinds of resources call differently, in one shape. A buffer is one row. */
struct mapping {
    void *data;
    UINT row_pitch, depth_pitch;
};

static bool map_level(const struct surface_desc *desc, void *resource, UINT subresource, D3D10_MAP mode,
                      struct mapping *mapping)
{
    if (desc->kind == SURFACE_BUFFER) {
        *mapping = (struct mapping){NULL, desc->width, desc->width};
        return d3d_check("ID3D10Buffer::Map", ID3D10Buffer_Map((ID3D10Buffer *)resource, mode, 0, &mapping->data));
    }
    if (desc->kind == SURFACE_IMAGE_2D) {
        D3D10_MAPPED_TEXTURE2D m = {0};
        const bool done = d3d_check("ID3D10Texture2D::Map",
                                    ID3D10Texture2D_Map((ID3D10Texture2D *)resource, subresource, mode, 0, &m));
        *mapping = (struct mapping){m.pData, m.RowPitch, 0};
        return done;
    }
    D3D10_MAPPED_TEXTURE3D m = {0};
    const bool done = d3d_check("ID3D10Texture3D::Map",
                                ID3D10Texture3D_Map((ID3D10Texture3D *)resource, subresource, mode, 0, &m));
    *mapping = (struct mapping){m.pData, m.RowPitch, m.DepthPitch};
    return done;
}

static void unmap_level(const struct surface_desc *desc, void *resource, UINT subresource)
{
    if (desc->kind == SURFACE_BUFFER)
        ID3D10Buffer_Unmap((ID3D10Buffer *)resource);
    else if (desc->kind == SURFACE_IMAGE_2D)
        ID3D10Texture2D_Unmap((ID3D10Texture2D *)resource, subresource);
    else
        ID3D10Texture3D_Unmap((ID3D10Texture3D *)resource, subresource);
}

static bool map(struct surface *surface, struct mapped_surface *mapped)
{
    struct mapping m;
    if (!map_level(&surface->desc, surface->staging, 0, D3D10_MAP_READ_WRITE, &m))
        return false;
    *mapped = dxgi_mapped_plane(&surface->desc, m.data, m.row_pitch, m.depth_pitch);
    return true;
}

static void unmap(struct surface *surface)
{
    unmap_level(&surface->desc, surface->staging, 0);
}

static bool store_dynamic(struct surface *surface)
{
    const struct surface_desc *desc = &surface->desc;
    struct mapping from, to;
    if (!map_level(desc, surface->staging, 0, D3D10_MAP_READ, &from))
        return false;
    const bool mapped = map_level(desc, surface->resource, desc->subresource, D3D10_MAP_WRITE_DISCARD, &to);
    if (mapped) {
        dxgi_copy_level(desc, to.data, to.row_pitch, to.depth_pitch, from.data, from.row_pitch, from.depth_pitch);
        unmap_level(desc, surface->resource, desc->subresource);
    }
    unmap_level(desc, surface->staging, 0);
    return mapped;
}

static bool store(struct surface *surface)
{
    ID3D10Device *device = surface->device;
    bool done = true;
    unmap(surface);
    if (surface->desc.dynamic)
        done = store_dynamic(surface);
    else
        ID3D10Device_CopySubresourceRegion(device, surface->resource, surface->desc.subresource, 0, 0, 0,
                                           surface->staging, 0, NULL);
    ID3D10Device_Flush(device);
    return done && d3d_check("ID3D10Device::CopySubresourceRegion", ID3D10Device_GetDeviceRemovedReason(device));
}

static const struct d3d_ops ops = {
    .open_device = open_device,
    .identity = com_identity,
    .add_ref = com_add_ref,
    .release = com_release,
    .adapter = dxgi_adapter,
    .describe = describe,
    .stage = stage,
    .unstage = dxgi_unstage,
    .fetch = fetch,
    .map = map,
    .unmap = unmap,
    .store = store,
};

const struct d3d_api d3d10_api = {
    .name = "Direct3D 10",
    .extension = "cl_khr_d3d10_sharing",
    .ops = &ops,
    .family = FAMILY_D3D10,
    .exclusive = true,
    .no_duplicates = true,
    .no_interop = CL_INVALID_D3D10_RESOURCE_KHR,
    .invalid_device = CL_INVALID_D3D10_DEVICE_KHR,
    .invalid_resource = CL_INVALID_D3D10_RESOURCE_KHR,
    .already_acquired = CL_D3D10_RESOURCE_ALREADY_ACQUIRED_KHR,
    .not_acquired = CL_D3D10_RESOURCE_NOT_ACQUIRED_KHR,
    .device_source = CL_D3D10_DEVICE_KHR,
    .adapter_source = CL_D3D10_DXGI_ADAPTER_KHR,
    .preferred_set = CL_PREFERRED_DEVICES_FOR_D3D10_KHR,
    .all_set = CL_ALL_DEVICES_FOR_D3D10_KHR,
    .context_device = CL_CONTEXT_D3D10_DEVICE_KHR,
    .context_prefer_shared = CL_CONTEXT_D3D10_PREFER_SHARED_RESOURCES_KHR,
    .mem_resource = CL_MEM_D3D10_RESOURCE_KHR,
    .mem_resource_size = sizeof(void *),
    .image_subresource = CL_IMAGE_D3D10_SUBRESOURCE_KHR,
    .command_acquire = CL_COMMAND_ACQUIRE_D3D10_OBJECTS_KHR,
    .command_release = CL_COMMAND_RELEASE_D3D10_OBJECTS_KHR,
    .call = {"clGetDeviceIDsFromD3D10KHR", "clCreateFromD3D10BufferKHR", "clCreateFromD3D10Texture2DKHR",
             "clCreateFromD3D10Texture3DKHR", "clEnqueueAcquireD3D10ObjectsKHR", "clEnqueueReleaseD3D10ObjectsKHR"},
};
