#include "d3d/formats.h"
#include "emulate/fence.h"
#include "log.h"
#include "next/query.h"
#include "handles/tiers.h"
#include "handles/handles.h"
#include "transport/surface_image.h"
#include "transport/vulkan_object.h"

#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

/* Drivers return their own numbers here (NVIDIA's 1 and 999). */
cl_int vulkan_status(cl_int status)
{
    return status > 0 ? CL_OUT_OF_RESOURCES : status;
}

/* ---- capabilities of the devices ---- */

static bool refuse(struct vulkan_context *c, const char *why)
{
    snprintf(c->why, sizeof(c->why), "%s", why);
    return false;
}

enum { ASSUME_LINEAR_IMAGES = 0x2052 }; /* CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR */

/* Whether a list of handle types names opaque file descriptors. `silent`: the result if the device does not answer. */
static bool lists_files(cl_device_id device, cl_device_info list, bool silent)
{
    cl_uint types[16];
    size_t size = 0;
    bool found = false;
    if (below()->clGetDeviceInfo(device, list, sizeof(types), types, &size) != CL_SUCCESS)
        return silent;
    for (size_t i = 0; i < size / sizeof(types[0]); i++)
        found = found || types[i] == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
    return found;
}

static bool examine_device(struct vulkan_context *c, cl_device_id device, bool first)
{
    uint8_t uuid[UUID_BYTES];
    cl_uint bits = 0;
    if (below()->clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL) != CL_SUCCESS)
        return refuse(c, "an OpenCL device does not report its UUID");
    /* If a device does not answer, an import is tried. */
    if (!lists_files(device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, true))
        return refuse(c, "an OpenCL device cannot import opaque file descriptors");
    if (!first && memcmp(uuid, c->uuid, sizeof(uuid)) != 0)
        return refuse(c, "the context has several OpenCL devices");
    memcpy(c->uuid, uuid, sizeof(uuid));
    c->linear = c->linear || lists_files(device, ASSUME_LINEAR_IMAGES, false);
    below()->clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
    c->alignment = bits / 8 > c->alignment ? bits / 8 : c->alignment;
    return true;
}

static bool examine_platform(struct vulkan_context *c, cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
        return refuse(c, "an OpenCL device does not report its platform");
    c->acquire = (external_function)next_by_name(&next, platform, "clEnqueueAcquireExternalMemObjectsKHR");
    c->release = (external_function)next_by_name(&next, platform, "clEnqueueReleaseExternalMemObjectsKHR");
    return (c->acquire && c->release) || refuse(c, "the OpenCL below has no functions for external memory");
}

static bool examine(struct vulkan_context *c)
{
    struct device_list devices;
    if (devices_of_context(below(), c->context, &devices) != CL_SUCCESS || !devices.count)
        return refuse(c, "the devices of the context are unknown");
    c->alignment = 1;
    c->device = devices.at[0];
    for (cl_uint i = 0; i < devices.count; i++)
        if (!examine_device(c, devices.at[i], i == 0))
            return false;
    return examine_platform(c, devices.at[0]);
}

static bool can_import(struct vulkan_context *c)
{
    os_lock(&c->lock);
    const bool known = c->known;
    os_unlock(&c->lock);
    if (known)
        return c->imports;
    /* The driver is queried without the lock: two threads get the same answers. */
    struct vulkan_context found = {.context = c->context};
    found.imports = examine(&found);
    os_lock(&c->lock);
    if (!c->known) {
        c->imports = found.imports;
        c->alignment = found.alignment;
        c->linear = found.linear;
        c->device = found.device;
        c->acquire = found.acquire;
        c->release = found.release;
        memcpy(c->uuid, found.uuid, sizeof(c->uuid));
        memcpy(c->why, found.why, sizeof(c->why));
        c->known = true;
    }
    os_unlock(&c->lock);
    return c->imports;
}

bool vulkan_imports_from(struct vulkan_context *context, const struct vulkan_memory *memory)
{
    return can_import(context) && memcmp(context->uuid, memory->device_uuid, UUID_BYTES) == 0;
}

/* ---- an import ---- */

static bool is_large_enough(const struct surface_desc *desc, const struct vulkan_memory *memory)
{
    const uint64_t texel = desc->format ? desc->format->texel_bytes : 1;
    return memory->size >= texel * desc->width * desc->height * desc->depth && memory->size <= memory->memory_size &&
           memory->offset <= memory->memory_size - memory->size;
}

/* The requirements for an imported image: a driver assumes one level and one slice, at the beginning of its memory. An
 * array with levels has other gaps between its slices than the driver would expect. */
