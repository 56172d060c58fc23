/* What the resources of Direct3D 10 and 11 have in common. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

/* An object on a store, whose reference it takes over. */
static struct fake_resource *create(struct fake_device *device, const struct fake_resource_type *type,
                                    struct fake_store *store)
{
    struct fake_resource *resource = fake_alloc(sizeof *resource);

    resource->face = fake_face(type->vtbl, &resource->object);
    resource->dxgi = fake_face(&fake_dxgi_resource_vtbl, &resource->object);
    resource->keyed = fake_face(&fake_keyed_mutex_vtbl, &resource->object);
    resource->interop = fake_face(&fake_interop_vtbl, &resource->object);
    resource->store = store;
    fake_object_init(&resource->object, sizeof *resource, type->class, device);
    return resource;
}

static bool data_complete(const struct fake_desc *desc, const D3D11_SUBRESOURCE_DATA *data)
{
    unsigned i;

    for (i = 0; data && i < desc->mips * desc->layers; i++)
        if (!data[i].pSysMem)
            return false;
    return true;
}

HRESULT fake_resource_make(struct fake_device *device, const struct fake_resource_type *type, struct fake_desc *desc,
                           const D3D11_SUBRESOURCE_DATA *data, void **out)
{
    HRESULT hr = fake_desc_check(desc, data != NULL, type->max_size);

    if (FAILED(hr))
        return hr;
    if (!data_complete(desc, data))
        return E_INVALIDARG;
    if (!out)
        return S_FALSE;
    *out = &create(device, type, fake_store_create(desc, data))->face;
    return S_OK;
}

HRESULT fake_resource_open(struct fake_device *device, const struct fake_resource_type *types, HANDLE handle, bool nt,
                           REFIID iid, void **out)
{
    struct fake_store *store = fake_handle_open(handle);
    struct fake_resource *resource;
    const struct fake_iid *entry;

    if (!store || store->desc.kind == FAKE_SURFACE9 ||
        nt != !!(store->desc.misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE)) {
        fake_store_release(store);
        return E_INVALIDARG;
    }
    resource = create(device, &types[store->desc.kind], store);
    for (entry = resource->object.class->ifaces; entry->iid; entry++) {
        if (!IsEqualGUID(entry->iid, iid))
            continue;
        *out = (char *)resource + entry->offset;
        return S_OK;
    }
    fake_object_unref(&resource->object);
    return E_NOINTERFACE;
}

void fake_resource_destroy(struct fake_object *object)
{
    struct fake_resource *resource = (struct fake_resource *)object;

    fake_store_release(resource->store);
    free(resource);
}

struct fake_resource *fake_resource_of(const void *iface)
{
    return (struct fake_resource *)fake_object_of(iface);
}

struct fake_resource *fake_resource_check(struct fake_device *device, const void *iface, const char *method)
{
    struct fake_resource *resource;

    if (!iface) {
        fake_violation("%s: no resource", method);
        return NULL;
    }
    resource = fake_resource_of(iface);
    if (resource->object.device != device) {
        fake_violation("%s: a resource of another device", method);
        return NULL;
    }
    return resource;
}

struct fake_store *fake_object_store(struct fake_object *object, unsigned *subresource)
{
    if (object->class->destroy == fake_resource_destroy)
        return ((struct fake_resource *)object)->store;
    return fake_surface9_store(object, subresource);
}

size_t fake_d3d_peek(void *iface, unsigned subresource, void *bytes, size_t size)
{
    struct fake_object *object = fake_object_find(iface);
    struct fake_store *store = object ? fake_object_store(object, &subresource) : NULL;
    size_t needed = 0;

    if (store && subresource < store->count) {
        const struct fake_subresource *sub = &store->subresources[subresource];
        struct fake_device *device = object->device;

        needed = sub->view.slice * sub->depth;
        pthread_mutex_lock(&device->lock);
        fake_queue_advance(device);
        pthread_mutex_lock(&fake_shared_lock);
        if (size >= needed)
            memcpy(bytes, sub->view.base, needed);
        pthread_mutex_unlock(&fake_shared_lock);
        pthread_mutex_unlock(&device->lock);
    }
    if (object)
        fake_object_unref(object);
    return needed;
}
