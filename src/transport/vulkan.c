/* The transport without a copy: OpenCL works in the Direct3D resource itself, where Direct3D runs on Vulkan (DXVK) and
 * libcld3d.so is one of Vulkan's layers. The memory of the image or buffer is imported into the OpenCL device that is
 * the same GPU. If the Vulkan device and the OpenCL device are both the CPU, OpenCL's object is created over the mapped
 * memory instead. */
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
    c->context = context;
    vulkan_examine(c);
    return c;
}

/* ---- images change hands ---- */

/* Whether the shared resource is still where it was when the object was created. */
static bool is_there(struct vulkan_object *o, char *why)
{
    o->moved = !vulkan_is_there(o->side, &o->base.surface, &o->at, why);
    return !o->moved;
}

/* Whether an object takes part in a pass of images to OpenCL or back. Images are passed because the GPU may keep parts of
 * them outside their bytes, which the other API must find in the bytes. An image that was not in its place may no longer
 * exist, and another one may have its handle. */
static bool takes_part(const struct vulkan_object *o, bool back)
{
    return !o->moved && o->imported && o->at.native.image && o->passed == back;
}

/* Passes the images of a part of a list, as vulkan_for_devices gives it. Images that Vulkan does not pass back are tried
 * again later. */
static bool pass(const struct handover *handover, bool back)
{
    struct vulkan_object *some[VULKAN_AT_ONCE];
    struct vulkan_move moves[VULKAN_AT_ONCE];
    char why[VULKAN_WHY] = "";
    unsigned count = 0;
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        const struct native_place *place = &o->at.native;
        if (!takes_part(o, back))
            continue;
        some[count] = o;
        moves[count++] = (struct vulkan_move){.name = place->image, .layout = place->layout, .family = place->family};
    }
    const bool done = !count || some[0]->side->pass(moves, count, back, why);
    for (unsigned i = 0; i < count && done; i++)
        some[i]->passed = !back;
    if (!done)
        log_write(LOG_ERROR, "Vulkan does not pass all images %s: %s", back ? "back to Direct3D" : "to OpenCL", why);
    return done;
}

/* ---- creation ---- */

static void destroy(struct transfer *transfer)
{
    struct vulkan_object *o = vulkan_object(transfer);
    const struct handover alone = {transfer->surface.api, &transfer, 1};
    char why[VULKAN_WHY];
    if (o->passed && is_there(o, why))
        pass(&alone, true);
    if (o->whole)
        below()->clReleaseMemObject(o->whole);
    if (o->held)
        o->side->give_back(o->at.image.memory.memory);
    free(o);
}

/* Shares the surface's memory, by import or where it is mapped. */
static cl_int share(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    /* a host that crashes gives no reason */
    char by_import[VULKAN_WHY] = "", over_mapped[VULKAN_WHY] = "";
    if (!vulkan_locate(o->side, &o->base.surface, &o->at, why))
        return CL_INVALID_OPERATION;
    if (request->surface.desc.kind != SURFACE_BUFFER && !vulkan_fits(&request->surface.desc, &o->at, why))
        return CL_INVALID_OPERATION;
    cl_int status = vulkan_import(o, request, by_import);
    if (status != CL_SUCCESS)
        status = vulkan_over_mapped(o, request, over_mapped);
    if (status != CL_SUCCESS)
        snprintf(why, TRANSPORT_WHY, "%s; %s", by_import, over_mapped);
    return status;
}

static cl_int create(const struct transfer_request *request, struct transfer **made, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct vulkan_side *side = vulkan_access(why);
    const struct converter *converter;
    enum image_storage storage;
    if (!side)
        return CL_INVALID_OPERATION;
    cl_int status = surface_storage(request->context, desc, &storage, &converter);
    if (status != CL_SUCCESS || storage != STORED_AS_DECLARED) /* an emulated format has other bytes in OpenCL */
        return transport_refuse(why, status == CL_SUCCESS ? CL_IMAGE_FORMAT_NOT_SUPPORTED : status,
                                "a device of the context lacks the format %s", desc->format->name);
    struct vulkan_object *o = calloc(1, sizeof(*o));
    if (!o)
        return transport_refuse(why, CL_OUT_OF_HOST_MEMORY, "no memory for the object's record");
    o->base = (struct transfer){.transport = &vulkan_transport, .surface = request->surface};
    o->context = request->state;
    o->flags = request->flags;
    o->side = side;
    status = share(o, request, why);
    /* An imported image keeps its memory alive itself; a buffer is a part of memory that Direct3D also uses otherwise. */
    o->base.lends = !o->imported ? LENDS_COUNTED : o->whole ? LENDS_UNCOUNTED : LENDS_NOTHING;
    o->base.method = o->imported ? "direct, imported" : "direct, in mapped memory";
    if (status == CL_SUCCESS)
        *made = &o->base;
    else
        destroy(&o->base);
    return status;
}

