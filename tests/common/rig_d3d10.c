#include "rig_d3d.h"

#include <CL/cl_d3d10.h>

static HRESULT open(UINT flags, void **device)
{
    return D3D10CreateDevice(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, flags, D3D10_SDK_VERSION, (ID3D10Device **)device);
}

/* What has the commands: the device itself. With a reference. */
#define CONTEXT ID3D10Device
#define COMMAND(name) ID3D10Device_##name

static ID3D10Device *context_of(void *device)
{
    IUnknown_AddRef((IUnknown *)device);
    return device;
}

/* A rig_desc has Direct3D 11's flags. All have the same value here except two. */
static UINT misc_flags(UINT misc)
{
    UINT result = misc & ~(UINT)(D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX | D3D11_RESOURCE_MISC_GDI_COMPATIBLE);
    if (misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)
        result |= D3D10_RESOURCE_MISC_SHARED_KEYEDMUTEX;
    if (misc & D3D11_RESOURCE_MISC_GDI_COMPATIBLE)
        result |= D3D10_RESOURCE_MISC_GDI_COMPATIBLE;
    return result;
}

static HRESULT map(void *device, void *resource, const struct rig_desc *desc, UINT subresource, enum rig_map mode,
                   struct rig_rows *mapped)
{
    static const D3D10_MAP modes[] = {D3D10_MAP_READ, D3D10_MAP_WRITE, D3D10_MAP_WRITE_DISCARD};
    HRESULT result;
    (void)device;
    if (!desc->height) {
        void *data = NULL;
        result = ID3D10Buffer_Map((ID3D10Buffer *)resource, modes[mode], 0, &data);
        *mapped = (struct rig_rows){data, desc->width, desc->width};
    } else if (desc->depth) {
        D3D10_MAPPED_TEXTURE3D m = {0};
        result = ID3D10Texture3D_Map((ID3D10Texture3D *)resource, subresource, modes[mode], 0, &m);
        *mapped = (struct rig_rows){m.pData, m.RowPitch, m.DepthPitch};
    } else {
        D3D10_MAPPED_TEXTURE2D m = {0};
        result = ID3D10Texture2D_Map((ID3D10Texture2D *)resource, subresource, modes[mode], 0, &m);
        *mapped = (struct rig_rows){m.pData, m.RowPitch, 0};
    }
    return result;
}

static void unmap(void *device, void *resource, const struct rig_desc *desc, UINT subresource)
{
    (void)device;
    if (!desc->height)
        ID3D10Buffer_Unmap((ID3D10Buffer *)resource);
    else if (desc->depth)
        ID3D10Texture3D_Unmap((ID3D10Texture3D *)resource, subresource);
    else
        ID3D10Texture2D_Unmap((ID3D10Texture2D *)resource, subresource);
}

static HRESULT finish(void *device)
{
    static const D3D10_QUERY_DESC desc = {D3D10_QUERY_EVENT, 0};
    ID3D10Query *query = NULL;
    HRESULT result = ID3D10Device_CreateQuery((ID3D10Device *)device, &desc, &query);
    if (FAILED(result))
        return result;
    BOOL reached = FALSE;
    ID3D10Query_End(query);
    do
        result = ID3D10Query_GetData(query, &reached, sizeof(reached), 0);
    while (result == S_FALSE);
    ID3D10Query_Release(query);
    return result;
}

#define VERSION 10
#define MISC(flags) misc_flags(flags)
#include "rig_d3d1x.inc"
