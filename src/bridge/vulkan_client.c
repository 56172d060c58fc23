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
#define CALLS(name, parameters, ...)                                                       \
    static uint64_t client_##name parameters                                               \
    {                                                                                      \
        return call(FUNCTION_##name, &(struct bridge_vulkan){.arguments = {__VA_ARGS__}}); \
    }
CALLS(find_image, (uint64_t image, struct vulkan_image *found, char *why), image, AT(found), AT(why))
CALLS(find_place,
      (uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found, char *why), image,
      aspect, level, layer, AT(found), AT(why))
CALLS(find_buffer, (uint64_t address, uint64_t size, struct vulkan_memory *found, char *why), address, size, AT(found),
      AT(why))
CALLS(export, (uint64_t memory, int32_t *file, char *why), memory, AT(file), AT(why))
CALLS(close, (uint64_t file), file)
CALLS(hold, (uint64_t memory, char *why), memory, AT(why))
CALLS(give_back, (uint64_t memory), memory)
CALLS(pass, (const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why), AT(moves), count, back,
      AT(why))
CALLS(make_rows, (uint64_t image, struct vulkan_rows *rows, char *why), image, AT(rows), AT(why))
CALLS(drop_rows, (uint64_t rows), rows)
CALLS(fit_rows, (uint64_t rows, uint64_t image), rows, image)
CALLS(move_rows, (const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why), AT(moves), count, back,
      AT(why))
#undef CALLS

static const struct vulkan_side client_side = {
#define X(name) client_##name,
    VULKAN_SIDE_FUNCTIONS(X)
#undef X
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
