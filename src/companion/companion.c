#define _GNU_SOURCE /* dl_iterate_phdr */
#include "companion/companion.h"

#include "companion/channel.h"
#include "companion/signals.h"
#include "vulkan_layer/vulkan.h"
#include "log.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

/* ---- detection of Wine ---- */

static int is_ntdll(struct dl_phdr_info *library, size_t size, void *data)
{
    const char *slash = library->dlpi_name ? strrchr(library->dlpi_name, '/') : NULL;
    (void)size;
    (void)data;
    return slash && strcmp(slash, "/ntdll.so") == 0;
}

bool companion_wanted(void)
{
    return dl_iterate_phdr(is_ntdll, NULL) != 0;
}

/* ---- the answers ---- */

/* The functions that the loader received. The client gets the same ones through the channel. */
static const cl_icd_dispatch *companion;

static uint64_t as_number(next_function function)
{
    return (uint64_t)(uintptr_t)function;
}

static uint64_t find(const char *name)
{
    const struct next_slot *slot = next_slot_find(name);
    const next_function function = slot ? next_slot_get(companion, slot) : NULL;
    return slot && function != slot->missing ? as_number(function) : 0;
}

static uint64_t extend(cl_platform_id platform, const char *name)
{
    return (uint64_t)(uintptr_t)(platform ? next.clGetExtensionFunctionAddressForPlatform(platform, name)
                                          : next.clGetExtensionFunctionAddress(name));
}

#define FOUR(x) x, x, x, x
#define FOUR_OF(words, i) words[i], words[(i) + 1], words[(i) + 2], words[(i) + 3]
#define SIXTEEN_OF(words, i) \
    FOUR_OF(words, i), FOUR_OF(words, (i) + 4), FOUR_OF(words, (i) + 8), FOUR_OF(words, (i) + 12)

/* On 64-bit machines every argument is passed as 64 bits; in 32 bits all are on the stack, and the caller removes them.
 * A function reads no more arguments than it has. */
static uint64_t call(uint64_t address, const uint64_t *a)
{
#if UINTPTR_MAX == UINT64_MAX
    typedef uint64_t (*any)(FOUR(FOUR(uint64_t)));
    return ((any)(uintptr_t)address)(SIXTEEN_OF(a, 0));
#else
    typedef uint64_t (*any)(FOUR(FOUR(uint32_t)), FOUR(FOUR(uint32_t)));
    uint32_t words[2 * CHANNEL_ARGUMENTS];
    memcpy(words, a, sizeof(words));
    return ((any)(uintptr_t)address)(SIXTEEN_OF(words, 0), SIXTEEN_OF(words, 16));
#endif
}

/* The functions of the Vulkan layer, under the names that the client uses. */
static const struct {
    const char *name;
    size_t offset;
} vulkan_functions[] = {
#define X(name) {#name, offsetof(struct vulkan_side, name)},
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
};

static uint64_t vulkan(const char *name)
{
    const struct vulkan_side *side = vulkan_side_here();
    if (side && strcmp(name, "version") == 0)
        return VULKAN_SIDE_VERSION;
    for (size_t i = 0; side && i < sizeof(vulkan_functions) / sizeof(vulkan_functions[0]); i++) {
        next_function function;
        memcpy(&function, (const char *)side + vulkan_functions[i].offset, sizeof(function));
        if (strcmp(vulkan_functions[i].name, name) == 0)
            return as_number(function);
    }
    return 0;
}

static cl_int act(struct channel_request *request)
{
    const uint64_t *a = request->arguments;
    if (request->action == CHANNEL_HELLO) {
        request->result = CHANNEL_VERSION;
        return CL_SUCCESS;
    }
    if (request->version != CHANNEL_VERSION)
        return log_refuse("the companion", CL_INVALID_VALUE,
                          "the request has version %u, this companion has version %u", request->version,
                          CHANNEL_VERSION);
    switch (request->action) {
    case CHANNEL_FIND: request->result = find((const char *)(uintptr_t)a[0]); return CL_SUCCESS;
    case CHANNEL_EXTEND:
        request->result = extend((cl_platform_id)(uintptr_t)a[0], (const char *)(uintptr_t)a[1]);
        return CL_SUCCESS;
    case CHANNEL_CALL: request->result = call(request->address, a); return CL_SUCCESS;
    case CHANNEL_VULKAN: request->result = vulkan((const char *)(uintptr_t)a[0]); return CL_SUCCESS;
    default: return log_refuse("the companion", CL_INVALID_VALUE, "unknown request %u", request->action);
    }
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    if (param_name == CHANNEL_QUERY && param_value && param_value_size == sizeof(struct channel_request))
        return act(param_value);
    return next.clGetDeviceInfo(device, param_name, param_value_size, param_value, param_value_size_ret);
}

void companion_install(cl_icd_dispatch *table)
{
    *table = next;
    table->clGetDeviceInfo = get_device_info;
    signals_install(table);
    companion = table;
}
