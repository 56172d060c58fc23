/* The resources and queries of Direct3D 10, which have methods of their own for maps and for what a context does in
 * Direct3D 11. */
#include "device10.h"

#include "fake_stubs.h"

static const struct {
    unsigned misc10, misc11;
} misc_flags[] = {
    {D3D10_RESOURCE_MISC_GENERATE_MIPS, D3D11_RESOURCE_MISC_GENERATE_MIPS},
    {D3D10_RESOURCE_MISC_SHARED, D3D11_RESOURCE_MISC_SHARED},
    {D3D10_RESOURCE_MISC_TEXTURECUBE, D3D11_RESOURCE_MISC_TEXTURECUBE},
    {D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX, D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX},
    {D3D10_RESOURCE_MISC_GDI_COMPATIBLE, D3D11_RESOURCE_MISC_GDI_COMPATIBLE},
};

#define MISC_FLAGS (sizeof misc_flags / sizeof misc_flags[0])

unsigned fake_misc_from10(unsigned misc)
{
    unsigned result = 0;
    size_t i;

    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc10 ? misc_flags[i].misc11 : 0;
    return result;
}

unsigned fake_misc_to10(unsigned misc)
{
    unsigned result = 0;
    size_t i;

    for (i = 0; i < MISC_FLAGS; i++)
        result |= misc & misc_flags[i].misc11 ? misc_flags[i].misc10 : 0;
    return result;
}

/* ---- Maps ---- */

/* On anything but S_OK the view is all zero. */
static HRESULT map(const void *iface, enum fake_method method, UINT subresource, D3D10_MAP type, UINT flags,
                   struct fake_view *view)
{
    struct fake_resource *resource = fake_resource_of(iface);
    struct fake_device *device = resource->object.device;
    struct fake_call call;
    HRESULT hr = fake_enter(&call, device, method, FAKE_ONE_THREAD);

    *view = (struct fake_view){NULL, 0, 0};
    if (SUCCEEDED(hr))
        hr = fake_map(device, resource->store, subresource, (D3D11_MAP)type, flags, fake_method_name(method), view);
    fake_leave(&call);
    return hr;
}

static void unmap(const void *iface, enum fake_method method, UINT subresource)
{
    struct fake_resource *resource = fake_resource_of(iface);
    struct fake_call call;

    /* A map ends on a lost device too. */
    fake_enter(&call, resource->object.device, method, FAKE_ONE_THREAD);
    fake_unmap(resource->store, subresource, fake_method_name(method));
    fake_leave(&call);
}

static HRESULT STDMETHODCALLTYPE buffer_Map(ID3D10Buffer *iface, D3D10_MAP type, UINT flags, void **out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Buffer_Map, 0, type, flags, &view);

    *out = view.base;
    return hr;
}

static void STDMETHODCALLTYPE buffer_Unmap(ID3D10Buffer *iface)
{
    unmap(iface, FAKE_ID3D10Buffer_Unmap, 0);
}

static HRESULT STDMETHODCALLTYPE texture2d_Map(ID3D10Texture2D *iface, UINT subresource, D3D10_MAP type, UINT flags,
                                               D3D10_MAPPED_TEXTURE2D *out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Texture2D_Map, subresource, type, flags, &view);

    out->pData = view.base;
    out->RowPitch = (UINT)view.pitch;
    return hr;
}

static void STDMETHODCALLTYPE texture2d_Unmap(ID3D10Texture2D *iface, UINT subresource)
{
    unmap(iface, FAKE_ID3D10Texture2D_Unmap, subresource);
}

static HRESULT STDMETHODCALLTYPE texture3d_Map(ID3D10Texture3D *iface, UINT subresource, D3D10_MAP type, UINT flags,
                                               D3D10_MAPPED_TEXTURE3D *out)
{
    struct fake_view view;
    HRESULT hr = map(iface, FAKE_ID3D10Texture3D_Map, subresource, type, flags, &view);

    out->pData = view.base;
    out->RowPitch = (UINT)view.pitch;
    out->DepthPitch = (UINT)view.slice;
    return hr;
}

static void STDMETHODCALLTYPE texture3d_Unmap(ID3D10Texture3D *iface, UINT subresource)
{
    unmap(iface, FAKE_ID3D10Texture3D_Unmap, subresource);
}

/* ---- Queries ---- */

static struct fake_query *query_of(ID3D10Query *iface)
{
    return (struct fake_query *)fake_object_of(iface);
}

static void STDMETHODCALLTYPE query_Begin(ID3D10Query *iface)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_Begin, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_query_begin(query, fake_method_name(FAKE_ID3D10Query_Begin));
    fake_leave(&call);
}

static void STDMETHODCALLTYPE query_End(ID3D10Query *iface)
{
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_End, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        fake_query_end(query);
    fake_leave(&call);
}

static HRESULT STDMETHODCALLTYPE query_GetData(ID3D10Query *iface, void *data, UINT size, UINT flags)
{
    bool may_flush = !(flags & D3D10_ASYNC_GETDATA_DONOTFLUSH);
    struct fake_query *query = query_of(iface);
    struct fake_call call;
    HRESULT hr = fake_enter(&call, query->object.device, FAKE_ID3D10Query_GetData, FAKE_ONE_THREAD);

    if (SUCCEEDED(hr))
        hr = fake_query_data(query, data, size, may_flush);
    fake_leave(&call);
    return hr;
}

#define NAME(before, after) before##10##after
#define AS_TEXT(name) "ID3D10" name
#define MISC(flags) fake_misc_to10(flags)
#define LARGEST 8192
#define MAPS(kind) .Map = kind##_Map, .Unmap = kind##_Unmap,
#define MORE_OF_BUFFER
#define MORE_OF_QUERY .Begin = query_Begin, .End = query_End, .GetData = query_GetData,
#include "resource1x.inc"
