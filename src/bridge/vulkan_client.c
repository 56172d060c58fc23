/* The Vulkan side from a Windows process. */
#include "bridge/vulkan_access.h"

#include "bridge/calls_generated.h"
#include "bridge/client.h"

#include <stdio.h>

enum function {
#define X(name) FUNCTION_##name,
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
};

/* The result, or 0 if the host crashes. */
static uint64_t call(enum function function, struct bridge_vulkan *call)
{
    call->version = VULKAN_SIDE_VERSION;
    call->place = function;
    return client_call(BRIDGE_VULKAN, call) ? call->result : 0;
}

#define AT(pointer) (uintptr_t)(pointer)
#define CALL(function, ...) call(FUNCTION_##function, &(struct bridge_vulkan){.arguments = {__VA_ARGS__}})

static uint64_t find_image(uint64_t image, struct vulkan_image *found, char *why)
{
    return CALL(find_image, image, AT(found), AT(why));
}

static uint64_t find_place(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why)
{
    return CALL(find_place, image, aspect, level, layer, AT(found), AT(why));
}

static uint64_t find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    return CALL(find_buffer, address, size, AT(found), AT(why));
}

static uint64_t export_memory(uint64_t memory, int32_t *file, char *why)
{
    return CALL(export, memory, AT(file), AT(why));
}

static uint64_t close_file(uint64_t file)
{
    return CALL(close, file);
}

static uint64_t hold(uint64_t memory, char *why)
{
    return CALL(hold, memory, AT(why));
}

static uint64_t give_back(uint64_t memory)
{
    return CALL(give_back, memory);
}

static uint64_t pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return CALL(pass, AT(moves), count, back, AT(why));
}

static uint64_t make_rows(uint64_t image, struct vulkan_rows *rows, char *why)
{
    return CALL(make_rows, image, AT(rows), AT(why));
}

static uint64_t drop_rows(uint64_t rows)
{
    return CALL(drop_rows, rows);
}

static uint64_t fit_rows(uint64_t rows, uint64_t image)
{
    return CALL(fit_rows, rows, image);
}

static uint64_t move_rows(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return CALL(move_rows, AT(moves), count, back, AT(why));
}

static const struct vulkan_side client_side = {
    find_image, find_place, find_buffer, export_memory, close_file, hold,
    give_back,  pass,       make_rows,   drop_rows,     fit_rows,   move_rows,
};

/* The layer may become active later, with the program's first Vulkan instance. */
const struct vulkan_side *vulkan_access(char *why)
{
    struct bridge_vulkan any = {.version = VULKAN_SIDE_VERSION, .place = BRIDGE_VULKAN_ANY};
    if (client_dispatch && client_call(BRIDGE_VULKAN, &any) && !any.why[0])
        return &client_side;
    snprintf(why, VULKAN_WHY, "%.*s", VULKAN_WHY - 1,
             client_dispatch ? any.why
                             : "there is no bridge to the host's Vulkan; start the program with 'cld3d-setup run'");
    return NULL;
}
