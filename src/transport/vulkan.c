/* The transport without a copy: OpenCL works in the Direct3D resource itself, where Direct3D runs on Vulkan (DXVK) and
 * libcld3d.so is one of Vulkan's layers. The memory of the image or buffer is imported into the OpenCL device that is
 * the same GPU. If the Vulkan device and the OpenCL device are both the CPU, OpenCL's object is created over the mapped
 * memory instead. A level or slice that cannot be shared directly gets a separate texture, to and from which Direct3D
 * copies on the GPU. */
#include "d3d/formats.h"
#include "formats/image.h"
#include "log.h"
#include "settings.h"
#include "handles/handles.h"
#include "transport/commands.h"
#include "transport/surface_image.h"
#include "transport/vulkan_object.h"

#include <stdio.h>
#include <stdlib.h>

static void *open_context(cl_context context)
{
    struct vulkan_context *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->lock = (os_mutex)OS_MUTEX_INIT;
    c->context = context;
    return c;
}

/* ---- creation ---- */

static void drop_copy(struct vulkan_object *o)
{
    o->base.surface.api->ops->release(o->copy.resource);
    o->copy.resource = NULL;
}

static void destroy(struct transfer *transfer)
{
    struct vulkan_object *o = vulkan_object(transfer);
    event_put(o->changed);
    vulkan_return(o);
    if (o->whole)
        below()->clReleaseMemObject(o->whole);
    if (o->held)
        o->side->give_back(o->at.image.memory.memory);
    vulkan_drop_gpu_copy(o);
    drop_copy(o);
    free(o->outliving);
    free(o);
}

/* Shares the memory of `vulkan_shared`, by import or in mapped memory. If neither is possible, nothing is left
 * behind. */
static cl_int share(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    char by_import[VULKAN_WHY] = "", over_mapped[VULKAN_WHY] = ""; /* a host that crashes gives no reason */
    if (!vulkan_locate(o->side, vulkan_shared(o), &o->at, why))
        return CL_INVALID_OPERATION;
    if (request->surface.desc.kind != SURFACE_BUFFER && !vulkan_fits(&request->surface.desc, &o->at, why))
        return CL_INVALID_OPERATION;
    if (vulkan_import(o, request, by_import) == CL_SUCCESS)
        return CL_SUCCESS;
    const cl_int status = vulkan_over_mapped(o, request, over_mapped);
    if (status == CL_SUCCESS)
        return CL_SUCCESS;
    if (o->held)
        o->side->give_back(o->at.image.memory.memory);
    o->held = false;
    snprintf(why, VULKAN_WHY, "%.79s; %.78s", by_import, over_mapped);
    return status;
}

static const char *method_of(const struct vulkan_object *o)
{
    if (o->gpu_copy)
        return "a copy on the GPU by Vulkan, imported";
    if (o->copy.resource)
        return o->imported ? "a copy on the GPU, imported" : "a copy by Direct3D, in mapped memory";
    return o->imported ? "direct, imported" : "direct, in mapped memory";
}

/* Whether OpenCL might share other memory of this device: a copy would be there too. */
static bool is_within_reach(const struct vulkan_object *o)
{
    const struct vulkan_memory *memory = &o->at.image.memory;
    return !memory->memory || memory->mapped || vulkan_imports_from(o->context, memory);
}

/* Shares the surface itself, or a separate copy. */
static cl_int share_either(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    const struct native_ops *native = request->surface.api->native;
    char direct[VULKAN_WHY] = "", by_direct3d[VULKAN_WHY] = "", by_vulkan[VULKAN_WHY] = "";
    cl_int status = share(o, request, direct);
    if (status == CL_SUCCESS)
        return status;
    const bool image = o->at.native.image != 0 && is_within_reach(o);
    if (image && native->make_copy && native->make_copy(&o->base.surface, &o->copy)) {
        status = share(o, request, by_direct3d);
        if (status != CL_SUCCESS)
            drop_copy(o);
    }
    if (status != CL_SUCCESS && image)
        status = vulkan_import_gpu_copy(o, request, by_vulkan);
    snprintf(why, TRANSPORT_WHY, "%.96s%s%.60s%s%.60s", direct, by_direct3d[0] ? "; copy by Direct3D: " : "",
             by_direct3d, by_vulkan[0] ? "; copy by Vulkan: " : "", by_vulkan);
    return status;
}

