/* The transport through the host's memory: a staging copy, mapped from acquire to release. It can share every surface with
 * every OpenCL, so it is the last in the list. */
#include "d3d/formats.h"
#include "formats/image.h"
#include "drivers/drivers.h"
#include "next/query.h"
#include "handles/handles.h"
#include "transport/pinned.h"
#include "transport/pool.h"
#include "transport/staged.h"
#include "transport/surface_image.h"

#include <stdlib.h>

/* What a context keeps. */
struct state {
    struct staging_pool pool; /* for its next objects */
    struct pinning pinning;   /* for rows */
};

static void *open_state(cl_context context)
{
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return NULL;
    state->pool.lock = (os_mutex)OS_MUTEX_INIT;
    pinning_open(&state->pinning, context);
    return state;
}

static void close_state(void *state)
{
    pool_empty(&((struct state *)state)->pool, true);
    pinning_close(&((struct state *)state)->pinning);
}

/* ---- creation ---- */

/* The context, retained, if its driver supports only tightly packed rows. */
static struct context_record *needs_dense_rows(cl_context handle)
{
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    if (context && context_has(context, QUIRK_TIGHT_ROWS))
        return context;
    record_release(context);
    return NULL;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    struct state *state = request->state;
    struct staged *staged = calloc(1, sizeof(*staged));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!staged)
        return transport_refuse(why, status, "no memory for the object's record");
    staged->base = (struct transfer){.transport = &host_transport, .surface = request->surface, .left_out = true};
    staged->base.memory = surface_memory(request->context, request->flags, desc, &status);
    if (!staged->base.memory) {
        free(staged);
        return transport_refuse(why, status, "the OpenCL below cannot create an object of %ux%ux%u texels, format %s",
                                desc->width, desc->height, desc->depth, desc->format ? desc->format->name : "bytes");
    }
    staged->pinning = &state->pinning;
    staged->lends = true;
    staged_open(staged, &state->pool, desc->kind == SURFACE_BUFFER ? NULL : image_host_converter(staged->base.memory),
                needs_dense_rows(request->context));
    *made = &staged->base;
    return CL_SUCCESS;
}

/* ---- OpenCL's commands ---- */

static struct mapped_surface own_rows(const struct staged *staged)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const size_t row = staged_row_bytes(staged);
    return (struct mapped_surface){staged->rows.bytes, row, desc->kind == SURFACE_IMAGE_3D ? row * desc->height : 0};
}

static cl_int move_buffer(struct staged *staged, bool take, void *bytes, const struct enqueueing *to)
{
    cl_mem memory = staged->base.memory;
    const size_t size = staged->base.surface.desc.width;
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = take ? below()->clEnqueueWriteBuffer(to->queue, memory, CL_FALSE, 0, size, bytes,
                                                               to->wait_count, to->wait, &event)
                               : below()->clEnqueueReadBuffer(to->queue, memory, CL_FALSE, 0, size, bytes,
                                                              to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* Moves the host's rows into the memory object (`take`), or its texels into the rows. If the host converts the rows,
 * they hold the texels of the driver's image. OpenCL requires a slice pitch of whole rows, and Direct3D does not: then
 * slice by slice. */
static cl_int move(struct staged *staged, bool take, const struct mapped_surface *rows, const struct enqueueing *to)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const bool slices = desc->kind == SURFACE_IMAGE_3D && rows->slice_pitch % rows->row_pitch;
    const size_t region[3] = {desc->width, desc->height, slices ? 1 : desc->depth};
    cl_int status = CL_SUCCESS;
    transfer_moved(&staged->base, staged_bytes(staged));
    if (desc->kind == SURFACE_BUFFER)
        return move_buffer(staged, take, rows->data, to);
    for (size_t z = 0; z < desc->depth && status == CL_SUCCESS; z += region[2]) {
        const size_t origin[3] = {0, 0, z};
        const struct mapped_surface part = {(char *)rows->data + z * rows->slice_pitch, rows->row_pitch,
                                            slices ? 0 : rows->slice_pitch};
        status = image_move(staged->base.memory, staged->converter != NULL, take, origin, region, &part, to);
    }
    return status;
}

static cl_int move_all(const struct handover *handover, bool take, const struct enqueueing *to)
{
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++) {
        struct staged *staged = staged_of(handover->transfers[i]);
        const bool by_rows = take ? staged->takes_rows : staged->gives_rows;
        if (by_rows && !staged_need_rows(staged))
            return CL_OUT_OF_HOST_MEMORY;
        const struct mapped_surface rows = by_rows ? own_rows(staged) : staged->mapped;
        status = move(staged, take, &rows, to);
        if (take && status == CL_SUCCESS && staged->converter)
            image_overwritten(staged->base.memory);
    }
    return status;
}

static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    return move_all(handover, true, to);
}

static cl_int cl_give(const struct handover *handover, const struct enqueueing *to)
{
    return move_all(handover, false, to);
}

const struct transport host_transport = {
    .name = "host",
    .title = "host (staging copy)",
    .open = open_state,
    .close = close_state,
    .create = create,
    .destroy = staged_destroy,
    .d3d_give = staged_d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = staged_d3d_take,
    .undo = staged_undo,
};
