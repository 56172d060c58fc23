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
#include "transport/outlive.h"
#include "transport/pool.h"
#include "transport/staged.h"
#include "transport/surface_image.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What a context keeps. */
struct state {
    struct staging_pool pool; /* for its next objects */
    atomic_size_t alignment;  /* what the devices require, once it is known that all compute in host memory; else 0 */
    atomic_bool moves;        /* a staging copy has not stayed in its place: no later object lies in one */
    /* By kind of surface. One entry for each is enough: only Direct3D 10 and 11 are asked, whose contexts have a single
     * device. */
    _Atomic enum place { NOT_TRIED, STAYS, MOVES } places[SURFACE_IMAGE_3D + 1];
};

/* The memory of an object that commands still use. */
struct in_place_outliving {
    struct outliving base;
    struct surface surface;     /* with the staging copy in which it lies, or none */
    struct aligned_memory rows; /* or the rows */
};

struct in_place {
    struct staged staged;
    struct state *state;
    bool direct; /* the memory object lies in the staging copy, at staged.place; else in staged.rows */
    struct in_place_outliving
        *outliving; /* owned; for the case that commands use the object for longer than the application */
};

static struct in_place *in_place(struct transfer *transfer)
{
    return (struct in_place *)transfer;
}

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
    pool_close(&((struct state *)state)->pool);
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

/* Whether an object may lie in its staging copy at all. Without the check that objects are acquired, commands could come to
 * one that is not mapped. */
static bool may_be_direct(const struct in_place *t)
{
    const struct surface *surface = &t->staged.base.surface;
    return setting_on(SETTING_STRICT) && !atomic_load(&t->state->moves) && !staged_is_plane(&t->staged) &&
           !t->staged.takes_rows && stays(t->state, surface);
}

/* A buffer begins where its device wants it to, for which its staging copy has room. */
static bool find_place(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    if (!staged_map(staged, false))
        return false;
    staged->place = staged->mapped;
    staged_unmap(staged);
    if (surface->staging_padding) {
        surface->staging_offset = (uint32_t)(-(uintptr_t)staged->place.data % surface->staging_padding);
        staged->place.data = (char *)staged->place.data + surface->staging_offset;
    }
    return true;
}

/* Whether OpenCL can use the mapped address and its pitches. */
static bool fits(const struct in_place *t, size_t alignment)
{
    const struct staged *staged = &t->staged;
    const struct surface_desc *desc = &staged->base.surface.desc;
    const struct mapped_surface *place = &staged->place;
    if (desc->kind == SURFACE_BUFFER)
        return (uintptr_t)place->data % alignment == 0;
    const size_t texel = staged_row_bytes(staged) / desc->width;
    if ((uintptr_t)place->data % texel || place->row_pitch % texel || place->row_pitch < staged_row_bytes(staged))
        return false;
    return desc->kind != SURFACE_IMAGE_3D ||
           (place->slice_pitch % place->row_pitch == 0 && place->slice_pitch >= place->row_pitch * desc->height);
}

/* Whether the object lies in its staging copy. A failure here is no failure of the object: it then lies in rows of
 * cld3d's, and gets a staging copy with its first acquire. */
static bool be_direct(struct in_place *t, size_t alignment)
{
    struct staged *staged = &t->staged;
    if (!may_be_direct(t))
        return false;
    if (staged->base.surface.desc.kind == SURFACE_BUFFER && staged->base.surface.desc.width <= UINT32_MAX - alignment)
        staged->base.surface.staging_padding = (uint32_t)alignment;
    if (staged_need_copy(staged) && (staged->place.data || find_place(staged)) && fits(t, alignment))
        return true;
    staged->failed = staged->failed || !staged->place.data;
    if (!staged->base.surface.staging)
        staged->base.surface.staging_padding = 0;
    if (staged->failed && staged->base.surface.staging)
        staged->base.surface.api->staging->unstage(&staged->base.surface);
    staged->failed = false;
    return false;
}

/* ---- creation ---- */

static cl_mem create_image(const struct in_place *t, const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    const cl_image_desc image =
        surface_image(desc, t->direct ? t->staged.place.row_pitch : 0, t->direct ? t->staged.place.slice_pitch : 0);
    return image_create_over(request->context, request->flags, &desc->format->cl, &image,
                             t->direct ? t->staged.place.data : t->staged.rows.bytes, status);
}

static cl_mem create_memory(const struct in_place *t, const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    if (desc->kind != SURFACE_BUFFER)
        return create_image(t, request, status);
    return below()->clCreateBuffer(request->context, request->flags | CL_MEM_USE_HOST_PTR, desc->width,
                                   t->direct ? t->staged.place.data : t->staged.rows.bytes, status);
}

static void destroy(struct transfer *transfer)
{
    struct staged *staged = staged_of(transfer);
    staged_unmap(staged);
    staged_drop(staged);
    free(in_place(transfer)->outliving);
    free(in_place(transfer));
}

