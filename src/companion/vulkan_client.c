/* The Vulkan side from a Windows process: functions that call the host's through the channel. */
#include "companion/vulkan_access.h"

#include "companion/client.h"
#include "os/os.h"

#include <stdio.h>

enum function {
#define X(name) FUNCTION_##name,
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
        FUNCTIONS
};

static const char *const names[] = {
#define X(name) #name,
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
};

/* The host's functions; written once, before any caller gets the table below. */
static uint64_t addresses[FUNCTIONS];

/* Each takes as many 64-bit arguments as any of them has, and passes them on, like the bridges of
 * client_extensions.c. */
#define X(name)                                                                                                     \
    static uint64_t call_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g) \
    {                                                                                                               \
        const uint64_t arguments[] = {a, b, c, d, e, f, g};                                                         \
        return client_call(addresses[FUNCTION_##name], 7, arguments, 0);                                            \
    }
VULKAN_SIDE_FUNCTIONS(X)
#undef X

static const struct vulkan_side client_side = {
#define X(name) .name = (__typeof__(client_side.name))(next_function)call_##name,
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
};

static bool find_functions(char *why)
{
    bool all = true;
    for (int i = 0; i < FUNCTIONS && all; i++) {
        addresses[i] = client_find(CHANNEL_VULKAN, names[i]);
        all = addresses[i] != 0;
        if (!all)
            snprintf(why, VULKAN_WHY, "the companion has no function %s", names[i]);
    }
    return all;
}

static bool join(char *why)
{
    const uint64_t version = client_joined() ? client_find(CHANNEL_VULKAN, "version") : 0;
    if (version == VULKAN_SIDE_VERSION)
        return find_functions(why);
    if (!client_joined())
        snprintf(why, VULKAN_WHY, "there is no host companion");
    else if (version == 0)
        snprintf(why, VULKAN_WHY, "cld3d's Vulkan layer is not active (VK_INSTANCE_LAYERS, docs/vulkan-layer.md)");
    else
        snprintf(why, VULKAN_WHY, "the companion has version %u of the Vulkan side, this OpenCL.dll has version %u",
                 (unsigned)version, (unsigned)VULKAN_SIDE_VERSION);
    return false;
}

/* The layer may become active later, with the program's first Vulkan instance. */
const struct vulkan_side *vulkan_access(char *why)
{
    static os_mutex lock = OS_MUTEX_INIT;
    static bool joined; /* guarded by `lock` */
    os_lock(&lock);
    joined = joined || join(why);
    const bool there = joined;
    os_unlock(&lock);
    return there ? &client_side : NULL;
}