/* Refuses emulated formats, whose bytes in OpenCL differ from those in Direct3D. */
static cl_int check_format(const struct transfer_request *request, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct converter *converter;
    enum image_storage storage;
    cl_int status = surface_storage(request->context, desc, &storage, &converter);
    if (status == CL_SUCCESS && storage != STORED_AS_DECLARED)
        status = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    if (status != CL_SUCCESS)
        snprintf(why, TRANSPORT_WHY, "a device of the context lacks the format %s", desc->format->name);
    return status;
}

static struct vulkan_object *new_object(const struct transfer_request *request, const struct vulkan_side *side)
{
    struct vulkan_object *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->base = (struct transfer){.transport = &vulkan_transport, .surface = request->surface};
    o->context = request->state;
    o->flags = request->flags;
    o->side = side;
    o->outliving = vulkan_outliving_make();
    if (o->outliving)
        return o;
    free(o);
    return NULL;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct vulkan_side *side = vulkan_access(why);
    if (!side)
        return CL_INVALID_OPERATION;
    cl_int status = check_format(request, why);
    if (status != CL_SUCCESS)
        return status;
    struct vulkan_object *o = new_object(request, side);
    if (!o) {
        snprintf(why, TRANSPORT_WHY, "no memory for the object's record");
        return CL_OUT_OF_HOST_MEMORY;
    }
    status = share_either(o, request, why);
    if (status == CL_SUCCESS) {
        o->base.method = method_of(o);
        o->base.left_out = o->copy.resource || o->gpu_copy; /* its bytes are not the resource's */
        *made = &o->base;
    } else {
        destroy(&o->base);
    }
    return status;
}

/* ---- Direct3D's steps ---- */

/* Calls `act` once for each device in the list. */
static bool for_devices(const struct handover *handover,
                        bool (*act)(const struct handover *handover, const struct surface *first))
{
    bool all = true;
    for (cl_uint i = 0; i < handover->count; i++) {
        const struct surface *surface = &handover->transfers[i]->surface;
        bool seen = false;
        for (cl_uint before = 0; before < i && !seen; before++)
            seen = handover->transfers[before]->surface.device == surface->device;
        all = (seen || act(handover, surface)) && all;
    }
    return all;
}

/* Whether the GPU may keep parts of the image outside its bytes, which the other API must find in the bytes. */
static bool is_passed(const struct vulkan_object *o)
{
    return o->imported && o->at.native.image && !o->gpu_copy;
}

enum { IMAGES_AT_ONCE = 64 };

/* Images of one device whose ownership is transferred together. */
struct passing {
    struct vulkan_object *objects[IMAGES_AT_ONCE];
    struct vulkan_move moves[IMAGES_AT_ONCE];
    unsigned count;
};

/* Whether the shared resource is still where it was when the object was created. */
static bool is_there(struct vulkan_object *o, char *why)
{
    struct vulkan_location *then = o->gpu_copy ? &o->source : &o->at;
    o->moved = !vulkan_is_there(o->side, vulkan_shared(o), then, why);
    return !o->moved;
}

/* Called for an object that is destroyed while OpenCL has it. The place of the image is queried again, because its old
 * handle may belong to another image by now. */
void vulkan_return(struct vulkan_object *o)
{
    char why[VULKAN_WHY] = "";
    if (o->passed && is_there(o, why)) {
        const struct vulkan_move move = {o->at.native.image, o->at.native.layout, o->at.native.family};
        if (!o->side->pass(&move, 1, true, why))
            log_write(LOG_ERROR, "Vulkan does not pass the image of a destroyed object back to Direct3D: %s", why);
    }
    o->passed = false;
}

/* One image can make a call fail for all its images, so each is passed separately. Images that Vulkan does not pass are
 * tried again when they are next passed back. */
static bool pass_back_alone(const struct passing *some, char *why)
{
    bool all = true;
    for (unsigned i = 0; i < some->count; i++) {
        struct vulkan_object *o = some->objects[i];
        o->passed = some->count == 1 || !o->side->pass(&some->moves[i], 1, true, why);
        all = all && !o->passed;
    }
    return all;
}

