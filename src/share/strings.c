/* The extension strings of platforms and devices, plain and with versions.
 *
 * The sizes are computed here: Wine's are wrong for these strings, and FFmpeg aborts if a size is not strlen + 1. */
#include "share/share.h"

#include "log.h"
#include "next/query.h"
#include "share/passthrough.h"
#include "share/extensions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wine may report a size of 0 for a string that exists, and demands many times the room that it needs. */
enum { STRING_CAPACITY = 1024 * 1024 };

/* Accelerators may be in a platform without having images: OpenCLOn12 lists neural processors as such. Programs look for
 * the extension in the platform's string alone (FFmpeg), and would miss the platform's GPU. */
static bool is_accelerator(cl_device_id device)
{
    cl_device_type type = 0;
    below()->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return (type & (CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM)) != 0;
}

/* The specification: a platform lists the extension if all its devices do. Accelerators that cannot share are not
 * counted. */
static cl_int platform_shares(cl_platform_id platform, bool *shares)
{
    struct device_list devices;
    cl_int status = devices_of_platform(below(), platform, &devices);
    if (status == CL_DEVICE_NOT_FOUND)
        return CL_SUCCESS;
    bool any = false, all = true;
    for (cl_uint i = 0; i < devices.count && all && status == CL_SUCCESS; i++) {
        bool one = false;
        status = device_sharing(devices.at[i], &one);
        any = any || one;
        all = one || is_accelerator(devices.at[i]);
    }
    *shares = any && all;
    return status;
}

/* Whether cld3d's extensions belong in the string. */
static cl_int subject_shares(const struct subject *s, bool *shares)
{
    *shares = false;
    if (s->device ? passthrough_device(s->device) : passthrough_platform(s->platform))
        return CL_SUCCESS; /* the driver's own string is correct */
    return s->device ? device_sharing(s->device, shares) : platform_shares(s->platform, shares);
}

static void append_words(char *text, size_t size)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    for (unsigned i = 0; i < extension_count; i++)
        if (!words_have(text, extensions[i].name, strlen(extensions[i].name)))
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "", extensions[i].name);
}

static cl_int extension_string(const struct subject *s, cl_uint name, size_t capacity, void *to, size_t *size_ret)
{
    char *text = calloc(1, STRING_CAPACITY + 1024);
    if (!text)
        return log_refuse(s->call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension string");
    bool shares = false;
    cl_int status = ask_subject(below(), s, name, STRING_CAPACITY, text, NULL);
    if (status == CL_SUCCESS)
        status = subject_shares(s, &shares);
    if (status == CL_SUCCESS) {
        if (shares)
            append_words(text, STRING_CAPACITY + 1024);
        status = answer(s->call, text, strlen(text) + 1, capacity, to, size_ret);
    }
    free(text);
    return status;
}

static size_t append_versions(cl_name_version *list, size_t count)
{
    for (unsigned i = 0; i < extension_count; i++) {
        bool listed = false;
        for (size_t k = 0; k < count; k++)
            listed = listed || strcmp(list[k].name, extensions[i].name) == 0;
        if (listed)
            continue;
        list[count].version = extensions[i].version;
        snprintf(list[count++].name, sizeof(list->name), "%s", extensions[i].name);
    }
    return count;
}

static cl_int extension_versions(const struct subject *s, cl_uint name, size_t capacity, void *to, size_t *size_ret)
{
    size_t size = 0;
    cl_int status = ask_subject(below(), s, name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return status; /* OpenCL before 3.0 has no such query */
    size_t count = size / sizeof(cl_name_version);
    cl_name_version *list = calloc(count + extension_count, sizeof(*list));
    if (!list)
        return log_refuse(s->call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension list");
    bool shares = false;
    status = count ? ask_subject(below(), s, name, count * sizeof(*list), list, NULL) : CL_SUCCESS;
    if (status == CL_SUCCESS)
        status = subject_shares(s, &shares);
    if (status == CL_SUCCESS) {
        if (shares)
            count = append_versions(list, count);
        status = answer(s->call, list, count * sizeof(*list), capacity, to, size_ret);
    }
    free(list);
    return status;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param_name,
                                            size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    const struct subject s = {"clGetPlatformInfo", platform, NULL};
    if (param_name == CL_PLATFORM_EXTENSIONS)
        return extension_string(&s, param_name, param_value_size, param_value, param_value_size_ret);
    if (param_name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return extension_versions(&s, param_name, param_value_size, param_value, param_value_size_ret);
    return below()->clGetPlatformInfo(platform, param_name, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    const struct subject s = {"clGetDeviceInfo", NULL, device};
    if (device && param_name == CL_DEVICE_EXTENSIONS)
        return extension_string(&s, param_name, param_value_size, param_value, param_value_size_ret);
    if (device && param_name == CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return extension_versions(&s, param_name, param_value_size, param_value, param_value_size_ret);
    if (device && (param_name == DEVICE_LUID_VALID || param_name == DEVICE_LUID || param_name == DEVICE_NODE_MASK))
        return share_get_luid(device, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status =
        below()->clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    if (param_name == CL_DEVICE_TYPE && status == CL_SUCCESS && param_value)
        *(cl_device_type *)param_value = device_type_shown(*(cl_device_type *)param_value);
    return status;
}

void strings_install(cl_icd_dispatch *table)
{
    table->clGetPlatformInfo = get_platform_info;
    table->clGetDeviceInfo = get_device_info;
}
