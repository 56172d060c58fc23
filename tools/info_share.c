/* Does it work? A texture goes from Direct3D to each OpenCL device and comes back with other texels. */
#include "info_session.h"
#include "info_text.h"

#include <stdio.h>
#include <string.h>

/* ---- which devices belong to which adapter ---- */

static bool contains(const cl_device_id *list, cl_uint count, cl_device_id id)
{
    for (cl_uint i = 0; i < count && i < DEVICES_MAX; i++)
        if (list[i] == id)
            return true;
    return false;
}

static void ask_set(struct info *info, const struct platform *platform, unsigned api, unsigned a, bool preferred)
{
    cl_device_id list[DEVICES_MAX] = {NULL};
    cl_uint count = 0;
    const any_function function = session_function(&info->opencl, platform, apis[api]->get_devices);
    cl_int code = CL_INVALID_OPERATION;
    if (function)
        code =
            apis[api]->devices_of(function, platform->id, &info->d3d.adapters[a], preferred, DEVICES_MAX, list, &count);
    for (unsigned d = 0; d < info->opencl.device_count; d++) {
        struct device *device = &info->opencl.devices[d];
        struct belonging *belonging = &device->sharing[api].adapters[a];
        if (device->platform != platform)
            continue;
        const bool in = code == CL_SUCCESS && contains(list, count, device->id);
        belonging->asked = true;
        belonging->preferred = belonging->preferred || (preferred && in);
        if (preferred && in)
            belonging->reason = opencl_match_reason(&info->opencl);
        belonging->possible = belonging->possible || (!preferred && in);
        if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND)
            belonging->code = code;
    }
}

static bool platform_shares(const struct info *info, const struct platform *platform, unsigned api)
{
    for (unsigned d = 0; d < info->opencl.device_count; d++)
        if (info->opencl.devices[d].platform == platform && info->opencl.devices[d].sharing[api].listed)
            return true;
    return false;
}

static void ask_sets(struct info *info, const struct platform *platform, unsigned api)
{
    for (unsigned a = 0; a < info->d3d.adapter_count; a++) {
        const struct adapter *adapter = &info->d3d.adapters[a];
        /* Direct3D 9 has no adapter objects: there the device is asked about. */
        if (api == API_D3D9 ? !adapter->d3d[api].device : !adapter->dxgi)
            continue;
        char why[WHY_SIZE];
        if (!step(why, "querying the devices of OpenCL platform %u for adapter %u (%s)",
                  (unsigned)(platform - info->opencl.platforms), a, apis[api]->get_devices))
            continue;
        ask_set(info, platform, api, a, true);
        ask_set(info, platform, api, a, false);
    }
}

/* ---- the trial ---- */

/* The adapter that the device belongs to, else any on which there is a Direct3D device. */
static const struct adapter *choose_adapter(const struct info *info, const struct device *device, unsigned api)
{
    const struct adapter *chosen = NULL;
    unsigned best = 0;
    for (unsigned a = 0; a < info->d3d.adapter_count; a++) {
        const struct belonging *belonging = &device->sharing[api].adapters[a];
        const unsigned rank = belonging->preferred ? 3 : belonging->possible ? 2 : 1;
        if (info->d3d.adapters[a].d3d[api].device && rank > best) {
            best = rank;
            chosen = &info->d3d.adapters[a];
        }
    }
    return chosen;
}

static const struct format_row *plain_format(const struct api *api)
{
    const struct format_row *row = api->formats;
    while (row->code != api->plain_format)
        row++;
    return row;
}

static void try_device(const struct info *info, struct device *device, unsigned api)
{
    struct sharing *sharing = &device->sharing[api];
    const struct adapter *adapter = choose_adapter(info, device, api);
    if (!adapter) {
        why_say(sharing->why, "there is no %s device to share with", apis[api]->name);
        return;
    }
    cl_image_format stored;
    struct session session = {&info->opencl, apis[api], device, adapter->d3d[api].device, NULL, NULL, NULL, NULL, NULL};
    sharing->tried = true;
    if (!step(sharing->why, "sharing a %s texture with OpenCL device %u", apis[api]->name,
              (unsigned)(device - info->opencl.devices)))
        return;
    sharing->adapter = adapter;
    sharing->works =
        session_open(&session, sharing->why) && session_try(&session, plain_format(apis[api]), &stored, sharing->why);
    const char *way = opencl_last_way(&info->opencl);
    snprintf(sharing->way, sizeof(sharing->way), "%s", sharing->works && way ? way : "");
    session_close(&session);
}

void sharing_try(struct info *info)
{
    for (unsigned p = 0; p < info->opencl.platform_count; p++)
        for (unsigned api = 0; api < API_COUNT; api++)
            if (platform_shares(info, &info->opencl.platforms[p], api))
                ask_sets(info, &info->opencl.platforms[p], api);
    for (unsigned d = 0; d < info->opencl.device_count; d++)
        for (unsigned api = 0; api < API_COUNT; api++)
            if (info->opencl.devices[d].sharing[api].listed)
                try_device(info, &info->opencl.devices[d], api);
}
