/* Shared objects: their records, the transfers of their acquires, references, and the children that other functions
 * create from them. */
#include "share/object.h"

#include "log.h"
#include "next/handle.h"

#include <stdlib.h>

atomic_uint object_count;

/* ---- records ---- */

void object_free(struct object_record *object)
{
    acquire_event_put(object->acquire);
    if (object->leaving.fence.count)
        event_list_close(&object->leaving.fence);
    if (object->transfer) {
        void *resource = object->transfer->surface.resource;
        object->transfer->transport->destroy(object->transfer);
        com_release(resource);
    }
    record_release(object->parent);
    object_give_up_claim(object->claim);
    record_release(object->context);
    free(object);
    atomic_fetch_sub_explicit(&object_count, 1, memory_order_relaxed);
}

void object_destroy(struct record *record)
{
    registry_leave(record);
    leaving_begin((struct object_record *)record);
}

struct object_record *object_new(void)
{
    struct object_record *object = calloc(1, sizeof(*object));
    if (object) {
        object->head = (struct record){.kind = RECORD_OBJECT, .destroy = object_destroy};
        atomic_fetch_add_explicit(&object_count, 1, memory_order_relaxed);
    }
    return object;
}

struct object_record *object_root(struct object_record *object)
{
    while (object->parent)
        object = object->parent;
    return object;
}

/* ---- the transfers of acquires ---- */

static void put(struct acquire_event *acquire, unsigned count)
{
    if (!acquire || atomic_fetch_sub_explicit(&acquire->references, count, memory_order_acq_rel) != count)
        return;
    event_put(acquire->event);
    free(acquire);
}

void acquire_event_put(struct acquire_event *acquire)
{
    put(acquire, 1);
}

