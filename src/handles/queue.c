/* Command queues of contexts with interop. */
#include "handles/handles.h"

#include "emulate/emulate.h"
#include "log.h"
#include "next/query.h"
#include "handles/handle_kind.h"

#include <stdlib.h>

/* ---- cld3d's own queues ---- */

cl_command_queue own_queue_make(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                cl_int *status)
{
    return underlying.clCreateCommandQueue(context, device, properties, status);
}

void own_queue_put(cl_command_queue queue)
{
    if (queue)
        underlying.clReleaseCommandQueue(queue);
}

/* ---- queues ---- */

atomic_uint queue_count;

static void destroy(struct record *record)
{
    struct queue_record *queue = (struct queue_record *)record;
    registry_leave(record);
    queue_awaits_none(queue);
    record_release(queue->context);
    if (queue->head.weak)
        below()->clReleaseCommandQueue(queue->head.handle);
    free(queue);
    atomic_fetch_sub_explicit(&queue_count, 1, memory_order_relaxed);
}

bool queue_out_of_order(const struct queue_record *queue)
{
    return (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}

bool queue_profiles(const struct queue_record *queue)
{
    return (queue->properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

static cl_int read_properties(struct queue_record *queue)
{
    cl_command_queue_properties properties = 0;
    const cl_int status =
        below()->clGetCommandQueueInfo(queue->head.handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (status == CL_SUCCESS)
        atomic_store(&queue->properties, properties);
    return status;
}

/* Creates the record of a queue. Without the queue's properties its commands would be treated as those of an in-order
 * queue. */
static cl_int follow_in(struct context_record *context, cl_command_queue handle)
{
    struct queue_record *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return CL_OUT_OF_HOST_MEMORY;
    queue->head = (struct record){.kind = RECORD_QUEUE, .handle = handle, .destroy = destroy};
    record_retain(context);
    queue->context = context;
    queue->failures = atomic_load(&events_failed); /* the queue may have been tracked before */
    atomic_fetch_add_explicit(&queue_count, 1, memory_order_relaxed);
    cl_int status = read_properties(queue);
    if (status == CL_SUCCESS && !registry_add(&queue->head))
        status = CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS)
        destroy(&queue->head);
    return status;
}

/* Only queues of contexts with a record need one. */
static cl_int follow(const char *call, cl_context context, cl_command_queue handle)
{
    struct context_record *record = registry_get(RECORD_CONTEXT, context);
    const cl_int status = record ? follow_in(record, handle) : CL_SUCCESS;
    record_release(record);
    if (status == CL_SUCCESS)
        return status;
    return log_refuse(call, status, "queue %p cannot be tracked, so it could not acquire objects", (void *)handle);
}

cl_command_queue queue_followed(const char *call, cl_context context, cl_command_queue handle, cl_int *errcode_ret)
{
    const cl_int status = handle && registry_hot() ? follow(call, context, handle) : CL_SUCCESS;
    if (status == CL_SUCCESS)
        return handle;
    below()->clReleaseCommandQueue(handle);
    give_code(errcode_ret, status);
    return NULL;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueue(context, device, properties, errcode_ret);
    return queue_followed("clCreateCommandQueue", context, queue, errcode_ret);
}

static cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                                 const cl_queue_properties *properties,
                                                                 cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
    return queue_followed("clCreateCommandQueueWithProperties", context, queue, errcode_ret);
}

static cl_int CL_API_CALL set_property(cl_command_queue handle, cl_command_queue_properties properties, cl_bool enable,
                                       cl_command_queue_properties *old_properties)
{
    const cl_int status = below()->clSetCommandQueueProperty(handle, properties, enable, old_properties);
    struct queue_record *queue = status == CL_SUCCESS ? registry_get(RECORD_QUEUE, handle) : NULL;
    if (queue && read_properties(queue) != CL_SUCCESS)
        atomic_store(&queue->properties, enable ? queue->properties | properties : queue->properties & ~properties);
    record_release(queue);
    return status;
}

/* ---- queues that the application obtains again ---- */

/* Only one thread at a time retains a queue, or creates its record again. */
static os_mutex coming_back = OS_MUTEX_INIT;

/* An event may have kept a queue alive whose record was freed with the application's last reference. */
static cl_int follow_again(cl_command_queue handle)
{
    cl_context context = NULL;
    cl_int status = CL_SUCCESS;
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (!queue &&
        below()->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS)
        status = follow("clRetainCommandQueue", context, handle);
    else if (registry_app_retain(RECORD_QUEUE, handle))
        below()->clReleaseCommandQueue(handle); /* one reference more than the application has */
    record_release(queue);
    return status;
}

static cl_int retain_alone(cl_command_queue queue)
{
    if (registry_revive(RECORD_QUEUE, queue))
        return CL_SUCCESS; /* the driver's reference that cld3d held is the application's again */
    cl_int status = below()->clRetainCommandQueue(queue);
    if (status == CL_SUCCESS && registry_hot()) {
        status = follow_again(queue);
        if (status != CL_SUCCESS)
            below()->clReleaseCommandQueue(queue);
    }
    return status;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    os_lock(&coming_back);
    const cl_int status = retain_alone(queue);
    os_unlock(&coming_back);
    return status;
}

/* The queues that were obtained from events while the application had no reference to them. Other handles cannot be
 * proved to be queues: PoCL 3.1 reports a context for any handle. Guarded by registry_lock. */
static struct handle_set told;
static atomic_bool any_told;

/* Whether the event belongs to a context with a record; if the driver does not report it, this is assumed. The event is
 * queried and not the queue, because some drivers return queues that they have deleted. */
static bool may_be_followed(cl_event event)
{
    cl_context context = NULL;
    const cl_int asked = below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL);
    return asked != CL_SUCCESS || registry_has(RECORD_CONTEXT, context);
}

void queue_obtained(cl_event event, cl_command_queue handle)
{
    if (!handle || !may_be_followed(event))
        return;
    os_lock(&registry_lock);
    const struct record *record = registry_find_locked(RECORD_QUEUE, handle);
    if ((!record || record->weak) && handle_set_add(&told, handle))
        atomic_store_explicit(&any_told, true, memory_order_relaxed);
    os_unlock(&registry_lock);
}

/* Whether the handle is such a queue, in a context with a record. */
static bool has_come_back(cl_command_queue handle)
{
    cl_context context = NULL;
    os_lock(&registry_lock);
    const bool is_queue = handle_set_has(&told, handle);
    os_unlock(&registry_lock);
    return is_queue && handle_may_be(handle, clGetCommandQueueInfo) && !handle_is_other(HANDLE_QUEUE, handle) &&
           below()->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS &&
           registry_has(RECORD_CONTEXT, context);
}

struct queue_record *queue_get(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue || !atomic_load_explicit(&any_told, memory_order_relaxed) || !has_come_back(handle))
        return queue;
    os_lock(&coming_back);
    queue = registry_get(RECORD_QUEUE, handle);
    if (!queue && retain_alone(handle) == CL_SUCCESS) {
        queue = registry_get(RECORD_QUEUE, handle);
        registry_app_weaken(RECORD_QUEUE, handle);
    }
    os_unlock(&coming_back);
    return queue;
}

