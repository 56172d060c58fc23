/* The OpenCL.dll that programs get, whether it is cld3d, and its platforms and devices. */
#include "info.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_LUID_VALID 0x106C /* cl_khr_device_uuid */
#define DEVICE_LUID 0x106D

/* The sizes that drivers tell for their texts can be wrong (Wine's are), so every text gets ample room instead. */
static char room[64 * 1024];

typedef const char *(CL_API_CALL *report_fn)(const char *topic);

/* ---- the library ---- */

const char *opencl_ask_cld3d(const struct opencl *cl, const char *topic)
{
    const report_fn report = (report_fn)library_function(&cl->cld3d, "cld3d_report");
    return report ? report(topic) : NULL;
}

static const char *report_topic(const struct opencl *cl, struct fact *report, const char *topic, const char *label)
{
    const char *text = opencl_ask_cld3d(cl, topic);
    report_text(report, topic, label, "%s", text ? text : "");
    return text;
}

/* cld3d is either the OpenCL.dll itself or a layer that a Khronos loader has loaded by now. */
static void find_cld3d(struct opencl *cl, struct fact *report)
{
    if (library_function(&cl->library, "cld3d_report"))
        cl->cld3d = cl->library;
    else if (!library_find(&cl->cld3d, "cld3d.dll") || !library_function(&cl->cld3d, "cld3d_report"))
        cl->cld3d.module = NULL;
    if (!cl->cld3d.module)
        return;
    if (cl->cld3d.module != cl->library.module)
        library_report(report, "layer", "cld3d, as a layer", &cl->cld3d);
    cl->version = report_topic(cl, report, "version", "cld3d");
    report_topic(cl, report, "build", NULL);
    cl->next = report_topic(cl, report, "next", "OpenCL below");
    cl->bridge = report_topic(cl, report, "bridge", "Bridge");
    report_topic(cl, report, "transport", "Transports");
    report_topic(cl, report, "passes", "Passes all calls on to");
    if (cl->next)
        library_find(&cl->below, cl->next);
}

/* ---- texts ---- */

static const char *platform_text(const struct opencl *cl, cl_platform_id id, cl_platform_info name)
{
    memset(room, 0, sizeof(room));
    if (CALL(cl, clGetPlatformInfo)(id, name, sizeof(room) - 1, room, NULL) != CL_SUCCESS)
        room[0] = '\0';
    return room;
}

