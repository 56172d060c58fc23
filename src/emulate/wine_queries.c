/* Queries that Wine 8's opencl.dll answers wrongly.
 *
 * It removes extensions from the extension strings whose functions it does not know, but not from the lists with
 * versions. It keeps extensions newer than itself, whose functions no program can obtain. It computes the sizes of the
 * strings before it shortens them. It changes the execution capabilities in the result buffer without checking that
 * there is one. An invalid platform or device crashes the host or returns garbage. */
#include "emulate/emulate.h"
#include "emulate/known_devices.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>
#include <string.h>

/* Wine 8 reports too large a size, and then requires a buffer of that size. */
enum { STRING_CAPACITY = 64 * 1024 };

/* Wine's own functions. */
static cl_icd_dispatch wine;

/* ---- usable extensions ---- */

/* Extensions that are useless without their functions, and one of these functions. */
static const struct {
    const char *extension, *function;
} with_functions[] = {
    {"cl_arm_import_memory", "clImportMemoryARM"},
    {"cl_arm_shared_virtual_memory", "clSVMAllocARM"},
    {"cl_ext_buffer_device_address", "clSetKernelArgDevicePointerEXT"},
    {"cl_ext_device_fission", "clCreateSubDevicesEXT"},
    {"cl_ext_image_requirements_info", "clGetImageRequirementsInfoEXT"},
    {"cl_img_cancel_command", "clCancelCommandsIMG"},
    {"cl_intel_unified_shared_memory", "clHostMemAllocINTEL"},
    {"cl_khr_command_buffer", "clCreateCommandBufferKHR"},
    {"cl_khr_command_buffer_multi_device", "clRemapCommandBufferKHR"},
    {"cl_khr_command_buffer_mutable_dispatch", "clUpdateMutableCommandsKHR"},
    {"cl_khr_create_command_queue", "clCreateCommandQueueWithPropertiesKHR"},
    {"cl_khr_external_memory", "clEnqueueAcquireExternalMemObjectsKHR"},
    {"cl_khr_external_memory_dma_buf", "clEnqueueAcquireExternalMemObjectsKHR"},
    {"cl_khr_external_memory_opaque_fd", "clEnqueueAcquireExternalMemObjectsKHR"},
    {"cl_khr_external_semaphore", "clGetSemaphoreHandleForTypeKHR"},
    {"cl_khr_external_semaphore_opaque_fd", "clGetSemaphoreHandleForTypeKHR"},
    {"cl_khr_external_semaphore_sync_fd", "clGetSemaphoreHandleForTypeKHR"},
    {"cl_khr_il_program", "clCreateProgramWithILKHR"},
    {"cl_khr_semaphore", "clCreateSemaphoreWithPropertiesKHR"},
    {"cl_khr_subgroups", "clGetKernelSubGroupInfoKHR"},
    {"cl_khr_suggested_local_work_size", "clGetKernelSuggestedLocalWorkSizeKHR"},
    {"cl_khr_terminate_context", "clTerminateContextKHR"},
    {"cl_nv_create_buffer", "clCreateBufferNV"},
    {"cl_pocl_command_buffer_host_buffer", "clCommandReadBufferPOCL"},
    {"cl_pocl_command_buffer_svm", "clCommandSVMMemcpyPOCL"},
    {"cl_pocl_content_size", "clSetContentSizeBufferPoCL"},
    {"cl_pocl_svm_rect", "clEnqueueSVMMemcpyRectPOCL"},
};

static bool reachable(const char *name, size_t length, const void *platform)
{
    for (size_t i = 0; i < sizeof(with_functions) / sizeof(with_functions[0]); i++)
        if (words_have(with_functions[i].extension, name, length))
            return wine.clGetExtensionFunctionAddressForPlatform((cl_platform_id)platform,
                                                                 with_functions[i].function) != NULL;
    return true;
}

/* ---- extensions ---- */

