/* The report as JSON, for bug reports and programs. docs/cld3dinfo-json.md describes the keys, which stay as they are. */
#include "info.h"
#include "info_text.h"
#include "json.h"

#include "os/os.h"
#include "settings.h"

#include <string.h>

/* Grows when a key changes its meaning or goes, not when keys come. */
enum { JSON_FORMAT = 1 };

/* Empty texts are what is not known. */
static void put_known(struct json *json, const char *key, const char *text)
{
    json_text(json, key, text && text[0] ? text : NULL);
}

static void put_library(struct json *json, const char *key, const struct library *library)
{
    json_object(json, key);
    json_bool(json, "loaded", library->module != NULL);
    put_known(json, "path", library->path);
    put_known(json, "product", library->product);
    json_bool(json, "wine", library->wine);
    put_known(json, "error", library->module ? NULL : library->why);
    json_end(json);
}

static void put_luid(struct json *json, const LUID *luid)
{
    char text[32];
    snprintf(text, sizeof(text), "%08lx:%08lx", (unsigned long)luid->HighPart, (unsigned long)luid->LowPart);
    json_text(json, "luid", text);
}

static void put_verdict(struct json *json, const struct info *info)
{
    char text[512];
    unsigned count;
    const struct finding *findings = info_findings(info, &count);
    verdict_text(info, text, sizeof(text));
    json_object(json, "verdict");
    json_bool(json, "active", info->opencl.cld3d.module != NULL);
    json_bool(json, "works", info_sharing_devices(info) > 0);
    json_text(json, "text", text);
    json_end(json);
    json_array(json, "findings");
    for (unsigned i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "name", findings[i].name);
        json_text(json, "severity", findings[i].error ? "error" : "warning");
        json_text(json, "what", findings[i].what);
        json_text(json, "cause", findings[i].cause);
        json_text(json, "remedy", findings[i].remedy);
        json_end(json);
    }
    json_end(json);
}

/* ---- OpenCL ---- */

static void put_layer(void *context, const char *path, const char *state)
{
    struct json *json = context;
    json_object(json, NULL);
    json_text(json, "path", path);
    json_text(json, "state", state);
    json_end(json);
}

static void put_opencl(struct json *json, const struct opencl *cl)
{
    json_object(json, "opencl");
    put_library(json, "library", &cl->library);
    json_object(json, "cld3d");
    json_text(json, "kind", !cl->cld3d.module ? "none" : cl->cld3d.module == cl->library.module ? "drop-in" : "layer");
    put_known(json, "path", cl->cld3d.path);
    json_text(json, "version", cl->version);
    json_text(json, "build", cl->build);
    json_text(json, "bridge", cl->bridge);
    json_text(json, "transport", cl->transport);
    json_text(json, "passes_to", cl->passes);
    json_text(json, "below", cl->below.module ? cl->below.path : cl->next);
    json_end(json);
    json_array(json, "layers");
    layers_each(put_layer, json);
    json_end(json);
    put_known(json, "error", cl->why);
    json_end(json);
}

/* ---- settings ---- */

static void put_unknown_setting(void *context, const char *name)
{
    json_text(context, NULL, name);
}

static void put_settings(struct json *json)
{
    json_bool(json, "settings_ignored", os_is_elevated());
    json_array(json, "settings");
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        json_object(json, NULL);
        json_text(json, "name", setting_variable(i));
        json_text(json, "value", setting_text(i));
        json_text(json, "default", setting_rows[i].standard);
        json_text(json, "meaning", setting_rows[i].meaning);
        json_end(json);
    }
    json_end(json);
    json_array(json, "unknown_settings");
    settings_unknown(put_unknown_setting, json);
    json_end(json);
}

/* ---- Direct3D ---- */

