#include "transport/host.h"

#include "d3d/formats.h"
#include "d3d/staging.h"
#include "formats/image.h"
#include "transport/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct host_transfer {
    struct transfer base;
    struct staging_pool *pool;
    struct mapped_surface mapped; /* valid while is_mapped: from acquire to release */
    bool is_mapped;
    bool failed;                  /* Direct3D once did: no other object shall have the staging copy */
    const struct converter *converter; /* converts rows between Direct3D's texels and the storage format of the driver's
                                          image; NULL: the two are the same, or the device converts */
    struct row_change change;     /* for a surface that converts on the way to its staging copy */
    void *rows;                   /* rows of the driver's texels without gaps, for planes and for what is converted; NULL
                                     until they are needed */
};

static struct host_transfer *host(struct transfer *transfer)
{
    return (struct host_transfer *)transfer;
}

static bool planar(const struct host_transfer *transfer)
{
    return transfer->base.surface.desc.whole_level;
}

/* A row of our own rows. */
static size_t row_bytes(const struct host_transfer *transfer)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    if (transfer->converter)
        return desc->width * transfer->converter->wide_texel;
    return (size_t)desc->width * (desc->format ? desc->format->texel_bytes : 1);
}

static bool need_rows(struct host_transfer *transfer)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    if (!transfer->rows)
        transfer->rows = malloc(row_bytes(transfer) * desc->height * desc->depth);
    return transfer->rows != NULL;
}

/* Whether texels are converted between what is mapped and rows of our own: where the staging copy does not have the
 * driver's already. */
static bool converts(const struct host_transfer *transfer)
{
    return transfer->converter && !transfer->base.surface.change;
}

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

static void widen(const void *converter, void *to, const void *from, size_t texels)
{
    texels_widen(converter, to, from, texels);
}

static void narrow(const void *converter, void *to, const void *from, size_t texels)
{
    texels_narrow(converter, to, from, texels);
}

/* Once and for all: the sizes of rows and staging copy depend on it. */
static void plan_conversion(struct host_transfer *transfer)
{
    struct surface *surface = &transfer->base.surface;
    if (surface->desc.kind == SURFACE_BUFFER)
        return;
    transfer->converter = image_host_converter(transfer->base.memory);
    if (!transfer->converter || !surface->api->staging->changes_rows)
        return;
    transfer->change = (struct row_change){transfer->converter->wide_texel, transfer->converter, widen, narrow};
    surface->change = &transfer->change;
}

/* The ordinary object of the OpenCL below that programs will use. */
static cl_mem create_memory(const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    if (desc->kind == SURFACE_BUFFER)
        return tier_formats()->clCreateBuffer(request->context, request->flags, desc->width, NULL, status);
    const cl_image_desc image = {
        .image_type = desc->kind == SURFACE_IMAGE_3D ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
        .image_width = desc->width,
        .image_height = desc->height,
        .image_depth = desc->kind == SURFACE_IMAGE_3D ? desc->depth : 0,
    };
    cl_mem memory =
        tier_formats()->clCreateImage(request->context, request->flags, &desc->format->cl, &image, NULL, status);
    /* A format that the device does not have maps to no supported format: the extension has one code for that. */
    if (!memory && (*status == CL_IMAGE_FORMAT_NOT_SUPPORTED || *status == CL_INVALID_OPERATION))
        *status = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    return memory;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    struct host_transfer *transfer = calloc(1, sizeof(*transfer));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!transfer) {
        snprintf(why, TRANSPORT_WHY, "no memory for the object's record");
        return status;
    }
    transfer->base = (struct transfer){.transport = &host_transport, .surface = request->surface};
    transfer->base.memory = create_memory(request, &status);
    if (!transfer->base.memory) {
        free(transfer);
        snprintf(why, TRANSPORT_WHY, "the OpenCL below can't make an object of %ux%ux%u texels, format %s", desc->width,
                 desc->height, desc->depth, desc->format ? desc->format->name : "bytes");
        return status;
    }
    transfer->pool = request->state;
    plan_conversion(transfer);
    *made = &transfer->base;
    return CL_SUCCESS;
}

/* ---- the staging copy ---- */

static bool need_staging(struct host_transfer *transfer)
{
    struct surface *surface = &transfer->base.surface;
    return surface->staging || pool_take(transfer->pool, surface) || surface->api->staging->stage(surface);
}

static void drop_staging(struct host_transfer *transfer)
{
    struct surface *surface = &transfer->base.surface;
    if (!transfer->failed && surface->api->staging->staging_serves_alike(surface))
        pool_give(transfer->pool, surface);
    else
        surface->api->staging->unstage(surface);
}

