/* Private data: what programs hang on objects under a GUID. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

struct fake_private {
    struct fake_private *next;
    GUID guid;
    IUnknown *held; /* the data is this interface, with a reference */
    UINT size;
    unsigned char bytes[];
};

/* Guards the private data of all objects. */
static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;

static struct fake_private **find_locked(struct fake_object *object, REFGUID guid)
{
    struct fake_private **at = &object->private_data;

    while (*at && !IsEqualGUID(&(*at)->guid, guid))
        at = &(*at)->next;
    return at;
}

static void destroy(struct fake_private *entry)
{
    if (entry && entry->held)
        IUnknown_Release(entry->held);
    free(entry);
}

HRESULT fake_private_get(struct fake_object *object, enum fake_method method, REFGUID guid, UINT *size, void *data)
{
    HRESULT hr = fake_touch(object, method);
    struct fake_private *entry;
    UINT room;

    if (FAILED(hr))
        return hr;
    if (!size)
        return E_INVALIDARG;
    room = *size;
    pthread_mutex_lock(&private_lock);
    entry = *find_locked(object, guid);
    *size = entry ? entry->size : 0;
    if (!entry) {
        hr = DXGI_ERROR_NOT_FOUND;
    } else if (data && room < entry->size) {
        hr = DXGI_ERROR_MORE_DATA;
    } else if (data) {
        memcpy(data, entry->bytes, entry->size);
        if (entry->held)
            IUnknown_AddRef(entry->held);
    }
    pthread_mutex_unlock(&private_lock);
    return hr;
}

static HRESULT set(struct fake_object *object, REFGUID guid, UINT size, const void *data, IUnknown *held)
{
    struct fake_private *entry = NULL, *old, **at;

    if (data) {
        entry = malloc(sizeof *entry + size);
        if (!entry)
            return E_OUTOFMEMORY;
        entry->next = NULL;
        entry->guid = *guid;
        entry->held = held;
        entry->size = size;
        memcpy(entry->bytes, data, size);
        if (held)
            IUnknown_AddRef(held);
    }
    pthread_mutex_lock(&private_lock);
    at = find_locked(object, guid);
    old = *at;
    if (old)
        *at = old->next;
    if (entry) {
        entry->next = object->private_data;
        object->private_data = entry;
    }
    pthread_mutex_unlock(&private_lock);
    destroy(old); /* may run code of the program */
    return S_OK;
}

HRESULT fake_private_set(struct fake_object *object, enum fake_method method, REFGUID guid, UINT size, const void *data)
{
    HRESULT hr = fake_touch(object, method);

    return FAILED(hr) ? hr : set(object, guid, size, data, NULL);
}

HRESULT fake_private_set_interface(struct fake_object *object, enum fake_method method, REFGUID guid,
                                   const IUnknown *data)
{
    HRESULT hr = fake_touch(object, method);

    if (FAILED(hr))
        return hr;
    return set(object, guid, sizeof data, data ? &data : NULL, (IUnknown *)data);
}

void fake_private_clear(struct fake_object *object)
{
    while (object->private_data) {
        struct fake_private *entry = object->private_data;

        object->private_data = entry->next;
        destroy(entry);
    }
}
