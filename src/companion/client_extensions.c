/* Functions of the driver's extensions, which Wine's opencl.dll does not provide.
 *
 * Windows code cannot call a host address, because it passes arguments differently. So each function gets a bridge: a
 * function that takes as many 64-bit arguments as any OpenCL function has, and passes them on. Where the caller passed
 * fewer, the bridge reads the rest from the caller's stack; the host's function ignores them. */
#include "companion/client.h"

#include "log.h"
#include "os/os.h"

#include <string.h>

enum { BRIDGES = 256 };

/* The host functions behind the bridges, at the same index; an entry is written once. */
static os_mutex lock = OS_MUTEX_INIT;
static struct {
    uint64_t address; /* the host's */
    bool gives_code;
} bridged[BRIDGES];

/* Only the name shows what a function must return if the host crashes: an error code, or otherwise NULL. */
static bool gives_code(const char *name)
{
    static const char *const verbs[] = {"clCancel", "clCommand",   "clEnqueue", "clFinalize", "clGet",
                                        "clMem",    "clRelease",   "clRetain",  "clSVMFree",  "clSet",
                                        "clSubmit", "clTerminate", "clUpdate"};
    if (strstr(name, "Map") || strstr(name, "FromImage")) /* these return pointers, or AMD's planes */
        return false;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strncmp(name, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

static uint64_t call_host(unsigned i, const uint64_t *arguments)
{
    return bridged[i].gives_code ? (uint64_t)client_status(bridged[i].address, CHANNEL_ARGUMENTS, arguments, 0)
                                 : client_call(bridged[i].address, CHANNEL_ARGUMENTS, arguments, 0);
}

#define BRIDGE(n)                                                                                                  \
    static uint64_t CL_API_CALL bridge_##n(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, \
                                           uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, \
                                           uint64_t m, uint64_t o, uint64_t p, uint64_t q)                         \
    {                                                                                                              \
        const uint64_t arguments[CHANNEL_ARGUMENTS] = {a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q};            \
        return call_host(0##n, arguments);                                                                         \
    }
/* The numbers are octal, so two digits count to 64. */
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define SIXTY_FOUR(f, n) \
    EIGHT(f, n##0)       \
    EIGHT(f, n##1) EIGHT(f, n##2) EIGHT(f, n##3) EIGHT(f, n##4) EIGHT(f, n##5) EIGHT(f, n##6) EIGHT(f, n##7)
#define ALL(f) SIXTY_FOUR(f, 0) SIXTY_FOUR(f, 1) SIXTY_FOUR(f, 2) SIXTY_FOUR(f, 3)
#define ADDRESS(n) (next_function) bridge_##n,

ALL(BRIDGE)

static const next_function bridges[BRIDGES] = {ALL(ADDRESS)};

/* The bridge that calls the host's function at `address`; the same address always has the same bridge. */
static next_function bridge(uint64_t address, const char *name)
{
    unsigned i = 0;
    os_lock(&lock);
    while (i < BRIDGES && bridged[i].address && bridged[i].address != address)
        i++;
    if (i < BRIDGES && !bridged[i].address) {
        bridged[i].gives_code = gives_code(name);
        bridged[i].address = address;
    }
    os_unlock(&lock);
    return i < BRIDGES ? bridges[i] : NULL;
}

/* Whether a function cannot work across the two sides: it would call Windows code, or it shares with graphics or memory
 * unknown to the host's side of Wine. */
static bool ends_at_the_wall(const char *name)
{
    static const char *const parts[] = {"Callback", "EnqueueSVMFree", "Tracing", "GL", "VA_API", "D3D",
                                        "DX9",      "IcdGet"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* The function that programs get by this name without an address of the host's, if there is one. */
static next_function without_bridge(const char *name)
{
    const struct next_slot *slot = next_slot_find(name);
    const next_function function = slot ? next_slot_get(&next, slot) : NULL;
    return slot && function != slot->missing ? function : NULL;
}

/* There are few bridges, and some drivers return core functions by name, each driver its own. */
static void *find(cl_platform_id platform, const char *name)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)platform, (uint64_t)(uintptr_t)name};
    const uint64_t address = name && !ends_at_the_wall(name) ? client_ask(CHANNEL_EXTEND, 2, arguments) : 0;
    next_function function = address ? without_bridge(name) : NULL;
    if (address && !function)
        function = bridge(address, name);
    if (address && !function)
        log_write(LOG_ERROR, "%s: more than %d extension functions are in use; this one is not available", name,
                  BRIDGES);
    return next_address_of(function);
}

static void *CL_API_CALL get_address_for_platform(cl_platform_id platform, const char *func_name)
{
    return platform ? find(platform, func_name) : NULL;
}

static void *CL_API_CALL get_address(const char *func_name)
{
    return find(NULL, func_name);
}

void client_extensions_install(cl_icd_dispatch *table)
{
    table->clGetExtensionFunctionAddressForPlatform = get_address_for_platform;
    table->clGetExtensionFunctionAddress = get_address;
}
