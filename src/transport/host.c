#include "transport/host.h"

#include "d3d/formats.h"
#include "formats/image.h"
#include "transport/pool.h"
#include "transport/staged.h"
#include "transport/statistics.h"
#include "transport/surface_image.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what a context keeps: the staging copies for its next objects ---- */

static void *open_pool(cl_context context)
{
    (void)context;
    struct staging_pool *pool = calloc(1, sizeof(*pool));
    if (pool)
        pool->lock = (os_mutex)OS_MUTEX_INIT;
    return pool;
}

static void close_pool(void *state)
{
    pool_close(state);
}

/* ---- creation ---- */

/* The ordinary object of the OpenCL below that programs will use. */
static cl_mem create_memory(const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    if (desc->kind == SURFACE_BUFFER)
        return below()->clCreateBuffer(request->context, request->flags, desc->width, NULL, status);
    const cl_image_desc image = surface_image(desc, 0, 0);
    cl_mem memory = below()->clCreateImage(request->context, request->flags, &desc->format->cl, &image, NULL, status);
    /* A format that the device does not have maps to no supported format: the extension has one code for that. */
    if (!memory && (*status == CL_IMAGE_FORMAT_NOT_SUPPORTED || *status == CL_INVALID_OPERATION))
        *status = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    return memory;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    struct staged *staged = calloc(1, sizeof(*staged));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!staged) {
        snprintf(why, TRANSPORT_WHY, "no memory for the object's record");
        return status;
    }
    staged->base = (struct transfer){.transport = &host_transport, .surface = request->surface};
    staged->base.memory = create_memory(request, &status);
    if (!staged->base.memory) {
        free(staged);
        snprintf(why, TRANSPORT_WHY, "the OpenCL below can't make an object of %ux%ux%u texels, format %s", desc->width,
                 desc->height, desc->depth, desc->format ? desc->format->name : "bytes");
        return status;
    }
    staged->pool = request->state;
    staged_plan(staged, desc->kind == SURFACE_BUFFER ? NULL : image_host_converter(staged->base.memory));
    *made = &staged->base;
    return CL_SUCCESS;
}

static void destroy(struct transfer *transfer)
{
    struct staged *staged = staged_of(transfer);
    staged_unmap(staged);
    staged_drop(staged);
    free(staged);
}

/* ---- OpenCL's commands ---- */

/* Memory on the host's side: the staging copy or our own rows. */
struct host_rows {
    char *data;
    size_t row_pitch, slice_pitch;
};

static struct host_rows mapped_rows(const struct staged *staged)
{
    return (struct host_rows){staged->mapped.data, staged->mapped.row_pitch, staged->mapped.slice_pitch};
}

static struct host_rows own_rows(const struct staged *staged)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const size_t row = staged_row_bytes(staged);
    return (struct host_rows){staged->rows.bytes, row, desc->kind == SURFACE_IMAGE_3D ? row * desc->height : 0};
}

/* A command on its way: what all parts of it have in common. */
struct cl_command {
    bool take; /* from the host's rows into the memory object; else out of it */
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait;
    struct event_list *done;
};

static cl_int move_buffer(const struct cl_command *c, struct staged *staged, const struct host_rows *rows)
{
    const size_t size = staged->base.surface.desc.width;
    cl_event event = NULL;
    if (!event_list_reserve(c->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = c->take ? below()->clEnqueueWriteBuffer(c->queue, staged->base.memory, CL_FALSE, 0, size,
                                                                  rows->data, c->wait_count, c->wait, &event)
                                  : below()->clEnqueueReadBuffer(c->queue, staged->base.memory, CL_FALSE, 0, size,
                                                                 rows->data, c->wait_count, c->wait, &event);
    event_list_add(c->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* Rows that the host has converted, or will, hold the texels of the driver's image. */
static cl_int move_region(const struct cl_command *c, struct staged *staged, const struct host_rows *rows,
                          const size_t *origin, const size_t *region)
{
    const struct image_rows host_side = {rows->data, rows->row_pitch, rows->slice_pitch};
    return image_move(staged->base.memory, staged->converter != NULL, c->take, c->queue, origin, region, &host_side,
                      c->wait_count, c->wait, c->done);
}

/* OpenCL wants the slice pitch of a 3D image to be whole rows, Direct3D promises no such thing: then slice by slice. */
static cl_int move_slices(const struct cl_command *c, struct staged *staged, const struct host_rows *rows)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const size_t region[3] = {desc->width, desc->height, 1};
    cl_int status = CL_SUCCESS;
    for (uint32_t z = 0; z < desc->depth && status == CL_SUCCESS; z++) {
        const size_t origin[3] = {0, 0, z};
        const struct host_rows slice = {rows->data + z * rows->slice_pitch, rows->row_pitch, 0};
        status = move_region(c, staged, &slice, origin, region);
    }
    return status;
}

static cl_int move(const struct cl_command *c, struct staged *staged, const struct host_rows *rows)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const size_t origin[3] = {0, 0, 0}, region[3] = {desc->width, desc->height, desc->depth};
    statistics_bytes(&staged->base, staged_bytes(staged));
    if (desc->kind == SURFACE_BUFFER)
        return move_buffer(c, staged, rows);
    if (desc->kind == SURFACE_IMAGE_3D && rows->slice_pitch % rows->row_pitch)
        return move_slices(c, staged, rows);
    return move_region(c, staged, rows, origin, region);
}

static cl_int take(const struct cl_command *c, struct staged *staged)
{
    const struct host_rows rows = staged->takes_rows ? own_rows(staged) : mapped_rows(staged);
    const cl_int status = move(c, staged, &rows);
    if (status == CL_SUCCESS && staged->converter)
        image_overwritten(staged->base.memory);
    return status;
}

static cl_int give(const struct cl_command *c, struct staged *staged)
{
    if (staged->gives_rows && !staged_need_rows(staged))
        return CL_OUT_OF_HOST_MEMORY;
    const struct host_rows rows = staged->gives_rows ? own_rows(staged) : mapped_rows(staged);
    return move(c, staged, &rows);
}

static cl_int cl_take(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done)
{
    const struct cl_command c = {true, queue, wait_count, wait, done};
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++)
        status = take(&c, staged_of(handover->transfers[i]));
    return status;
}

static cl_int cl_give(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done)
{
    const struct cl_command c = {false, queue, wait_count, wait, done};
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++)
        status = give(&c, staged_of(handover->transfers[i]));
    return status;
}

const struct transport host_transport = {
    .name = "host",
    .title = "host (staging copy)",
    .leaves_out_unwritten = true,
    .open = open_pool,
    .close = close_pool,
    .free_state = free,
    .create = create,
    .destroy = destroy,
    .d3d_give = staged_d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = staged_d3d_take,
    .undo = staged_undo,
};
