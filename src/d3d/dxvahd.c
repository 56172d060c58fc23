#include "d3d/dxvahd.h"

#include "d3d/dxgi.h"

static const GUID iid_device = {0x95f12dfd, 0xd77e, 0x49be, {0x81, 0x5f, 0x57, 0xd5, 0x79, 0x63, 0x4d, 0x6d}};

enum surface_type { VIDEO_INPUT = 0, VIDEO_OUTPUT = 2 };

/* The beginning of IDXVAHD_Device's function table. */
struct device_table {
    HRESULT(STDMETHODCALLTYPE *QueryInterface)(void *, const GUID *, void **);
    ULONG(STDMETHODCALLTYPE *AddRef)(void *);
    ULONG(STDMETHODCALLTYPE *Release)(void *);
    /* clang-format off */
    HRESULT(STDMETHODCALLTYPE *CreateVideoSurface)(void *, UINT, UINT, D3DFORMAT, D3DPOOL, DWORD, enum surface_type, UINT, IDirect3DSurface9 **, HANDLE *);
    /* clang-format on */
};

struct device {
    const struct device_table *table;
};

void *dxvahd_open(void *object)
{
    return com_query(object, &iid_device);
}

/* A small surface in the first format that the device supports. */
static IDirect3DSurface9 *make_surface(struct device *device)
{
    static const struct {
        D3DFORMAT format;
        enum surface_type type;
    } tries[] = {
        {D3DFMT_X8R8G8B8, VIDEO_OUTPUT},
        {(D3DFORMAT)MAKEFOURCC('N', 'V', '1', '2'), VIDEO_INPUT},
        {D3DFMT_YUY2, VIDEO_INPUT},
    };
    IDirect3DSurface9 *surface = NULL;
    for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]) && !surface; i++)
        if (FAILED(device->table->CreateVideoSurface(device, 64, 64, tries[i].format, D3DPOOL_DEFAULT, 0, tries[i].type,
                                                     1, &surface, NULL)))
            surface = NULL;
    return surface;
}

/* IDXVAHD_Device has no function that returns it, but every surface does. */
IDirect3DDevice9 *dxvahd_d3d_device(void *object)
{
    struct device *device = dxvahd_open(object);
    IDirect3DSurface9 *surface = device ? make_surface(device) : NULL;
    IDirect3DDevice9 *found = NULL;
    if (surface && FAILED(IDirect3DSurface9_GetDevice(surface, &found)))
        found = NULL;
    com_release(surface);
    com_release(device);
    return found;
}
