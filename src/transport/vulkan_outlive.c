/* What outlives its object: memory that commands still use when the application has dropped it. Direct3D would give its place
 * to something else, so the resource is kept as long. */
#include "emulate/fence.h"
#include "transport/commands.h"
#include "transport/vulkan_object.h"

#include "track/tiers.h"
#include "track/track.h"

#include <stdatomic.h>
#include <stdlib.h>

struct vulkan_outliving {
    struct vulkan_object object; /* with references of its own to the memory object, `whole`, and both resources */
    struct fence *fence;         /* of a driver that does not count commands among references */
    struct vulkan_outliving *after;
};

static os_mutex lock = OS_MUTEX_INIT; /* guards the list */
static struct vulkan_outliving *all;
static atomic_bool any;

struct vulkan_outliving *vulkan_outliving_make(void)
{
    return calloc(1, sizeof(struct vulkan_outliving));
}

void vulkan_outliving_free(struct vulkan_outliving *one)
{
    free(one);
}

/* A command that has just ended may count for a moment longer. */
static bool still_in_use(const struct vulkan_outliving *one, int *milliseconds)
{
    bool used = one->fence ? !fence_passed(one->fence) : commands_use(one->object.base.memory);
    for (; used && *milliseconds > 0 && !blockers_possible() && !callback_runs_here(); --*milliseconds) {
        sleep_shortly();
        used = one->fence ? !fence_passed(one->fence) : commands_use(one->object.base.memory);
    }
    return used;
}

static void keep(struct vulkan_outliving *one)
{
    os_lock(&lock);
    one->after = all;
    all = one;
    atomic_store(&any, true);
    os_unlock(&lock);
}

static void give_back(struct vulkan_outliving *one)
{
    struct vulkan_object *o = &one->object;
    const struct d3d_ops *ops = o->base.surface.api->ops;
    vulkan_return(o);
    tier_formats()->clReleaseMemObject(o->base.memory);
    if (o->whole)
        tier_formats()->clReleaseMemObject(o->whole);
    if (o->held)
        o->side->give_back(o->at.image.memory.memory);
    ops->release(o->copy.resource);
    ops->release(o->base.surface.resource);
    if (one->fence)
        fence_free(one->fence);
    free(one);
}

/* An imported image holds its memory by itself. */
static bool needs_memory(const struct vulkan_object *o)
{
    return !o->imported || o->whole;
}

bool vulkan_outlive(struct transfer *transfer)
{
    struct vulkan_object *o = vulkan_object(transfer);
    struct vulkan_outliving *one = o->outliving;
    int patience = 3;
    if (!needs_memory(o))
        return false;
    one->object = *o;
    if (o->imported && !fence_counted_below(o->context->context))
        one->fence = fence_make(o->context->context);
    if (!still_in_use(one, &patience)) {
        if (one->fence)
            fence_free(one->fence);
        one->fence = NULL;
        return false;
    }
    transfer->surface.api->ops->add_ref(transfer->surface.resource);
    o->copy.resource = NULL;
    o->whole = NULL;
    o->held = false;
    o->passed = false;
    o->outliving = NULL;
    keep(one);
    return true;
}

/* Takes the list for the caller alone. */
static struct vulkan_outliving *take_all(void)
{
    os_lock(&lock);
    struct vulkan_outliving *list = all;
    all = NULL;
    atomic_store(&any, false);
    os_unlock(&lock);
    return list;
}

void vulkan_sweep(bool wait)
{
    int patience = wait ? 50 : 0;
    struct vulkan_outliving *list = atomic_load(&any) ? take_all() : NULL;
    while (list) {
        struct vulkan_outliving *after = list->after;
        if (still_in_use(list, &patience))
            keep(list);
        else
            give_back(list);
        list = after;
    }
}
