#include "d3d/d3d1x.h"

#include "d3d/dxgi.h"
#include "d3d/formats.h"

#include <stdio.h>

bool d3d1x_check(const struct d3d1x_calls *calls, const char *call, HRESULT result)
{
    char name[96];
    if (SUCCEEDED(result))
        return true;
    snprintf(name, sizeof(name), "%s: %s", calls->name, call);
    return d3d_check(name, result);
}

void *d3d1x_open_device(const struct d3d1x_calls *calls, void *object)
{
    void *device = com_query(object, calls->device);
    /* An object that has other faces too (Wine's Direct3D 10 devices) is a Direct3D 11 device only by that face. */
    if (device != object) {
        com_release(device);
        return NULL;
    }
    if (!(calls->creation_flags(device) & D3D11_CREATE_DEVICE_SINGLETHREADED))
        dxgi_protect(device);
    return device;
}

/* ---- what a resource is ---- */

void *d3d1x_owner(const struct d3d1x_calls *calls, void *resource)
{
    void *owner = NULL;
    for (int kind = 0; kind < 3 && !owner; kind++) {
        void *same = com_query(resource, calls->kinds[kind]);
        owner = same ? calls->owner(same) : NULL;
        com_release(same);
    }
    return owner;
}

static enum describe_status describe_buffer(const struct d3d1x_calls *calls, void *resource, struct surface_desc *desc,
                                            char *why, size_t why_size)
{
    D3D11_BUFFER_DESC d = {0};
    calls->buffer_desc(resource, &d);
    return dxgi_describe_buffer(d.ByteWidth, d.Usage == D3D11_USAGE_IMMUTABLE, d.Usage == D3D11_USAGE_DYNAMIC, desc,
                                why, why_size);
}

static struct texture_facts facts_2d(const struct d3d1x_calls *calls, void *resource)
{
    D3D11_TEXTURE2D_DESC d = {0};
    calls->texture2d_desc(resource, &d);
    return (struct texture_facts){d.Format,
                                  d.Width,
                                  d.Height,
                                  1,
                                  d.MipLevels,
                                  d.ArraySize,
                                  d.SampleDesc.Count,
                                  d.Usage == D3D11_USAGE_IMMUTABLE,
                                  d.Usage == D3D11_USAGE_DYNAMIC};
}

static struct texture_facts facts_3d(const struct d3d1x_calls *calls, void *resource)
{
    D3D11_TEXTURE3D_DESC d = {0};
    calls->texture3d_desc(resource, &d);
    return (struct texture_facts){d.Format,
                                  d.Width,
                                  d.Height,
                                  d.Depth,
                                  d.MipLevels,
                                  1,
                                  1,
                                  d.Usage == D3D11_USAGE_IMMUTABLE,
                                  d.Usage == D3D11_USAGE_DYNAMIC};
}

enum describe_status d3d1x_describe(const struct d3d1x_calls *calls, void *device, void *resource,
                                    enum surface_kind kind, uint32_t index, struct surface_desc *desc, char *why,
                                    size_t why_size)
{
    const struct child_facts child = {calls->kinds[kind], calls->kind_names[kind], calls->owner};
    const enum describe_status status = dxgi_describe_child(&child, device, resource, why, why_size);
    if (status != DESCRIBED)
        return status;
    if (kind == SURFACE_BUFFER)
        return describe_buffer(calls, resource, desc, why, why_size);
    const struct texture_facts facts = kind == SURFACE_IMAGE_2D ? facts_2d(calls, resource) : facts_3d(calls, resource);
    return dxgi_describe_texture(&facts, kind, index, desc, why, why_size);
}

/* ---- the staging copy ---- */