static bool fetch(struct host_transfer *transfer)
{
    const bool done = need_staging(transfer) && transfer->base.surface.api->staging->fetch(&transfer->base.surface);
    transfer->failed = transfer->failed || !done;
    return done;
}

static bool map(struct host_transfer *transfer)
{
    transfer->is_mapped = transfer->base.surface.api->staging->map(&transfer->base.surface, &transfer->mapped);
    transfer->failed = transfer->failed || !transfer->is_mapped;
    return transfer->is_mapped;
}

static void unmap(struct host_transfer *transfer)
{
    if (transfer->is_mapped)
        transfer->base.surface.api->staging->unmap(&transfer->base.surface);
    transfer->is_mapped = false;
}

static void destroy(struct transfer *transfer)
{
    unmap(host(transfer));
    if (transfer->surface.staging)
        drop_staging(host(transfer));
    free(host(transfer)->rows);
    free(transfer);
}

/* ---- Direct3D gives ---- */

static void begin(const struct d3d_api *api)
{
    if (api->staging->begin)
        api->staging->begin();
}

static bool end(const struct d3d_api *api)
{
    return !api->staging->end || api->staging->end();
}

static void undo(const struct handover *handover)
{
    for (cl_uint i = 0; i < handover->count; i++)
        unmap(host(handover->transfers[i]));
}

/* All copies are queued before the first is waited for. */
static bool fetch_and_map(const struct handover *handover)
{
    for (cl_uint i = 0; i < handover->count; i++)
        if (!fetch(host(handover->transfers[i])))
            return false;
    for (cl_uint i = 0; i < handover->count; i++)
        if (!map(host(handover->transfers[i])))
            return false;
    return true;
}

static bool d3d_give(const struct handover *handover)
{
    begin(handover->api);
    const bool mapped = fetch_and_map(handover), done = end(handover->api) && mapped;
    if (!done)
        undo(handover);
    return done;
}

/* ---- OpenCL's commands ---- */

/* Memory on the host's side: the staging copy or our own rows. */
struct host_rows {
    char *data;
    size_t row_pitch, slice_pitch;
};

static struct host_rows mapped_rows(const struct host_transfer *transfer)
{
    return (struct host_rows){transfer->mapped.data, transfer->mapped.row_pitch, transfer->mapped.slice_pitch};
}

static struct host_rows own_rows(const struct host_transfer *transfer)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    const size_t row = row_bytes(transfer);
    return (struct host_rows){transfer->rows, row, desc->kind == SURFACE_IMAGE_3D ? row * desc->height : 0};
}

/* A command on its way: what all parts of it have in common. */
struct cl_command {
    bool take; /* from the host's rows into the memory object; else out of it */
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait;
    struct event_list *done;
};