static bool pass_some(struct passing *some, bool back)
{
    char why[VULKAN_WHY] = "";
    bool done = !some->count || some->objects[0]->side->pass(some->moves, some->count, back, why);
    for (unsigned i = 0; i < some->count && (done || !back); i++)
        some->objects[i]->passed = done && !back;
    if (!done && back)
        done = pass_back_alone(some, why);
    if (!done)
        log_write(LOG_ERROR, "Vulkan does not pass all images %s: %s", back ? "back to Direct3D" : "to OpenCL", why);
    some->count = 0;
    return done;
}

/* Passes the images of the device of `first`. An image that was not in its place may no longer exist, and another one
 * may have its handle. */
static bool pass(const struct handover *handover, const struct surface *first, bool back)
{
    struct passing some = {.count = 0};
    bool all = true;
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (o->base.surface.device != first->device || !is_passed(o) || o->passed != back || o->moved)
            continue;
        if (some.count == IMAGES_AT_ONCE)
            all = pass_some(&some, back) && all;
        some.objects[some.count] = o;
        some.moves[some.count++] = (struct vulkan_move){o->at.native.image, o->at.native.layout, o->at.native.family};
    }
    return pass_some(&some, back) && all;
}

static bool pass_back(const struct handover *handover, const struct surface *first)
{
    return pass(handover, first, true);
}

static bool pass_over(const struct handover *handover, const struct surface *first)
{
    return pass(handover, first, false);
}

/* Whether work will be submitted to the device's queue that the acquire waits for. */
static bool is_waited_for(const struct handover *handover, const struct surface *first)
{
    for (cl_uint i = 0; i < handover->count; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (o->base.surface.device == first->device && o->imported && (o->at.native.image || o->gpu_copy))
            return true;
    }
    return false;
}

/* One wait covers everything in the queue: the wait for the images that are passed or copied, or otherwise Direct3D's
 * own. */
static bool end_device(const struct handover *handover, const struct surface *first)
{
    const struct native_ops *native = handover->api->native;
    return is_waited_for(handover, first) ? native->submit(first) : native->finish(first);
}

static bool is_alive(const struct handover *handover, const struct surface *first)
{
    return handover->api->native->alive(first);
}

/* Whether another context has the image. Then the image is not in Direct3D's layout, and postponed work was done when
 * it was passed. */
static bool is_outside(const struct vulkan_object *o)
{
    struct vulkan_image now;
    return is_passed(o) && o->side->find_image(o->at.native.image, &now, NULL) && now.outside;
}

/* Direct3D's part before the wait: the copies, and its postponed work. */
static bool queue_all(const struct handover *handover)
{
    const struct native_ops *native = handover->api->native;
    bool done = true;
    for (cl_uint i = 0; i < handover->count && done; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        const struct native_place *place = o->gpu_copy ? &o->source.native : &o->at.native;
        if (o->copy.resource)
            done = native->copy_from(&o->base.surface, &o->copy);
        else if (place->image && !is_outside(o))
            done = native->flush_deferred(&o->base.surface, place);
    }
    return done;
}

/* OpenCL has the memory that the resource had when the object was created, and this cannot change. Checked when
 * Direct3D has submitted everything, because that may move resources; and again when OpenCL has written: then its bytes
 * are lost. */
static bool stayed(const struct handover *handover, struct vulkan_object *o)
{
    char why[VULKAN_WHY] = "it has moved";
    if (is_there(o, why))
        return true;
    if (handover->api->native->alive(&o->base.surface)) /* a lost device is logged there */
        log_write(
            LOG_ERROR,
            "Direct3D has moved a resource whose memory OpenCL shares (%s): the object can no longer be acquired; "
            "create it again, or set %s=host",
            why, setting_variable(SETTING_TRANSPORT));
    return false;
}

static bool all_stayed(const struct handover *handover)
{
    bool all = true;
    for (cl_uint i = 0; i < handover->count; i++)
        all = stayed(handover, vulkan_object(handover->transfers[i])) && all;
    return all;
}

/* Takes back the objects that OpenCL has. An image that has moved is not passed back. */
static bool take_back(const struct handover *handover)
{
    const bool released = vulkan_external_release(handover) == CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        char why[VULKAN_WHY];
        if (o->passed)
            is_there(o, why);
    }
    return for_devices(handover, pass_back) && released;
}

