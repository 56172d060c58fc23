/* Planes, levels and slices that OpenCL cannot import and Direct3D cannot copy: the Vulkan side keeps a copy on the
 * GPU, which is imported. */
#include "d3d/staging.h"
#include "log.h"
#include "transport/vulkan_object.h"

#include <stdio.h>

void vulkan_drop_gpu_copy(struct vulkan_object *o)
{
    if (o->gpu_copy)
        o->side->drop_copy(o->gpu_copy);
    o->gpu_copy = 0;
}

cl_int vulkan_import_gpu_copy(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct native_place *place = &o->source.native;
    if (!vulkan_locate(o->side, &o->base.surface, &o->source, why) || !place->image ||
        !vulkan_fits(desc, &o->source, why))
        return CL_INVALID_OPERATION;
    o->at = (struct vulkan_location){0};
    if (!o->side->make_copy(place->image, vulkan_aspect(desc), place->level, place->layer, &o->gpu_copy, &o->at.image,
                            why))
        return CL_INVALID_OPERATION;
    const cl_int status = vulkan_import(o, request, why);
    if (status != CL_SUCCESS)
        vulkan_drop_gpu_copy(o);
    return status;
}

static bool move_all(const struct surface *surface, const struct vulkan_side *side, const struct vulkan_move *moves,
                     uint64_t count, bool back)
{
    char why[VULKAN_WHY] = "";
    if (!back || surface->api->native->submit(surface)) {
        if (side->move(moves, count, back, why))
            return true;
        log_write(LOG_ERROR, "the copy on the GPU %s OpenCL failed: %s", back ? "from" : "to", why);
    }
    return false;
}

/* Another thread may store the other plane through the host, which reads and writes both planes (transport/staged.c).
 * So only one thread at a time does either, behind everything that Direct3D has queued. */
static bool move_alone(const struct surface *surface, const struct vulkan_side *side, const struct vulkan_move *moves,
                       uint64_t count, bool back)
{
    const struct staging_ops *staging = surface->api->staging;
    const bool alone = back && staging->enter; /* Direct3D 9's planes are not shared here */
    void *section = alone ? staging->enter(surface->device) : NULL;
    const bool done = move_all(surface, side, moves, count, back);
    if (alone)
        staging->leave(section);
    return done;
}

bool vulkan_move_gpu_copy(const struct handover *handover, bool back)
{
    enum { AT_ONCE = 32 };
    struct vulkan_move moves[AT_ONCE];
    const struct vulkan_object *first = NULL;
    uint64_t count = 0;
    bool all = true;
    for (cl_uint i = 0; i < handover->count; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (!o->gpu_copy || o->moved)
            continue;
        if (count == AT_ONCE || (count && o->base.surface.device != first->base.surface.device)) {
            all = move_alone(&first->base.surface, first->side, moves, count, back) && all;
            count = 0;
        }
        first = count ? first : o;
        moves[count++] = (struct vulkan_move){o->gpu_copy, o->source.native.layout, o->source.native.family};
    }
    return (count == 0 || move_alone(&first->base.surface, first->side, moves, count, back)) && all;
}