static cl_int move_buffer(const struct cl_command *c, struct host_transfer *transfer, const struct host_rows *rows)
{
    const size_t size = transfer->base.surface.desc.width;
    cl_event event = NULL;
    if (!event_list_reserve(c->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status =
        c->take ? tier_formats()->clEnqueueWriteBuffer(c->queue, transfer->base.memory, CL_FALSE, 0, size, rows->data,
                                                       c->wait_count, c->wait, &event)
                : tier_formats()->clEnqueueReadBuffer(c->queue, transfer->base.memory, CL_FALSE, 0, size, rows->data,
                                                      c->wait_count, c->wait, &event);
    event_list_add(c->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* Rows that the host has converted, or will, hold the texels of the driver's image. */
static cl_int move_region(const struct cl_command *c, struct host_transfer *transfer, const struct host_rows *rows,
                          const size_t *origin, const size_t *region)
{
    const struct image_rows host_side = {rows->data, rows->row_pitch, rows->slice_pitch};
    return image_move(transfer->base.memory, transfer->converter != NULL, c->take, c->queue, origin, region, &host_side,
                      c->wait_count, c->wait, c->done);
}

/* OpenCL wants the slice pitch of a 3D image to be whole rows, Direct3D promises no such thing: then slice by slice. */
static cl_int move_slices(const struct cl_command *c, struct host_transfer *transfer, const struct host_rows *rows)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    const size_t region[3] = {desc->width, desc->height, 1};
    cl_int status = CL_SUCCESS;
    for (uint32_t z = 0; z < desc->depth && status == CL_SUCCESS; z++) {
        const size_t origin[3] = {0, 0, z};
        const struct host_rows slice = {rows->data + z * rows->slice_pitch, rows->row_pitch, 0};
        status = move_region(c, transfer, &slice, origin, region);
    }
    return status;
}

static cl_int move(const struct cl_command *c, struct host_transfer *transfer, const struct host_rows *rows)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    const size_t origin[3] = {0, 0, 0}, region[3] = {desc->width, desc->height, desc->depth};
    if (desc->kind == SURFACE_BUFFER)
        return move_buffer(c, transfer, rows);
    if (desc->kind == SURFACE_IMAGE_3D && rows->slice_pitch % rows->row_pitch)
        return move_slices(c, transfer, rows);
    return move_region(c, transfer, rows, origin, region);
}

/* Copies between our rows and what is mapped, and converts. */
static void copy_rows(struct host_transfer *transfer, bool to_mapped)
{
    const struct surface_desc *desc = &transfer->base.surface.desc;
    const size_t row = row_bytes(transfer);
    char *ours = transfer->rows;
    for (size_t z = 0; z < desc->depth; z++) {
        for (size_t y = 0; y < desc->height; y++, ours += row) {
            char *mapped =
                (char *)transfer->mapped.data + z * transfer->mapped.slice_pitch + y * transfer->mapped.row_pitch;
            if (!converts(transfer))
                memcpy(to_mapped ? mapped : ours, to_mapped ? ours : mapped, row);
            else if (to_mapped)
                texels_narrow(transfer->converter, mapped, ours, desc->width);
            else
                texels_widen(transfer->converter, ours, mapped, desc->width);
        }
    }
}

static cl_int take(const struct cl_command *c, struct host_transfer *transfer)
{
    if (converts(transfer) && !need_rows(transfer))
        return CL_OUT_OF_HOST_MEMORY;
    if (converts(transfer))
        copy_rows(transfer, false);
    const struct host_rows rows = converts(transfer) ? own_rows(transfer) : mapped_rows(transfer);
    const cl_int status = move(c, transfer, &rows);
    if (status == CL_SUCCESS && transfer->converter)
        image_overwritten(transfer->base.memory);
    return status;
}

/* Through rows of our own for what is converted, and for planes: what is mapped now of the other plane may be old when it
 * is stored. */
static bool gives_by_rows(const struct host_transfer *transfer)
{
    return planar(transfer) || converts(transfer);
}

static cl_int give(const struct cl_command *c, struct host_transfer *transfer)
{
    if (gives_by_rows(transfer) && !need_rows(transfer))
        return CL_OUT_OF_HOST_MEMORY;
    const struct host_rows rows = gives_by_rows(transfer) ? own_rows(transfer) : mapped_rows(transfer);
    return move(c, transfer, &rows);
}

static cl_int cl_take(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done)
{
    const struct cl_command c = {true, queue, wait_count, wait, done};
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++)
        status = take(&c, host(handover->transfers[i]));
    return status;
}

static cl_int cl_give(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done)
{
    const struct cl_command c = {false, queue, wait_count, wait, done};
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++)
        status = give(&c, host(handover->transfers[i]));
    return status;
}

/* ---- Direct3D takes ---- */

static bool store(struct host_transfer *transfer)
{
    transfer->is_mapped = false;
    return transfer->base.surface.api->staging->store(&transfer->base.surface);
}

/* Two planes of one slice may be stored by two threads. Each store reads the other plane and writes both, since
 * Direct3D 10 and 11 copy no single plane: one at a time. */
static bool store_plane(struct host_transfer *transfer)
{
    const struct staging_ops *staging = transfer->base.surface.api->staging;
    staging->enter(&transfer->base.surface);
    unmap(transfer);
    const bool mapped = fetch(transfer) && map(transfer);
    if (mapped)
        copy_rows(transfer, true);
    const bool done = mapped && store(transfer);
    staging->leave(&transfer->base.surface);
    return done;
}

static bool store_all_but_planes(struct host_transfer *transfer)
{
    if (converts(transfer))
        copy_rows(transfer, true);
    return store(transfer);
}

static bool d3d_take(const struct handover *handover)
{
    bool all = true;
    begin(handover->api);
    for (cl_uint i = 0; i < handover->count; i++) {
        struct host_transfer *transfer = host(handover->transfers[i]);
        const bool done = planar(transfer) ? store_plane(transfer) : store_all_but_planes(transfer);
        transfer->failed = transfer->failed || !done;
        all = all && done;
    }
    return end(handover->api) && all;
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
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = d3d_take,
    .undo = undo,
};
