/* The Vulkan side from a Windows process: functions of ours that call the host's through the channel. */
#include "host/vulkan_access.h"

#include "host/client.h"
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

/* The host's; written once, before anybody has the table below. */
static uint64_t addresses[FUNCTIONS];

static uint64_t number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static uint64_t find_image(uint64_t image, struct vulkan_image *found, char *why)
{
    const uint64_t arguments[] = {image, number(found), number(why)};
    return client_call(addresses[FUNCTION_find_image], 3, arguments, 0);
}

static uint64_t find_place(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why)
{
    const uint64_t arguments[] = {image, aspect, level, layer, number(found), number(why)};
    return client_call(addresses[FUNCTION_find_place], 6, arguments, 0);
}

static uint64_t find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    const uint64_t arguments[] = {address, size, number(found), number(why)};
    return client_call(addresses[FUNCTION_find_buffer], 4, arguments, 0);
}

static uint64_t export_memory(uint64_t memory, int32_t *file, char *why)
{
    const uint64_t arguments[] = {memory, number(file), number(why)};
    return client_call(addresses[FUNCTION_export], 3, arguments, 0);
}

static uint64_t close_file(uint64_t file)
{
    return client_call(addresses[FUNCTION_close], 1, &file, 0);
}

static uint64_t hold(uint64_t memory, char *why)
{
    const uint64_t arguments[] = {memory, number(why)};
    return client_call(addresses[FUNCTION_hold], 2, arguments, 0);
}

static uint64_t give_back(uint64_t memory)
{
    return client_call(addresses[FUNCTION_give_back], 1, &memory, 0);
}

static uint64_t make_copy(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *copy,
                          struct vulkan_image *made, char *why)
{
    const uint64_t arguments[] = {image, aspect, level, layer, number(copy), number(made), number(why)};
    return client_call(addresses[FUNCTION_make_copy], 7, arguments, 0);
}

static uint64_t move_copies(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    const uint64_t arguments[] = {number(moves), count, back, number(why)};
    return client_call(addresses[FUNCTION_move], 4, arguments, 0);
}

static uint64_t drop_copy(uint64_t copy)
{
    return client_call(addresses[FUNCTION_drop_copy], 1, &copy, 0);
}

static uint64_t pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    const uint64_t arguments[] = {number(moves), count, back, number(why)};
    return client_call(addresses[FUNCTION_pass], 4, arguments, 0);
}

static const struct vulkan_side client_side = {
    .find_image = find_image,
    .find_place = find_place,
    .find_buffer = find_buffer,
    .export = export_memory,
    .close = close_file,
    .hold = hold,
    .give_back = give_back,
    .make_copy = make_copy,
    .move = move_copies,
    .drop_copy = drop_copy,
    .pass = pass,
};

static uint64_t ask(const char *name)
{
    const uint64_t arguments[] = {number(name)};
    return client_ask(CHANNEL_VULKAN, 0, 1, arguments);
}

static bool find_functions(char *why)
{
    bool all = true;
    for (int i = 0; i < FUNCTIONS && all; i++) {
        addresses[i] = ask(names[i]);
        all = addresses[i] != 0;
        if (!all)
            snprintf(why, VULKAN_WHY, "the companion has no function %s", names[i]);
    }
    return all;
}

static bool join(char *why)
{
    const uint64_t version = client_joined() ? ask("version") : 0;
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