/* ---- Direct3D's steps ---- */

bool vulkan_for_devices(const struct handover *handover, bool (*act)(const struct handover *))
{
    bool all = true;
    for (cl_uint first = 0, end; first < handover->count; first = end) {
        struct transfer *const *transfers = handover->transfers + first;
        for (end = first + 1; end < handover->count && end - first < VULKAN_AT_ONCE; end++)
            if (handover->transfers[end]->surface.device != transfers[0]->surface.device)
                break;
        all = act(&(struct handover){handover->api, transfers, end - first}) && all;
    }
    return all;
}

/* OpenCL has the memory that the resource had when the object was created, and this cannot change. Checked when
 * Direct3D has submitted everything, because that may move resources; and again when OpenCL has written: then its bytes
 * are lost. */
static bool all_stayed(const struct handover *handover)
{
    bool all = true;
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        char why[VULKAN_WHY] = "it has moved";
        if (is_there(o, why))
            continue;
        all = false;
        if (handover->api->native->alive(&o->base.surface)) /* a lost device is logged there */
            log_write(LOG_ERROR,
                      "Direct3D has moved a resource whose memory OpenCL shares (%s): the object can no longer be "
                      "acquired; create it again, or set %s=host",
                      why, setting_variable(SETTING_TRANSPORT));
    }
    return all;
}

/* Makes the driver release what it has acquired, when all commands have ended, and waits. In a callback of the driver
 * nothing may wait, and the objects are taken back later. */
static bool driver_releases(const struct handover *handover)
{
    return callback_runs_commands() || log_next("external memory", "clEnqueueReleaseExternalMemObjectsKHR",
                                                vulkan_external_apart(handover, false)) == CL_SUCCESS;
}

/* Takes back the objects that OpenCL has. An image that has moved is not passed back. */
static bool take_back(const struct handover *handover)
{
    const bool released = driver_releases(handover);
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        char why[VULKAN_WHY];
        if (o->passed)
            is_there(o, why);
    }
    return pass(handover, true) && released;
}

static void leave(struct transfer *transfer)
{
    driver_releases(&(struct handover){transfer->surface.api, &transfer, 1});
}

static void undo(const struct handover *handover)
{
    vulkan_for_devices(handover, take_back);
}

/* First takes back the objects that an earlier release has left with OpenCL. Then Direct3D carries out what it has
 * postponed. One wait covers everything in its queue: the wait for the images that are passed, or otherwise
 * Direct3D's own. */
static bool give(const struct handover *handover)
{
    const struct native_ops *native = handover->api->native;
    const struct surface *first = &handover->transfers[0]->surface;
    bool done = take_back(handover), waited_for = false;
    for (cl_uint i = 0; i < handover->count && done; i++) {
        const struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (o->at.native.image && !o->passed)
            done = native->flush_deferred(&o->base.surface, &o->at.native);
        waited_for = waited_for || (o->imported && o->at.native.image);
    }
    return done && (waited_for ? native->submit(first) : native->finish(first)) && all_stayed(handover) &&
           pass(handover, false);
}

static bool d3d_give(const struct handover *handover)
{
    const bool given = vulkan_for_devices(handover, give);
    if (!given)
        undo(handover);
    return given;
}

/* The resource already contains what OpenCL has written, unless it has moved. */
static bool take(const struct handover *handover)
{
    bool all = all_stayed(handover);
    all = pass(handover, true) && all;
    return handover->api->native->alive(&handover->transfers[0]->surface) && all;
}

static bool d3d_take(const struct handover *handover)
{
    return vulkan_for_devices(handover, take);
}

/* ---- OpenCL's steps ---- */

/* NVIDIA's driver waits in the call for what a user event blocks before an external acquire. */
static cl_int cl_take(const struct handover *handover, const struct enqueueing *to)
{
    const cl_uint before = to->done->count;
    const cl_int status = to->blocked ? vulkan_external_apart(handover, true) : vulkan_external(handover, true, to);
    return status == CL_SUCCESS ? commands_after_take(to, before) : status;
}

static cl_int cl_give(const struct handover *handover, const struct enqueueing *to)
{
    const cl_uint before = to->done->count;
    const cl_int status = vulkan_external(handover, false, to);
    return status == CL_SUCCESS && to->done->count == before ? commands_marker(to) : status;
}

const struct transport vulkan_transport = {
    .name = "vulkan",
    .title = "Vulkan (the resource's own memory)",
    .open = open_context,
    .create = create,
    .create_part = vulkan_create_part,
    .leave = leave,
    .destroy = destroy,
    .d3d_give = d3d_give,
    .cl_take = cl_take,
    .cl_give = cl_give,
    .d3d_take = d3d_take,
    .undo = undo,
};