struct acquire_event *object_acquire(struct object_record *object)
{
    os_lock(&registry_lock);
    struct acquire_event *acquire = object->acquire;
    if (acquire)
        atomic_fetch_add_explicit(&acquire->references, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    return acquire;
}

bool object_expect_acquire(struct object_record *const *objects, cl_uint count, cl_event event, cl_command_queue queue)
{
    struct acquire_event *acquire = malloc(sizeof(*acquire));
    if (!acquire || below()->clRetainEvent(event) != CL_SUCCESS) {
        free(acquire);
        return false;
    }
    acquire->event = event;
    acquire->queue = queue;
    atomic_init(&acquire->references, count);
    for (cl_uint i = 0; i < count; i++) {
        os_lock(&registry_lock);
        struct acquire_event *before = objects[i]->acquire;
        objects[i]->acquire = acquire;
        os_unlock(&registry_lock);
        acquire_event_put(before);
    }
    return true;
}

/* The transfer has ended. Puts the caller's reference. True: it had failed, and the acquire is undone. Nothing of it
 * runs. */
static bool end_transfer(struct object_record *object, struct acquire_event *acquire, bool failed)
{
    os_lock(&registry_lock);
    const bool mine = object->acquire == acquire;
    if (mine)
        object->acquire = NULL;
    object->opencl_owns = object->opencl_owns && !(mine && failed);
    os_unlock(&registry_lock);
    put(acquire, mine ? 2 : 1);
    if (!mine || !failed)
        return false;
    const struct handover one = {object->transfer->surface.api, &object->transfer, 1};
    object->transfer->transport->undo(&one);
    log_write(LOG_WARN, "the acquire of object %p was undone: an event in its wait list failed",
              (void *)object->head.handle);
    return true;
}

bool object_end_acquire(struct object_record *object)
{
    struct acquire_event *acquire = object_acquire(object);
    return acquire && end_transfer(object, acquire, !event_await(acquire->event));
}

/* Whether no other thread is working on the object. It counts as acquiring while its acquire is undone. */
static bool begin_undo(struct object_record *object)
{
    os_lock(&registry_lock);
    const bool mine = object->state == OBJECT_ACQUIRED && !object->commands;
    if (mine) {
        object->state = OBJECT_ACQUIRING;
        object->commands++;
    }
    os_unlock(&registry_lock);
    return mine;
}

void object_check_acquire(struct object_record *object)
{
    struct acquire_event *acquire = object_acquire(object);
    const cl_int status = acquire ? event_status(acquire->event) : CL_QUEUED;
    if (status == CL_COMPLETE) {
        end_transfer(object, acquire, false);
    } else if (status < 0 && begin_undo(object)) {
        end_transfer(object, acquire, true);
        os_lock(&registry_lock);
        object->commands--;
        object->state = object->opencl_owns ? OBJECT_ACQUIRED : OBJECT_IDLE;
        os_unlock(&registry_lock);
    } else {
        acquire_event_put(acquire);
    }
}

/* ---- references ---- */

static cl_int CL_API_CALL retain_mem_object(cl_mem memobj)
{
    const cl_int status = below()->clRetainMemObject(memobj);
    if (status == CL_SUCCESS && registry_app_retain(RECORD_OBJECT, memobj))
        below()->clReleaseMemObject(memobj); /* the reference that cld3d held is the application's again */
    return status;
}

static cl_int CL_API_CALL release_mem_object(cl_mem memobj)
{
    struct object_record *object = registry_get(RECORD_OBJECT, memobj);
    if (object && registry_is_weak(&object->head)) {
        record_release(object);
        return log_refuse("clReleaseMemObject", CL_INVALID_MEM_OBJECT,
                          "object %p is released more often than it was created or retained; remove one release",
                          (void *)memobj);
    }
    if (!object || !registry_app_weaken(RECORD_OBJECT, memobj)) {
        record_release(object);
        return below()->clReleaseMemObject(memobj);
    }
    /* A new object can use the subresource now, even if something still holds this one. */
    os_lock(&registry_lock);
    struct claim *claim = object->claim;
    object->claim = NULL;
    os_unlock(&registry_lock);
    object_give_up_claim(claim);
    record_release(object); /* the driver's object goes with the record: a deferred command may still need it */
    leaving_run();
    return CL_SUCCESS;
}

/* ---- children ---- */

/* A sub-buffer or an image of a shared buffer: usable while its parent is acquired. */
static void adopt(cl_mem child, cl_mem parent)
{
    struct object_record *of = parent ? registry_get(RECORD_OBJECT, parent) : NULL;
    if (!child || !of) {
        record_release(of);
        return;
    }
    struct object_record *object = object_new();
    if (object) {
        object->head.handle = child;
        object->parent = of;
        record_retain(of->context);
        object->context = of->context;
        if (registry_add(&object->head))
            return;
        object_destroy(&object->head);
        return;
    }
    log_write(LOG_ERROR, "no memory to track a sub-buffer: its use is not checked");
    writes_hidden("a sub-buffer is not tracked");
    record_release(of);
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type buffer_create_type,
                                            const void *buffer_create_info, cl_int *errcode_ret)
{
    struct object_record *object = registry_get(RECORD_OBJECT, buffer);
    const struct transfer *transfer = object ? object->transfer : NULL;
    cl_int status = CL_SUCCESS;
    cl_mem child =
        transfer && transfer->transport->create_part
            ? transfer->transport->create_part(transfer, flags, buffer_create_type, buffer_create_info, &status)
            : below()->clCreateSubBuffer(buffer, flags, buffer_create_type, buffer_create_info, &status);
    adopt(child, buffer);
    record_release(object);
    give_code(errcode_ret, status);
    return child;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    cl_mem image = below()->clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
    if (image)
        adopt(image, image_desc->mem_object);
    return image;
}

static cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties *properties,
                                                       cl_mem_flags flags, const cl_image_format *image_format,
                                                       const cl_image_desc *image_desc, void *host_ptr,
                                                       cl_int *errcode_ret)
{
    cl_mem image = below()->clCreateImageWithProperties(context, properties, flags, image_format, image_desc, host_ptr,
                                                        errcode_ret);
    if (image)
        adopt(image, image_desc->mem_object);
    return image;
}

void object_install(cl_icd_dispatch *table)
{
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
    table->clCreateSubBuffer = create_sub_buffer;
    table->clCreateImage = create_image;
    table->clCreateImageWithProperties = create_image_with_properties;
    object_query_install(table);
}