/* The extension string, for the caller to free, or NULL with *status set. */
static char *extension_words(const struct subject *s, cl_int *status)
{
    const cl_uint name = s->device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS;
    size_t capacity = 0;
    if (ask_subject(&wine, s, name, 0, NULL, &capacity) != CL_SUCCESS || capacity < STRING_CAPACITY)
        capacity = STRING_CAPACITY;
    char *text = calloc(1, capacity + 1);
    if (!text) {
        *status = log_refuse(s->call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension string");
        return NULL;
    }
    *status = ask_subject(&wine, s, name, capacity, text, NULL);
    if (*status == CL_SUCCESS) {
        words_filter(text, reachable, s->platform);
        return text;
    }
    free(text);
    return NULL;
}

static cl_int extension_string(const struct subject *s, size_t capacity, void *to, size_t *size_ret)
{
    cl_int status;
    char *text = extension_words(s, &status);
    if (text)
        status = answer(s->call, text, strlen(text) + 1, capacity, to, size_ret);
    free(text);
    return status;
}

static bool named(const char *name, size_t length, const void *text)
{
    return words_have(text, name, length);
}

static cl_int extension_versions(const struct subject *s, cl_uint name, size_t capacity, void *to, size_t *size_ret)
{
    size_t size = 0;
    cl_int status = ask_subject(&wine, s, name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return status; /* OpenCL before 3.0 has no such query */
    char *text = extension_words(s, &status);
    cl_name_version *list = text ? calloc(1, size + 1) : NULL;
    if (text && !list)
        status = log_refuse(s->call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension list");
    if (list && size)
        status = ask_subject(&wine, s, name, size, list, NULL);
    if (list && status == CL_SUCCESS) {
        const size_t count = names_filter(list, size / sizeof(*list), named, text);
        status = answer(s->call, list, count * sizeof(*list), capacity, to, size_ret);
    }
    free(list);
    free(text);
    return status;
}

/* ---- the hooks ---- */

/* NULL is accepted, because its meaning is up to the implementation. */
static bool is_no_platform(cl_platform_id platform)
{
    return platform && !known_may_be_platform(platform);
}

static cl_int refuse_platform(const char *call, cl_platform_id platform)
{
    return log_refuse(call, CL_INVALID_PLATFORM, "%p is not a platform", (void *)platform);
}

static cl_int execution_capabilities(cl_device_id device, size_t capacity, void *to, size_t *size_ret)
{
    cl_device_exec_capabilities capabilities = 0;
    const cl_int status =
        wine.clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL);
    if (status != CL_SUCCESS)
        return status;
    return answer("clGetDeviceInfo", &capabilities, sizeof(capabilities), capacity, to, size_ret);
}

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    wine.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    if (!known_may_be_device(device))
        return log_refuse("clGetDeviceInfo", CL_INVALID_DEVICE, "%p is not a device", (void *)device);
    if (param_name == CL_DEVICE_EXECUTION_CAPABILITIES)
        return execution_capabilities(device, param_value_size, param_value, param_value_size_ret);
    if (param_name != CL_DEVICE_EXTENSIONS && param_name != CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return wine.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    const struct subject s = {"clGetDeviceInfo", platform_of(device), device};
    if (param_name == CL_DEVICE_EXTENSIONS)
        return extension_string(&s, param_value_size, param_value, param_value_size_ret);
    return extension_versions(&s, param_name, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param_name,
                                            size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    const struct subject s = {"clGetPlatformInfo", platform, NULL};
    if (is_no_platform(platform))
        return refuse_platform(s.call, platform);
    if (param_name == CL_PLATFORM_EXTENSIONS)
        return extension_string(&s, param_value_size, param_value, param_value_size_ret);
    if (param_name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return extension_versions(&s, param_name, param_value_size, param_value, param_value_size_ret);
    return wine.clGetPlatformInfo(platform, param_name, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                         cl_device_id *devices, cl_uint *num_devices)
{
    if (is_no_platform(platform))
        return refuse_platform("clGetDeviceIDs", platform);
    return wine.clGetDeviceIDs(platform, device_type, num_entries, devices, num_devices);
}

static cl_int CL_API_CALL unload_platform_compiler(cl_platform_id platform)
{
    if (is_no_platform(platform))
        return refuse_platform("clUnloadPlatformCompiler", platform);
    return wine.clUnloadPlatformCompiler(platform);
}

void wine_queries_install(cl_icd_dispatch *table)
{
    wine = *table;
    table->clGetDeviceIDs = get_device_ids;
    table->clUnloadPlatformCompiler = unload_platform_compiler;
    table->clGetDeviceInfo = get_device_info;
    table->clGetPlatformInfo = get_platform_info;
}
