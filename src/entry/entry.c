#include "entry/entry.h"

#include "bridge/bridge.h"
#ifdef _WIN32
#include "bridge/client.h"
#endif
#include "handles/known_devices.h"
#include "log.h"
#include "os/os.h"
#include "share/passthrough.h"
#include "share/share.h"

#include <stdio.h>
#include <string.h>

_Atomic(const cl_icd_dispatch *) entry_current;

/* Guards the initialisation. */
static os_mutex opening = OS_MUTEX_INIT;

/* For display: the other cld3d, if one is below. */
static char passes[64];

static void set_next_once(bool *there)
{
    static bool done, found;
    const bool another = entry_needs_another();
    os_lock(&opening);
    if (!done) {
        found = entry_set_next(another);
        done = true;
    }
    *there = found;
    os_unlock(&opening);
}

/* The function that identifies another cld3d below, or NULL. Called without the lock: a loader starts its drivers now,
 * and they may call cld3d. */
static next_function find_other(void)
{
    return next_function_at(next.clGetExtensionFunctionAddress("cld3d_report"));
}

/* Leaves `next` unchanged. The tiers serve the extensions' functions to which a program is linked; these pass
 * everything on. */
static const cl_icd_dispatch *pass_on(next_function other)
{
    const char *version = ((const char *(CL_API_CALL *)(const char *))other)("version");
    snprintf(passes, sizeof(passes), "cld3d %s", version ? version : "of an unknown version");
    log_write(LOG_INFO, "another copy, %s, is below this one and active: this one passes all calls on", passes);
    passthrough_from_all();
    tiers_install();
    return &next;
}

static const cl_icd_dispatch *act(void)
{
    known_devices_install(&next);
    tiers_install();
    return tier_share();
}

const cl_icd_dispatch *entry_open_now(void)
{
    bool there;
    set_next_once(&there);
    const next_function other = there ? find_other() : NULL;
    os_lock(&opening);
    const cl_icd_dispatch *table = atomic_load_explicit(&entry_current, memory_order_relaxed);
    if (!table) {
        table = other ? pass_on(other) : act();
        atomic_store_explicit(&entry_current, table, memory_order_release);
    }
    os_unlock(&opening);
    return table;
}

/* scripts/cld3d-doctor searches library files for this text, because it does not load them: it shows which OpenCL.dll
 * and which libcld3d.so fit together. */
static const char build[] = "cld3d build: version " CLD3D_VERSION ", bridge " BRIDGE_VERSION_TEXT;

const char *CL_API_CALL cld3d_report(const char *topic)
{
    entry_open();
    if (topic && strcmp(topic, "version") == 0)
        return CLD3D_VERSION;
    if (topic && strcmp(topic, "build") == 0)
        return build;
    if (topic && strcmp(topic, "next") == 0)
        return entry_next_report();
#ifdef _WIN32
    if (topic && strcmp(topic, "bridge") == 0)
        return client_report();
#endif
    if (topic && strcmp(topic, "match") == 0)
        return match_reason();
    if (topic && strcmp(topic, "transport") == 0)
        return transports_report();
    if (topic && strcmp(topic, "way") == 0) /* the method: cld3dinfo asks by this name */
        return transports_last_method();
    if (topic && strcmp(topic, "passes") == 0)
        return passes[0] ? passes : NULL;
    return NULL;
}