bool d3d1x_stage(const struct d3d1x_calls *calls, struct surface *surface)
{
    const struct surface_desc *desc = &surface->desc;
    const UINT access = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    const UINT width = dxgi_staging_width(desc), height = dxgi_staging_height(desc);
    const DXGI_FORMAT format = desc->format ? (DXGI_FORMAT)desc->format->code : DXGI_FORMAT_UNKNOWN;
    if (desc->kind == SURFACE_BUFFER) {
        const D3D11_BUFFER_DESC d = {
            .ByteWidth = width + surface->staging_padding, .Usage = D3D11_USAGE_STAGING, .CPUAccessFlags = access};
        return d3d1x_check(calls, "CreateBuffer (staging)",
                           calls->create_buffer(surface->device, &d, &surface->staging));
    }
    if (desc->kind == SURFACE_IMAGE_2D) {
        const D3D11_TEXTURE2D_DESC d = {.Width = width,
                                        .Height = height,
                                        .MipLevels = 1,
                                        .ArraySize = 1,
                                        .Format = format,
                                        .SampleDesc = {1, 0},
                                        .Usage = D3D11_USAGE_STAGING,
                                        .CPUAccessFlags = access};
        return d3d1x_check(calls, "CreateTexture2D (staging)",
                           calls->create_texture2d(surface->device, &d, &surface->staging));
    }
    const D3D11_TEXTURE3D_DESC d = {.Width = width,
                                    .Height = height,
                                    .Depth = desc->depth,
                                    .MipLevels = 1,
                                    .Format = format,
                                    .Usage = D3D11_USAGE_STAGING,
                                    .CPUAccessFlags = access};
    return d3d1x_check(calls, "CreateTexture3D (staging)",
                       calls->create_texture3d(surface->device, &d, &surface->staging));
}

bool d3d1x_fetch(const struct d3d1x_calls *calls, struct surface *surface)
{
    calls->copy(surface->device, surface->staging, 0, surface->staging_offset, surface->resource,
                surface->desc.subresource, NULL);
    /* A copy reports nothing; the loss of the device is seen here or by the map that waits for the copy. */
    return d3d1x_check(calls, "CopySubresourceRegion", calls->removed_reason(surface->device));
}

bool d3d1x_map(const struct d3d1x_calls *calls, struct surface *surface, struct mapped_surface *mapped)
{
    struct d3d1x_level level = {0};
    if (!d3d1x_check(calls, "Map (staging)",
                     calls->map(surface->device, &surface->desc, surface->staging, 0, D3D11_MAP_READ_WRITE, &level)))
        return false;
    *mapped = dxgi_mapped_plane(&surface->desc, (char *)level.data + surface->staging_offset, level.row_pitch,
                                level.depth_pitch);
    return true;
}

void d3d1x_unmap(const struct d3d1x_calls *calls, struct surface *surface)
{
    calls->unmap(surface->device, &surface->desc, surface->staging, 0);
}

/* The GPU can't write to a dynamic resource, so the CPU does: the whole level, as DISCARD demands. */
static bool store_dynamic(const struct d3d1x_calls *calls, struct surface *surface)
{
    const struct surface_desc *desc = &surface->desc;
    struct d3d1x_level from = {0}, to = {0};
    if (!d3d1x_check(calls, "Map (staging)",
                     calls->map(surface->device, desc, surface->staging, 0, D3D11_MAP_READ, &from)))
        return false;
    const bool mapped = d3d1x_check(
        calls, "Map (dynamic resource)",
        calls->map(surface->device, desc, surface->resource, desc->subresource, D3D11_MAP_WRITE_DISCARD, &to));
    if (mapped) {
        dxgi_copy_level(desc, to.data, to.row_pitch, to.depth_pitch, (char *)from.data + surface->staging_offset,
                        from.row_pitch, from.depth_pitch);
        calls->unmap(surface->device, desc, surface->resource, desc->subresource);
    }
    calls->unmap(surface->device, desc, surface->staging, 0);
    return mapped;
}

bool d3d1x_store(const struct d3d1x_calls *calls, struct surface *surface)
{
    const D3D11_BOX part = {surface->staging_offset, 0, 0, surface->staging_offset + surface->desc.width, 1, 1};
    bool done = true;
    d3d1x_unmap(calls, surface);
    if (surface->desc.dynamic)
        done = store_dynamic(calls, surface);
    else
        calls->copy(surface->device, surface->resource, surface->desc.subresource, 0, surface->staging, 0,
                    surface->staging_padding ? &part : NULL);
    calls->flush(surface->device);
    return done && d3d1x_check(calls, "CopySubresourceRegion", calls->removed_reason(surface->device));
}