/* ---- releases ---- */

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue && registry_is_weak(&queue->head)) {
        record_release(queue);
        return log_refuse("clReleaseCommandQueue", CL_INVALID_COMMAND_QUEUE,
                          "queue %p is released more often than it was created or retained; remove one release",
                          (void *)handle);
    }
    if (!queue || !registry_app_weaken(RECORD_QUEUE, handle)) {
        record_release(queue);
        return below()->clReleaseCommandQueue(handle);
    }
    /* The driver's queue is released with the record, because another thread may be about to flush it, or commands may
     * be blocked. It is flushed at once, as clReleaseCommandQueue guarantees. */
    below()->clFlush(handle); /* queues on a device, and lost devices, refuse this; the release succeeds all the same */
    queue_was_flushed(handle);
    record_release(queue);
    reap(REAP_AND_WAIT, NULL);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL finish(cl_command_queue handle)
{
    struct queue_record *queue = queue_begin_finish(handle);
    const cl_int status = below()->clFinish(handle);
    queue_end_finish(queue);
    reap(REAP_AT_FINISH, NULL);
    return status;
}

void queue_install(cl_icd_dispatch *table)
{
    table->clCreateCommandQueue = create_queue;
    table->clCreateCommandQueueWithProperties = create_queue_with_properties;
    table->clSetCommandQueueProperty = set_property;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
    table->clFinish = finish;
    event_wait_is_held = queue_is_finished;
}
