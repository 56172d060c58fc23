/* The Direct3D DLLs, the adapters that they know and a device of each Direct3D on each adapter. */
#include "info.h"

#include <stdio.h>
#include <string.h>

const struct api *const apis[API_COUNT] = {&d3d11_info, &d3d10_info, &d3d9_info};

typedef HRESULT(WINAPI *create_factory_fn)(REFIID iid, void **factory);
typedef HRESULT(WINAPI *create_9ex_fn)(UINT sdk_version, IDirect3D9Ex **d3d9);

/* ---- DXGI ---- */

static void add_dxgi(struct direct3d *d3d, IDXGIAdapter1 *dxgi)
{
    DXGI_ADAPTER_DESC1 desc = {.VendorId = 0};
    IDXGIAdapter1_GetDesc1(dxgi, &desc);
    struct adapter *adapter = &d3d->adapters[d3d->adapter_count++];
    desc.Description[sizeof(desc.Description) / sizeof(desc.Description[0]) - 1] = L'\0';
    text_from_wide(adapter->name, sizeof(adapter->name), desc.Description);
    adapter->vendor = desc.VendorId;
    adapter->device = desc.DeviceId;
    adapter->luid = desc.AdapterLuid;
    adapter->dxgi = dxgi;
}

static void find_dxgi(struct direct3d *d3d)
{
    library_load(&d3d->dxgi, "dxgi.dll");
    const create_factory_fn create = (create_factory_fn)library_function(&d3d->dxgi, "CreateDXGIFactory1");
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter1 *dxgi = NULL;
    why_say(d3d->why, "DXGI reports no graphics adapter; is there a display?");
    if (!create || !step(d3d->why, "listing the graphics adapters") ||
        FAILED(create(&IID_IDXGIFactory1, (void **)&factory)))
        return;
    for (UINT i = 0; i < ADAPTERS_MAX && SUCCEEDED(IDXGIFactory1_EnumAdapters1(factory, i, &dxgi)) && dxgi; i++) {
        add_dxgi(d3d, dxgi);
        dxgi = NULL;
    }
    IDXGIFactory1_Release(factory);
}

/* ---- Direct3D 9 counts for itself: by screens, not by cards ---- */

/* DXVK makes up an LUID where the driver has none, and each of its DLLs another: then the PCI IDs tell, in the order of the adapters. */
static struct adapter *adapter_of(struct direct3d *d3d, const LUID *luid, const D3DADAPTER_IDENTIFIER9 *identifier)
{
    struct adapter *alike = NULL;
    for (unsigned i = 0; i < d3d->adapter_count; i++) {
        struct adapter *adapter = &d3d->adapters[i];
        if (memcmp(&adapter->luid, luid, sizeof(*luid)) == 0)
            return adapter;
        if (adapter->vendor == identifier->VendorId && adapter->device == identifier->DeviceId &&
            (!alike || alike->in_d3d9))
            alike = adapter;
    }
    return alike;
}

static void add_d3d9(struct direct3d *d3d, UINT ordinal)
{
    LUID luid = {0, 0};
    D3DADAPTER_IDENTIFIER9 identifier;
    IDirect3D9Ex_GetAdapterLUID(d3d->d3d9, ordinal, &luid);
    if (FAILED(IDirect3D9Ex_GetAdapterIdentifier(d3d->d3d9, ordinal, 0, &identifier)))
        return;
    struct adapter *adapter = adapter_of(d3d, &luid, &identifier);
    if (!adapter && d3d->adapter_count < ADAPTERS_MAX) {
        adapter = &d3d->adapters[d3d->adapter_count++];
        snprintf(adapter->name, sizeof(adapter->name), "%.255s", identifier.Description);
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
    const create_9ex_fn create = (create_9ex_fn)library_function(&d3d->runtimes[API_D3D9], "Direct3DCreate9Ex");
    char why[WHY_SIZE];
    if (!create || !step(why, "initialising Direct3D 9") || FAILED(create(D3D_SDK_VERSION, &d3d->d3d9)))
        d3d->d3d9 = NULL;
    const UINT count = d3d->d3d9 ? IDirect3D9Ex_GetAdapterCount(d3d->d3d9) : 0;
    for (UINT i = 0; i < count && i < ADAPTERS_MAX; i++)
        add_d3d9(d3d, i);
}

/* ---- texels ---- */

struct plane_place plane_place(const struct format_row *row, unsigned pitch)
{
    return (struct plane_place){(unsigned)format_plane_begin(row, pitch, TRIAL_EXTENT), pitch >> row->pitch_shift,
                                TRIAL_EXTENT >> row->shift_y};
}

void planes_copy(const struct texels *texels, uint8_t *to, unsigned to_pitch, const uint8_t *from, unsigned from_pitch)
{
    for (unsigned p = 0; p < texels->first->planes; p++) {
        const struct format_row *row = texels->first + p;
        const struct plane_place there = plane_place(row, to_pitch), here = plane_place(row, from_pitch);
        for (unsigned y = 0; y < here.rows; y++)
            memcpy(to + there.offset + y * there.pitch, from + here.offset + y * here.pitch,
                   plane_place(row, texels->pitch).pitch);
    }
}

/* ---- all ---- */

static void open_devices(struct direct3d *d3d, unsigned a, struct fact *report)
{
    struct adapter *adapter = &d3d->adapters[a];
    char label[32];
    snprintf(label, sizeof(label), "Adapter %u", a);
    report_text(report, "name", label, "%s", adapter->name);
    report_text(report, "ids", "", "vendor %04x, device %04x, LUID %08lx:%08lx", adapter->vendor, adapter->device,
                (unsigned long)adapter->luid.HighPart, (unsigned long)adapter->luid.LowPart);
    for (unsigned i = 0; i < API_COUNT; i++) {
        char level[WHY_SIZE];
        if (!d3d->runtimes[i].module)
            continue;
        if (step(level, "creating a %s device on adapter %u", apis[i]->name, a))
            adapter->devices[i] = apis[i]->open(d3d, adapter, level);
        d3d->works = d3d->works || adapter->devices[i];
        snprintf(label, sizeof(label), "  %s", apis[i]->name);
        report_text(report, apis[i]->name, label, "%s%s", adapter->devices[i] ? "" : "no device, ", level);
        if (!adapter->devices[i])
            why_say(d3d->why, "%s", level);
    }
}

void direct3d_find(struct direct3d *d3d, struct fact *report)
{
    report_text(report, NULL, report_heading, "Direct3D");
    find_dxgi(d3d);
    library_report(report, "dxgi", "DXGI", &d3d->dxgi);
    for (unsigned i = 0; i < API_COUNT; i++) {
        library_load(&d3d->runtimes[i], apis[i]->dll);
        library_report(report, apis[i]->name, apis[i]->name, &d3d->runtimes[i]);
    }
    find_d3d9(d3d);
    struct fact *adapters = report_list(report, "adapters");
    for (unsigned a = 0; a < d3d->adapter_count; a++)
        open_devices(d3d, a, report_object(adapters, NULL));
}
