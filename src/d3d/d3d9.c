/* Direct3D 9, 9Ex and DXVA-HD: video surfaces as cl_khr_dx9_media_sharing shares them. */
#include "d3d/d3d9.h"
#include "d3d/dxgi.h"
#include "d3d/formats.h"

#include <CL/cl_dx9_media_sharing.h>
#include <stdio.h>
#include <string.h>

/* ---- devices ---- */

/* FFmpeg passes plain Direct3D 9 devices as 9Ex devices, so the device itself determines its kind. */
static void *open_device(void *object)
{
    void *device = com_query_same(object, &IID_IDirect3DDevice9);
    return device ? device : com_query_same(object, &IID_IDirect3DDevice9Ex);
}

/* DXVA-HD. Only mingw-w64 has its header. */
static const GUID iid_dxva_device = {0x95f12dfd, 0xd77e, 0x49be, {0x81, 0x5f, 0x57, 0xd5, 0x79, 0x63, 0x4d, 0x6d}};

static void *open_dxva_device(void *object)
{
    return com_query_same(object, &iid_dxva_device);
}

static bool device_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter)
{
    (void)object_is_adapter; /* an adapter is a device here */
    D3DDEVICE_CREATION_PARAMETERS made;
    D3DADAPTER_IDENTIFIER9 identifier;
    IDirect3D9 *d3d = NULL;
    IDirect3DDevice9 *device = com_query(object, &IID_IDirect3DDevice9);
    const bool known =
        device &&
        d3d_check("IDirect3DDevice9::GetCreationParameters", IDirect3DDevice9_GetCreationParameters(device, &made)) &&
        d3d_check("IDirect3DDevice9::GetDirect3D", IDirect3DDevice9_GetDirect3D(device, &d3d)) &&
        d3d_check("IDirect3D9::GetAdapterIdentifier",
                  IDirect3D9_GetAdapterIdentifier(d3d, made.AdapterOrdinal, 0, &identifier));
    if (known) {
        memset(adapter, 0, sizeof(*adapter));
        snprintf(adapter->description, sizeof(adapter->description), "%.255s", identifier.Description);
        adapter->vendor = identifier.VendorId;
        adapter->device = identifier.DeviceId;
        /* DXVK reports the UUID of its Vulkan device here; it presents some cards under another vendor and name.
         * Other implementations report a GUID that is not the UUID of any OpenCL device, so it counts only if it
         * equals one. */
        _Static_assert(sizeof(adapter->gpu.uuid) == sizeof(GUID), "a GUID has the size of a UUID");
        memcpy(adapter->gpu.uuid, &identifier.DeviceIdentifier, sizeof(adapter->gpu.uuid));
        IDirect3D9Ex *ex = com_query(d3d, &IID_IDirect3D9Ex);
        LUID luid;
        if (ex && SUCCEEDED(IDirect3D9Ex_GetAdapterLUID(ex, made.AdapterOrdinal, &luid)))
            memcpy(adapter->luid, &luid, sizeof(adapter->luid));
        com_release(ex);
        adapter->software = dxgi_software(adapter);
    }
    com_release(d3d);
    com_release(device);
    return known;
}

/* A DXVA-HD device does not report the Direct3D 9 device on which it works. */
static bool dxva_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter)
{
    (void)object, (void)object_is_adapter;
    *adapter = (struct d3d_adapter){.description = "DXVA-HD"};
    return true;
}

/* ---- surfaces ---- */

/* Of a DXVA-HD device it is not known. */
static bool of_device(IDirect3DSurface9 *surface, void *device)
{
    IDirect3DDevice9 *owner = d3d9_device_of(surface), *expected = com_query(device, &IID_IDirect3DDevice9);
    const bool same = !expected || (owner && com_identity(owner) == com_identity(expected));
    com_release(expected);
    com_release(owner);
    return same;
}

