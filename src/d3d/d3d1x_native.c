/* Textures and buffers of Direct3D 10 and 11 as Vulkan objects, and waits for the device. */
#include "d3d/d3d1x.h"

#include "d3d/dxgi.h"
#include "d3d/dxvk.h"
#include "d3d/formats.h"

/* The buffers of a swap chain change places when it presents. */
static bool of_swap_chain(void *resource)
{
    IDXGIResource *dxgi = com_query(resource, &IID_IDXGIResource);
    DXGI_USAGE usage = 0;
    const bool known = dxgi && SUCCEEDED(IDXGIResource_GetUsage(dxgi, &usage));
    com_release(dxgi);
    return known && (usage & DXGI_USAGE_BACK_BUFFER);
}

bool d3d1x_find(const struct d3d1x_calls *calls, const struct surface *surface, struct native_place *place, char *why,
                size_t why_size)
{
    const struct surface_desc *desc = &surface->desc;
    const struct resource_facts facts = d3d1x_facts(calls, surface->resource, desc->kind);
    uint64_t size = 0;
    *place = (struct native_place){0};
    if (facts.usage != D3D11_USAGE_DEFAULT || facts.access || facts.levels == 0)
        return native_refuse(why, why_size, "the CPU may map the resource, so its contents may be elsewhere");
    if (desc->kind == SURFACE_BUFFER) {
        place->address = dxvk_buffer_address(surface->device, surface->resource, &size);
        return (place->address && size >= desc->width) ||
               native_refuse(why, why_size, "Direct3D does not report the addresses of its buffers");
    }
    if (of_swap_chain(surface->resource))
        return native_refuse(why, why_size, "the texture is a buffer of a swap chain");
    place->image = dxvk_image(surface->device, surface->resource, &place->layout);
    place->level = desc->subresource % facts.levels;
    place->layer = desc->subresource / facts.levels;
    place->sampled_levels =
        facts.levels > 1 && !(facts.bind & (D3D11_BIND_RENDER_TARGET | D3D11_BIND_UNORDERED_ACCESS));
    if (!place->image || !dxvk_queue_family(surface->device, &place->family))
        return native_refuse(why, why_size, "this Direct3D does not run on Vulkan, or does not report its images");
    return true;
}

bool d3d1x_find_again(const struct surface *surface, struct native_place *place)
{
    uint64_t size;
    if (surface->desc.kind == SURFACE_BUFFER) {
        place->address = dxvk_buffer_address(surface->device, surface->resource, &size);
        return place->address != 0;
    }
    place->image = dxvk_image(surface->device, surface->resource, &place->layout);
    return place->image != 0;
}

bool d3d1x_alive(const struct d3d1x_calls *calls, const struct surface *surface)
{
    return d3d1x_check(calls, "GetDeviceRemovedReason", calls->removed_reason(surface->device));
}

bool d3d1x_finish(const struct d3d1x_calls *calls, const struct surface *surface)
{
    void *query = NULL;
    if (!d3d1x_check(calls, "CreateQuery (event)", calls->end_event(surface->device, &query)))
        return false;
    const bool done = dxvk_wait(calls->reached, query);
    com_release(query);
    /* A query may end well on a device that is lost. */
    return d3d1x_alive(calls, surface) && (done || d3d1x_check(calls, "GetData (event)", E_FAIL));
}

bool d3d1x_submit(const struct d3d1x_calls *calls, const struct surface *surface)
{
    return dxvk_submit(surface->device) && d3d1x_alive(calls, surface);
}

/* ---- a copy of the surface's own ---- */

bool d3d1x_flush_deferred(const struct surface *surface, const struct native_place *place)
{
    return dxvk_flush_deferred(surface->device, surface->resource, place->level, place->layer);
}

bool d3d1x_make_copy(const struct d3d1x_calls *calls, const struct surface *surface, struct surface *copy)
{
    const struct surface_desc *desc = &surface->desc;
    *copy = (struct surface){.api = surface->api, .device = surface->device, .desc = *desc};
    copy->desc.subresource = 0;
    if (desc->kind == SURFACE_BUFFER || desc->dynamic || desc->whole_level)
        return false;
    const struct resource_facts facts = {.format = (DXGI_FORMAT)desc->format->code,
                                         .width = desc->width,
                                         .height = desc->height,
                                         .depth = desc->depth,
                                         .bind = D3D11_BIND_SHADER_RESOURCE};
    return d3d1x_check(calls, "CreateTexture (copy)",
                       d3d1x_create(calls, surface->device, desc->kind, &facts, &copy->resource));
}

bool d3d1x_copy_from(const struct d3d1x_calls *calls, const struct surface *surface, const struct surface *copy)
{
    d3d1x_copy(calls, surface, copy->resource, 0, 0, surface->resource, surface->desc.subresource, NULL);
    return d3d1x_alive(calls, surface);
}

bool d3d1x_copy_back(const struct d3d1x_calls *calls, const struct surface *surface, const struct surface *copy)
{
    d3d1x_copy(calls, surface, surface->resource, surface->desc.subresource, 0, copy->resource, 0, NULL);
    calls->flush(surface->device);
    return d3d1x_alive(calls, surface);
}

/* ---- the probe ---- */

void *d3d1x_make_probe(const struct d3d1x_calls *calls, void *device, uint64_t *image)
{
    const struct resource_facts facts = {.format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                         .width = PROBE_SIZE,
                                         .height = PROBE_SIZE,
                                         .bind = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET};
    void *texture = NULL;
    uint32_t layout;
    *image = 0;
    if (FAILED(d3d1x_create(calls, device, SURFACE_IMAGE_2D, &facts, &texture)))
        return NULL;
    *image = dxvk_image(device, texture, &layout);
    if (*image)
        return texture;
    com_release(texture);
    return NULL;
}
