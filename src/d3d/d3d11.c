/* Direct3D 11: the operations and the descriptor. Same order of functions as d3d10.c. */
#include "d3d/dxgi.h"
#include "d3d/formats.h"

#include <CL/cl_d3d11.h>

/* The immediate context, with one reference. It is asked for each time: to keep it would keep the device alive. */
static ID3D11DeviceContext *context_of(const struct surface *surface)
{
    ID3D11DeviceContext *context;
    ID3D11Device_GetImmediateContext((ID3D11Device *)surface->device, &context);
    return context;
}

static void *open_device(void *object)
{
    ID3D11Device *device = com_query(object, &IID_ID3D11Device);
    /* An object that has other faces too (Wine's Direct3D 10 devices) is a Direct3D 11 device only by that face. */
    if (device != object) {
        com_release(device);
        return NULL;
    }
    if (!(ID3D11Device_GetCreationFlags(device) & D3D11_CREATE_DEVICE_SINGLETHREADED))
        dxgi_protect(device);
    return device;
}

static enum describe_status describe_kind(void *resource, enum surface_kind kind, uint32_t index,
                                          struct surface_desc *desc, char *why, size_t why_size)
{
    if (kind == SURFACE_BUFFER) {
        D3D11_BUFFER_DESC d;
        ID3D11Buffer_GetDesc((ID3D11Buffer *)resource, &d);
        return dxgi_describe_buffer(d.ByteWidth, d.Usage == D3D11_USAGE_IMMUTABLE, d.Usage == D3D11_USAGE_DYNAMIC, desc,
                                    why, why_size);
    }
    struct texture_facts facts;
    if (kind == SURFACE_IMAGE_2D) {
        D3D11_TEXTURE2D_DESC d;
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)resource, &d);
        facts = (struct texture_facts){d.Format, d.Width, d.Height, 1, d.MipLevels, d.ArraySize, d.SampleDesc.Count,
                                       d.Usage == D3D11_USAGE_IMMUTABLE, d.Usage == D3D11_USAGE_DYNAMIC};
    } else {
        D3D11_TEXTURE3D_DESC d;
        ID3D11Texture3D_GetDesc((ID3D11Texture3D *)resource, &d);
        facts = (struct texture_facts){d.Format, d.Width, d.Height, d.Depth, d.MipLevels, 1, 1,
                                       d.Usage == D3D11_USAGE_IMMUTABLE, d.Usage == D3D11_USAGE_DYNAMIC};
    }
    return dxgi_describe_texture(&facts, kind, index, desc, why, why_size);
}

static const GUID *const kinds[] = {&IID_ID3D11Buffer, &IID_ID3D11Texture2D, &IID_ID3D11Texture3D};

static void *owner_of(void *resource)
{
    ID3D11Device *owner = NULL;
    ID3D11DeviceChild_GetDevice((ID3D11DeviceChild *)resource, &owner);
    return owner;
}

static enum describe_status describe(void *device, void *resource, enum surface_kind kind, uint32_t index,
                                     struct surface_desc *desc, char *why, size_t why_size)
{
    static const char *const names[] = {"ID3D11Buffer", "ID3D11Texture2D", "ID3D11Texture3D"};
    const struct child_facts child = {kinds[kind], names[kind], owner_of};
    const enum describe_status status = dxgi_describe_child(&child, device, resource, why, why_size);
    return status == DESCRIBED ? describe_kind(resource, kind, index, desc, why, why_size) : status;
}

static bool stage(struct surface *surface)
{
    const struct surface_desc *desc = &surface->desc;
    ID3D11Device *device = surface->device;
    const UINT access = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    const UINT width = dxgi_staging_width(desc), height = dxgi_staging_height(desc);
    if (desc->kind == SURFACE_BUFFER) {
        const D3D11_BUFFER_DESC d = {
            .ByteWidth = width, .Usage = D3D11_USAGE_STAGING, .CPUAccessFlags = access};
        return d3d_check("ID3D11Device::CreateBuffer (staging)",
                         ID3D11Device_CreateBuffer(device, &d, NULL, (ID3D11Buffer **)&surface->staging));
    }
    if (desc->kind == SURFACE_IMAGE_2D) {
        const D3D11_TEXTURE2D_DESC d = {.Width = width, .Height = height, .MipLevels = 1, .ArraySize = 1,
            .Format = (DXGI_FORMAT)desc->format->code, .SampleDesc = {1, 0}, .Usage = D3D11_USAGE_STAGING, .CPUAccessFlags = access};
        return d3d_check("ID3D11Device::CreateTexture2D (staging)",
                         ID3D11Device_CreateTexture2D(device, &d, NULL, (ID3D11Texture2D **)&surface->staging));
    }
    const D3D11_TEXTURE3D_DESC d = {.Width = width, .Height = height, .Depth = desc->depth, .MipLevels = 1,
        .Format = (DXGI_FORMAT)desc->format->code, .Usage = D3D11_USAGE_STAGING, .CPUAccessFlags = access};
    return d3d_check("ID3D11Device::CreateTexture3D (staging)",
                     ID3D11Device_CreateTexture3D(device, &d, NULL, (ID3D11Texture3D **)&surface->staging));
}