static enum describe_status describe_surface(const D3DSURFACE_DESC *d, uint32_t plane, struct surface_desc *desc,
                                             char *why, size_t why_size)
{
    if (d->Pool != D3DPOOL_DEFAULT)
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the surface is in pool %d; only those in D3DPOOL_DEFAULT can be shared", (int)d->Pool);
    if (d->MultiSampleType != D3DMULTISAMPLE_NONE)
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the surface is multisampled; share one with a single sample");
    const struct format_row *first = format_from_d3d9(d->Format, 0);
    if (!first)
        return describe_refuse(DESCRIBE_BAD_FORMAT, why, why_size,
                               "D3DFORMAT 0x%x is not in the tables of sharable formats; use one of them",
                               (unsigned)d->Format);
    const struct format_row *format = format_from_d3d9(d->Format, plane);
    if (!format)
        return describe_refuse(DESCRIBE_BAD_SUBRESOURCE, why, why_size, "plane %u is out of range: %s has %u planes",
                               plane, first->name, first->planes);
    if (format_cuts_chroma(format, d->Width, d->Height))
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the surface has %ux%u texels; %s requires an even width and height", (unsigned)d->Width,
                               (unsigned)d->Height, format->name);
    *desc = (struct surface_desc){.kind = SURFACE_IMAGE_2D,
                                  .format = format,
                                  .depth = 1,
                                  .width = d->Width >> format->shift_x,
                                  .height = d->Height >> format->shift_y};
    return DESCRIBED;
}

static enum describe_status describe(void *device, void *resource, enum surface_kind kind, uint32_t plane,
                                     struct surface_desc *desc, char *why, size_t why_size)
{
    (void)kind; /* a surface is a 2D image */
    IDirect3DSurface9 *surface = com_query_same(resource, &IID_IDirect3DSurface9);
    if (!surface)
        return describe_refuse(DESCRIBE_UNFIT, why, why_size, "resource %p is not an IDirect3DSurface9", resource);
    D3DSURFACE_DESC d;
    enum describe_status status = DESCRIBE_UNFIT;
    if (!of_device(surface, device)) {
        snprintf(why, why_size, "the surface belongs to another Direct3D 9 device than the context's");
        status = DESCRIBE_OTHER_DEVICE;
    } else if (!d3d_check("IDirect3DSurface9::GetDesc", IDirect3DSurface9_GetDesc(surface, &d))) {
        snprintf(why, why_size, "the surface's description cannot be obtained");
    } else {
        status = describe_surface(&d, plane, desc, why, why_size);
        if (status == DESCRIBED)
            /* A level of a texture cannot always be locked; other surfaces of the same usage can. */
            desc->staging_kind = (uint32_t)d.Usage << 1 | d3d9_is_in(surface, &IID_IDirect3DBaseTexture9);
    }
    com_release(surface);
    return status;
}

IDirect3DDevice9 *d3d9_device_of(void *resource)
{
    IDirect3DDevice9 *device = NULL;
    if (!d3d_check("IDirect3DSurface9::GetDevice", IDirect3DSurface9_GetDevice((IDirect3DSurface9 *)resource, &device)))
        return NULL;
    return device;
}

static void *owner(void *resource)
{
    IDirect3DSurface9 *surface = com_query_same(resource, &IID_IDirect3DSurface9);
    IDirect3DDevice9 *device = surface ? d3d9_device_of(surface) : NULL;
    com_release(surface);
    return device;
}

/* Shared handles of Direct3D 9Ex are its own numbers, which no Windows function accepts; plain Direct3D 9 has none. */
static bool has_handles(void *resource)
{
    IDirect3DDevice9 *device = d3d9_device_of(resource);
    void *extended = com_query(device, &IID_IDirect3DDevice9Ex);
    com_release(extended);
    com_release(device);
    return extended != NULL;
}

#define OPS(open, find_adapter)                                                             \
    {                                                                                       \
        .open_device = open, .owner = owner, .adapter = find_adapter, .describe = describe, \
        .has_handles = has_handles,                                                         \
    }
static const struct d3d_ops device_ops = OPS(open_device, device_adapter),
                            dxva_ops = OPS(open_dxva_device, dxva_adapter);
#undef OPS

