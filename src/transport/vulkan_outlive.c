/* Memory that commands still use when the application has released its object. Direct3D would reuse the memory, so the
 * resource is kept for that time. */
#include "emulate/fence.h"
#include "handles/tiers.h"
#include "transport/outlive.h"
#include "transport/vulkan_object.h"

#include <stdlib.h>

struct vulkan_outliving {
    struct outliving base;
    struct vulkan_object object; /* with references of its own to the memory object, `whole`, and both resources */
};

struct vulkan_outliving *vulkan_outliving_make(void)
{
    return calloc(1, sizeof(struct vulkan_outliving));
}

static void give_back(struct outliving *base)
{
    struct vulkan_outliving *one = (struct vulkan_outliving *)base;
    struct vulkan_object *o = &one->object;
    const struct d3d_ops *ops = o->base.surface.api->ops;
    vulkan_return(o);
    if (o->held)
        o->side->give_back(o->at.image.memory.memory);
    ops->release(o->copy.resource);
    ops->release(o->base.surface.resource);
    free(one);
}

/* Whether the memory must be held: an imported image keeps its memory alive itself. */
static bool needs_memory(const struct vulkan_object *o)
{
    return !o->imported || o->whole;
}

bool vulkan_outlive(struct transfer *transfer)
{
    struct vulkan_object *o = vulkan_object(transfer);
    const struct d3d_ops *ops = transfer->surface.api->ops;
    const struct handover alone = {.api = transfer->surface.api, .count = 1, .transfers = &transfer};
    vulkan_external_release(&alone);
    if (!needs_memory(o))
        return false;
    const bool counted = !o->imported || fence_counted_below(o->context->context);
    o->outliving->object = *o;
    o->outliving->base.whole = o->whole;
    o->outliving->base.whole_references = o->whole_references;
    ops->add_ref(transfer->surface.resource);
    if (!outlive(&o->outliving->base, transfer->memory, counted ? NULL : o->context->context, give_back)) {
        ops->release(transfer->surface.resource);
        return false;
    }
    o->copy.resource = NULL;
    o->whole = NULL;
    o->held = false;
    o->passed = false;
    o->outliving = NULL;
    return true;
}
