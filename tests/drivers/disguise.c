/* Graphics cards of any vendor, as disguise.h says, for test_match. */
#include "disguise.h"

#include "layer.h"

#include <stdio.h>

#define DEVICE_LUID_VALID 0x106C
#define DEVICE_LUID 0x106D

struct look {
    unsigned vendor;
    unsigned long long luid;
    char name[128];
};

/* The devices of all platforms in a row: which one is it? */
static int number_of(cl_device_id device)
{
    cl_platform_id platforms[8];
    cl_device_id devices[8];
    cl_uint platform_count = 0, count, number = 0;
    below->clGetPlatformIDs(8, platforms, &platform_count);
    for (cl_uint p = 0; p < platform_count; p++) {
        if (below->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 8, devices, &count) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < count; d++, number++)
            if (devices[d] == device)
                return (int)number;
    }
    return -1;
}

static bool look_of(cl_device_id device, struct look *look)
{
    const char *text = getenv(DRESSED_VARIABLE);
    for (int number = number_of(device); text && number > 0; number--) {
        text = strchr(text, ';');
        text = text ? text + 1 : NULL;
    }
    return text && sscanf(text, "%x:%llx:%127[^;]", &look->vendor, &look->luid, look->name) == 3;
}

REPLACES(clGetDeviceInfo)
{
    struct look look;
    if (!look_of(device, &look))
        return PASS(clGetDeviceInfo);
    const cl_device_type type = strncmp(look.name, "CPU", 3) == 0 ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
    char uuid[CL_UUID_SIZE_KHR] = "";
    snprintf(uuid, sizeof(uuid), LOOK_UUID, look.vendor & 0xffff);
    if (param_name == CL_DEVICE_IMAGE_SUPPORT && strcmp(look.name, "Gone") == 0)
        return CL_DEVICE_NOT_AVAILABLE;
    const cl_uint pci = strcmp(look.name, "gfx1030") == 0 ? 0x73bf : 0x73df;
    const cl_bool known = look.luid != 0, images = strncmp(look.name, "Blind", 5) != 0;
    switch (param_name) {
    case CL_DEVICE_TYPE: return ANSWER(type);
    case CL_DEVICE_VENDOR_ID: return ANSWER(look.vendor);
    case CL_DEVICE_NAME: return ANSWER_TEXT(look.name);
    case CL_DEVICE_IMAGE_SUPPORT: return ANSWER(images);
    case CL_DEVICE_UUID_KHR: return ANSWER(uuid);
    case CL_DEVICE_PCIE_ID_AMD: return strncmp(look.name, "gfx", 3) == 0 ? ANSWER(pci) : CL_INVALID_VALUE;
    case DEVICE_LUID_VALID: return ANSWER(known);
    case DEVICE_LUID: return ANSWER(look.luid);
    default: return PASS(clGetDeviceInfo);
    }
}

/* Whether the first device of a context has a name. */
static bool is_of(cl_context context, const char *name)
{
    struct look look;
    cl_device_id devices[8] = {NULL};
    below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    return look_of(devices[0], &look) && strcmp(look.name, name) == 0;
}

REPLACES(clGetSupportedImageFormats)
{
    if (!is_of(context, "Formatless") && !is_of(context, "Imageless"))
        return PASS(clGetSupportedImageFormats);
    if (num_image_formats)
        *num_image_formats = 0;
    return CL_SUCCESS;
}

REPLACES(clCreateImage)
{
    if (is_of(context, "Formatless"))
        return refuse(errcode_ret, CL_IMAGE_FORMAT_NOT_SUPPORTED);
    return is_of(context, "Imageless") ? refuse(errcode_ret, CL_INVALID_OPERATION) : PASS(clCreateImage);
}
