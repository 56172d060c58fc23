#include "transport/transport.h"

#include "d3d/formats.h"
#include "formats/image.h"
#include "log.h"
#include "os/os.h"
#include "share/share.h"
#include "transport/pool.h"

#include <stdlib.h>
#include <string.h>

/* Two planes of one slice may be stored by two threads. Each store reads the other plane and writes both, since
 * Direct3D 10 and 11 copy no single plane: one at a time. */
static os_mutex planar_store = OS_MUTEX_INIT;

static bool planar(const struct transfer *transfer)
{
    return transfer->surface.desc.whole_level;
}

/* A row of our own rows. */
static size_t row_bytes(const struct transfer *transfer)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    if (transfer->carried)
        return desc->width * transfer->carried->wide_texel;
    return (size_t)desc->width * (desc->format ? desc->format->texel_bytes : 1);
}

static bool need_rows(struct transfer *transfer)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    if (!transfer->rows)
        transfer->rows = malloc(row_bytes(transfer) * desc->height * desc->depth);
    return transfer->rows != NULL;
}

static void begin(const struct d3d_api *api)
{
    if (api->ops->begin)
        api->ops->begin();
}

static bool end(const struct d3d_api *api)
{
    return !api->ops->end || api->ops->end();
}

static void widen(const void *converter, void *to, const void *from, size_t texels)
{
    texels_widen(converter, to, from, texels);
}

static void narrow(const void *converter, void *to, const void *from, size_t texels)
{
    texels_narrow(converter, to, from, texels);
}

static void find_converter(struct transfer *transfer)
{
    transfer->carried = image_host_converter(transfer->memory);
    if (!transfer->carried || !transfer->surface.api->ops->changes_rows)
        return;
    transfer->change = (struct row_change){transfer->carried->wide_texel, transfer->carried, widen, narrow};
    transfer->surface.change = &transfer->change;
}

/* Whether texels are converted between what is mapped and rows of our own: where the staging copy does not have the
 * driver's already. */
static bool converts(const struct transfer *transfer)
{
    return transfer->carried && !transfer->surface.change;
}

static bool need_staging(struct transfer *transfer)
{
    const struct d3d_ops *ops = transfer->surface.api->ops;
    if (transfer->surface.desc.kind != SURFACE_BUFFER)
        find_converter(transfer);
    return pool_take(transfer->pool, &transfer->surface) || ops->stage(&transfer->surface);
}

static void drop_staging(struct transfer *transfer)
{
    const struct d3d_ops *ops = transfer->surface.api->ops;
    if (!transfer->failed && ops->staging_serves_alike(&transfer->surface))
        pool_give(transfer->pool, &transfer->surface);
    else
        ops->unstage(&transfer->surface);
}

static bool fetch(struct transfer *transfer)
{
    const struct d3d_ops *ops = transfer->surface.api->ops;
    const bool done = (transfer->surface.staging || need_staging(transfer)) && ops->fetch(&transfer->surface);
    transfer->failed = transfer->failed || !done;
    return done;
}

static bool arrive(struct transfer *transfer)
{
    transfer->is_mapped = transfer->surface.api->ops->map(&transfer->surface, &transfer->mapped);
    transfer->failed = transfer->failed || !transfer->is_mapped;
    return transfer->is_mapped;
}

static void abandon(struct transfer *transfer)
{
    if (transfer->is_mapped)
        transfer->surface.api->ops->unmap(&transfer->surface);
    transfer->is_mapped = false;
}

/* Memory on the host's side of a transfer: the staging copy or our own rows. */
struct place {
    char *data;
    size_t row_pitch, slice_pitch;
};

static cl_int move_image(struct transfer *transfer, bool to_opencl, cl_command_queue queue, const struct place *place,
                         const size_t *origin, const size_t *region, cl_uint wait_count, const cl_event *wait,
                         cl_event *done)
{
    const cl_icd_dispatch *cl = transfer->carried ? &next : tier_formats(); /* converted already, or by that tier */
    const cl_int status =
        to_opencl ? cl->clEnqueueWriteImage(queue, transfer->memory, CL_FALSE, origin, region, place->row_pitch,
                                            place->slice_pitch, place->data, wait_count, wait, done)
                  : cl->clEnqueueReadImage(queue, transfer->memory, CL_FALSE, origin, region, place->row_pitch,
                                           place->slice_pitch, place->data, wait_count, wait, done);
    /* The formats tier lets the event of a carried image answer as a read or write; this one is not the application's. */
    if (status == CL_SUCCESS)
        registry_forget(RECORD_EVENT, *done);
    return status;
}

static cl_int move_buffer(struct transfer *transfer, bool to_opencl, cl_command_queue queue, const struct place *place,
                          cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    const cl_icd_dispatch *cl = tier_formats();
    const size_t size = transfer->surface.desc.width;
    return to_opencl ? cl->clEnqueueWriteBuffer(queue, transfer->memory, CL_FALSE, 0, size, place->data, wait_count, wait,
                                                done)
                     : cl->clEnqueueReadBuffer(queue, transfer->memory, CL_FALSE, 0, size, place->data, wait_count, wait,
                                               done);
}

