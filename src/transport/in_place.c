/* The transport without an OpenCL copy: objects are created over host memory in which the device computes: the mapped
 * staging copy itself or, if that is impossible, cld3d's own rows beside it. For contexts all of whose devices compute
 * in host memory (host_memory.h). */
#include "d3d/formats.h"
#include "d3d/staging.h"
#include "error_name.h"
#include "formats/image.h"
#include "log.h"
#include "settings.h"
#include "transport/commands.h"
#include "transport/host_memory.h"
#include "transport/pool.h"
#include "transport/staged.h"
#include "transport/surface_image.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* What a context keeps. */
struct state {
    struct staging_pool pool; /* for its next objects */
    /* By kind of surface. One entry for each is enough: only Direct3D 10 and 11 are asked, whose contexts have a single
     * device. */
    _Atomic enum place { NOT_TRIED, STAYS, MOVES } places[SURFACE_IMAGE_3D + 1];
};

struct in_place {
    struct staged staged;
    struct state *state;
    bool direct; /* the memory object lies in the staging copy, at staged.place; else in staged.rows */
};

static void *open_state(cl_context context)
{
    (void)context;
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return NULL;
    state->pool.lock = (os_mutex)OS_MUTEX_INIT;
    return state;
}

static void close_state(void *state)
{
    pool_empty(&((struct state *)state)->pool, true);
}

/* ---- the place of a staging copy ---- */

/* Whether staging copies of the surface's kind stay in their place. Found out once, or by each of several threads that
 * ask first at the same time. */
static bool stays(struct state *state, const struct surface *surface)
{
    static const char *const kinds[] = {"buffers", "2D images", "3D images"};
    const enum surface_kind kind = surface->desc.kind;
    enum place place = atomic_load(&state->places[kind]);
    if (place != NOT_TRIED)
        return place == STAYS;
    place = surface->api->staging->stays(surface->device, kind) ? STAYS : MOVES;
    atomic_store(&state->places[kind], place);
    log_write(LOG_INFO, "%s: OpenCL works in %s of %s", surface->api->name,
              place == STAYS ? "the staging copies" : "rows beside the staging copies", kinds[kind]);
    return place == STAYS;
}

/* Whether the object lies in its staging copy. If not, which is no failure, it lies in rows of cld3d's, and gets a staging
 * copy with its first acquire. Without the check that objects are acquired, commands could come to a staging copy that is
 * not mapped. A buffer begins where its device wants it to, for which its staging copy has room. */
static bool be_direct(struct in_place *t, size_t alignment)
{
    struct staged *staged = &t->staged;
    struct surface *surface = &staged->base.surface;
    struct mapped_surface *place = &staged->place;
    if (!setting_on(SETTING_STRICT) || staged_is_plane(staged) || staged->takes_rows || !stays(t->state, surface))
        return false;
    if (surface->desc.kind == SURFACE_BUFFER && surface->desc.width <= UINT32_MAX - alignment)
        surface->staging_padding = (uint32_t)alignment;
    if (staged_need_copy(staged) && !place->data && staged_map(staged, false)) {
        *place = staged->mapped;
        staged_unmap(staged);
        if (surface->staging_padding)
            surface->staging_offset = (uint32_t)(-(uintptr_t)place->data % surface->staging_padding);
        place->data = (char *)place->data + surface->staging_offset;
    }
    if (!place->data)
        staged_drop_copy(staged);
    return place->data && (surface->desc.kind == SURFACE_BUFFER
                               ? (uintptr_t)place->data % alignment == 0
                               : surface_rows_fit(&surface->desc, staged_row_bytes(staged), (uintptr_t)place->data,
                                                  place->row_pitch, place->slice_pitch));
}

/* ---- creation ---- */

static cl_mem create_memory(const struct in_place *t, const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct mapped_surface *place = &t->staged.place;
    void *memory = t->direct ? place->data : t->staged.rows.bytes;
    if (desc->kind == SURFACE_BUFFER)
        return below()->clCreateBuffer(request->context, request->flags | CL_MEM_USE_HOST_PTR, desc->width, memory,
                                       status);
    const cl_image_desc image =
        surface_image(desc, t->direct ? place->row_pitch : 0, t->direct ? place->slice_pitch : 0);
    return image_create_over(request->context, request->flags, &desc->format->cl, &image, memory, status);
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct host_memory memory = host_memory_of_context(request->context);
    const struct converter *converter;
    enum image_storage storage;
    if (!memory.in_place)
        return transport_refuse(why, CL_INVALID_OPERATION, "%s", memory.why);
    cl_int status = surface_storage(request->context, desc, &storage, &converter);
    if (status != CL_SUCCESS || storage == STORED_OTHERWISE)
        return transport_refuse(why, status == CL_SUCCESS ? CL_IMAGE_FORMAT_NOT_SUPPORTED : status,
                                "the device converts texels of %s", desc->format->name);
    struct in_place *t = calloc(1, sizeof(*t));
    if (!t)
        return transport_refuse(why, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    struct staged *staged = &t->staged;
    t->state = request->state;
    staged->base = (struct transfer){
        .transport = &in_place_transport, .surface = request->surface, .lends = LENDS_COUNTED, .left_out = true};
    staged_open(staged, &t->state->pool, converter, NULL);
    t->direct = be_direct(t, memory.alignment);
    staged->takes_rows = staged->gives_rows = staged->lends = staged->keeps_rows = !t->direct;
    staged->base.method = t->direct ? "in the staging copy" : "in rows beside the staging copy";
    status = CL_OUT_OF_HOST_MEMORY;
    if (t->direct || staged_need_rows(staged))
        staged->base.memory = create_memory(t, request, &status);
    if (staged->base.memory) {
        *made = &staged->base;
        return CL_SUCCESS;
    }
    staged_destroy(&staged->base);
    return transport_refuse(why, status, "the OpenCL below does not create such an object in host memory (%s)",
                            cl_error_name(status));
}

/* ---- acquire ---- */

/* If a staging copy has moved, another object may use the old address now, and the memory object cannot change its
 * address. No later object lies in a staging copy. */
static bool d3d_give(const struct handover *handover)
{
    bool moved = false;
    if (!staged_d3d_give(handover))
        return false;
    for (cl_uint i = 0; i < handover->count; i++) {
        struct in_place *t = (struct in_place *)handover->transfers[i];
        if (!t->direct || mapped_alike(&t->staged.mapped, &t->staged.place))
            continue;
        moved = true;
        if (atomic_exchange(&t->state->places[t->staged.base.surface.desc.kind], MOVES) != MOVES)
            log_write(
                LOG_ERROR,
                "Direct3D has mapped a staging copy at another address than before: objects in such a copy can no "
                "longer be acquired; create them again, or set %s=host",
                setting_variable(SETTING_TRANSPORT));
    }
    if (moved)
        staged_undo(handover);
    return !moved;
}

/* No bytes are copied; the commands only provide events. */
static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    const cl_int status = commands_placeholder(to);
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++)
        if (staged_of(handover->transfers[i])->converter)
            image_overwritten(handover->transfers[i]->memory);
    return status;
}

const struct transport in_place_transport = {
    .name = "in-place",
    .title = "in place (OpenCL computes in host memory)",
    .open = open_state,
    .close = close_state,
    .create = create,
    .destroy = staged_destroy,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .d3d_take = staged_d3d_take,
    .undo = staged_undo,
};