static void put_adapter(struct json *json, const struct adapter *adapter)
{
    json_object(json, NULL);
    json_text(json, "name", adapter->name);
    json_number(json, "vendor", adapter->vendor);
    json_number(json, "device", adapter->device);
    put_luid(json, &adapter->luid);
    json_bool(json, "software", adapter->software);
    json_array(json, "direct3d");
    for (unsigned i = 0; i < API_COUNT; i++) {
        json_object(json, NULL);
        json_text(json, "api", apis[i]->name);
        json_bool(json, "works", adapter->d3d[i].device != NULL);
        put_known(json, "level", adapter->d3d[i].level);
        put_known(json, "error", adapter->d3d[i].why);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void put_direct3d(struct json *json, const struct direct3d *d3d)
{
    json_object(json, "direct3d");
    put_library(json, "dxgi", &d3d->dxgi);
    put_library(json, "d3d11", &d3d->runtimes[API_D3D11]);
    put_library(json, "d3d10", &d3d->runtimes[API_D3D10]);
    put_library(json, "d3d9", &d3d->runtimes[API_D3D9]);
    put_known(json, "dxgi_error", d3d->dxgi_why);
    put_known(json, "d3d9_error", d3d->d3d9_why);
    json_array(json, "adapters");
    for (unsigned i = 0; i < d3d->adapter_count; i++)
        put_adapter(json, &d3d->adapters[i]);
    json_end(json);
    json_end(json);
}

/* ---- devices ---- */

static void put_format(struct json *json, const struct info *info, const struct format_row *row,
                       const struct format_result *result)
{
    static const char *const ways[] = {"untried", "direct", "wider", "refused"};
    json_object(json, NULL);
    json_text(json, "name", row->name);
    json_number(json, "plane", row->plane);
    json_bool(json, "beyond", row->beyond);
    json_text(json, "way", ways[result->way]);
    if (result->way == WAY_WIDER && result->stored.image_channel_order) {
        json_number(json, "stored_order", result->stored.image_channel_order);
        json_number(json, "stored_type", result->stored.image_channel_data_type);
    }
    if (result->way == WAY_REFUSED)
        json_text(json, "reason", info->reasons[result->reason]);
    json_end(json);
}

static void put_belonging(struct json *json, const struct belonging *belonging)
{
    json_object(json, NULL);
    json_bool(json, "asked", belonging->asked);
    json_bool(json, "preferred", belonging->preferred);
    json_bool(json, "possible", belonging->possible);
    json_text(json, "reason", belonging->reason);
    json_text(json, "error", belonging->code == CL_SUCCESS ? NULL : cl_code_text(belonging->code));
    json_end(json);
}

static void put_sharing(struct json *json, const struct info *info, const struct sharing *sharing, unsigned api)
{
    json_object(json, NULL);
    json_text(json, "api", apis[api]->name);
    json_text(json, "extension", apis[api]->extension);
    json_bool(json, "listed", sharing->listed);
    json_bool(json, "drivers_own", sharing->own);
    json_bool(json, "tried", sharing->tried);
    json_bool(json, "works", sharing->works);
    put_known(json, "error", sharing->why);
    put_known(json, "way", sharing->way);
    json_object(json, "ways");
    for (unsigned k = 0; k < KINDS_MAX && apis[api]->kinds[k].name; k++)
        put_known(json, apis[api]->kinds[k].name, sharing->ways[k]);
    json_end(json);
    json_array(json, "adapters");
    for (unsigned a = 0; a < info->d3d.adapter_count; a++)
        put_belonging(json, &sharing->adapters[a]);
    json_end(json);
    json_array(json, "formats");
    for (unsigned i = 0; sharing->formats && i < *apis[api]->format_count; i++)
        put_format(json, info, &apis[api]->formats[i], &sharing->formats[i]);
    json_end(json);
    json_end(json);
}

static void put_device(struct json *json, const struct info *info, const struct device *device)
{
    json_object(json, NULL);
    json_text(json, "name", device->name);
    json_number(json, "platform", (unsigned)(device->platform - info->opencl.platforms));
    json_text(json, "type", device_type_name(device->type));
    json_text(json, "version", device->version);
    json_text(json, "driver", device->driver);
    json_number(json, "vendor", device->vendor);
    json_bool(json, "images", device->images);
    if (device->has_luid)
        put_luid(json, &device->luid);
    else
        json_text(json, "luid", NULL);
    json_array(json, "sharing");
    for (unsigned i = 0; i < API_COUNT; i++)
        put_sharing(json, info, &device->sharing[i], i);
    json_end(json);
    json_end(json);
}

static void put_platforms(struct json *json, const struct opencl *cl)
{
    json_array(json, "platforms");
    for (unsigned i = 0; i < cl->platform_count; i++) {
        json_object(json, NULL);
        json_text(json, "name", cl->platforms[i].name);
        json_text(json, "version", cl->platforms[i].version);
        json_array(json, "lists");
        for (unsigned k = 0; k < API_COUNT; k++)
            if (cl->platforms[i].lists[k])
                json_text(json, NULL, apis[k]->extension);
        json_end(json);
        json_number(json, "devices", cl->platforms[i].device_count);
        put_known(json, "error", cl->platforms[i].why);
        json_end(json);
    }
    json_end(json);
}

/* ---- all of it ---- */

static void put_program(struct json *json)
{
    char system[64];
    system_name(system, sizeof(system));
    json_number(json, "format", JSON_FORMAT);
    json_object(json, "program");
    json_text(json, "version", CLD3D_VERSION);
    json_number(json, "bits", sizeof(void *) * 8);
    json_text(json, "system", system);
    json_end(json);
}

void print_json(const struct info *info)
{
    struct json json = {.stream = stdout};
    json_object(&json, NULL);
    put_program(&json);
    put_verdict(&json, info);
    put_opencl(&json, &info->opencl);
    put_settings(&json);
    put_direct3d(&json, &info->d3d);
    put_platforms(&json, &info->opencl);
    json_array(&json, "devices");
    for (unsigned i = 0; i < info->opencl.device_count; i++)
        put_device(&json, info, &info->opencl.devices[i]);
    json_end(&json);
    json_end(&json);
}

void print_json_failure(const char *text)
{
    struct json json = {.stream = stdout};
    json_object(&json, NULL);
    put_program(&json);
    json_object(&json, "verdict");
    json_bool(&json, "works", false);
    json_text(&json, "text", text);
    json_end(&json);
    json_end(&json);
}
