#include "d3d/dxgi.h"

#include "d3d/formats.h"
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool d3d_check(const char *call, HRESULT result)
{
    static const char none[] = "", gone[] = "; the Direct3D device is lost, create a new one",
                      reset[] = "; the Direct3D device is lost, reset it";
    static const struct {
        HRESULT code;
        const char *name, *advice;
    } names[] = {
        {DXGI_ERROR_DEVICE_REMOVED, "DXGI_ERROR_DEVICE_REMOVED", gone},
        {DXGI_ERROR_DEVICE_RESET, "DXGI_ERROR_DEVICE_RESET", gone},
        {DXGI_ERROR_DEVICE_HUNG, "DXGI_ERROR_DEVICE_HUNG", gone},
        {DXGI_ERROR_INVALID_CALL, "DXGI_ERROR_INVALID_CALL", none},
        {E_OUTOFMEMORY, "E_OUTOFMEMORY", none},
        {E_INVALIDARG, "E_INVALIDARG", none},
        {D3DERR_DEVICELOST, "D3DERR_DEVICELOST", reset},
        {D3DERR_DEVICENOTRESET, "D3DERR_DEVICENOTRESET", reset},
        {D3DERR_DEVICEHUNG, "D3DERR_DEVICEHUNG", gone},
        {D3DERR_DEVICEREMOVED, "D3DERR_DEVICEREMOVED", gone},
        {D3DERR_DRIVERINTERNALERROR, "D3DERR_DRIVERINTERNALERROR", gone},
        {D3DERR_OUTOFVIDEOMEMORY, "D3DERR_OUTOFVIDEOMEMORY", none},
        {D3DERR_INVALIDCALL, "D3DERR_INVALIDCALL", none},
    };
    const char *name = "unknown error", *advice = none;
    if (SUCCEEDED(result))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].code == result) {
            name = names[i].name;
            advice = names[i].advice;
        }
    log_write(LOG_ERROR, "%s failed: %s (0x%08lx)%s", call, name, (unsigned long)result & 0xFFFFFFFF, advice);
    return false;
}

enum describe_status describe_refuse(enum describe_status status, char *why, size_t why_size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_size, format, arguments);
    va_end(arguments);
    return status;
}

void *com_query(void *object, const GUID *iid)
{
    void *found = NULL;
    return object && SUCCEEDED(IUnknown_QueryInterface((IUnknown *)object, iid, &found)) ? found : NULL;
}

void *com_query_same(void *object, const GUID *iid)
{
    void *found = com_query(object, iid);
    if (found == object)
        return found;
    com_release(found);
    return NULL;
}

void com_add_ref(void *object)
{
    IUnknown_AddRef((IUnknown *)object);
}

void com_release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

const void *com_identity(void *object)
{
    void *identity = com_query(object, &IID_IUnknown);
    com_release(identity);
    return identity;
}

void dxgi_protect(void *device)
{
    ID3D10Multithread *multithread = com_query(device, &IID_ID3D10Multithread);
    if (multithread)
        ID3D10Multithread_SetMultithreadProtected(multithread, TRUE);
    else
        log_write(LOG_DEBUG,
                  "the Direct3D device has no ID3D10Multithread: it is not protected against use by several threads");
    com_release(multithread);
}

void *dxgi_lock(void *device)
{
    ID3D10Multithread *multithread = com_query(device, &IID_ID3D10Multithread);
    if (multithread)
        ID3D10Multithread_Enter(multithread);
    return multithread;
}

void dxgi_unlock(void *section)
{
    if (section)
        ID3D10Multithread_Leave((ID3D10Multithread *)section);
    com_release(section);
}

bool dxgi_software(const struct d3d_adapter *adapter)
{
    /* Microsoft's WARP and basic render driver are 1414:008c. Mesa's rasterisers are recognised by their names, because
     * Wine may report them with any vendor. */
    return (adapter->vendor == 0x1414 && adapter->device == 0x8c) || strstr(adapter->description, "llvmpipe") ||
           strstr(adapter->description, "softpipe") || strstr(adapter->description, "SwiftShader");
}

/* A factory of DXGI 1.1 if it exists: a process must not mix the two versions, and current programs use the later one.
 * NULL: there is none. */
