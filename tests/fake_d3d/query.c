/* Event queries, the same in all versions. */
#include "fake_internal.h"

#include <stdlib.h>

struct fake_query *fake_query_create(struct fake_device *device, const struct fake_class *class, unsigned type,
                                     unsigned misc)
{
    struct fake_query *query = fake_alloc(sizeof *query);

    query->type = type;
    query->misc = misc;
    query->face.object = &query->object;
    fake_object_init(&query->object, sizeof *query, class, device);
    return query;
}

void fake_query_destroy(struct fake_object *object)
{
    free(object);
}

void fake_query_begin(struct fake_query *query, const char *method)
{
    if (!query->predicate)
        fake_violation("%s: an event query has no beginning", method);
}

void fake_query_end(struct fake_query *query)
{
    query->number = fake_queue_mark(query->object.device);
    query->ended = true;
}

HRESULT fake_query_data(struct fake_query *query, void *data, unsigned size, bool may_flush)
{
    struct fake_device *device = query->object.device;

    if (size && (size != sizeof(BOOL) || !data))
        return E_INVALIDARG;
    if (!query->ended)
        return DXGI_ERROR_INVALID_CALL;
    if (may_flush && device->completed < query->number) {
        fake_queue_submit(device);
        fake_queue_advance(device);
    }
    if (device->completed < query->number)
        return S_FALSE;
    if (size)
        *(BOOL *)data = TRUE;
    return S_OK;
}