/* Plans the conversion; fails if the device must do it. */
static cl_int plan(struct staged *staged, const struct transfer_request *request, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct converter *converter;
    enum image_storage storage;
    cl_int status = surface_storage(request->context, desc, &storage, &converter);
    if (status == CL_SUCCESS && storage == STORED_OTHERWISE)
        status = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    if (status != CL_SUCCESS)
        snprintf(why, TRANSPORT_WHY, "the device converts texels of %s", desc->format->name);
    staged_plan(staged, converter, NULL);
    return status;
}

static cl_int make(struct in_place *t, const struct transfer_request *request, size_t alignment, char *why)
{
    cl_int status = plan(&t->staged, request, why);
    if (status != CL_SUCCESS)
        return status;
    t->direct = be_direct(t, alignment);
    if (!t->direct)
        staged_take_pooled(&t->staged);
    t->staged.takes_rows = t->staged.gives_rows = t->staged.lends = t->staged.keeps_rows = !t->direct;
    if (!t->direct && !staged_need_rows(&t->staged)) {
        snprintf(why, TRANSPORT_WHY, "no memory for the object's rows");
        return CL_OUT_OF_HOST_MEMORY;
    }
    t->staged.base.memory = create_memory(t, request, &status);
    t->staged.base.method = t->direct ? "in the staging copy" : "in rows beside the staging copy";
    if (!t->staged.base.memory)
        snprintf(why, TRANSPORT_WHY, "the OpenCL below does not create such an object in host memory (%s)",
                 cl_error_name(status));
    return t->staged.base.memory ? CL_SUCCESS : status;
}

static struct in_place *new_in_place(void)
{
    struct in_place *t = calloc(1, sizeof(*t));
    struct in_place_outliving *one = calloc(1, sizeof(*one));
    if (t && one) {
        t->outliving = one;
        return t;
    }
    free(t);
    free(one);
    return NULL;
}

static struct host_memory memory_of_devices(const struct transfer_request *request)
{
    atomic_size_t *known = &((struct state *)request->state)->alignment;
    struct host_memory memory = {.in_place = true, .known = true, .alignment = atomic_load(known)};
    if (memory.alignment)
        return memory;
    if (callback_runs_here())
        return (struct host_memory){.why = "the object is created in a callback, where a probe may not wait"};
    memory = host_memory_of_context(request->context);
    if (memory.in_place)
        atomic_store(known, memory.alignment);
    return memory;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct host_memory memory = memory_of_devices(request);
    struct in_place *t = memory.in_place ? new_in_place() : NULL;
    if (!t) {
        snprintf(why, TRANSPORT_WHY, "%s", memory.in_place ? "no memory for the object's record" : memory.why);
        return memory.in_place ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_OPERATION;
    }
    t->staged.base = (struct transfer){.transport = &in_place_transport, .surface = request->surface, .left_out = true};
    t->state = request->state;
    t->staged.pool = &t->state->pool;
    const cl_int status = make(t, request, memory.alignment, why);
    if (status == CL_SUCCESS)
        *made = &t->staged.base;
    else
        destroy(&t->staged.base);
    return status;
}

/* ---- what outlives its object ---- */

static void give_back(struct outliving *base)
{
    struct in_place_outliving *one = (struct in_place_outliving *)base;
    if (one->surface.staging)
        one->surface.api->staging->unstage(&one->surface);
    aligned_memory_free(&one->rows);
    free(one);
}

static bool outlive_object(struct transfer *transfer)
{
    struct in_place *t = in_place(transfer);
    struct in_place_outliving *one = t->outliving;
    one->base.settled = transfer->settled;
    one->rows = t->staged.rows;
    if (t->direct) {
        one->surface = transfer->surface;
        one->surface.resource = NULL;
    }
    if (!outlive(&one->base, transfer->memory, NULL, give_back))
        return false;
    t->outliving = NULL;
    t->staged.rows = (struct aligned_memory){NULL, NULL, NULL};
    if (t->direct) { /* it may stay mapped */
        transfer->surface.staging = NULL;
        t->staged.is_mapped = false;
    }
    return true;
}

/* ---- acquire ---- */

/* Another object may use the old address now, and the memory object cannot change its address. */
static bool has_moved(struct in_place *t)
{
    if (!t->direct || mapped_alike(&t->staged.mapped, &t->staged.place))
        return false;
    if (!atomic_exchange(&t->state->moves, true))
        log_write(LOG_ERROR,
                  "Direct3D has mapped a staging copy at another address than before: objects in such a copy can no "
                  "longer be acquired; create them again, or set %s=host",
                  setting_variable(SETTING_TRANSPORT));
    return true;
}

static bool d3d_give(const struct handover *handover)
{
    bool moved = false;
    if (!staged_d3d_give(handover))
        return false;
    for (cl_uint i = 0; i < handover->count; i++)
        moved = has_moved(in_place(handover->transfers[i])) || moved;
    if (moved)
        staged_undo(handover);
    return !moved;
}

/* No bytes are copied; the commands only provide events. */
static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    const cl_int status = commands_placeholder(to, handover->count, handover->transfers);
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
    .free_state = free,
    .create = create,
    .destroy = destroy,
    .outlive = outlive_object,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .d3d_take = staged_d3d_take,
    .undo = staged_undo,
};
