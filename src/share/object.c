/* Shared objects: their records, the transfers of their acquires, references, and the children that other functions
 * create from them. */
#include "share/object.h"

#include "log.h"
#include "next/handle.h"
#include "handles/block_cache.h"

#include <stdlib.h>

atomic_uint object_count;

/* ---- records ---- */

/* Whether nothing of the transfer runs any longer. */
static bool is_over(const struct upload *upload)
{
    const cl_int status = event_status(upload->event);
    bool over = status <= CL_COMPLETE;
    for (cl_uint i = 0; i < upload->writes.count && over && status != CL_COMPLETE; i++)
        over = event_status(upload->writes.events[i]) <= CL_COMPLETE;
    return over;
}

/* False: it failed. */
static bool await(const struct upload *upload)
{
    if (event_await(upload->event))
        return true;
    event_list_await(&upload->writes);
    return false;
}

/* Waits for the end of a transfer, unless the caller may have to unblock the queue, or is in a callback. False: it has
 * not ended. */
static bool ends(const struct upload *upload)
{
    if (is_over(upload))
        return true;
    if (event_blocked(upload->event) || callback_runs_here() || queue_is_finished(upload->event))
        return false;
    queue_flush_for(upload->event);
    await(upload);
    return true;
}

/* Whether the transfer of an acquire has yet to end. */
static bool awaits_upload(const struct object_record *object)
{
    return object->pending && !ends(object->pending);
}

static void destroy_now(void *what)
{
    struct object_record *object = what;
    struct transfer *transfer = object->transfer;
    upload_put(object->pending);
    if (object->head.weak && !(transfer && transfer->transport->outlive && transfer->transport->outlive(transfer)))
        below()->clReleaseMemObject(object->head.handle);
    if (transfer) {
        const struct surface surface = transfer->surface;
        transfer->transport->destroy(transfer);
        surface.api->ops->release(surface.resource);
    }
    record_release(object->parent);
    object_give_up_claim(object->context, object->claim);
    record_release(object->context);
    free(object);
    atomic_fetch_sub_explicit(&object_count, 1, memory_order_relaxed);
}

static bool upload_over(void *what, struct reap *reap)
{
    const struct object_record *object = what;
    if (!object->pending)
        return true;
    return reap->moment >= REAP_AND_WAIT ? !awaits_upload(object) : is_over(object->pending);
}

/* Whether the object's transport would wait for its own commands when the object is destroyed, which is not allowed in
 * a driver's callback. */
static bool waits_in_callback(const struct object_record *object)
{
    return object->transfer && object->transfer->transport->outlive_waits && callback_runs_commands();
}

/* Objects that are no longer needed, but whose acquire has yet to end its transfer, or which were released in a
 * callback. */
static const struct reap_class leaving = {REAP_OBJECT, upload_over, destroy_now};

