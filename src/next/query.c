#include "next/query.h"

#include "log.h"

#include <CL/cl_ext.h>
#include <string.h>

cl_int answer(const char *call, const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to && capacity < size)
        return log_refuse(call, CL_INVALID_VALUE, "param_value_size is %zu, but the value has %zu bytes", capacity,
                          size);
    if (to && size)
        memcpy(to, value, size);
    if (size_ret)
        *size_ret = size;
    return CL_SUCCESS;
}

cl_int ask_subject(const cl_icd_dispatch *table, const struct subject *subject, cl_uint name, size_t capacity, void *to,
                   size_t *size_ret)
{
    return subject->device ? table->clGetDeviceInfo(subject->device, name, capacity, to, size_ret)
                           : table->clGetPlatformInfo(subject->platform, name, capacity, to, size_ret);
}

cl_int platforms_of(const cl_icd_dispatch *table, struct platform_list *platforms)
{
    cl_uint count = 0;
    const cl_int status = table->clGetPlatformIDs(PLATFORMS_MOST, platforms->at, &count);
    platforms->count = status != CL_SUCCESS ? 0 : count < PLATFORMS_MOST ? count : PLATFORMS_MOST;
    return status;
}

cl_int devices_of_context(const cl_icd_dispatch *table, cl_context context, struct device_list *devices)
{
    size_t size = 0;
    const cl_int status = table->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices->at), devices->at, &size);
    devices->count = status == CL_SUCCESS ? (cl_uint)(size / sizeof(devices->at[0])) : 0;
    return status;
}

cl_int devices_of_platform(const cl_icd_dispatch *table, cl_platform_id platform, struct device_list *devices)
{
    cl_uint count = 0;
    const cl_int status = table->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MOST, devices->at, &count);
    devices->count = status != CL_SUCCESS ? 0 : count < DEVICES_MOST ? count : DEVICES_MOST;
    return status;
}

struct gpu gpu_of_device(const cl_icd_dispatch *table, cl_device_id device)
{
    struct gpu gpu = {.pci = {0}};
    cl_device_pci_bus_info_khr pci;
    cl_device_topology_amd place;
    if (table->clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof(gpu.uuid), gpu.uuid, NULL) != CL_SUCCESS)
        memset(gpu.uuid, 0, sizeof(gpu.uuid));
    if (table->clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(pci), &pci, NULL) == CL_SUCCESS) {
        memcpy(gpu.pci, &pci, sizeof(gpu.pci));
    } else if (table->clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(place), &place, NULL) == CL_SUCCESS &&
               place.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD) { /* in the first domain */
        gpu.pci[1] = (uint8_t)place.pcie.bus;
        gpu.pci[2] = (uint8_t)place.pcie.device;
        gpu.pci[3] = (uint8_t)place.pcie.function;
    }
    return gpu;
}

/* The beginning of the first word at or after `place`, or the end of the text. */
static const char *word_from(const char *place)
{
    return place + strspn(place, " ");
}

bool words_have(const char *text, const char *word, size_t length)
{
    for (const char *at = word_from(text); *at; at = word_from(at + strcspn(at, " ")))
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
            return true;
    return false;
}

void words_filter(char *text, bool (*keep)(const char *word, size_t length, const void *data), const void *data)
{
    size_t kept = 0;
    for (const char *at = word_from(text); *at;) {
        const size_t length = strcspn(at, " ");
        const char *after = word_from(at + length);
        if (keep(at, length, data)) {
            if (kept)
                text[kept++] = ' ';
            memmove(text + kept, at, length);
            kept += length;
        }
        at = after;
    }
    text[kept] = '\0';
}

size_t names_filter(cl_name_version *list, size_t count,
                    bool (*keep)(const char *word, size_t length, const void *data), const void *data)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (keep(list[i].name, strnlen(list[i].name, sizeof(list->name)), data))
            list[kept++] = list[i];
    return kept;
}