static IDXGIFactory *make_factory(void *library)
{
    typedef HRESULT(WINAPI * create_factory)(REFIID, void **);
    const create_factory later = (create_factory)os_library_symbol(library, "CreateDXGIFactory1");
    const create_factory create = later ? later : (create_factory)os_library_symbol(library, "CreateDXGIFactory");
    void *factory = NULL;
    return create && SUCCEEDED(create(later ? &IID_IDXGIFactory1 : &IID_IDXGIFactory, &factory)) ? factory : NULL;
}

unsigned dxgi_list(struct d3d_adapter *adapters, unsigned capacity)
{
#ifdef _WIN32
    /* It stays loaded, because something that it started may still run. */
    void *library = os_library_open("dxgi.dll", NULL, 0);
#else
    /* DXVK's native build, if the program has loaded it: to load it here would make a program without Direct3D use
     * Vulkan. It is not closed, so it stays. */
    void *library = os_library_loaded("libdxvk_dxgi.so.0");
#endif
    IDXGIFactory *factory = library ? make_factory(library) : NULL;
    unsigned count = 0;
    for (unsigned i = 0; factory && count < capacity; i++) {
        IDXGIAdapter *adapter = NULL;
        if (FAILED(IDXGIFactory_EnumAdapters(factory, i, &adapter)))
            break;
        count += dxgi_adapter(adapter, true, &adapters[count]);
        com_release(adapter);
    }
    com_release(factory);
    return count;
}

bool dxgi_adapter(void *object, bool object_is_adapter, struct d3d_adapter *adapter)
{
    IDXGIAdapter *dxgi = NULL;
    if (object_is_adapter) {
        dxgi = com_query(object, &IID_IDXGIAdapter);
    } else {
        IDXGIDevice *device = com_query(object, &IID_IDXGIDevice);
        if (device && !d3d_check("IDXGIDevice::GetAdapter", IDXGIDevice_GetAdapter(device, &dxgi)))
            dxgi = NULL;
        com_release(device);
    }
    if (!dxgi)
        return false;
    DXGI_ADAPTER_DESC desc;
    const bool known = d3d_check("IDXGIAdapter::GetDesc", IDXGIAdapter_GetDesc(dxgi, &desc));
    com_release(dxgi);
    if (!known)
        return false;
    memset(adapter, 0, sizeof(*adapter));
    /* Names of adapters are ASCII; OpenCL's are compared with them. */
    for (size_t i = 0; i < sizeof(desc.Description) / sizeof(desc.Description[0]) && desc.Description[i]; i++)
        adapter->description[i] = (char)(desc.Description[i] < 0x80 ? desc.Description[i] : '?');
    adapter->vendor = desc.VendorId;
    adapter->device = desc.DeviceId;
    memcpy(adapter->luid, &desc.AdapterLuid, sizeof(adapter->luid));
    adapter->software = dxgi_software(adapter);
    return true;
}

static uint32_t level_extent(uint32_t extent, uint32_t level)
{
    return extent >> level ? extent >> level : 1;
}

static enum describe_status describe_texture(const struct resource_facts *facts, enum surface_kind kind, uint32_t index,
                                             struct surface_desc *desc, char *why, size_t why_size)
{
    if (facts->samples > 1)
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the texture has %u samples per texel; resolve it to one with a single sample",
                               facts->samples);
    const struct format_row *first = format_from_dxgi(facts->format, 0);
    const uint32_t planes = first ? first->planes : 1;
    /* A planar texture has one level; its index counts planes first (cl_intel_d3d11_nv12_media_sharing). */
    const uint64_t count = (uint64_t)facts->slices * (planes > 1 ? planes : facts->levels);
    if (index >= count)
        return describe_refuse(DESCRIBE_BAD_SUBRESOURCE, why, why_size,
                               "subresource %u is out of range: the texture has %u (%u slices, %u %s)", index,
                               (unsigned)count, facts->slices, planes > 1 ? planes : facts->levels,
                               planes > 1 ? "planes: pass plane + planes * slice"
                                          : "levels: pass level + levels * slice");
    const struct format_row *format = format_from_dxgi(facts->format, planes > 1 ? index % planes : 0);
    if (!format)
        return describe_refuse(DESCRIBE_BAD_FORMAT, why, why_size,
                               "DXGI format %u is not in the table of sharable formats; use one of them",
                               (unsigned)facts->format);
    if (format_cuts_chroma(format, facts->width, facts->height))
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the texture has %ux%u texels; %s requires an even width and height", facts->width,
                               facts->height, format->name);
    const uint32_t level = planes > 1 ? 0 : index % facts->levels;
    *desc = (struct surface_desc){
        .kind = kind,
        .format = format,
        .width = level_extent(facts->width, level) >> format->shift_x,
        .height = level_extent(facts->height, level) >> format->shift_y,
        .depth = level_extent(facts->depth, level),
        .subresource = planes > 1 ? index / planes * facts->levels : index,
        .dynamic = facts->usage == D3D11_USAGE_DYNAMIC,
        .whole_level = planes > 1,
    };
    return DESCRIBED;
}

