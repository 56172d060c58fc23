/* The transport by rows: Direct3D's images are copied on the GPU, in Direct3D's own queue, to memory that OpenCL works on, and
 * back. It changes none of them: for Direct3D on Vulkan (DXVK) with the layer of libcld3d.so. */
#include "d3d/formats.h"
#include "d3d/staging.h"
#include "drivers/drivers.h"
#include "formats/image.h"
#include "handles/handles.h"
#include "log.h"
#include "settings.h"
#include "transport/commands.h"
#include "transport/host_memory.h"
#include "transport/shared_rows.h"
#include "transport/surface_image.h"

#include <stdio.h>
#include <stdlib.h>

/* What a context keeps. */
struct state {
    struct vulkan_context gpu;
    uint32_t kinds;            /* bits: the kinds of memory that may be used */
    os_mutex lock;             /* guards what follows */
    struct shared_rows *spare; /* owned; for objects that are made anew */
    unsigned spares;
    size_t bytes, most; /* of all rows, and its limit */
    bool closed;
};

/* How the program's object sees the rows. */
enum view { VIEW_IN_PLACE, VIEW_OF_BUFFER, VIEW_COPY, VIEW_ITSELF, VIEWS };

struct rows_object {
    struct transfer base;
    struct state *state;
    const struct vulkan_side *side;
    struct vulkan_location at;
    struct shared_rows *rows;
    uint32_t row_texels;
    enum view view;
};

static struct rows_object *object_of(struct transfer *transfer)
{
    return (struct rows_object *)transfer;
}

