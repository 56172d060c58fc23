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
    /* An object that has other faces too (Wine's Direct3D 10 devices) is a Direct3D 11 device only by that face. */
    void *device = com_query_same(object, calls->device);
    if (device && !(calls->creation_flags(device) & D3D11_CREATE_DEVICE_SINGLETHREADED))
        dxgi_protect(device);
    return device;
}

/* ---- what a resource is ---- */

void *d3d1x_owner_of(const struct d3d1x_calls *calls, void *resource)
{
    void *owner = NULL;
    for (int kind = 0; kind < 3 && !owner; kind++) {
        void *same = com_query(resource, calls->kinds[kind]);
        owner = same ? calls->owner(same) : NULL;
        com_release(same);
    }
    return owner;
}

struct resource_facts d3d1x_facts(const struct d3d1x_calls *calls, void *resource, enum surface_kind kind)
{
    D3D11_BUFFER_DESC b = {0};
    D3D11_TEXTURE2D_DESC t = {0};
    D3D11_TEXTURE3D_DESC v = {0};
    switch (kind) {
    case SURFACE_BUFFER:
        calls->buffer_desc(resource, &b);
        return (struct resource_facts){DXGI_FORMAT_UNKNOWN, b.ByteWidth,     1, 1, 1, 1, 1, b.Usage,
                                       b.BindFlags,         b.CPUAccessFlags};
    case SURFACE_IMAGE_2D:
        calls->texture2d_desc(resource, &t);
        return (struct resource_facts){t.Format,    t.Width,         t.Height,           1,
                                       t.MipLevels, t.ArraySize,     t.SampleDesc.Count, t.Usage,
                                       t.BindFlags, t.CPUAccessFlags};
    default:
        calls->texture3d_desc(resource, &v);
        return (struct resource_facts){v.Format, v.Width, v.Height, v.Depth,     v.MipLevels,
                                       1,        1,       v.Usage,  v.BindFlags, v.CPUAccessFlags};
    }
}

HRESULT d3d1x_create(const struct d3d1x_calls *calls, void *device, enum surface_kind kind,
                     const struct resource_facts *f, void **made)
{
    const D3D11_USAGE usage = (D3D11_USAGE)f->usage;
    const D3D11_BUFFER_DESC b = {f->width, usage, f->bind, f->access, 0, 0};
    const D3D11_TEXTURE2D_DESC t = {f->width, f->height, 1, 1, f->format, {1, 0}, usage, f->bind, f->access, 0};
    const D3D11_TEXTURE3D_DESC v = {f->width, f->height, f->depth, 1, f->format, usage, f->bind, f->access, 0};
    return kind == SURFACE_BUFFER     ? calls->create_buffer(device, &b, made)
           : kind == SURFACE_IMAGE_2D ? calls->create_texture2d(device, &t, made)
                                      : calls->create_texture3d(device, &v, made);
}

enum describe_status d3d1x_describe(const struct d3d1x_calls *calls, void *device, void *resource,
                                    enum surface_kind kind, uint32_t index, struct surface_desc *desc, char *why,
                                    size_t why_size)
{
    const struct child_facts child = {calls->kinds[kind], calls->kind_names[kind], calls->owner};
    const enum describe_status status = dxgi_describe_child(&child, device, resource, why, why_size);
    if (status != DESCRIBED)
        return status;
    const struct resource_facts facts = d3d1x_facts(calls, resource, kind);
    return dxgi_describe(&facts, kind, index, desc, why, why_size);
}

/* ---- the staging copy ---- */

bool d3d1x_stage(const struct d3d1x_calls *calls, struct surface *surface)
{
    static const char *const names[] = {"CreateBuffer (staging)", "CreateTexture2D (staging)",
                                        "CreateTexture3D (staging)"};
    const struct surface_desc *desc = &surface->desc;
    const struct resource_facts facts = {
        .format = desc->format ? (DXGI_FORMAT)desc->format->code : DXGI_FORMAT_UNKNOWN,
        .width = dxgi_staging_width(desc) + surface->staging_padding,
        .height = dxgi_staging_height(desc),
        .depth = desc->depth,
        .usage = D3D11_USAGE_STAGING,
        .access = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE,
    };
    return d3d1x_check(calls, names[desc->kind],
                       d3d1x_create(calls, surface->device, desc->kind, &facts, &surface->staging));
}

/* A predicate that the application has set for its own draws applies to copies too. */
void d3d1x_copy(const struct d3d1x_calls *calls, const struct surface *surface, void *to, UINT to_subresource,
                UINT to_x, void *from, UINT from_subresource, const D3D11_BOX *part)
{
    BOOL value = FALSE;
    void *section = dxgi_lock(surface->device); /* no other thread draws meanwhile */
    void *predicate = calls->get_predicate(surface->device, &value);
    if (predicate)
        calls->set_predicate(surface->device, NULL, FALSE);
    calls->copy(surface->device, to, to_subresource, to_x, from, from_subresource, part);
    if (predicate)
        calls->set_predicate(surface->device, predicate, value);
    com_release(predicate);
    dxgi_unlock(section);
}

bool d3d1x_fetch(const struct d3d1x_calls *calls, struct surface *surface)
{
    d3d1x_copy(calls, surface, surface->staging, 0, surface->staging_offset, surface->resource,
               surface->desc.subresource, NULL);
    /* A copy reports nothing; the loss of the device is seen here or by the map that waits for the copy. */
    return d3d1x_check(calls, "CopySubresourceRegion", calls->removed_reason(surface->device));
}

bool d3d1x_map(const struct d3d1x_calls *calls, struct surface *surface, bool write, struct mapped_surface *mapped)
{
    struct d3d1x_level level = {0};
    (void)write;
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
        d3d1x_copy(calls, surface, surface->resource, surface->desc.subresource, 0, surface->staging, 0,
                   surface->staging_padding ? &part : NULL);
    calls->flush(surface->device);
    return done && d3d1x_check(calls, "CopySubresourceRegion", calls->removed_reason(surface->device));
}
