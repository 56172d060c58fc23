#include "drivers/drivers.h"

#include "handles/handles.h"
#include "log.h"
#include "settings.h"

#include <string.h>

static const struct driver *const drivers[] = {&driver_nvidia, &driver_pocl, &driver_rusticl};

static bool has_device(cl_platform_id platform, const char *part)
{
    struct device_list devices;
    bool found = false;
    devices_of_platform(below(), platform, &devices);
    for (cl_uint i = 0; i < devices.count && !found; i++) {
        char version[512] = "";
        found = below()->clGetDeviceInfo(devices.at[i], CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL) ==
                    CL_SUCCESS &&
                strstr(version, part);
    }
    return found;
}

unsigned quirks_of(cl_platform_id platform)
{
    char name[256] = "";
    const char *disabled = setting_text(SETTING_NO_QUIRKS);
    const struct driver *driver = NULL;
    unsigned on = 0;
    if (platform)
        below()->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strcmp(drivers[i]->platform, name) == 0)
            driver = drivers[i];
    for (unsigned i = 0; driver && i < driver->count; i++) {
        const struct driver_quirk *quirk = &driver->quirks[i];
        if (quirk->device && !has_device(platform, quirk->device))
            continue;
        const bool off = setting_names(disabled, quirk->name) || setting_names(disabled, "all");
        on |= off ? 0 : 1u << quirk->quirk;
        log_write(LOG_DEBUG, "workaround %s is %s: %s", quirk->name, off ? "turned off" : "on", quirk->why);
    }
    return on;
}

bool event_context_has(cl_event event, enum quirk quirk)
{
    cl_context handle = NULL;
    below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(handle), &handle, NULL);
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    const bool has = context && context_has(context, quirk);
    record_release(context);
    return has;
}