static void *open_state(cl_context context)
{
    struct state *state = calloc(1, sizeof(*state));
    static const char *const names[VULKAN_ROWS_KINDS] = {"host", "dma-buf", "opaque-fd"};
    const char *named = setting_text(SETTING_ROWS);
    cl_ulong bytes = 0;
    if (!state)
        return NULL;
    for (unsigned kind = 0; kind < VULKAN_ROWS_KINDS; kind++)
        state->kinds |= !named[0] || setting_names(named, names[kind]) ? 1u << kind : 0;
    if (!state->kinds)
        log_write(LOG_WARN, "%s: '%s' names no kind of memory", setting_variable(SETTING_ROWS), named);
    state->lock = (os_mutex)OS_MUTEX_INIT;
    state->gpu.context = context;
    vulkan_examine(&state->gpu);
    if (state->gpu.device)
        next.clGetDeviceInfo(state->gpu.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    state->most = bytes / PINNED_SHARE < PINNED_MOST ? (size_t)(bytes / PINNED_SHARE) : PINNED_MOST;
    return state;
}

static void drop_spares(struct state *state, bool close)
{
    os_lock(&state->lock);
    struct shared_rows *rows = state->spare, *after;
    state->spare = NULL;
    state->spares = 0;
    for (const struct shared_rows *each = rows; each; each = each->after)
        state->bytes -= (size_t)each->at.size;
    state->closed = state->closed || close;
    os_unlock(&state->lock);
    for (; rows; rows = after) {
        after = rows->after;
        rows_free(rows);
    }
}

static void close_state(void *state)
{
    drop_spares(state, true);
}

/* ---- memory ---- */

enum { SPARES_MOST = 4 };

/* Memory that a former object had, if there is some of the size, on the image's device. */
static struct shared_rows *take_spare(struct state *state, const struct rows_request *request)
{
    struct shared_rows **place = &state->spare;
    os_lock(&state->lock);
    while (*place && ((*place)->at.kind != request->kind || (*place)->at.size < request->size ||
                      (*place)->at.size - request->size >= VULKAN_ROWS_PAGE || (*place)->side != request->side ||
                      !request->side->fit_rows((*place)->at.rows, request->image)))
        place = &(*place)->after;
    struct shared_rows *found = *place;
    if (found) {
        *place = found->after;
        state->spares--;
    }
    os_unlock(&state->lock);
    return found;
}

static bool reserve(struct state *state, size_t size)
{
    os_lock(&state->lock);
    const bool fits = state->bytes <= state->most && size <= state->most - state->bytes;
    state->bytes += fits ? size : 0;
    os_unlock(&state->lock);
    return fits;
}

/* NULL: `why`, of VULKAN_WHY bytes, gives the reason. */
static struct shared_rows *get_rows(struct state *state, const struct rows_request *request, char *why)
{
    struct shared_rows *rows = take_spare(state, request);
    if (rows)
        return rows;
    if (!reserve(state, request->size)) {
        drop_spares(state, false);
        if (!reserve(state, request->size)) {
            snprintf(why, VULKAN_WHY,
                     "the context's objects have %zu MiB of such memory, and no more than %zu are used",
                     state->bytes >> 20, state->most >> 20);
            return NULL;
        }
    }
    rows = rows_make(request, why);
    os_lock(&state->lock);
    state->bytes -= request->size;
    state->bytes += rows ? (size_t)rows->at.size : 0;
    os_unlock(&state->lock);
    return rows;
}

/* Keeps them in place of the oldest. An image that the application had is of no use to another object. */
static void put_rows(struct state *state, struct shared_rows *rows)
{
    struct shared_rows *dropped = rows, **last = &state->spare;
    if (!rows)
        return;
    os_lock(&state->lock);
    if (!state->closed && rows->at.kind != VULKAN_ROWS_IMAGE) {
        rows->after = state->spare;
        state->spare = rows;
        while ((*last)->after)
            last = &(*last)->after;
        dropped = state->spares == SPARES_MOST ? *last : NULL;
        if (dropped)
            *last = NULL;
        else
            state->spares++;
    }
    state->bytes -= dropped ? (size_t)dropped->at.size : 0;
    os_unlock(&state->lock);
    rows_free(dropped);
}

/* ---- creation ---- */

static void destroy(struct transfer *transfer)
{
    struct rows_object *o = object_of(transfer);
    put_rows(o->state, o->rows);
    free(o);
}

/* Texels to which a row of an image that lies in a buffer is aligned; 0: the device has no such images that commands are right on. */
static cl_uint pitch_alignment(const struct vulkan_context *gpu)
{
    cl_uint texels = 0;
    struct context_record *context = registry_get(RECORD_CONTEXT, gpu->context);
    if (context && !context_has(context, QUIRK_IMAGES_OF_BUFFERS) &&
        next.clGetDeviceInfo(gpu->device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof(texels), &texels, NULL) != CL_SUCCESS)
        texels = 0;
    record_release(context);
    return texels;
}

static cl_mem make_memory(struct rows_object *o, const struct transfer_request *request, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    cl_image_desc image = surface_image(desc, 0, 0);
    if (o->view == VIEW_IN_PLACE)
        return image_create_over(request->context, request->flags, &desc->format->cl, &image, o->rows->host.bytes,
                                 status);
    if (o->view == VIEW_COPY)
        return surface_memory(request->context, request->flags, desc, status);
    image.image_row_pitch = (size_t)o->row_texels * desc->format->texel_bytes;
    image.buffer = o->rows->memory;
    return next.clCreateImage(request->context, request->flags, &desc->format->cl, &image, NULL, status);
}

/* The object over memory of one kind. */
static cl_int share(struct rows_object *o, const struct transfer_request *request, enum vulkan_rows_kind kind,
                    enum view view, cl_uint alignment, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const cl_image_desc image = surface_image(desc, 0, 0);
    cl_int status = CL_OUT_OF_RESOURCES;
    o->view = kind == VULKAN_ROWS_IMAGE                              ? VIEW_ITSELF
              : kind == VULKAN_ROWS_DMA_BUF && view == VIEW_IN_PLACE ? VIEW_COPY
                                                                     : view;
    o->row_texels = o->view == VIEW_OF_BUFFER ? (desc->width + alignment - 1) / alignment * alignment : desc->width;
    const size_t rows[3] = {1, desc->height, desc->depth};
    const struct rows_request wanted = {
        .gpu = &o->state->gpu,
        .side = o->side,
        .image = o->at.native.image,
        .aspect = vulkan_aspect(desc),
        .level = o->at.native.level,
        .layer = o->at.native.layer,
        .kind = kind,
        .maps = view != VIEW_IN_PLACE,
        .size = cl_region_bytes(rows, (size_t)o->row_texels * desc->format->texel_bytes),
        .texel = desc->format->texel_bytes,
        .format = &desc->format->cl,
        .flags = request->flags,
        .desc = &image,
    };
    if (!rows_work(&wanted, &o->at.image.memory.gpu, why))
        return CL_INVALID_OPERATION;
    o->rows = get_rows(o->state, &wanted, why);
    if (!o->rows)
        return CL_OUT_OF_HOST_MEMORY;
    o->base.memory = o->view == VIEW_ITSELF ? o->rows->memory : make_memory(o, request, &status);
    if (o->base.memory)
        return CL_SUCCESS;
    put_rows(o->state, o->rows);
    o->rows = NULL;
    return transport_refuse(why, status, "the OpenCL below creates no image: error %d", status);
}

/* What the device imports comes first: it is the device's own memory. Host memory needs no import, and may be another
 * device's. */
static cl_int share_best(struct rows_object *o, const struct transfer_request *request, char *why)
{
    static const enum vulkan_rows_kind order[] = {VULKAN_ROWS_IMAGE, VULKAN_ROWS_DMA_BUF, VULKAN_ROWS_HOST};
    const struct surface_desc *desc = &request->surface.desc;
    const struct host_memory memory = host_memory_of_context(request->context);
    const struct converter *converter;
    enum image_storage storage;
    const bool same = gpu_same(&o->state->gpu.gpu, &o->at.image.memory.gpu);
    const cl_uint alignment = pitch_alignment(&o->state->gpu);
    cl_int status = surface_storage(request->context, desc, &storage, &converter);
    if (status != CL_SUCCESS || (memory.in_place && storage == STORED_BY_CONVERTER))
        return transport_refuse(why, status == CL_SUCCESS ? CL_IMAGE_FORMAT_NOT_SUPPORTED : status,
                                "the processor converts texels of %s", desc->format->name);
    const enum view view = storage != STORED_AS_DECLARED                                     ? VIEW_COPY
                           : memory.in_place                                                 ? VIEW_IN_PLACE
                           : alignment && desc->kind == SURFACE_IMAGE_2D && desc->depth == 1 ? VIEW_OF_BUFFER
                                                                                             : VIEW_COPY;
    status =
        transport_refuse(why, CL_INVALID_OPERATION, "no kind of memory that may be used is shared by both devices");
    for (unsigned i = 0; i < VULKAN_ROWS_KINDS && status != CL_SUCCESS; i++) {
        const bool as_image = storage == STORED_AS_DECLARED && !o->state->gpu.linear,
                   imports =
                       same && (o->state->gpu.imports >> order[i] & 1) && (order[i] != VULKAN_ROWS_IMAGE || as_image);
        if ((order[i] == VULKAN_ROWS_HOST || imports) && (o->state->kinds >> order[i] & 1))
            status = share(o, request, order[i], view, alignment, why);
    }
    return status;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    static const char *const methods[VULKAN_ROWS_KINDS][VIEWS] = {
        {"rows in host memory, in place", "rows in host memory, an image of them",
         "rows in host memory, copied by OpenCL"},
        {NULL, "rows in a dma-buf, an image of them", "rows in a dma-buf, copied by OpenCL"},
        {[VIEW_ITSELF] = "rows in an image (opaque file descriptor)"},
    };
    const struct surface_desc *desc = &request->surface.desc;
    const struct vulkan_side *side = vulkan_access(why);
    struct state *state = request->state;
    if (!side)
        return CL_INVALID_OPERATION;
    if (desc->kind == SURFACE_BUFFER || state->gpu.count != 1)
        return transport_refuse(why, CL_INVALID_OPERATION, "%s",
                                state->gpu.count == 1 ? "buffers are not copied"
                                                      : "the context has several OpenCL devices");
    struct rows_object *o = calloc(1, sizeof(*o));
    if (!o)
        return transport_refuse(why, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    o->base = (struct transfer){.transport = &rows_transport, .surface = request->surface, .left_out = true};
    o->state = state;
    o->side = side;
    cl_int status = CL_INVALID_OPERATION;
    if (vulkan_locate(side, &o->base.surface, &o->at, why) && vulkan_fits(desc, &o->at, why))
        status = share_best(o, request, why);
    if (status != CL_SUCCESS || !o->rows) {
        destroy(&o->base);
        return status;
    }
    o->base.lends = o->view == VIEW_IN_PLACE    ? LENDS_COUNTED
                    : o->view == VIEW_OF_BUFFER ? LENDS_UNCOUNTED
                                                : LENDS_NOTHING;
    o->base.method = methods[o->rows->at.kind][o->view];
    why[0] = '\0';
    *made = &o->base;
    return CL_SUCCESS;
}

/* ---- Direct3D's steps ---- */

/* Looks the images up again, which Direct3D may have moved: the rows are ours and stay. */
static bool locate(const struct handover *handover)
{
    bool all = true;
    for (cl_uint i = 0; i < handover->count && all; i++) {
        struct rows_object *o = object_of(handover->transfers[i]);
        struct vulkan_location now = o->at;
        char why[VULKAN_WHY] = "it has no image";
        all = handover->api->native->find_again(&o->base.surface, &now.native) &&
              o->side->find_image(now.native.image, &now.image, why) && vulkan_fits(&o->base.surface.desc, &now, why);
        if (all)
            o->at = now;
        else if (handover->api->native->alive(&o->base.surface)) /* a lost device is logged there */
            log_write(LOG_ERROR, "the Vulkan image of a resource is not found again (%s): create the object again",
                      why);
    }
    return all;
}

/* Copies what OpenCL has written to images. Another thread may store the other plane through the host, which reads and writes
 * both planes (staged.c). So only one thread at a time does either, behind everything that Direct3D has queued. */
static bool copy_back(const struct rows_object *o, const struct vulkan_move *moves, uint64_t count, char *why)
{
    const struct surface *surface = &o->base.surface;
    const struct staging_ops *staging = surface->api->staging;
    void *section = staging->enter ? staging->enter(surface->device) : NULL;
    const bool done = surface->api->native->submit(surface) && o->side->move_rows(moves, count, true, why);
    if (staging->enter)
        staging->leave(section);
    return done;
}

static bool move(const struct handover *handover, bool back)
{
    const struct rows_object *first = object_of(handover->transfers[0]);
    struct vulkan_move moves[VULKAN_AT_ONCE];
    char why[VULKAN_WHY] = "";
    for (cl_uint i = 0; i < handover->count; i++) {
        const struct rows_object *o = object_of(handover->transfers[i]);
        moves[i] = (struct vulkan_move){.name = o->rows->at.rows,
                                        .layout = o->at.native.layout,
                                        .family = o->at.native.family,
                                        .image = o->at.native.image,
                                        .aspect = vulkan_aspect(&o->base.surface.desc),
                                        .level = o->at.native.level,
                                        .layer = o->at.native.layer,
                                        .row_texels = o->row_texels};
    }
    const bool done = back ? copy_back(first, moves, handover->count, why)
                           : first->side->move_rows(moves, handover->count, false, why);
    if (!done)
        log_write(LOG_ERROR, "Vulkan does not copy all images %s: %s", back ? "back to Direct3D" : "for OpenCL", why);
    return done;
}

/* Takes the memory that OpenCL still has, and waits. What it holds does not matter. */
static bool take_back(const struct handover *handover)
{
    const cl_context context = object_of(handover->transfers[0])->state->gpu.context;
    struct event_list done;
    cl_int status = CL_SUCCESS;
    event_list_open(&done);
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++) {
        struct shared_rows *rows = object_of(handover->transfers[i])->rows;
        if (!rows_are_taken(rows))
            continue;
        const struct enqueueing to = {.queue = context_own_queue(context, &status), .done = &done};
        status = to.queue ? rows_give(rows, true, &to) : status;
    }
    const bool ended = event_list_await(&done);
    event_list_close(&done);
    return log_next("rows", "the driver's release of the memory", status) == CL_SUCCESS && ended;
}

static bool give(const struct handover *handover)
{
    const struct native_ops *native = handover->api->native;
    bool done = take_back(handover);
    for (cl_uint i = 0; i < handover->count && done; i++) {
        const struct rows_object *o = object_of(handover->transfers[i]);
        done = native->flush_deferred(&o->base.surface, &o->at.native);
    }
    return done && native->submit(&handover->transfers[0]->surface) && locate(handover) && move(handover, false);
}

static bool d3d_give(const struct handover *handover)
{
    return vulkan_for_devices(handover, give);
}

static bool take(const struct handover *handover)
{
    return locate(handover) && move(handover, true) && handover->api->native->alive(&handover->transfers[0]->surface);
}

static bool d3d_take(const struct handover *handover)
{
    return vulkan_for_devices(handover, take);
}

/* Direct3D's images were not changed. In a callback of the driver nothing may wait: then the next acquire passes the memory. */
static void undo(const struct handover *handover)
{
    if (!callback_runs_commands())
        take_back(handover);
}

static void leave(struct transfer *transfer)
{
    undo(&(struct handover){transfer->surface.api, &transfer, 1});
}

/* ---- OpenCL's steps ---- */

static cl_int copy(struct rows_object *o, bool to_image, const struct enqueueing *to)
{
    static const size_t origin[3] = {0, 0, 0};
    const struct surface_desc *desc = &o->base.surface.desc;
    const size_t region[3] = {desc->width, desc->height, desc->depth};
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = to_image
                              ? below()->clEnqueueCopyBufferToImage(to->queue, o->rows->memory, o->base.memory, 0,
                                                                    origin, region, to->wait_count, to->wait, &event)
                              : below()->clEnqueueCopyImageToBuffer(to->queue, o->base.memory, o->rows->memory, origin,
                                                                    region, 0, to->wait_count, to->wait, &event);
    if (status == CL_SUCCESS) /* that of an emulated image is tracked for an application, which never gets it */
        registry_forget(RECORD_EVENT, event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* The last event in the list, if it has more than before; otherwise the wait list. */
static struct enqueueing behind(const struct enqueueing *to, cl_uint before)
{
    struct enqueueing after = *to;
    if (to->done->count > before) {
        after.wait_count = 1;
        after.wait = &to->done->events[to->done->count - 1];
    }
    return after;
}

/* NVIDIA's driver waits in the call for what a user event blocks before an external acquire: then that is made apart. */
static cl_int take_apart(struct rows_object *o)
{
    struct event_list done;
    cl_int status;
    event_list_open(&done);
    const struct enqueueing to = {.queue = context_own_queue(o->state->gpu.context, &status), .done = &done};
    status = to.queue ? rows_take(o->rows, &to) : status;
    if (!event_list_await(&done) && status == CL_SUCCESS)
        status = CL_OUT_OF_RESOURCES;
    event_list_close(&done);
    return status;
}

static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    const cl_uint none = to->done->count;
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++) {
        struct rows_object *o = object_of(handover->transfers[i]);
        const cl_uint before = to->done->count;
        if (!event_list_reserve(to->done, 2))
            return CL_OUT_OF_HOST_MEMORY;
        status = to->blocked && o->rows->at.kind != VULKAN_ROWS_HOST ? take_apart(o) : rows_take(o->rows, to);
        const struct enqueueing taken = behind(to, before);
        if (status == CL_SUCCESS && o->view == VIEW_COPY)
            status = copy(o, true, &taken);
    }
    return status == CL_SUCCESS ? commands_after_take(to, none) : status;
}

/* After a release that has failed, Vulkan may have the memory. */
static cl_int cl_give(const struct handover *handover, const struct enqueueing *to)
{
    const cl_uint none = to->done->count;
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && status == CL_SUCCESS; i++) {
        struct rows_object *o = object_of(handover->transfers[i]);
        const cl_uint before = to->done->count;
        status = event_list_reserve(to->done, 3) ? rows_take(o->rows, to) : CL_OUT_OF_HOST_MEMORY;
        const struct enqueueing taken = behind(to, before);
        if (status == CL_SUCCESS && o->view == VIEW_COPY)
            status = copy(o, false, &taken);
        const struct enqueueing copied = behind(to, before);
        if (status == CL_SUCCESS)
            status = rows_give(o->rows, false, &copied);
    }
    return status == CL_SUCCESS && to->done->count == none ? commands_marker(to) : status;
}

const struct transport rows_transport = {
    .name = "rows",
    .title = "rows (copied on the GPU)",
    .open = open_state,
    .close = close_state,
    .create = create,
    .leave = leave,
    .destroy = destroy,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = d3d_take,
    .undo = undo,
};
