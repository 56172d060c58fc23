/* The OpenCL.dll that programs get, whether it is cld3d, and its platforms and devices. */
#include "info.h"
#include "info_text.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_LUID_VALID 0x106C /* cl_khr_device_uuid */
#define DEVICE_LUID 0x106D

/* The sizes that drivers tell for their texts can be wrong (Wine's are), so every text gets ample room instead. */
static char room[64 * 1024];

typedef const char *(CL_API_CALL *report_fn)(const char *topic);

/* ---- the library ---- */

static bool load_calls(struct opencl *cl)
{
#define X(function)                                                                   \
    cl->call.function = (cl_api_##function)library_function(&cl->library, #function); \
    if (!cl->call.function) {                                                         \
        why_say(cl->why, "this OpenCL.dll has no " #function);                        \
        return false;                                                                 \
    }
    CL_CALLS(X)
#undef X
    return true;
}

/* cld3d is either the OpenCL.dll itself or a layer that a Khronos loader has loaded by now. */
static void find_cld3d(struct opencl *cl)
{
    struct library layer = {0};
    report_fn report = (report_fn)library_function(&cl->library, "cld3d_report");
    if (report)
        cl->cld3d = cl->library;
    else if (library_find(&layer, "cld3d.dll") &&
             (report = (report_fn)library_function(&layer, "cld3d_report")) != NULL)
        cl->cld3d = layer;
    else
        return;
    char why[WHY_SIZE];
    if (!step(why, "querying cld3d about itself"))
        return;
    cl->version = report("version");
    cl->build = report("build");
    cl->next = report("next");
    cl->transport = report("transport");
    cl->bridge = report("bridge");
    cl->passes = report("passes");
    if (cl->next)
        library_find(&cl->below, cl->next);
}

static const char *ask_cld3d(const struct opencl *cl, const char *topic)
{
    const report_fn report = cl->cld3d.module ? (report_fn)library_function(&cl->cld3d, "cld3d_report") : NULL;
    return report ? report(topic) : NULL;
}

const char *opencl_match_reason(const struct opencl *cl)
{
    return ask_cld3d(cl, "match");
}

const char *opencl_last_way(const struct opencl *cl)
{
    return ask_cld3d(cl, "way");
}

/* ---- texts ---- */

static void platform_text(const struct opencl *cl, cl_platform_id id, cl_platform_info name, char *text, size_t size)
{
    memset(room, 0, sizeof(room));
    if (cl->call.clGetPlatformInfo(id, name, sizeof(room) - 1, room, NULL) != CL_SUCCESS)
        room[0] = '\0';
    memcpy(text, room, size - 1);
    text_clean(text, size);
}

static void device_text(const struct opencl *cl, cl_device_id id, cl_device_info name, char *text, size_t size)
{
    memset(room, 0, sizeof(room));
    if (cl->call.clGetDeviceInfo(id, name, sizeof(room) - 1, room, NULL) != CL_SUCCESS)
        room[0] = '\0';
    memcpy(text, room, size - 1);
    text_clean(text, size);
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool platform_lists(const struct opencl *cl, cl_platform_id id, const char *extension)
{
    memset(room, 0, sizeof(room));
    return cl->call.clGetPlatformInfo(id, CL_PLATFORM_EXTENSIONS, sizeof(room) - 1, room, NULL) == CL_SUCCESS &&
           has_word(room, extension);
}

static bool device_lists(cl_api_clGetDeviceInfo ask, cl_device_id id, const char *extension)
{
    memset(room, 0, sizeof(room));
    return ask && ask(id, CL_DEVICE_EXTENSIONS, sizeof(room) - 1, room, NULL) == CL_SUCCESS &&
           has_word(room, extension);
}

/* ---- devices ---- */

static bool device_luid(const struct opencl *cl, cl_device_id id, LUID *luid)
{
    cl_bool valid = CL_FALSE;
    return cl->call.clGetDeviceInfo(id, DEVICE_LUID_VALID, sizeof(valid), &valid, NULL) == CL_SUCCESS && valid &&
           cl->call.clGetDeviceInfo(id, DEVICE_LUID, sizeof(*luid), luid, NULL) == CL_SUCCESS;
}

static void describe_device(const struct opencl *cl, struct device *device)
{
    const cl_api_clGetDeviceInfo ask = cl->call.clGetDeviceInfo;
    /* cld3d hands on the handles of the OpenCL below as they are, so that one can be asked too. */
    const cl_api_clGetDeviceInfo ask_below = (cl_api_clGetDeviceInfo)library_function(&cl->below, "clGetDeviceInfo");
    cl_bool images = CL_FALSE;

    if (!step(device->name, "querying OpenCL device %u", (unsigned)(device - cl->devices)))
        return;
    device_text(cl, device->id, CL_DEVICE_NAME, device->name, sizeof(device->name));
    device_text(cl, device->id, CL_DEVICE_VERSION, device->version, sizeof(device->version));
    device_text(cl, device->id, CL_DRIVER_VERSION, device->driver, sizeof(device->driver));
    ask(device->id, CL_DEVICE_TYPE, sizeof(device->type), &device->type, NULL);
    ask(device->id, CL_DEVICE_VENDOR_ID, sizeof(device->vendor), &device->vendor, NULL);
    ask(device->id, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
    device->images = images != CL_FALSE;
    device->has_luid = device_luid(cl, device->id, &device->luid);
    for (unsigned i = 0; i < API_COUNT; i++) {
        device->sharing[i].listed = device_lists(ask, device->id, apis[i]->extension);
        device->sharing[i].own = cl->cld3d.module && device_lists(ask_below, device->id, apis[i]->extension);
    }
}

static void find_devices(struct opencl *cl, struct platform *platform)
{
    cl_device_id ids[DEVICES_MAX] = {NULL};
    cl_uint count = 0;
    if (platform->why[0] ||
        !step(platform->why, "querying the devices of OpenCL platform %u", (unsigned)(platform - cl->platforms)))
        return;
    const cl_int code = cl->call.clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &count);
    if (code != CL_SUCCESS) {
        why_cl(platform->why, "clGetDeviceIDs", code);
        return;
    }
    for (cl_uint i = 0; i < count && i < DEVICES_MAX && cl->device_count < DEVICES_MAX; i++) {
        if (!ids[i])
            continue;
        struct device *device = &cl->devices[cl->device_count++];
        device->id = ids[i];
        device->platform = platform;
        platform->device_count++;
        describe_device(cl, device);
    }
    if (platform->device_count == 0)
        why_say(platform->why, "clGetDeviceIDs returns no device");
}

static void find_platforms(struct opencl *cl)
{
    cl_platform_id ids[PLATFORMS_MAX] = {NULL};
    cl_uint count = 0;
    if (!step(cl->why, "querying the OpenCL platforms"))
        return;
    const cl_int code = cl->call.clGetPlatformIDs(PLATFORMS_MAX, ids, &count);
    if (code != CL_SUCCESS)
        why_cl(cl->why, "clGetPlatformIDs", code);
    else if (count == 0)
        why_say(cl->why, "clGetPlatformIDs returns no platform");
    for (cl_uint i = 0; code == CL_SUCCESS && i < count && i < PLATFORMS_MAX; i++) {
        if (!ids[i])
            continue;
        struct platform *platform = &cl->platforms[cl->platform_count++];
        platform->id = ids[i];
        if (!step(platform->why, "querying the properties of OpenCL platform %u", i))
            continue;
        platform_text(cl, ids[i], CL_PLATFORM_NAME, platform->name, sizeof(platform->name));
        platform_text(cl, ids[i], CL_PLATFORM_VERSION, platform->version, sizeof(platform->version));
        for (unsigned k = 0; k < API_COUNT; k++)
            platform->lists[k] = platform_lists(cl, ids[i], apis[k]->extension);
    }
}

void opencl_find(struct opencl *cl)
{
    library_load(&cl->library, "OpenCL.dll");
    cl->beside_unused = library_beside_unused(&cl->library);
    library_only_here(&cl->library, L"OpenCL.dll", cl->only_here, sizeof(cl->only_here));
    cl->complete = cl->library.module && load_calls(cl);
    if (!cl->complete)
        return;
    find_platforms(cl);
    find_cld3d(cl);
    for (unsigned i = 0; i < cl->platform_count; i++)
        find_devices(cl, &cl->platforms[i]);
}
