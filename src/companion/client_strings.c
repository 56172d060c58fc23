/* The extensions of platforms and devices: Wine's opencl.dll hides those that it does not know. With a companion their
 * functions can be called, except those that share with graphics or memory unknown to the host's side of Wine. */
#include "companion/client.h"

#include "log.h"
#include "next/query.h"

#include <stdlib.h>
#include <string.h>

/* Wine's own functions, for all other queries. */
static cl_icd_dispatch wine;
static uint64_t host_device_info, host_platform_info;

static bool reachable(const char *name, size_t length, const void *data)
{
    (void)data;
    static const char *const beginnings[] = {"cl_arm_import_memory",
                                             "cl_arm_printf",
                                             "cl_arm_shared_virtual_memory",
                                             "cl_intel_va_api",
                                             "cl_khr_d3d",
                                             "cl_khr_dx9",
                                             "cl_khr_egl_",
                                             "cl_khr_gl_",
                                             "cl_khr_external_",
                                             "cl_khr_icd"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (length >= strlen(beginnings[i]) && memcmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return false;
    return true;
}

static cl_int ask(uint64_t function, void *subject, cl_uint name, size_t capacity, void *to, size_t *size)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)subject, name, capacity, (uint64_t)(uintptr_t)to,
                                  (uint64_t)(uintptr_t)size};
    return client_status(function, 5, arguments, 0);
}

static cl_int list(const char *call, uint64_t function, void *subject, cl_uint name, bool versions, size_t capacity,
                   void *to, size_t *size_ret)
{
    size_t size = 0;
    cl_int status = ask(function, subject, name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return status;
    char *text = calloc(1, size + 1);
    if (!text)
        return log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension string");
    status = ask(function, subject, name, size, text, NULL);
    if (status == CL_SUCCESS) {
        if (versions) {
            cl_name_version *names = (cl_name_version *)(void *)text;
            size = names_filter(names, size / sizeof(*names), reachable, NULL) * sizeof(*names);
        } else {
            words_filter(text, reachable, NULL);
            size = strlen(text) + 1;
        }
        status = answer(call, text, size, capacity, to, size_ret);
    }
    free(text);
    return status;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param_name,
                                            size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    if (param_name == CL_PLATFORM_EXTENSIONS || param_name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return list("clGetPlatformInfo", host_platform_info, platform, param_name, param_name != CL_PLATFORM_EXTENSIONS,
                    param_value_size, param_value, param_value_size_ret);
    return wine.clGetPlatformInfo(platform, param_name, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    if (param_name == CL_DEVICE_EXTENSIONS || param_name == CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return list("clGetDeviceInfo", host_device_info, device, param_name, param_name != CL_DEVICE_EXTENSIONS,
                    param_value_size, param_value, param_value_size_ret);
    return wine.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
}

void client_strings_install(cl_icd_dispatch *table)
{
    wine = *table;
    host_platform_info = client_find(CHANNEL_FIND, "clGetPlatformInfo");
    host_device_info = client_find(CHANNEL_FIND, "clGetDeviceInfo");
    if (host_platform_info)
        table->clGetPlatformInfo = get_platform_info;
    if (host_device_info)
        table->clGetDeviceInfo = get_device_info;
}
