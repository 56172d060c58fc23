/* The Direct3D DLLs, the adapters that they know and a device of each Direct3D on each adapter. */
#include "info.h"
#include "info_text.h"

#include <stdio.h>
#include <string.h>

const struct api *const apis[API_COUNT] = {&d3d11_info, &d3d10_info, &d3d9_info};

typedef HRESULT(WINAPI *create_factory_fn)(REFIID iid, void **factory);
typedef HRESULT(WINAPI *create_9ex_fn)(UINT sdk_version, IDirect3D9Ex **d3d9);

/* ---- DXGI ---- */

static void add_dxgi(struct direct3d *d3d, IDXGIAdapter1 *dxgi)
{
    DXGI_ADAPTER_DESC1 desc;
    struct adapter *adapter = &d3d->adapters[d3d->adapter_count];
    if (FAILED(IDXGIAdapter1_GetDesc1(dxgi, &desc))) {
        IDXGIAdapter1_Release(dxgi);
        return;
    }
    desc.Description[sizeof(desc.Description) / sizeof(desc.Description[0]) - 1] = L'\0';
    text_from_wide(adapter->name, sizeof(adapter->name), desc.Description);
    adapter->vendor = desc.VendorId;
    adapter->device = desc.DeviceId;
    adapter->luid = desc.AdapterLuid;
    adapter->software = (desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE) != 0;
    adapter->dxgi = dxgi;
    d3d->adapter_count++;
}

static void find_dxgi(struct direct3d *d3d)
{
    library_load(&d3d->dxgi, "dxgi.dll");
    if (!d3d->dxgi.module) {
        why_say(d3d->dxgi_why, "%s", d3d->dxgi.why);
        return;
    }
    const create_factory_fn create = (create_factory_fn)library_function(&d3d->dxgi, "CreateDXGIFactory1");
    if (!create) {
        why_say(d3d->dxgi_why, "dxgi.dll has no CreateDXGIFactory1");
        return;
    }
    if (!step(d3d->dxgi_why, "listing the graphics adapters"))
        return;
    IDXGIFactory1 *factory = NULL;
    const HRESULT result = create(&IID_IDXGIFactory1, (void **)&factory);
    if (FAILED(result) || !factory) {
        why_d3d(d3d->dxgi_why, "CreateDXGIFactory1", result);
        return;
    }
    IDXGIAdapter1 *dxgi = NULL;
    for (UINT i = 0; i < ADAPTERS_MAX && SUCCEEDED(IDXGIFactory1_EnumAdapters1(factory, i, &dxgi)) && dxgi; i++) {
        add_dxgi(d3d, dxgi);
        dxgi = NULL;
    }
    IDXGIFactory1_Release(factory);
    if (d3d->adapter_count == 0)
        why_say(d3d->dxgi_why, "DXGI reports no graphics adapter; is there a display?");
}

/* ---- Direct3D 9 counts for itself: by screens, not by cards ---- */

static struct adapter *adapter_with(struct direct3d *d3d, const LUID *luid)
{
    for (unsigned i = 0; i < d3d->adapter_count; i++)
        if (memcmp(&d3d->adapters[i].luid, luid, sizeof(*luid)) == 0)
            return &d3d->adapters[i];
    return NULL;
}

static void add_d3d9(struct direct3d *d3d, UINT ordinal)
{
    LUID luid = {0, 0};
    D3DADAPTER_IDENTIFIER9 identifier;
    IDirect3D9Ex_GetAdapterLUID(d3d->d3d9, ordinal, &luid);
    struct adapter *adapter = adapter_with(d3d, &luid);
    if (!adapter && d3d->adapter_count < ADAPTERS_MAX &&
        SUCCEEDED(IDirect3D9Ex_GetAdapterIdentifier(d3d->d3d9, ordinal, 0, &identifier))) {
        adapter = &d3d->adapters[d3d->adapter_count++];
        snprintf(adapter->name, sizeof(adapter->name), "%.255s", identifier.Description);
        text_clean(adapter->name, sizeof(adapter->name));
        adapter->vendor = identifier.VendorId;
        adapter->device = identifier.DeviceId;
        adapter->luid = luid;
    }
    if (adapter && !adapter->in_d3d9) {
        adapter->in_d3d9 = true;
        adapter->d3d9_ordinal = ordinal;
    }
}

static void find_d3d9(struct direct3d *d3d)
{
    const struct library *library = &d3d->runtimes[API_D3D9];
    const create_9ex_fn create = (create_9ex_fn)library_function(library, "Direct3DCreate9Ex");
    if (!library->module)
        return;
    if (!create) {
        why_say(d3d->d3d9_why, "d3d9.dll has no Direct3DCreate9Ex");
        return;
    }
    if (!step(d3d->d3d9_why, "initialising Direct3D 9"))
        return;
    const HRESULT result = create(D3D_SDK_VERSION, &d3d->d3d9);
    if (FAILED(result) || !d3d->d3d9) {
        d3d->d3d9 = NULL;
        why_d3d(d3d->d3d9_why, "Direct3DCreate9Ex", result);
        return;
    }
    const UINT count = IDirect3D9Ex_GetAdapterCount(d3d->d3d9);
    for (UINT i = 0; i < count && i < ADAPTERS_MAX; i++)
        add_d3d9(d3d, i);
}

/* ---- planes ---- */

struct plane_place plane_place(const struct texture_shape *shape, unsigned plane, unsigned pitch)
{
    const struct format_row *row = shape->first + plane;
    return (struct plane_place){(unsigned)format_plane_begin(row, pitch, TRIAL_EXTENT), pitch >> row->pitch_shift,
                                TRIAL_EXTENT >> row->shift_y};
}

void planes_copy(const struct texture_shape *shape, uint8_t *to, unsigned to_pitch, const uint8_t *from,
                 unsigned from_pitch)
{
    for (unsigned p = 0; p < shape->first->planes; p++) {
        const struct plane_place there = plane_place(shape, p, to_pitch), here = plane_place(shape, p, from_pitch);
        const unsigned row = plane_place(shape, p, shape->pitch).pitch;
        for (unsigned y = 0; y < here.rows; y++)
            memcpy(to + there.offset + y * there.pitch, from + here.offset + y * here.pitch, row);
    }
}

/* ---- all ---- */

void direct3d_find(struct direct3d *d3d)
{
    find_dxgi(d3d);
    for (unsigned i = 0; i < API_COUNT; i++)
        library_load(&d3d->runtimes[i], apis[i]->dll);
    find_d3d9(d3d);
    for (unsigned a = 0; a < d3d->adapter_count; a++) {
        for (unsigned i = 0; i < API_COUNT; i++) {
            if (!d3d->runtimes[i].module)
                continue;
            if (step(d3d->adapters[a].d3d[i].why, "creating a %s device on adapter %u", apis[i]->name, a))
                apis[i]->open(d3d, &d3d->adapters[a]);
        }
    }
}
