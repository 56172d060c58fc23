/* What a context of Direct3D 11 does, and in Direct3D 10 the device or the object itself. */
#include "d3d1x.h"

void ENTERED(work_copy_region, const void *target, UINT target_subresource, UINT x, UINT y, UINT z, const void *source,
             UINT source_subresource, const void *box)
{
    const char *name = fake_method_name(method);
    struct fake_resource *to = fake_resource_check(device, target, name),
                         *from = fake_resource_check(device, source, name);
    struct fake_copy copy = {
        .target_subresource = target_subresource, .source_subresource = source_subresource, .x = x, .y = y, .z = z};

    if (!to || !from)
        return;
    copy.target = to->store;
    copy.source = from->store;
    fake_copy_region(device, &copy, box, name);
}

void ENTERED(work_update, const void *target, UINT subresource, const void *box, const void *data, UINT pitch,
             UINT slice)
{
    const char *name = fake_method_name(method);
    struct fake_resource *to = fake_resource_check(device, target, name);

    if (to)
        fake_update(device, to->store, subresource, box, data, pitch, slice, name);
}

void ENTERED0(work_flush)
{
    (void)method;
    fake_queue_submit(device);
}

void ENTERED(work_set_predication, const void *predicate, BOOL value)
{
    (void)method;
    device->predicate = predicate ? (struct fake_query *)fake_object_of(predicate) : NULL;
    device->predicate_value = value;
}

void FORWARD(work_get_predication, void *predicate, BOOL *value)
{
    struct fake_call call;
    HRESULT hr = fake_enter1x(&call, object, method);
    struct fake_query *set = SUCCEEDED(hr) ? call.device->predicate : NULL;

    *(void **)predicate = set ? &set->face : NULL;
    *value = call.device->predicate_value;
    if (set)
        fake_object_add_ref(&set->object);
    fake_leave(&call);
}

/* ---- maps ---- */

/* On anything but S_OK the view is all zero. */
static HRESULT map(struct fake_object *object, enum fake_method method, const void *target, UINT subresource,
                   unsigned type, UINT flags, struct fake_view *view)
{
    const char *name = fake_method_name(method);
    struct fake_resource *resource;
    struct fake_call call;
    HRESULT hr = fake_enter1x(&call, object, method);

    *view = (struct fake_view){NULL, 0, 0};
    if (SUCCEEDED(hr)) {
        resource = fake_resource_check(call.device, target, name);
        hr = resource ? fake_map(call.device, resource->store, subresource, (D3D11_MAP)type, flags, name, view)
                      : E_INVALIDARG;
    }
    if (hr != S_OK)
        *view = (struct fake_view){NULL, 0, 0};
    fake_leave(&call);
    return hr;
}

HRESULT FORWARD(work_map, const void *target, UINT subresource, D3D11_MAP type, UINT flags,
                D3D11_MAPPED_SUBRESOURCE *out)
{
    struct fake_view view;
    const HRESULT hr = map(object, method, target, subresource, type, flags, &view);

    if (out)
        *out = (D3D11_MAPPED_SUBRESOURCE){view.base, (UINT)view.pitch, (UINT)view.slice};
    return hr;
}

/* A map ends on a lost device too. */
void FORWARD(work_unmap, const void *target, UINT subresource)
{
    const char *name = fake_method_name(method);
    struct fake_resource *resource;
    struct fake_call call;

    fake_enter1x(&call, object, method);
    resource = fake_resource_check(call.device, target, name);
    if (resource)
        fake_unmap(resource->store, subresource, name);
    fake_leave(&call);
}

static const void *self(struct fake_object *object)
{
    return &((struct fake_resource *)object)->face;
}

HRESULT FORWARD(map_buffer, D3D10_MAP type, UINT flags, void **out)
{
    struct fake_view view;
    const HRESULT hr = map(object, method, self(object), 0, type, flags, &view);

    *out = view.base;
    return hr;
}

HRESULT FORWARD(map_texture2d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE2D *out)
{
    struct fake_view view;
    const HRESULT hr = map(object, method, self(object), subresource, type, flags, &view);

    *out = (D3D10_MAPPED_TEXTURE2D){view.base, (UINT)view.pitch};
    return hr;
}

HRESULT FORWARD(map_texture3d, UINT subresource, D3D10_MAP type, UINT flags, D3D10_MAPPED_TEXTURE3D *out)
{
    struct fake_view view;
    const HRESULT hr = map(object, method, self(object), subresource, type, flags, &view);

    *out = (D3D10_MAPPED_TEXTURE3D){view.base, (UINT)view.pitch, (UINT)view.slice};
    return hr;
}

void FORWARD0(unmap_buffer)
{
    fake_work_unmap(object, method, self(object), 0);
}

void FORWARD(unmap_texture, UINT subresource)
{
    fake_work_unmap(object, method, self(object), subresource);
}

/* ---- queries ---- */

/* The query of an interface pointer that a program passes, if it is one of this device. */
static struct fake_query *query_check(struct fake_device *device, const void *iface, enum fake_method method)
{
    struct fake_object *object = iface ? fake_object_of(iface) : NULL;

    if (object && object->class->destroy == fake_query_destroy && object->device == device)
        return (struct fake_query *)object;
    fake_violation("%s: no query of this device", fake_method_name(method));
    return NULL;
}

void ENTERED(work_begin, const void *query)
{
    struct fake_query *checked = query_check(device, query, method);

    if (checked)
        fake_query_begin(checked, fake_method_name(method));
}

void ENTERED(work_end, const void *query)
{
    struct fake_query *checked = query_check(device, query, method);

    if (checked)
        fake_query_end(checked);
}

HRESULT ENTERED(work_data, const void *query, void *data, UINT size, UINT flags)
{
    struct fake_query *checked = query_check(device, query, method);

    return checked ? fake_query_data(checked, data, size, !(flags & D3D11_ASYNC_GETDATA_DONOTFLUSH)) : E_INVALIDARG;
}