static bool fetch(struct surface *surface)
{
    ID3D11DeviceContext *context = context_of(surface);
    ID3D11DeviceContext_CopySubresourceRegion(context, surface->staging, 0, 0, 0, 0, surface->resource,
                                              surface->desc.subresource, NULL);
    com_release(context);
    /* A copy reports nothing; the loss of the device is seen here or by the map that waits for the copy. */
    return d3d_check("ID3D11DeviceContext::CopySubresourceRegion",
                     ID3D11Device_GetDeviceRemovedReason((ID3D11Device *)surface->device));
}

static bool map(struct surface *surface, struct mapped_surface *mapped)
{
    ID3D11DeviceContext *context = context_of(surface);
    D3D11_MAPPED_SUBRESOURCE m = {0};
    const bool done = d3d_check("ID3D11DeviceContext::Map (staging)",
                                ID3D11DeviceContext_Map(context, surface->staging, 0, D3D11_MAP_READ_WRITE, 0, &m));
    com_release(context);
    if (done)
        *mapped = dxgi_mapped_plane(&surface->desc, m.pData, m.RowPitch, m.DepthPitch);
    return done;
}

static void unmap(struct surface *surface)
{
    ID3D11DeviceContext *context = context_of(surface);
    ID3D11DeviceContext_Unmap(context, surface->staging, 0);
    com_release(context);
}

/* The GPU can't write to a dynamic resource, so the CPU does: the whole level, as DISCARD demands. */
static bool store_dynamic(ID3D11DeviceContext *context, struct surface *surface)
{
    D3D11_MAPPED_SUBRESOURCE from, to;
    if (!d3d_check("ID3D11DeviceContext::Map (staging)",
                   ID3D11DeviceContext_Map(context, surface->staging, 0, D3D11_MAP_READ, 0, &from)))
        return false;
    const bool mapped = d3d_check("ID3D11DeviceContext::Map (dynamic resource)",
                                  ID3D11DeviceContext_Map(context, surface->resource, surface->desc.subresource,
                                                          D3D11_MAP_WRITE_DISCARD, 0, &to));
    if (mapped) {
        dxgi_copy_level(&surface->desc, to.pData, to.RowPitch, to.DepthPitch, from.pData, from.RowPitch,
                        from.DepthPitch);
        ID3D11DeviceContext_Unmap(context, surface->resource, surface->desc.subresource);
    }
    ID3D11DeviceContext_Unmap(context, surface->staging, 0);
    return mapped;
}

static bool store(struct surface *surface)
{
    ID3D11DeviceContext *context = context_of(surface);
    bool done = true;
    ID3D11DeviceContext_Unmap(context, surface->staging, 0);
    if (surface->desc.dynamic)
        done = store_dynamic(context, surface);
    else
        ID3D11DeviceContext_CopySubresourceRegion(context, surface->resource, surface->desc.subresource, 0, 0, 0,
                                                  surface->staging, 0, NULL);
    ID3D11DeviceContext_Flush(context);
    com_release(context);
    return done && d3d_check("ID3D11DeviceContext::CopySubresourceRegion",
                             ID3D11Device_GetDeviceRemovedReason((ID3D11Device *)surface->device));
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

const struct d3d_api d3d11_api = {
    .name = "Direct3D 11",
    .extension = "cl_khr_d3d11_sharing",
    .ops = &ops,
    .family = FAMILY_D3D11,
    .exclusive = true,
    .no_duplicates = true,
    .no_interop = CL_INVALID_D3D11_RESOURCE_KHR,
    .invalid_device = CL_INVALID_D3D11_DEVICE_KHR,
    .invalid_resource = CL_INVALID_D3D11_RESOURCE_KHR,
    .already_acquired = CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR,
    .not_acquired = CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR,
    .device_source = CL_D3D11_DEVICE_KHR,
    .adapter_source = CL_D3D11_DXGI_ADAPTER_KHR,
    .preferred_set = CL_PREFERRED_DEVICES_FOR_D3D11_KHR,
    .all_set = CL_ALL_DEVICES_FOR_D3D11_KHR,
    .context_device = CL_CONTEXT_D3D11_DEVICE_KHR,
    .context_prefer_shared = CL_CONTEXT_D3D11_PREFER_SHARED_RESOURCES_KHR,
    .mem_resource = CL_MEM_D3D11_RESOURCE_KHR,
    .mem_resource_size = sizeof(void *),
    .image_subresource = CL_IMAGE_D3D11_SUBRESOURCE_KHR,
    .command_acquire = CL_COMMAND_ACQUIRE_D3D11_OBJECTS_KHR,
    .command_release = CL_COMMAND_RELEASE_D3D11_OBJECTS_KHR,
    .call = {"clGetDeviceIDsFromD3D11KHR", "clCreateFromD3D11BufferKHR", "clCreateFromD3D11Texture2DKHR",
             "clCreateFromD3D11Texture3DKHR", "clEnqueueAcquireD3D11ObjectsKHR", "clEnqueueReleaseD3D11ObjectsKHR"},
};