static bool is_importable(const struct vulkan_object *o, char *why)
{
    enum { TILING_OPTIMAL = 0 };
    const struct surface_desc *desc = &o->base.surface.desc;
    const struct vulkan_image *image = &o->at.image;
    const struct vulkan_memory *memory = &image->memory;
    const char *reason = NULL;
    if (!memory->exportable)
        reason = "the memory cannot be exported";
    else if (!is_large_enough(desc, memory))
        reason = "the resource is larger than its memory";
    else if (desc->kind == SURFACE_BUFFER)
        reason =
            memory->offset % o->context->alignment ? "the OpenCL device does not allow a buffer at this offset" : NULL;
    else if (desc->format->planes > 1 && !o->gpu_copy)
        reason = "a plane cannot be imported";
    else if (o->context->linear)
        reason = "the OpenCL device treats imported images as linear";
    else if (image->tiling != TILING_OPTIMAL)
        reason = "the image is linear";
    else if (!memory->dedicated || memory->offset)
        reason = "the image has no dedicated memory";
    else if (o->at.native.level || o->at.native.layer)
        reason = "only the first level and slice of an image can be imported";
    else if (image->levels > 1 && (image->layers > 1 || desc->kind == SURFACE_IMAGE_3D))
        reason = "an image of several levels and slices cannot be imported";
    if (reason)
        snprintf(why, VULKAN_WHY, "%s", reason);
    return !reason;
}

static cl_mem import_image(const struct transfer_request *request, const cl_mem_properties *properties, cl_int *status)
{
    const struct surface_desc *desc = &request->surface.desc;
    const cl_image_desc image = surface_image(desc, 0, 0);
    return below()->clCreateImageWithProperties(request->context, properties, request->flags, &desc->format->cl, &image,
                                                NULL, status);
}

/* The file descriptor belongs to the driver if it creates an object from it. */
static cl_mem import_file(struct vulkan_object *o, const struct transfer_request *request, int32_t file, cl_int *status)
{
    const struct vulkan_memory *memory = &o->at.image.memory;
    const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, (cl_mem_properties)file, 0};
    cl_mem made = request->surface.desc.kind == SURFACE_BUFFER
                      ? below()->clCreateBufferWithProperties(request->context, properties, CL_MEM_READ_WRITE,
                                                              (size_t)memory->memory_size, NULL, status)
                      : import_image(request, properties, status);
    if (!made)
        o->side->close((uint64_t)file);
    return made;
}

/* Creates the sub-buffer of the imported memory that contains the buffer. */
static cl_int make_part(struct vulkan_object *o, const struct transfer_request *request)
{
    const cl_buffer_region region = {(size_t)o->at.image.memory.offset, request->surface.desc.width};
    cl_int status = CL_SUCCESS;
    o->base.memory =
        below()->clCreateSubBuffer(o->whole, request->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (o->base.memory)
        status = below()->clGetMemObjectInfo(o->whole, CL_MEM_REFERENCE_COUNT, sizeof(o->whole_references),
                                             &o->whole_references, NULL);
    if (o->base.memory && status == CL_SUCCESS)
        return CL_SUCCESS;
    if (o->base.memory)
        below()->clReleaseMemObject(o->base.memory);
    below()->clReleaseMemObject(o->whole);
    o->base.memory = o->whole = NULL;
    return vulkan_status(status);
}

cl_int vulkan_import(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    int32_t file = -1;
    cl_int status = CL_SUCCESS;
    if (!can_import(o->context)) {
        snprintf(why, VULKAN_WHY, "%s", o->context->why);
        return CL_INVALID_OPERATION;
    }
    if (!vulkan_imports_from(o->context, &o->at.image.memory)) {
        snprintf(why, VULKAN_WHY, "the OpenCL device is not Direct3D's device");
        return CL_INVALID_OPERATION;
    }
    if (!is_importable(o, why) || !o->side->export(o->at.image.memory.memory, &file, why))
        return CL_INVALID_OPERATION;
    cl_mem made = import_file(o, request, file, &status);
    if (made && request->surface.desc.kind == SURFACE_BUFFER) {
        o->whole = made;
        status = make_part(o, request);
        fence_counted_below(o->context->context); /* from now on the ends of queues are recorded, for vulkan_outlive */
    } else {
        o->base.memory = made;
    }
    if (!o->base.memory) {
        snprintf(why, VULKAN_WHY, "the OpenCL below did not import the memory: error %d", status);
        return status < 0 ? status : CL_OUT_OF_RESOURCES;
    }
    o->imported = true;
    return CL_SUCCESS;
}

/* ---- parts of buffers ---- */

/* Checks the flags of a part against its buffer's, because the driver creates the part from a different object. */
static bool flags_fit(cl_mem_flags buffer, cl_mem_flags part)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    buffer = buffer & access ? buffer & access : CL_MEM_READ_WRITE;
    part &= access;
    return buffer == CL_MEM_READ_WRITE || part == 0 || part == buffer;
}

static cl_mem no_part(cl_int code, cl_int *status, const char *why)
{
    *status = log_refuse("clCreateSubBuffer", code, "%s", why);
    return NULL;
}

