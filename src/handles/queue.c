/* Command queues of contexts with interop. */
#include "handles/handles.h"

#include "log.h"

#include <stdlib.h>

/* ---- cld3d's own queues ---- */

void own_queue_put(cl_command_queue queue)
{
    if (queue)
        next.clReleaseCommandQueue(queue);
}

static cl_command_queue make_own_queue(struct context_record *context, cl_int *status)
{
    struct device_list devices;
    if (devices_of_context(&next, context->head.handle, &devices) != CL_SUCCESS || !devices.count)
        return NULL;
    cl_command_queue made = next.clCreateCommandQueue(context->head.handle, devices.at[0], 0, status), queue = made;
    os_lock(&registry_lock);
    if (context->own_queue)
        queue = context->own_queue; /* another thread was faster */
    context->own_queue = queue;
    os_unlock(&registry_lock);
    own_queue_put(queue == made ? NULL : made);
    return queue;
}

cl_command_queue context_own_queue(cl_context handle, cl_int *status)
{
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    *status = CL_OUT_OF_RESOURCES;
    os_lock(&registry_lock);
    cl_command_queue queue = context ? context->own_queue : NULL;
    os_unlock(&registry_lock);
    if (context && !queue)
        queue = make_own_queue(context, status);
    record_release(context);
    return queue;
}

/* ---- records ---- */

struct queue_record *queue_list;

static void destroy(struct record *record)
{
    struct queue_record *queue = (struct queue_record *)record;
    registry_leave(record);
    os_lock(&registry_lock);
    struct queue_record **place = &queue_list;
    while (*place && *place != queue)
        place = &(*place)->after;
    if (*place)
        *place = queue->after;
    os_unlock(&registry_lock);
    record_release(queue->context);
    if (queue->head.weak)
        below()->clReleaseCommandQueue(queue->head.handle);
    free(queue);
}

/* Creates the record of a queue. Without the queue's properties its commands would be treated as those of an in-order
 * queue. */
static cl_int follow(struct context_record *context, cl_command_queue handle)
{
    struct queue_record *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return CL_OUT_OF_HOST_MEMORY;
    queue->head = (struct record){.kind = RECORD_QUEUE, .handle = handle, .destroy = destroy};
    queue->enqueueing = (os_mutex)OS_MUTEX_INIT;
    record_retain(context);
    queue->context = context;
    cl_int status = below()->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(queue->properties),
                                                   &queue->properties, NULL);
    if (status == CL_SUCCESS && !registry_add(&queue->head))
        status = CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS) {
        destroy(&queue->head);
        return status;
    }
    os_lock(&registry_lock);
    queue->after = queue_list;
    queue_list = queue;
    os_unlock(&registry_lock);
    return CL_SUCCESS;
}

/* A queue that the driver has created for the application in `call`. If memory is short the queue is released, and
 * `errcode_ret` (NULL is allowed) gets the code. `handle` may be NULL. */
static cl_command_queue followed(const char *call, cl_context context, cl_command_queue handle, cl_int *errcode_ret)
{
    struct context_record *record = handle ? registry_get(RECORD_CONTEXT, context) : NULL;
    const cl_int status = record ? follow(record, handle) : CL_SUCCESS;
    record_release(record);
    if (status == CL_SUCCESS)
        return handle;
    log_refuse(call, status, "queue %p cannot be tracked, so it could not acquire objects", (void *)handle);
    below()->clReleaseCommandQueue(handle);
    give_code(errcode_ret, status);
    return NULL;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueue(context, device, properties, errcode_ret);
    return followed("clCreateCommandQueue", context, queue, errcode_ret);
}

static cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                                 const cl_queue_properties *properties,
                                                                 cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
    return followed("clCreateCommandQueueWithProperties", context, queue, errcode_ret);
}

/* Deprecated since OpenCL 1.1, and optional: a tracked queue stays as it is. */
static cl_int CL_API_CALL set_property(cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,
                                       cl_command_queue_properties *old_properties)
{
    if (registry_has(RECORD_QUEUE, queue))
        return log_refuse("clSetCommandQueueProperty", CL_INVALID_OPERATION,
                          "queues of contexts that share cannot change");
    return below()->clSetCommandQueueProperty(queue, properties, enable, old_properties);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    const cl_int status = below()->clRetainCommandQueue(queue);
    if (status == CL_SUCCESS && registry_app_retain(RECORD_QUEUE, queue))
        below()->clReleaseCommandQueue(queue); /* the reference that cld3d held is the application's again */
    return status;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    cl_int status = CL_SUCCESS;
    if (queue && registry_is_weak(&queue->head)) {
        status = log_refuse("clReleaseCommandQueue", CL_INVALID_COMMAND_QUEUE,
                            "queue %p is released more often than it was created or retained; remove one release",
                            (void *)handle);
    } else if (!queue || !registry_app_weaken(RECORD_QUEUE, handle)) {
        status = below()->clReleaseCommandQueue(handle);
    } else {
        /* The driver's queue is released with the record, because deferred commands may need it. It is flushed at once,
         * as clReleaseCommandQueue guarantees; queues on a device and lost devices refuse this. */
        atomic_store(&queue->unflushed, false);
        below()->clFlush(handle);
    }
    record_release(queue);
    return status;
}

/* ---- flushing ---- */

static cl_int CL_API_CALL flush(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue)
        atomic_store(&queue->unflushed, false);
    record_release(queue);
    return below()->clFlush(handle);
}

static cl_int CL_API_CALL finish(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue) {
        atomic_store(&queue->unflushed, false);
        atomic_fetch_add(&queue->finishing, 1);
    }
    const cl_int status = below()->clFinish(handle);
    if (queue)
        atomic_fetch_sub(&queue->finishing, 1);
    record_release(queue);
    return status;
}

/* An unflushed queue of the context, retained and marked as flushed, or NULL. */
static struct queue_record *next_unflushed(const struct context_record *context)
{
    struct queue_record *found = NULL;
    os_lock(&registry_lock);
    for (struct queue_record *queue = queue_list; queue && !found; queue = queue->after)
        if (queue->context == context && atomic_load_explicit(&queue->unflushed, memory_order_relaxed) &&
            atomic_exchange(&queue->unflushed, false))
            found = registry_get_locked(RECORD_QUEUE, queue->head.handle);
    os_unlock(&registry_lock);
    return found;
}

void queues_flush(const struct context_record *context)
{
    for (struct queue_record *queue = next_unflushed(context); queue; queue = next_unflushed(context)) {
        below()->clFlush(queue->head.handle);
        record_release(queue);
    }
}

void queue_flush_for(cl_event event)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, event_queue(event));
    if (queue)
        queues_flush(queue->context);
    record_release(queue);
}

void queue_install(cl_icd_dispatch *table)
{
    table->clCreateCommandQueue = create_queue;
    table->clCreateCommandQueueWithProperties = create_queue_with_properties;
    table->clSetCommandQueueProperty = set_property;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
    table->clFlush = flush;
    table->clFinish = finish;
}
