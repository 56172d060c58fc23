#include "handles/quirks.h"

#include "log.h"
#include "next/query.h"
#include "settings.h"
#include "handles/tiers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POCL "Portable Computing Language"
#define REMOTE "pocl-remote"
#define NVIDIA "NVIDIA CUDA"
#define RUSTICL "rusticl"
#define HOLDS_QUEUE                                                                                                    \
    "a blocked command holds up all later ones of an out-of-order queue: commands that may be held up are not waited " \
    "for"

/* `last` is the last version that is known to need it; {0, 0}: no version is known that does not. */
static const struct {
    const char *name, *platform;
    struct version {
        int major, minor;
    } last;
    const char *why;
    const char *device; /* part of the version of one of the platform's devices; NULL: any devices */
    bool if_known;      /* inactive if the driver does not report its platform, because it would harm others */
} quirks[QUIRKS] = {
    /* clang-format off */
    [QUIRK_POCL_EVENTS] = {"pocl-events", POCL, {0, 0},
        "commands that fail, or that wait for a failed one, are freed while in use: their events are kept"},
    [QUIRK_POCL_ORDER] = {"pocl-order", POCL, {6, 0},
        "an in-order queue loses its order when its last command fails: cld3d waits until such a queue is empty"},
    [QUIRK_POCL_FAILURE_RACE] = {"pocl-failure-race", POCL, {0, 0},
        "the process ends if a command fails at the moment when a command that it waits for ends: cld3d waits for that other one first"},
    [QUIRK_POCL_HALF_FLOATS] = {"pocl-half-floats", POCL, {0, 0},
        "half floats of images with one channel are read as integers: such images are emulated"},
    [QUIRK_POCL_CALLBACK_STATUS] = {"pocl-callback-status", POCL, {0, 0},
        "a callback for an already failed event reports success: the status of completed events is queried"},
    [QUIRK_POCL_ROW_PITCH] = {"pocl-row-pitch", POCL, {0, 0},
        "the remote driver treats all rows of an image in host memory as tightly packed: shared images are moved in such rows", REMOTE},
    [QUIRK_POCL_SERVER_LOST] = {"pocl-server-lost", POCL, {0, 0},
        "a wait for commands of a lost remote device never returns: they are polled, and abandoned", REMOTE},
    [QUIRK_POCL_WAKES] = {"pocl-wakes", POCL, {0, 0},
        "each command wakes a thread, also a marker: a release that has nothing to enqueue waits until its queue is empty", NULL, true},
    [QUIRK_NVIDIA_UNSET_EVENTS] = {"nvidia-unset-events", NVIDIA, {0, 0},
        "the release of a context never returns if a user event was released without being set: one that blocks nothing is set to an error when it is released"},
    [QUIRK_NVIDIA_ARGUMENT_INFO] = {"nvidia-argument-info", NVIDIA, {0, 0},
        "a program that has a kernel without arguments does not build with -cl-kernel-arg-info: the option is not added where a failed build cannot be repeated without it"},
    [QUIRK_NVIDIA_DESTRUCTOR_CALLBACKS] = {"nvidia-destructor-callbacks", NVIDIA, {0, 0},
        "after a context with a destructor callback and user events the release of a context never returns: no such callback is set", NULL, true},
    [QUIRK_NVIDIA_1D_ARRAYS] = {"nvidia-1d-arrays", NVIDIA, {0, 0},
        "only the first image of a 1D image array is copied to or from a buffer: no format is emulated for such arrays", NULL, true},
    [QUIRK_NVIDIA_QUEUE_ORDER] = {"nvidia-queue-order", NVIDIA, {0, 0}, HOLDS_QUEUE, NULL, true},
    [QUIRK_RUSTICL_FLUSH_WAITS] = {"rusticl-flush-waits", RUSTICL, {0, 0},
        "a thread in clFinish or a blocking command keeps others from flushing its queue, or waiting for it: such a queue is not flushed, and its events are polled"},
    [QUIRK_RUSTICL_QUEUE_ORDER] = {"rusticl-queue-order", RUSTICL, {0, 0}, HOLDS_QUEUE, NULL, true},
    /* clang-format on */
};

cl_platform_id platform_of_context(cl_context handle)
{
    struct device_list devices;
    cl_platform_id platform;
    const bool known =
        devices_of_context(below(), handle, &devices) == CL_SUCCESS && devices.count &&
        below()->clGetDeviceInfo(devices.at[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS;
    return known ? platform : NULL;
}

enum { VERSION_TEXT = 256 };

/* "OpenCL 3.0 PoCL 3.1+debian ...". Empty if there is none. */
static void version_text(cl_platform_id platform, char text[VERSION_TEXT])
{
    memset(text, 0, VERSION_TEXT);
    if (!platform ||
        below()->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, VERSION_TEXT - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
}

bool platform_predates(cl_platform_id platform, int major)
{
    char text[VERSION_TEXT];
    int reported = 0;
    version_text(platform, text);
    return sscanf(text, "OpenCL %d.", &reported) == 1 && reported < major;
}

/* The driver's own version follows its name. {0, 0} if there is none. */
static struct version version_of(cl_platform_id platform)
{
    char text[VERSION_TEXT];
    struct version version = {0, 0};
    version_text(platform, text);
    const char *own = strncmp(text, "OpenCL ", 7) == 0 ? strchr(text + 7, ' ') : NULL;
    const char *number = own ? own + strcspn(own, "0123456789") : "";
    if (sscanf(number, "%d.%d", &version.major, &version.minor) != 2)
        version = (struct version){0, 0};
    return version;
}

static bool later(struct version a, struct version b)
{
    return a.major != b.major ? a.major > b.major : a.minor > b.minor;
}

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
    unsigned on = 0;
    const bool known =
        platform && below()->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL) == CL_SUCCESS;
    const struct version version = known ? version_of(platform) : (struct version){0};
    for (int i = 0; i < QUIRKS; i++) {
        const bool needed = known ? strcmp(quirks[i].platform, name) == 0 &&
                                        !(quirks[i].last.major && later(version, quirks[i].last)) &&
                                        (!quirks[i].device || has_device(platform, quirks[i].device))
                                  : !quirks[i].if_known;
        if (!needed)
            continue;
        const bool off = setting_names(disabled, quirks[i].name) || setting_names(disabled, "all");
        on |= off ? 0 : 1u << i;
        log_write(LOG_DEBUG, "workaround %s is %s: %s", quirks[i].name, off ? "turned off" : "on", quirks[i].why);
    }
    return on;
}