cl_mem vulkan_create_part(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status)
{
    const struct vulkan_object *o = (const struct vulkan_object *)transfer;
    const cl_buffer_region *asked = info;
    const size_t size = transfer->surface.desc.width;
    if (!o->whole)
        return below()->clCreateSubBuffer(transfer->memory, flags, type, info, status);
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !info)
        return no_part(CL_INVALID_VALUE, status, "a sub-buffer can be created only from a region");
    if (!flags_fit(o->flags, flags))
        return no_part(CL_INVALID_VALUE, status, "the buffer does not allow this access");
    if (asked->size == 0)
        return no_part(CL_INVALID_BUFFER_SIZE, status, "the sub-buffer has no bytes");
    if (asked->origin >= size || asked->size > size - asked->origin)
        return no_part(CL_INVALID_VALUE, status, "the sub-buffer is not within the buffer");
    const cl_buffer_region region = {(size_t)o->at.image.memory.offset + asked->origin, asked->size};
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    return below()->clCreateSubBuffer(o->whole, flags & access ? flags : flags | o->flags, type, &region, status);
}

/* ---- commands ---- */

enum { OBJECTS_AT_ONCE = 64 };

/* Some objects for one command. */
struct batch {
    const struct vulkan_context *context;
    struct vulkan_object *objects[OBJECTS_AT_ONCE];
    cl_mem memories[OBJECTS_AT_ONCE];
    cl_uint count;
};

static void add(struct batch *batch, struct vulkan_object *o)
{
    batch->context = o->context;
    batch->objects[batch->count] = o;
    batch->memories[batch->count++] = o->whole ? o->whole : o->base.memory;
}

/* Records which objects the driver has. `event` NULL: the command has ended. */
static void note_hands(struct vulkan_object *o, bool acquired, cl_event event)
{
    event_put(o->changed);
    o->acquired = acquired;
    o->changed = event && below()->clRetainEvent(event) == CL_SUCCESS ? event : NULL;
}

/* In a callback that reports the event the driver is not queried. */
static bool has_failed(cl_event event)
{
    cl_int status;
    return (callback_reports_end(event, &status) ? status : event_status(event)) < 0;
}

/* Whether the driver has the object, or will have it: a command that fails changes nothing. */
static bool is_acquired(const struct vulkan_object *o)
{
    return o->acquired != (o->changed && has_failed(o->changed));
}

static cl_int enqueue(struct batch *batch, bool acquire, const struct enqueueing *to)
{
    const struct vulkan_context *c = batch->context;
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    queue_flush_awaited(to->queue); /* NVIDIA's driver waits in the call for all that comes before the command */
    const cl_int status =
        (acquire ? c->acquire : c->release)(to->queue, batch->count, batch->memories, to->wait_count, to->wait, &event);
    for (cl_uint i = 0; i < batch->count && status == CL_SUCCESS; i++)
        note_hands(batch->objects[i], acquire, event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return vulkan_status(status);
}

/* Runs the command in cld3d's own queue. `later` gets the event; NULL: waits for it. */
static cl_int run_apart(struct batch *batch, bool acquire, struct event_list *later)
{
    struct event_list here;
    cl_int status = CL_SUCCESS;
    cl_command_queue queue = own_queue_make(batch->context->context, batch->context->device, 0, &status);
    if (!queue)
        return status;
    event_list_open(&here);
    status = enqueue(batch, acquire, &(struct enqueueing){queue, 0, NULL, later ? later : &here, true, false});
    if (later)
        queue_flush_alone(queue);
    else if (!event_list_await(&here) && status == CL_SUCCESS)
        status = CL_OUT_OF_RESOURCES;
    event_list_close(&here);
    own_queue_put(queue);
    return status;
}

cl_int vulkan_external(const struct handover *handover, bool acquire, const struct enqueueing *to)
{
    struct batch batch = {.count = 0};
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < handover->count && (status == CL_SUCCESS || !to); i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        if (o->imported && is_acquired(o) != acquire)
            add(&batch, o);
        if (batch.count == OBJECTS_AT_ONCE || (batch.count && i + 1 == handover->count)) {
            const cl_int one =
                to && to->queue ? enqueue(&batch, acquire, to) : run_apart(&batch, acquire, to ? to->done : NULL);
            status = status == CL_SUCCESS ? one : status;
            batch.count = 0;
        }
    }
    return status;
}

cl_int vulkan_external_release(const struct handover *handover)
{
    if (callback_runs_commands())
        return CL_SUCCESS;
    const cl_int status =
        log_next("external memory", "clEnqueueReleaseExternalMemObjectsKHR", vulkan_external(handover, false, NULL));
    for (cl_uint i = 0; i < handover->count; i++) {
        struct vulkan_object *o = vulkan_object(handover->transfers[i]);
        note_hands(o, is_acquired(o), NULL);
    }
    return status;
}
