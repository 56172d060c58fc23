/* The report, but for the formats. */
#include "info.h"
#include "info_text.h"

#include "os/os.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- OpenCL.dll ---- */

static void print_library(const char *label, const struct library *library)
{
    if (!library->module)
        print_field(label, "none: %s", library->why);
    else if (library->product[0])
        print_field(label, "%s (%s)", library->path, library->product);
    else
        print_field(label, "%s", library->path);
}

/* "Wine 8.0" or "Windows 10.0.19045": what else to expect depends on it. */
void system_name(char *text, size_t size)
{
    typedef const char *(CDECL * wine_version_fn)(void);
    typedef LONG(WINAPI * get_version_fn)(OSVERSIONINFOW *);
    void *ntdll = (void *)GetModuleHandleA("ntdll.dll");
    const wine_version_fn wine = (wine_version_fn)os_library_symbol(ntdll, "wine_get_version");
    const get_version_fn get = (get_version_fn)os_library_symbol(ntdll, "RtlGetVersion");
    OSVERSIONINFOW windows = {.dwOSVersionInfoSize = sizeof(windows)};
    if (wine)
        snprintf(text, size, "Wine %s", wine());
    else if (get && get(&windows) == 0)
        snprintf(text, size, "Windows %lu.%lu.%lu", windows.dwMajorVersion, windows.dwMinorVersion,
                 windows.dwBuildNumber);
    else
        snprintf(text, size, "an unknown system");
}

static void print_opencl(const struct opencl *cl)
{
    char system[64];
    system_name(system, sizeof(system));
    print_heading("OpenCL");
    print_field("This program", "cld3dinfo %s, %u bits, on %s", CLD3D_VERSION, (unsigned)sizeof(void *) * 8, system);
    print_library("OpenCL.dll", &cl->library);
    if (cl->cld3d.module && cl->cld3d.module != cl->library.module)
        print_library("cld3d, as a layer", &cl->cld3d);
    if (cl->cld3d.module)
        print_field("cld3d", "version %s%s", cl->version ? cl->version : "unknown",
                    cl->version && strcmp(cl->version, CLD3D_VERSION) != 0 ? " (this program has another version)"
                                                                           : "");
    if (cl->below.module)
        print_library("OpenCL below", &cl->below);
    else if (cl->next)
        print_field("OpenCL below", "%s", cl->next);
    if (cl->passes)
        print_field("", "passes all calls on: %s is below and active", cl->passes);
    if (cl->bridge)
        print_field("Bridge", "%s", cl->bridge);
    if (cl->transport)
        print_field("Transport", "%s", cl->transport);
    print_layers();
    if (cl->library.module && cl->why[0])
        print_field("Platforms", "none: %s", cl->why);
}

/* ---- settings ---- */

/* The Vulkan loader and cld3d-setup read two more. */
static bool is_setting(const char *name, size_t length)
{
    static const char vulkan[] = "CLD3D_VULKAN_LAYER", off[] = "CLD3D_VULKAN_LAYER_OFF";
    if ((length == sizeof(vulkan) - 1 || length == sizeof(off) - 1) && strncmp(off, name, length) == 0)
        return true;
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        if (strlen(setting_variable(i)) == length && strncmp(setting_variable(i), name, length) == 0)
            return true;
    return false;
}

const struct setting_row setting_rows[] = {
#define X(constant, variable, value, meaning) {value, meaning},
    SETTINGS(X)
#undef X
};

void settings_unknown(void (*call)(void *context, const char *name), void *context)
{
    char *all = GetEnvironmentStringsA();
    for (const char *entry = all; entry && *entry; entry += strlen(entry) + 1) {
        const size_t length = strcspn(entry, "=");
        char name[64];
        if (strncmp(entry, "CLD3D_", 6) != 0 || is_setting(entry, length))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)length, entry);
        call(context, name);
    }
    if (all)
        FreeEnvironmentStringsA(all);
}

/* A misspelt setting has no effect, and nothing else tells. */
static void print_unknown_setting(void *context, const char *name)
{
    (void)context;
    print_field(name, "has no effect: unknown setting");
}

static void print_settings(void)
{
    print_heading("Settings");
    if (os_is_elevated())
        print_text("  All are ignored here: this process runs with more rights than its user normally has.");
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        const char *value = setting_text(i);
        const bool changed = strcmp(value, setting_rows[i].standard) != 0;
        print_field(setting_variable(i), "%s%s; %s", value[0] ? value : "not set", changed ? " (set by you)" : "",
                    setting_rows[i].meaning);
    }
    settings_unknown(print_unknown_setting, NULL);
}

/* ---- Direct3D ---- */

static void print_adapter(const struct direct3d *d3d, unsigned index)
{
    const struct adapter *adapter = &d3d->adapters[index];
    char label[32];
    snprintf(label, sizeof(label), "Adapter %u", index);
    print_field(label, "%s%s", shown(adapter->name), adapter->software ? " (software)" : "");
    print_field("", "vendor %04x, device %04x, LUID %08lx:%08lx", adapter->vendor, adapter->device,
                (unsigned long)adapter->luid.HighPart, (unsigned long)adapter->luid.LowPart);
    for (unsigned i = 0; i < API_COUNT; i++) {
        if (adapter->d3d[i].device)
            print_field("", "%s: %s", apis[i]->name, adapter->d3d[i].level);
        else if (adapter->d3d[i].why[0])
            print_field("", "%s: no device, %s", apis[i]->name, adapter->d3d[i].why);
    }
}