/* The three kinds of adapters differ in two tokens and their operations. */
#define API(title, type, property, operations)                                                                    \
    {                                                                                                             \
        .name = title, .extension = "cl_khr_dx9_media_sharing", .ops = &operations, .staging = &d3d9_staging,     \
        .native = &d3d9_native, .family = FAMILY_DX9, .adapter_type = type, .no_interop = CL_INVALID_OPERATION,   \
        .invalid_device = CL_INVALID_DX9_MEDIA_ADAPTER_KHR, .invalid_resource = CL_INVALID_DX9_MEDIA_SURFACE_KHR, \
        .already_acquired = CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR,                                            \
        .not_acquired = CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR,                                                    \
        .preferred_set = CL_PREFERRED_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR,                                          \
        .all_set = CL_ALL_DEVICES_FOR_DX9_MEDIA_ADAPTER_KHR, .context_device = property,                          \
        .mem_resource = CL_MEM_DX9_MEDIA_SURFACE_INFO_KHR, .mem_adapter_type = CL_MEM_DX9_MEDIA_ADAPTER_TYPE_KHR, \
        .mem_resource_size = 2 * sizeof(void *), .image_subresource = CL_IMAGE_DX9_MEDIA_PLANE_KHR,               \
        .command_acquire = CL_COMMAND_ACQUIRE_DX9_MEDIA_SURFACES_KHR,                                             \
        .command_release = CL_COMMAND_RELEASE_DX9_MEDIA_SURFACES_KHR,                                             \
        .call = {"clGetDeviceIDsFromDX9MediaAdapterKHR", NULL,                                                    \
                 "clCreateFromDX9MediaSurfaceKHR",       NULL,                                                    \
                 "clEnqueueAcquireDX9MediaSurfacesKHR",  "clEnqueueReleaseDX9MediaSurfacesKHR"},                  \
    }
const struct d3d_api d3d9_api = API("Direct3D 9", CL_ADAPTER_D3D9_KHR, CL_CONTEXT_ADAPTER_D3D9_KHR, device_ops);
const struct d3d_api d3d9ex_api = API("Direct3D 9Ex", CL_ADAPTER_D3D9EX_KHR, CL_CONTEXT_ADAPTER_D3D9EX_KHR, device_ops);
const struct d3d_api dxva_api = API("DXVA-HD", CL_ADAPTER_DXVA_KHR, CL_CONTEXT_ADAPTER_DXVA_KHR, dxva_ops);
#undef API

/* The same under Intel's older names, with the rules that differ. Its objects are of one kind, whatever the device. */
#define API(title, source, property, operations)                                                                       \
    {                                                                                                                  \
        .name = title, .extension = "cl_intel_dx9_media_sharing", .ops = &operations, .staging = &d3d9_staging,        \
        .native = &d3d9_native, .family = FAMILY_DX9, .exclusive = true, .no_duplicates = true,                        \
        .no_interop = CL_INVALID_DX9_RESOURCE_INTEL, .invalid_device = CL_INVALID_DX9_DEVICE_INTEL,                    \
        .invalid_resource = CL_INVALID_DX9_RESOURCE_INTEL, .already_acquired = CL_DX9_RESOURCE_ALREADY_ACQUIRED_INTEL, \
        .not_acquired = CL_DX9_RESOURCE_NOT_ACQUIRED_INTEL, .device_source = source,                                   \
        .preferred_set = CL_PREFERRED_DEVICES_FOR_DX9_INTEL, .all_set = CL_ALL_DEVICES_FOR_DX9_INTEL,                  \
        .context_device = property, .mem_resource = CL_MEM_DX9_RESOURCE_INTEL,                                         \
        .mem_shared_handle = CL_MEM_DX9_SHARED_HANDLE_INTEL, .mem_resource_size = sizeof(void *),                      \
        .image_subresource = CL_IMAGE_DX9_PLANE_INTEL, .command_acquire = CL_COMMAND_ACQUIRE_DX9_OBJECTS_INTEL,        \
        .command_release = CL_COMMAND_RELEASE_DX9_OBJECTS_INTEL,                                                       \
        .call = {"clGetDeviceIDsFromDX9INTEL",       NULL,                                                             \
                 "clCreateFromDX9MediaSurfaceINTEL", NULL,                                                             \
                 "clEnqueueAcquireDX9ObjectsINTEL",  "clEnqueueReleaseDX9ObjectsINTEL"},                               \
    }
const struct d3d_api d3d9_intel_api = API("Direct3D 9", CL_D3D9_DEVICE_INTEL, CL_CONTEXT_D3D9_DEVICE_INTEL, device_ops);
const struct d3d_api d3d9ex_intel_api =
    API("Direct3D 9Ex", CL_D3D9EX_DEVICE_INTEL, CL_CONTEXT_D3D9EX_DEVICE_INTEL, device_ops);
const struct d3d_api dxva_intel_api = API("DXVA-HD", CL_DXVA_DEVICE_INTEL, CL_CONTEXT_DXVA_DEVICE_INTEL, dxva_ops);
#undef API
