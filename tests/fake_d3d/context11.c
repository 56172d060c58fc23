/* The immediate context of Direct3D 11. */
#include "device11.h"

#include "fake_stubs.h"

static struct fake_device *device_of(ID3D11DeviceContext *iface)
{
    return fake_object_of(iface)->device;
}

static HRESULT STDMETHODCALLTYPE context_Map(ID3D11DeviceContext *iface, ID3D11Resource *target, UINT subresource,
                                             D3D11_MAP type, UINT flags, D3D11_MAPPED_SUBRESOURCE *out)
{
    const char *method = fake_method_name(FAKE_ID3D11DeviceContext_Map);
    struct fake_device *device = device_of(iface);
    struct fake_resource *resource;
    struct fake_view view;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, FAKE_ID3D11DeviceContext_Map, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        resource = fake_resource_check(device, target, method);
        hr = resource ? fake_map(device, resource->store, subresource, type, flags, method, &view) : E_INVALIDARG;
    }
    fake_leave(&call);
    if (out) {
        out->pData = hr == S_OK ? view.base : NULL;
        out->RowPitch = hr == S_OK ? (UINT)view.pitch : 0;
        out->DepthPitch = hr == S_OK ? (UINT)view.slice : 0;
    }
    return hr;
}

static void STDMETHODCALLTYPE context_Unmap(ID3D11DeviceContext *iface, ID3D11Resource *target, UINT subresource)
{
    const char *method = fake_method_name(FAKE_ID3D11DeviceContext_Unmap);
    struct fake_device *device = device_of(iface);
    struct fake_resource *resource;
    struct fake_call call;

    /* A map ends on a lost device too. */
    fake_enter(&call, device, FAKE_ID3D11DeviceContext_Unmap, FAKE_ONE_THREAD);
    resource = fake_resource_check(device, target, method);
    if (resource)
        fake_unmap(resource->store, subresource, method);
    fake_leave(&call);
}

#define NAME(before, after) before##11##after
#define WORKER ID3D11DeviceContext
#define WORK(name) FAKE_ID3D11DeviceContext_##name
#define WORKER_DEVICE(iface) device_of(iface)
#include "work1x.inc"

/* The query of an interface pointer that a program passes, if it is one of this device. */
static struct fake_query *query_check(struct fake_device *device, ID3D11Asynchronous *iface, const char *method)
{
    struct fake_object *object = iface ? fake_object_of(iface) : NULL;

    if (object && (object->class == &fake_query11_class || object->class == &fake_predicate11_class) &&
        object->device == device)
        return (struct fake_query *)object;
    fake_violation("%s: no query of this device", method);
    return NULL;
}

static void STDMETHODCALLTYPE context_Begin(ID3D11DeviceContext *iface, ID3D11Asynchronous *async)
{
    const char *method = fake_method_name(FAKE_ID3D11DeviceContext_Begin);
    struct fake_query *query;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device_of(iface), FAKE_ID3D11DeviceContext_Begin, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        query = query_check(call.device, async, method);
        if (query)
            fake_query_begin(query, method);
    }
    fake_leave(&call);
}

static void STDMETHODCALLTYPE context_End(ID3D11DeviceContext *iface, ID3D11Asynchronous *async)
{
    struct fake_query *query;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device_of(iface), FAKE_ID3D11DeviceContext_End, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        query = query_check(call.device, async, fake_method_name(FAKE_ID3D11DeviceContext_End));
        if (query)
            fake_query_end(query);
    }
    fake_leave(&call);
}

static HRESULT STDMETHODCALLTYPE context_GetData(ID3D11DeviceContext *iface, ID3D11Asynchronous *async, void *data,
                                                 UINT size, UINT flags)
{
    bool may_flush = !(flags & D3D11_ASYNC_GETDATA_DONOTFLUSH);
    struct fake_query *query;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device_of(iface), FAKE_ID3D11DeviceContext_GetData, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr)) {
        query = query_check(call.device, async, fake_method_name(FAKE_ID3D11DeviceContext_GetData));
        hr = query ? fake_query_data(query, data, size, may_flush) : E_INVALIDARG;
    }
    fake_leave(&call);
    return hr;
}

static const ID3D11DeviceContextVtbl context_vtbl = {
    FAKE_STUBS_ID3D11DeviceContext,
    .Map = context_Map,
    .Unmap = context_Unmap,
    .CopyResource = work_CopyResource,
    .CopySubresourceRegion = work_CopySubresourceRegion,
    .UpdateSubresource = work_UpdateSubresource,
    .Flush = work_Flush,
    .SetPredication = work_SetPredication,
    .GetPredication = work_GetPredication,
    .Begin = context_Begin,
    .End = context_End,
    .GetData = context_GetData,
};

static const struct fake_iid context_ifaces[] = {
    {&IID_IUnknown, offsetof(struct fake_context11, face)},
    {&IID_ID3D11DeviceChild, offsetof(struct fake_context11, face)},
    {&IID_ID3D11DeviceContext, offsetof(struct fake_context11, face)},
    {&IID_ID3D10Multithread, offsetof(struct fake_context11, multithread)},
    {NULL, 0},
};

static const struct fake_class context_class = {"ID3D11DeviceContext", context_ifaces, NULL, false};

void fake_context11_init(struct fake_context11 *context, struct fake_device11 *device)
{
    context->face.i.lpVtbl = (ID3D11DeviceContextVtbl *)&context_vtbl;
    context->face.object = &context->object;
    fake_multithread_init(&context->multithread, &context->object);
    fake_object_init_embedded(&context->object, sizeof *context, &context_class, &device->base);
}