/* OpenCL wants the slice pitch of a 3D image to be whole rows, Direct3D promises no such thing: then slice by slice. */
static cl_int move_slices(struct transfer *transfer, bool to_opencl, cl_command_queue queue, const struct place *place,
                          cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    const cl_icd_dispatch *cl = tier_formats();
    const size_t region[3] = {desc->width, desc->height, 1};
    cl_event few[16];
    cl_event *events = desc->depth <= sizeof(few) / sizeof(few[0]) ? few : calloc(desc->depth, sizeof(*events));
    cl_int status = events ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    cl_uint count = 0;
    while (status == CL_SUCCESS && count < desc->depth) {
        const size_t origin[3] = {0, 0, count};
        const struct place slice = {place->data + count * place->slice_pitch, place->row_pitch, 0};
        status = move_image(transfer, to_opencl, queue, &slice, origin, region, wait_count, wait, &events[count]);
        count += status == CL_SUCCESS;
    }
    if (status == CL_SUCCESS)
        status = cl->clEnqueueMarkerWithWaitList(queue, count, events, done);
    if (status != CL_SUCCESS && count)
        cl->clWaitForEvents(count, events); /* they use the mapped memory */
    event_release_all(count, events);
    if (events != few)
        free(events);
    return status;
}

static cl_int move(struct transfer *transfer, bool to_opencl, cl_command_queue queue, const struct place *place,
                   cl_uint wait_count, const cl_event *wait, cl_event *done)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    const size_t origin[3] = {0, 0, 0}, region[3] = {desc->width, desc->height, desc->depth};
    if (desc->kind == SURFACE_BUFFER)
        return move_buffer(transfer, to_opencl, queue, place, wait_count, wait, done);
    if (desc->kind == SURFACE_IMAGE_3D && place->slice_pitch % place->row_pitch)
        return move_slices(transfer, to_opencl, queue, place, wait_count, wait, done);
    return move_image(transfer, to_opencl, queue, place, origin, region, wait_count, wait, done);
}

static struct place rows_place(const struct transfer *transfer)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    const size_t row = row_bytes(transfer);
    return (struct place){transfer->rows, row, desc->kind == SURFACE_IMAGE_3D ? row * desc->height : 0};
}

/* Copies between our rows and what is mapped, and converts. */
static void copy_rows(struct transfer *transfer, bool to_mapped)
{
    const struct surface_desc *desc = &transfer->surface.desc;
    const size_t row = row_bytes(transfer);
    char *ours = transfer->rows;
    for (size_t z = 0; z < desc->depth; z++) {
        for (size_t y = 0; y < desc->height; y++, ours += row) {
            char *mapped =
                (char *)transfer->mapped.data + z * transfer->mapped.slice_pitch + y * transfer->mapped.row_pitch;
            if (!converts(transfer))
                memcpy(to_mapped ? mapped : ours, to_mapped ? ours : mapped, row);
            else if (to_mapped)
                texels_narrow(transfer->carried, mapped, ours, desc->width);
            else
                texels_widen(transfer->carried, ours, mapped, desc->width);
        }
    }
}

static cl_int upload_converted(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                               cl_event *done)
{
    if (!need_rows(transfer))
        return CL_OUT_OF_HOST_MEMORY;
    copy_rows(transfer, false);
    const struct place place = rows_place(transfer);
    return move(transfer, true, queue, &place, wait_count, wait, done);
}

static cl_int upload_mapped(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                            cl_event *done)
{
    const struct place place = {transfer->mapped.data, transfer->mapped.row_pitch, transfer->mapped.slice_pitch};
    return move(transfer, true, queue, &place, wait_count, wait, done);
}

static cl_int upload(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                     cl_event *done)
{
    const cl_int status = converts(transfer) ? upload_converted(transfer, queue, wait_count, wait, done)
                                             : upload_mapped(transfer, queue, wait_count, wait, done);
    if (status == CL_SUCCESS && transfer->carried)
        image_overwritten(transfer->memory);
    return status;
}

/* The bytes come back through rows of our own if the core says so, if they are converted, and for planes: what is mapped
 * now of the other plane may be old when it is stored. */
static cl_int download(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                       cl_event *done)
{
    if (!transfer->in_rows && planar(transfer))
        transfer->in_rows = true;
    if (!transfer->in_rows && !converts(transfer)) {
        const struct place place = {transfer->mapped.data, transfer->mapped.row_pitch, transfer->mapped.slice_pitch};
        return move(transfer, false, queue, &place, wait_count, wait, done);
    }
    if (!need_rows(transfer))
        return CL_OUT_OF_HOST_MEMORY;
    const struct place place = rows_place(transfer);
    return move(transfer, false, queue, &place, wait_count, wait, done);
}

static bool store_rows(struct transfer *transfer)
{
    os_lock(&planar_store);
    abandon(transfer);
    bool done = (!planar(transfer) || fetch(transfer)) && arrive(transfer);
    if (done) {
        copy_rows(transfer, true);
        transfer->is_mapped = false;
        done = transfer->surface.api->ops->store(&transfer->surface);
    }
    os_unlock(&planar_store);
    return done;
}

static bool store_mapped(struct transfer *transfer)
{
    if (converts(transfer))
        copy_rows(transfer, true);
    transfer->is_mapped = false;
    return transfer->surface.api->ops->store(&transfer->surface);
}

static bool store(struct transfer *transfer)
{
    const bool done = transfer->in_rows ? store_rows(transfer) : store_mapped(transfer);
    transfer->failed = transfer->failed || !done;
    return done;
}

static void destroy(struct transfer *transfer)
{
    abandon(transfer);
    if (transfer->surface.staging)
        drop_staging(transfer);
    free(transfer->rows);
    transfer->rows = NULL;
}

const struct transport host_transport = {
    .name = "host (staging copy)",
    .begin = begin,
    .end = end,
    .fetch = fetch,
    .arrive = arrive,
    .upload = upload,
    .download = download,
    .store = store,
    .abandon = abandon,
    .destroy = destroy,
};
