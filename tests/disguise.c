/* A layer that makes the real devices below it look as graphics cards, for test_match. */
#include "disguise.h"

#include "layer_entry.h"

#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int look_of(cl_device_id device, struct look *look)
{
    const char *text = getenv(DRESSED_VARIABLE);
    for (int number = number_of(device); text && number > 0; number--) {
        text = strchr(text, ';');
        text = text ? text + 1 : NULL;
    }
    return text && sscanf(text, "%x:%llx:%127[^;]", &look->vendor, &look->luid, look->name) == 3;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    struct look look;
    if (!look_of(device, &look))
        return below->clGetDeviceInfo(device, name, room, to, size_ret);
    const cl_device_type type = strncmp(look.name, "CPU", 3) == 0 ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
    char uuid[CL_UUID_SIZE_KHR] = "";
    snprintf(uuid, sizeof(uuid), LOOK_UUID, look.vendor & 0xffff);
    if (name == CL_DEVICE_IMAGE_SUPPORT && strcmp(look.name, "Gone") == 0)
        return CL_DEVICE_NOT_AVAILABLE;
    const cl_uint pci = strcmp(look.name, "gfx1030") == 0 ? 0x73bf : 0x73df;
    const cl_bool known = look.luid != 0, images = strncmp(look.name, "Blind", 5) != 0;
    switch (name) {
    case CL_DEVICE_TYPE: return give_answer(&type, sizeof(type), room, to, size_ret);
    case CL_DEVICE_VENDOR_ID: return give_answer(&look.vendor, sizeof(look.vendor), room, to, size_ret);
    case CL_DEVICE_NAME: return give_answer(look.name, strlen(look.name) + 1, room, to, size_ret);
    case CL_DEVICE_IMAGE_SUPPORT: return give_answer(&images, sizeof(images), room, to, size_ret);
    case CL_DEVICE_UUID_KHR: return give_answer(uuid, sizeof(uuid), room, to, size_ret);
    case CL_DEVICE_PCIE_ID_AMD:
        return strncmp(look.name, "gfx", 3) == 0 ? give_answer(&pci, sizeof(pci), room, to, size_ret)
                                                 : CL_INVALID_VALUE;
    case DEVICE_LUID_VALID: return give_answer(&known, sizeof(known), room, to, size_ret);
    case DEVICE_LUID: return give_answer(&look.luid, sizeof(look.luid), room, to, size_ret);
    default: return below->clGetDeviceInfo(device, name, room, to, size_ret);
    }
}

static int is_named(cl_device_id device, const char *name)
{
    struct look look;
    return look_of(device, &look) && strcmp(look.name, name) == 0;
}

static cl_device_id first_of(cl_context context)
{
    cl_device_id devices[8] = {NULL};
    below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    return devices[0];
}

static cl_device_id device_of(cl_command_queue queue)
{
    cl_device_id device = NULL;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    return device;
}

static cl_int CL_API_CALL get_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint room,
                                      cl_image_format *formats, cl_uint *count)
{
    if (!is_named(first_of(context), "Formatless") && !is_named(first_of(context), "Imageless"))
        return below->clGetSupportedImageFormats(context, flags, type, room, formats, count);
    if (count)
        *count = 0;
    return CL_SUCCESS;
}

static cl_mem refuse(cl_int *status, cl_int code)
{
    if (status)
        *status = code;
    return NULL;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *desc, void *host, cl_int *status)
{
    if (is_named(first_of(context), "Formatless"))
        return refuse(status, CL_IMAGE_FORMAT_NOT_SUPPORTED);
    if (is_named(first_of(context), "Imageless"))
        return refuse(status, CL_INVALID_OPERATION);
    if (is_named(first_of(context), "Memoryless"))
        return refuse(status, CL_OUT_OF_HOST_MEMORY);
    return below->clCreateImage(context, flags, format, desc, host, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    if (is_named(first_of(context), "Memoryless"))
        return refuse(status, CL_OUT_OF_HOST_MEMORY);
    return below->clCreateBuffer(context, flags, size, host, status);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, const void *from, cl_uint wait_count, const cl_event *wait,
                                       cl_event *event)
{
    if (is_named(device_of(queue), "Memoryless") || is_named(device_of(queue), "Writeless"))
        return CL_OUT_OF_HOST_MEMORY;
    return below->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, wait_count, wait, event);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                      size_t size, void *to, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (is_named(device_of(queue), "Memoryless"))
        return CL_OUT_OF_HOST_MEMORY;
    return below->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, wait_count, wait, event);
}

static void replace(void)
{
    table.clGetDeviceInfo = get_device_info;
    table.clGetSupportedImageFormats = get_formats;
    table.clCreateImage = create_image;
    table.clCreateBuffer = create_buffer;
    table.clEnqueueWriteBuffer = write_buffer;
    table.clEnqueueReadBuffer = read_buffer;
}