static void undo(const struct handover *handover)
{
    take_back(handover);
}

/* First takes back the objects that an earlier release has left with OpenCL. */
static bool d3d_give(const struct handover *handover)
{
    if (!take_back(handover) || !queue_all(handover) || !for_devices(handover, end_device) || !all_stayed(handover))
        return false;
    if (for_devices(handover, pass_over) && vulkan_move_gpu_copy(handover, false))
        return true;
    undo(handover);
    return false;
}

/* The resource already contains what OpenCL has written, unless it has moved. */
static bool d3d_take(const struct handover *handover)
{
    bool all = vulkan_external_release(handover) == CL_SUCCESS;
    all = all_stayed(handover) && all;
    all = for_devices(handover, pass_back) && all;
    for (cl_uint i = 0; i < handover->count; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (o->copy.resource && !o->moved)
            all = handover->api->native->copy_back(&o->base.surface, &o->copy) && all;
    }
    all = vulkan_move_gpu_copy(handover, true) && all;
    return for_devices(handover, is_alive) && all;
}

/* ---- OpenCL's steps ---- */

/* NVIDIA's driver waits in the call for everything before an external acquire or release. So these use a queue of
 * cld3d's own while a user event is pending, which may block the application's queue, and in a driver's callback. */
static bool is_apart(void)
{
    return blockers_possible() || callback_runs_commands();
}

/* The index of the first object in mapped memory from `i` on, or the end of the list. No bytes of such objects are
 * copied. */
static cl_uint next_mapped(const struct handover *handover, cl_uint i)
{
    while (i < handover->count && vulkan_object(handover->transfers[i])->imported)
        i++;
    return i;
}

static cl_int take_mapped(const struct handover *handover, const struct enqueueing *to)
{
    cl_int status = CL_SUCCESS;
    for (cl_uint i = next_mapped(handover, 0); i < handover->count && status == CL_SUCCESS;
         i = next_mapped(handover, i)) {
        cl_uint end = i + 1;
        while (end < handover->count && !vulkan_object(handover->transfers[end])->imported)
            end++;
        status = commands_placeholder(to, end - i, handover->transfers + i);
        i = end;
    }
    return status;
}

/* In a callback this does not wait for a command, but returns its event. */
static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    const struct enqueueing later = {.done = to->done};
    const bool apart = is_apart();
    const cl_uint before = to->done->count;
    cl_int status = vulkan_external(handover, true, !apart ? to : callback_runs_commands() ? &later : NULL);
    if (status != CL_SUCCESS)
        return status;
    if (!apart)
        status = take_mapped(handover, to);
    const bool none = to->done->count == before; /* the driver may still have all objects */
    struct enqueueing behind = *to;
    behind.unobserved = to->unobserved && none; /* else the application's queue has to follow those of another queue */
    return status == CL_SUCCESS && (apart || none) ? commands_placeholder_apart(&behind) : status;
}

/* Objects that are not released here are released when those commands have ended. */
static cl_int cl_give(const struct handover *handover, const struct enqueueing *to)
{
    const cl_uint before = to->done->count;
    const cl_int status = is_apart() && !to->ours ? CL_SUCCESS : vulkan_external(handover, false, to);
    const bool any = to->done->count == before || next_mapped(handover, 0) < handover->count;
    return status == CL_SUCCESS && any ? commands_marker(to) : status;
}

/* The driver acquires again the objects that it has released. It may wait for this, so it is not done in a callback. */
static void cl_keep(const struct handover *handover)
{
    if (!callback_runs_commands())
        log_next("external memory", "clEnqueueAcquireExternalMemObjectsKHR", vulkan_external(handover, true, NULL));
}

const struct transport vulkan_transport = {
    .name = "vulkan",
    .title = "Vulkan (the resource's own memory)",
    .open = open_context,
    .free_state = free,
    .create = create,
    .create_part = vulkan_create_part,
    .outlive = vulkan_outlive,
    .outlive_waits = true,
    .destroy = destroy,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .cl_keep = cl_keep,
    .d3d_take = d3d_take,
    .undo = undo,
};
