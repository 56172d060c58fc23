/* The rules of Map and Unmap, which Direct3D 10 and 11 share. */
#include "fake_internal.h"

static bool map_allowed(const struct fake_desc *desc, D3D11_MAP type)
{
    bool staging = desc->usage == D3D11_USAGE_STAGING, dynamic = desc->usage == D3D11_USAGE_DYNAMIC;
    bool may_read = desc->cpu & D3D11_CPU_ACCESS_READ, may_write = desc->cpu & D3D11_CPU_ACCESS_WRITE;

    if (desc->samples > 1)
        return false;
    switch (type) {
    case D3D11_MAP_READ: return staging && may_read;
    case D3D11_MAP_WRITE: return staging && may_write;
    case D3D11_MAP_READ_WRITE: return staging && may_read && may_write;
    case D3D11_MAP_WRITE_DISCARD: return dynamic;
    case D3D11_MAP_WRITE_NO_OVERWRITE:
        return dynamic && desc->kind == FAKE_BUFFER && !(desc->bind & D3D11_BIND_CONSTANT_BUFFER);
    default: return false;
    }
}

/* Pending work and the map: a reader waits for writers, a writer for everyone; a discarding one
 * gets new memory, and one that promises not to overwrite is believed. */
static HRESULT wait_for_work(struct fake_device *device, struct fake_store *store, D3D11_MAP type, bool may_wait)
{
    if (type == D3D11_MAP_WRITE_NO_OVERWRITE)
        return S_OK;
    if (type == D3D11_MAP_WRITE_DISCARD) {
        fake_queue_detach(device, store);
        return S_OK;
    }
    return fake_queue_wait(device, store, type != D3D11_MAP_READ, may_wait);
}

HRESULT fake_map(struct fake_device *device, struct fake_store *store, unsigned subresource, D3D11_MAP type,
                 unsigned flags, const char *method, struct fake_view *view)
{
    bool may_wait = !(flags & D3D11_MAP_FLAG_DO_NOT_WAIT);
    bool discard = type == D3D11_MAP_WRITE_DISCARD;
    bool reads = type == D3D11_MAP_READ || type == D3D11_MAP_READ_WRITE;
    HRESULT hr;

    if (subresource >= store->count || !map_allowed(&store->desc, type))
        return E_INVALIDARG;
    if (!may_wait && (discard || type == D3D11_MAP_WRITE_NO_OVERWRITE))
        return E_INVALIDARG;
    if (store->subresources[subresource].map) {
        fake_violation("%s: subresource %u is already mapped", method, subresource);
        return E_INVALIDARG;
    }
    hr = wait_for_work(device, store, type, may_wait);
    if (hr != S_OK)
        return hr;
    fake_store_map(store, subresource, reads, type != D3D11_MAP_READ, discard, method);
    *view = store->subresources[subresource].map_view;
    return S_OK;
}

void fake_unmap(struct fake_store *store, unsigned subresource, const char *method)
{
    if (subresource >= store->count || !store->subresources[subresource].map)
        fake_violation("%s: subresource %u is not mapped", method, subresource);
    else
        fake_store_unmap(store, subresource, method);
}