enum describe_status dxgi_describe(const struct resource_facts *facts, enum surface_kind kind, uint32_t index,
                                   struct surface_desc *desc, char *why, size_t why_size)
{
    if (facts->usage == D3D11_USAGE_IMMUTABLE)
        return describe_refuse(DESCRIBE_UNFIT, why, why_size,
                               "the %s has usage IMMUTABLE; share one with usage DEFAULT",
                               kind == SURFACE_BUFFER ? "buffer" : "texture");
    if (kind != SURFACE_BUFFER)
        return describe_texture(facts, kind, index, desc, why, why_size);
    *desc = (struct surface_desc){
        .kind = kind, .width = facts->width, .height = 1, .depth = 1, .dynamic = facts->usage == D3D11_USAGE_DYNAMIC};
    return DESCRIBED;
}

/* wined3d keeps a staging copy that only the CPU uses in the same memory for its lifetime; DXVK keeps it in a buffer
 * that stays mapped. (DXVK replaces the buffer if a map for writing meets copies that only read it. In cld3d a map
 * follows a copy that writes.) Each has an interface that no other Direct3D has. */
bool dxgi_staging_stays(void *device)
{
    static const GUID wine_device = {0x3e1ff30b, 0xc951, 0x48c3, {0xb0, 0x10, 0x0f, 0xb4, 0x9f, 0x3d, 0xca, 0x71}};
    static const GUID vulkan_device = {0xe2ef5fa5, 0xdc21, 0x4af7, {0x90, 0xc4, 0xf6, 0x7e, 0xf6, 0xa0, 0x93, 0x23}};
    void *wine = com_query(device, &wine_device), *vulkan = com_query(device, &vulkan_device);
    com_release(wine);
    com_release(vulkan);
    return wine || vulkan;
}

void dxgi_unstage(struct surface *surface)
{
    com_release(surface->staging);
    surface->staging = NULL;
}

uint32_t dxgi_staging_width(const struct surface_desc *desc)
{
    return desc->format ? desc->width << desc->format->shift_x : desc->width;
}

uint32_t dxgi_staging_height(const struct surface_desc *desc)
{
    return desc->format ? desc->height << desc->format->shift_y : desc->height;
}

struct mapped_surface dxgi_mapped_plane(const struct surface_desc *desc, void *data, size_t row_pitch,
                                        size_t depth_pitch)
{
    char *plane = data;
    if (desc->format)
        plane += format_plane_begin(desc->format, row_pitch, dxgi_staging_height(desc));
    return (struct mapped_surface){plane, row_pitch, desc->kind == SURFACE_IMAGE_3D ? depth_pitch : 0};
}

void dxgi_copy_level(const struct surface_desc *desc, void *to, size_t to_row, size_t to_depth, const void *from,
                     size_t from_row, size_t from_depth)
{
    size_t row_bytes = desc->width, rows = desc->height;
    if (desc->format) {
        const struct format_row *luma = format_from_dxgi((DXGI_FORMAT)desc->format->code, 0);
        const struct format_row *last = format_last_plane(desc->format);
        const uint32_t height = dxgi_staging_height(desc);
        row_bytes = (size_t)dxgi_staging_width(desc) * luma->texel_bytes;
        rows = format_plane_begin(last, 1, height) + (height >> last->shift_y);
    }
    for (size_t z = 0; z < desc->depth; z++)
        for (size_t y = 0; y < rows; y++)
            memcpy((char *)to + z * to_depth + y * to_row, (const char *)from + z * from_depth + y * from_row,
                   row_bytes);
}