void object_destroy(struct record *record)
{
    struct object_record *object = (struct object_record *)record;
    registry_leave(record);
    if (awaits_upload(object) || waits_in_callback(object))
        reap_later(&object->reaped, &leaving, object);
    else
        destroy_now(object);
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

/* ---- the bytes of an acquire ---- */

static struct block_cache uploads = BLOCK_CACHE_INIT(struct upload);

void upload_put(struct upload *upload)
{
    if (!upload || atomic_fetch_sub_explicit(&upload->references, 1, memory_order_acq_rel) != 1)
        return;
    event_put_late(upload->event);
    event_list_close(&upload->writes);
    blocker_failure_put(upload->failure);
    block_cache_give(&uploads, upload);
}

struct upload *object_upload(struct object_record *object)
{
    os_lock(&registry_lock);
    struct upload *upload = object->pending;
    if (upload)
        atomic_fetch_add_explicit(&upload->references, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    return upload;
}

struct upload *upload_make(void)
{
    struct upload *upload = block_cache_take(&uploads);
    if (!upload)
        return NULL;
    upload->event = NULL;
    event_list_open(&upload->writes);
    upload->failure = NULL;
    atomic_store_explicit(&upload->references, 1, memory_order_relaxed);
    return upload;
}

void object_expect(struct object_record *object, struct upload *upload)
{
    atomic_fetch_add_explicit(&upload->references, 1, memory_order_relaxed);
    os_lock(&registry_lock);
    struct upload *before = object->pending;
    object->pending = upload;
    os_unlock(&registry_lock);
    upload_put(before);
}

/* The acquire has failed, and nothing uses the transfer. */
static void undo_acquire(struct object_record *object)
{
    const struct handover one = {object->transfer->surface.api, &object->transfer, 1};
    object->transfer->transport->undo(&one);
    log_write(LOG_WARN, "the acquire of object %p was undone: an event in its wait list failed",
              (void *)object->head.handle);
    os_lock(&registry_lock);
    object->opencl_owns = false;
    os_unlock(&registry_lock);
}

/* True: the acquire was undone. */
static bool end_upload(struct object_record *object, struct upload *upload, bool failed)
{
    os_lock(&registry_lock);
    const bool mine = object->pending == upload;
    if (mine)
        object->pending = NULL;
    os_unlock(&registry_lock);
    if (mine)
        upload_put(upload);
    if (mine && failed)
        undo_acquire(object);
    return mine && failed;
}

bool object_end_upload(struct object_record *object)
{
    struct upload *upload = object_upload(object);
    if (!upload)
        return false;
    const bool undone = end_upload(object, upload, !await(upload) || blocker_failed(upload->failure));
    upload_put(upload);
    return undone;
}

/* Whether the caller may process the end of a transfer: no other thread is working on the object. An object whose
 * acquire is to be undone counts as acquiring meanwhile. */
static bool claim_upload(struct object_record *object, const struct upload *upload, bool failed)
{
    os_lock(&registry_lock);
    const bool mine = object->pending == upload && (!failed || (object->state == OBJECT_ACQUIRED && !object->commands));
    if (mine && failed) {
        object->state = OBJECT_ACQUIRING;
        object->commands++;
    }
    os_unlock(&registry_lock);
    return mine;
}

void object_check_acquire(struct object_record *object)
{
    struct upload *upload = object_upload(object);
    const cl_int status = upload ? event_status(upload->event) : CL_COMPLETE;
    const bool failed = status < 0 || (upload && blocker_failed(upload->failure));
    /* If it has failed, other commands of the acquire may still run. */
    if (upload && status <= CL_COMPLETE && (!failed || ends(upload)) && claim_upload(object, upload, failed)) {
        end_upload(object, upload, failed);
        os_lock(&registry_lock);
        if (failed) {
            object->commands--;
            object->state = object->opencl_owns ? OBJECT_ACQUIRED : OBJECT_IDLE;
        }
        os_unlock(&registry_lock);
    }
    upload_put(upload);
}

/* ---- references ---- */

static cl_int CL_API_CALL retain_mem_object(cl_mem memobj)
{
    if (registry_revive(RECORD_OBJECT, memobj))
        return CL_SUCCESS; /* the driver's reference that cld3d held is the application's again */
    const cl_int status = below()->clRetainMemObject(memobj);
    if (status == CL_SUCCESS && registry_app_retain(RECORD_OBJECT, memobj))
        below()->clReleaseMemObject(memobj); /* one reference more than the application has */
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
    object_give_up_claim(object->context, claim);
    /* The driver's object is released with the record: a deferred command may still need it. */
    const bool held = atomic_load(&object->head.references) > 1;
    record_release(object);
    reap(REAP_AT_RELEASE, NULL);
    if (held) /* maybe by a command that has ended in a callback, and that another thread destroys now */
        reap_await_others();
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

/* Whether an image would be created from a shared object of another context, which is refused. rusticl creates it; PoCL
 * ends the process, or treats another driver's object as its own. */
static bool is_of_another_context(const char *call, cl_context context, const cl_image_desc *desc, cl_int *errcode_ret)
{
    struct object_record *of = desc && desc->mem_object ? registry_get(RECORD_OBJECT, desc->mem_object) : NULL;
    const bool other = of && of->context->base.head.handle != context && handle_may_be(context, clGetContextInfo);
    record_release(of);
    if (other)
        give_code(
            errcode_ret,
            log_refuse(call, CL_INVALID_MEM_OBJECT,
                       "mem_object %p does not belong to the image's context; create the image in the object's context",
                       (void *)desc->mem_object));
    return other;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    if (is_of_another_context("clCreateImage", context, image_desc, errcode_ret))
        return NULL;
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
    if (is_of_another_context("clCreateImageWithProperties", context, image_desc, errcode_ret))
        return NULL;
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