static const char *device_text(__typeof__(&clGetDeviceInfo) ask, cl_device_id id, cl_device_info name)
{
    memset(room, 0, sizeof(room));
    if (!ask || ask(id, name, sizeof(room) - 1, room, NULL) != CL_SUCCESS)
        room[0] = '\0';
    return room;
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* ---- devices ---- */

static void report_luid(__typeof__(&clGetDeviceInfo) ask, cl_device_id id, struct fact *report)
{
    cl_bool valid = CL_FALSE;
    LUID luid;
    if (ask(id, DEVICE_LUID_VALID, sizeof(valid), &valid, NULL) == CL_SUCCESS && valid &&
        ask(id, DEVICE_LUID, sizeof(luid), &luid, NULL) == CL_SUCCESS)
        report_text(report, "luid", "LUID", "%08lx:%08lx", (unsigned long)luid.HighPart, (unsigned long)luid.LowPart);
}

static void describe_device(const struct opencl *cl, struct device *device, struct fact *report)
{
    const __typeof__(&clGetDeviceInfo) ask = CALL(cl, clGetDeviceInfo);
    /* cld3d hands on the handles of the OpenCL below as they are, so that one can be asked too. */
    const __typeof__(&clGetDeviceInfo) ask_below =
        (__typeof__(&clGetDeviceInfo))library_function(&cl->below, "clGetDeviceInfo");
    cl_device_type type = 0;
    cl_bool images = CL_FALSE;
    char why[WHY_SIZE];

    device->report = report;
    if (!step(why, "querying OpenCL device %u", device->number)) {
        report_text(report, "name", report_heading, "OpenCL device %u: %s", device->number, why);
        return;
    }
    report_text(report, "name", report_heading, "OpenCL device %u: %s", device->number,
                device_text(ask, device->id, CL_DEVICE_NAME));
    report_text(report, "platform", "Platform", "%s", platform_text(cl, device->platform, CL_PLATFORM_NAME));
    ask(device->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    report_text(report, "type", "Type", "%s",
                type & CL_DEVICE_TYPE_GPU   ? "GPU"
                : type & CL_DEVICE_TYPE_CPU ? "CPU"
                                            : "other");
    report_text(report, "version", "Version", "%s", device_text(ask, device->id, CL_DEVICE_VERSION));
    report_text(report, "driver", "Driver", "%s", device_text(ask, device->id, CL_DRIVER_VERSION));
    report_luid(ask, device->id, report);
    ask(device->id, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
    device->images = images != CL_FALSE;
    for (unsigned i = 0; i < API_COUNT; i++) {
        const char *name = apis[i]->extension;
        device->lists[i] = has_word(device_text(ask, device->id, CL_DEVICE_EXTENSIONS), name);
        device->own[i] = cl->cld3d.module && has_word(device_text(ask_below, device->id, CL_DEVICE_EXTENSIONS), name);
    }
}

/* Adds the devices of a platform, and their number or why there is none to its line. */
static void find_devices(struct opencl *cl, cl_platform_id platform, struct fact *platforms, struct fact *devices)
{
    cl_device_id ids[DEVICES_MAX] = {NULL};
    cl_uint count = 0;
    char why[WHY_SIZE] = "";
    if (step(why, "querying the devices of OpenCL platform %u", cl->platform_count)) {
        const cl_int code = CALL(cl, clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &count);
        if (code != CL_SUCCESS || count == 0)
            why_cl(why, "clGetDeviceIDs", code);
    }
    report_text(platforms, NULL, cl->platform_count > 0 ? "" : "Platforms", "%s, %s%s",
                platform_text(cl, platform, CL_PLATFORM_NAME), why[0] ? "no device: " : "has devices", why);
    for (cl_uint i = 0; !why[0] && i < count && i < DEVICES_MAX && cl->device_count < DEVICES_MAX; i++) {
        if (!ids[i])
            continue;
        struct device *device = &cl->devices[cl->device_count];
        device->number = cl->device_count++;
        device->id = ids[i];
        device->platform = platform;
        describe_device(cl, device, report_object(devices, NULL));
    }
    cl->platform_count++;
}

void opencl_find(struct opencl *cl, struct fact *report)
{
    cl_platform_id ids[PLATFORMS_MAX] = {NULL};
    cl_uint count = 0;
    struct fact *facts = report_object(report, "opencl");
    report_text(facts, NULL, report_heading, "OpenCL");
    library_load(&cl->library, "OpenCL.dll");
    library_report(facts, "library", "OpenCL.dll", &cl->library);
    if (!CALL(cl, clGetExtensionFunctionAddressForPlatform))
        why_say(cl->why, "this OpenCL.dll lacks functions of OpenCL 1.2");
    else if (step(cl->why, "querying the OpenCL platforms")) {
        const cl_int code = CALL(cl, clGetPlatformIDs)(PLATFORMS_MAX, ids, &count);
        if (code != CL_SUCCESS || count == 0)
            why_cl(cl->why, "clGetPlatformIDs", code);
    }
    find_cld3d(cl, facts);
    layers_report(facts);
    report_text(facts, "error", "Platforms", "%s", cl->library.module ? cl->why : "");
    struct fact *platforms = report_list(facts, "platforms");
    struct fact *devices = report_list(report, "devices");
    for (cl_uint i = 0; !cl->why[0] && i < count && i < PLATFORMS_MAX; i++)
        if (ids[i])
            find_devices(cl, ids[i], platforms, devices);
}