static void print_direct3d(const struct direct3d *d3d)
{
    print_heading("Direct3D");
    for (unsigned i = 0; i < API_COUNT; i++)
        print_library(apis[i]->name, &d3d->runtimes[i]);
    if (d3d->d3d9_why[0])
        print_field("", "%s", d3d->d3d9_why);
    if (d3d->dxgi_why[0])
        print_field("Adapters", "none from DXGI: %s", d3d->dxgi_why);
    for (unsigned i = 0; i < d3d->adapter_count; i++)
        print_adapter(d3d, i);
}

/* ---- OpenCL devices ---- */

const char *device_type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "GPU";
    if (type & CL_DEVICE_TYPE_CPU)
        return "CPU";
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return "accelerator";
    return type & CL_DEVICE_TYPE_CUSTOM ? "custom device" : "device of unknown type";
}

/* Why an extension that the device does not list is off. */
static const char *why_off(const struct opencl *cl, const struct device *device)
{
    if (!cl->cld3d.module)
        return "off: the driver lacks it, and cld3d is not active";
    if (!device->images)
        return "off: the device has no image support";
    return "off: this cld3d does not provide it";
}

static void print_sharing(const struct opencl *cl, const struct device *device, unsigned api)
{
    const struct sharing *sharing = &device->sharing[api];
    if (!sharing->listed) {
        print_field(apis[api]->extension, "%s", why_off(cl, device));
        return;
    }
    const char *by = "on, by the driver";
    if (cl->passes)
        by = "on, by the cld3d below";
    else if (sharing->own && setting_on(SETTING_FORCE))
        by = "on, by cld3d instead of the driver's own (CLD3D_FORCE)";
    else if (cl->cld3d.module && !sharing->own)
        by = "on, by cld3d";
    if (sharing->works)
        print_field(apis[api]->extension, "%s; works: a texture was transferred to OpenCL and back", by);
    else
        print_field(apis[api]->extension, "%s; %s: %s", by, sharing->tried ? "does not work" : "not tried",
                    sharing->why);
    if (sharing->way[0])
        print_field("", "transport: %s", sharing->way);
    for (unsigned k = 0; k < KINDS_MAX && apis[api]->kinds[k].name; k++)
        if (sharing->ways[k][0])
            print_field("", "%s: %s", apis[api]->kinds[k].name, sharing->ways[k]);
    if (!device->platform->lists[api])
        print_field("", "(the platform does not list it, and many programs check only the platform)");
}

static const char *belonging_text(const struct belonging *belonging)
{
    if (belonging->code != CL_SUCCESS)
        return cl_code_text(belonging->code);
    if (belonging->preferred)
        return belonging->possible ? "preferred" : "preferred, but missing from the list of all devices";
    return belonging->possible ? "possible" : "no";
}

static void print_belonging(const struct device *device, unsigned a)
{
    char text[512] = "", label[32];
    size_t length = 0;
    for (unsigned i = 0; i < API_COUNT; i++) {
        const struct belonging *belonging = &device->sharing[i].adapters[a];
        if (belonging->asked)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s", length ? "; " : "",
                                       apis[i]->short_name, belonging_text(belonging));
    }
    snprintf(label, sizeof(label), "For adapter %u", a);
    if (text[0])
        print_field(label, "%s", text);
    for (unsigned i = 0; i < API_COUNT; i++) {
        const struct belonging *belonging = &device->sharing[i].adapters[a];
        if (belonging->preferred && belonging->reason) {
            print_field("", "preferred: %s", belonging->reason);
            break; /* it is the same hardware for all of them */
        }
    }
}

static void print_device(const struct info *info, unsigned index)
{
    const struct device *device = &info->opencl.devices[index];
    print_heading("OpenCL device %u: %s", index, shown(device->name));
    print_field("Platform", "%s, %s", shown(device->platform->name), shown(device->platform->version));
    print_field("Device", "%s, %s, driver %s", device_type_name(device->type), shown(device->version),
                shown(device->driver));
    if (device->has_luid)
        print_field("", "vendor %04x, LUID %08lx:%08lx", device->vendor, (unsigned long)device->luid.HighPart,
                    (unsigned long)device->luid.LowPart);
    else
        print_field("", "vendor %04x, reports no LUID", device->vendor);
    if (!device->images)
        print_field("", "no image support");
    for (unsigned i = 0; i < API_COUNT; i++)
        print_sharing(&info->opencl, device, i);
    for (unsigned a = 0; a < info->d3d.adapter_count; a++)
        print_belonging(device, a);
    for (unsigned i = 0; i < API_COUNT; i++)
        print_format_summary(info, device, i);
}

static void print_empty_platforms(const struct opencl *cl)
{
    for (unsigned i = 0; i < cl->platform_count; i++) {
        if (cl->platforms[i].device_count > 0)
            continue;
        print_heading("OpenCL platform without a device: %s", shown(cl->platforms[i].name));
        print_field("Version", "%s", shown(cl->platforms[i].version));
        print_field("Devices", "none: %s", cl->platforms[i].why);
    }
}

void print_report(const struct info *info, bool all_formats)
{
    print_verdict(info);
    print_advice(info);
    print_opencl(&info->opencl);
    if (info->opencl.cld3d.module)
        print_settings();
    print_direct3d(&info->d3d);
    for (unsigned i = 0; i < info->opencl.device_count; i++)
        print_device(info, i);
    print_empty_platforms(&info->opencl);
    if (all_formats) {
        print_format_table(info, API_D3D11);
        print_format_table(info, API_D3D9);
        print_format_key(info);
    }
}
