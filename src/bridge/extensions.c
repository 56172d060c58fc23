/* Extensions of the host's platforms and devices: which of them a program sees, and their functions by name.
 *
 * Windows code cannot call a host address, because it passes arguments differently. So each function gets a stub: a function
 * that takes as many 64-bit arguments as any OpenCL function has, and passes them on. Where the caller passed fewer, the stub
 * reads the rest from the caller's stack; the host's function ignores them. */
#include "bridge/client.h"

#include "bridge/calls_generated.h"
#include "log.h"
#include "next/handle.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

#ifdef _WIN64
enum { STUBS = 256 };

/* The addresses of the host's functions behind the stubs, at the same index; an entry is written once. */
static os_mutex lock = OS_MUTEX_INIT;
static uint64_t stubbed[STUBS];

static uint64_t call_host(unsigned i, const uint64_t *arguments)
{
    struct bridge_call call = {.function = stubbed[i]};
    memcpy(call.arguments, arguments, sizeof(call.arguments));
    if (client_call(BRIDGE_CALL, &call))
        return call.result;
    return (uint64_t)client_crashed("a function of an extension", CL_OUT_OF_RESOURCES); /* most return codes */
}

#define STUB(n)                                                                                                  \
    static uint64_t CL_API_CALL stub_##n(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, \
                                         uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, \
                                         uint64_t m, uint64_t o, uint64_t p, uint64_t q)                         \
    {                                                                                                            \
        const uint64_t arguments[BRIDGE_ARGUMENTS] = {a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q};           \
        return call_host(0##n, arguments);                                                                       \
    }
/* The numbers are octal, so two digits count to 64. */
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define SIXTY_FOUR(f, n) \
    EIGHT(f, n##0)       \
    EIGHT(f, n##1) EIGHT(f, n##2) EIGHT(f, n##3) EIGHT(f, n##4) EIGHT(f, n##5) EIGHT(f, n##6) EIGHT(f, n##7)
#define ALL(f) SIXTY_FOUR(f, 0) SIXTY_FOUR(f, 1) SIXTY_FOUR(f, 2) SIXTY_FOUR(f, 3)
#define ADDRESS(n) (next_function) stub_##n,

ALL(STUB)

static const next_function stubs[STUBS] = {ALL(ADDRESS)};

/* The stub that calls the host's function at `address`; the same address always has the same stub. */
static next_function stub(uint64_t address, const char *name)
{
    unsigned i = 0;
    os_lock(&lock);
    while (i < STUBS && stubbed[i] && stubbed[i] != address)
        i++;
    if (i < STUBS)
        stubbed[i] = address;
    os_unlock(&lock);
    if (i == STUBS)
        log_write(LOG_ERROR, "%s: more than %d functions of extensions are in use; this one is not available", name,
                  STUBS);
    return i < STUBS ? stubs[i] : NULL;
}

/* Whether a function cannot work across the bridge: it would call Windows code, or it shares with graphics or memory that the
 * host's side of Wine does not know. */
static bool ends_at_the_bridge(const char *name)
{
    static const char *const parts[] = {"Callback", "EnqueueSVMFree", "Tracing",     "GL", "VA_API", "D3D",
                                        "DX9",      "IcdGet",         "cld3d_report"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* What the host has by this name, or NULL. */
static next_function find_unknown(cl_platform_id platform, const char *name)
{
    struct bridge_find find = {.platform = (uintptr_t)platform, .name = (uintptr_t)name};
    if (ends_at_the_bridge(name) || !client_call(BRIDGE_FIND, &find) || !find.found)
        return NULL;
    return stub(find.found, name);
}
#else
/* The callee removes its arguments from the stack there, and how many an unknown function has is not known. */
static next_function find_unknown(cl_platform_id platform, const char *name)
{
    (void)platform;
    (void)name;
    return NULL;
}
#endif

/* There are few stubs, and some drivers return core functions by name, each driver its own. */
static void *CL_API_CALL get_address_for_platform(cl_platform_id platform, const char *name)
{
    const struct next_slot *slot = name ? next_slot_find(name) : NULL;
    const next_function function = slot ? next_slot_get(&next, slot) : NULL;
    return next_address_of(slot && function != slot->missing ? function : name ? find_unknown(platform, name) : NULL);
}

static void *CL_API_CALL get_address(const char *func_name)
{
    return get_address_for_platform(NULL, func_name);
}

/* ---- names ---- */

/* The functions below these two. */
static cl_icd_dispatch beneath;

static bool begins_with_one(const char *name, size_t length, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (length >= strlen(*beginnings) && memcmp(name, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

static bool reachable(const char *name, size_t length, const void *data)
{
    static const char *const outside[] = {"cl_arm_import_memory",
                                          "cl_arm_printf",
                                          "cl_arm_shared_virtual_memory",
                                          "cl_intel_va_api",
                                          "cl_khr_d3d",
                                          "cl_khr_dx9",
                                          "cl_khr_egl_",
                                          "cl_khr_gl_",
                                          "cl_khr_external_",
                                          "cl_khr_icd",
                                          NULL};
    /* In 32 bits, what needs functions by name, or shared virtual memory. */
    static const char *const of_functions[] = {"cl_amd_bus_",
                                               "cl_amd_svm",
                                               "cl_arm_",
                                               "cl_ext_buffer_device_address",
                                               "cl_ext_image_",
                                               "cl_ext_migrate_memobject",
                                               "cl_img_",
                                               "cl_intel_accelerator",
                                               "cl_intel_create_buffer",
                                               "cl_intel_unified_shared_memory",
                                               "cl_khr_command_buffer",
                                               "cl_khr_create_command_queue",
                                               "cl_khr_il_program",
                                               "cl_khr_semaphore",
                                               "cl_khr_suggested_local_work_size",
                                               "cl_khr_terminate_context",
                                               "cl_khr_unified_svm",
                                               "cl_pocl_",
                                               "cl_qcom_",
                                               NULL};
    (void)data;
    return !begins_with_one(name, length, outside) &&
           (sizeof(void *) == sizeof(uint64_t) || !begins_with_one(name, length, of_functions));
}

static cl_int list(const struct subject *subject, cl_uint name, bool versions, size_t capacity, void *to,
                   size_t *size_ret)
{
    size_t size = 0;
    cl_int status = ask_subject(&beneath, subject, name, 0, NULL, &size);
    if (status != CL_SUCCESS)
        return status;
    char *text = calloc(1, size + 1);
    if (!text)
        return log_refuse(subject->call, CL_OUT_OF_HOST_MEMORY, "no memory for the extension string");
    status = ask_subject(&beneath, subject, name, size, text, NULL);
    if (status == CL_SUCCESS) {
        if (versions) {
            cl_name_version *names = (cl_name_version *)(void *)text;
            size = names_filter(names, size / sizeof(*names), reachable, NULL) * sizeof(*names);
        } else {
            words_filter(text, reachable, NULL);
            size = strlen(text) + 1;
        }
        status = answer(subject->call, text, size, capacity, to, size_ret);
    }
    free(text);
    return status;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param_name,
                                            size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    const struct subject subject = {"clGetPlatformInfo", platform, NULL};
    if (param_name == CL_PLATFORM_EXTENSIONS || param_name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return list(&subject, param_name, param_name != CL_PLATFORM_EXTENSIONS, param_value_size, param_value,
                    param_value_size_ret);
    return beneath.clGetPlatformInfo(platform, param_name, param_value_size, param_value, param_value_size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    const struct subject subject = {"clGetDeviceInfo", NULL, device};
    if (device && (param_name == CL_DEVICE_EXTENSIONS || param_name == CL_DEVICE_EXTENSIONS_WITH_VERSION))
        return list(&subject, param_name, param_name != CL_DEVICE_EXTENSIONS, param_value_size, param_value,
                    param_value_size_ret);
    const cl_int status =
        beneath.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
    /* Native kernels would call the program on a thread of the host's. */
    if (status == CL_SUCCESS && param_value && param_name == CL_DEVICE_EXECUTION_CAPABILITIES)
        *(cl_device_exec_capabilities *)param_value &= ~(cl_device_exec_capabilities)CL_EXEC_NATIVE_KERNEL;
    /* In the new WoW64 memory would have to have one address for the host and the program. */
    if (status == CL_SUCCESS && param_value && param_name == CL_DEVICE_SVM_CAPABILITIES && sizeof(void *) == 4 &&
        handles_are_checked)
        memset(param_value, 0, sizeof(cl_device_svm_capabilities));
    return status;
}

void client_extensions_install(cl_icd_dispatch *table)
{
    beneath = *table;
    table->clGetPlatformInfo = get_platform_info;
    table->clGetDeviceInfo = get_device_info;
    table->clGetExtensionFunctionAddressForPlatform = get_address_for_platform;
    table->clGetExtensionFunctionAddress = get_address;
}
