/* Command queues of contexts with interop, and which of them have to be flushed.
 *
 * A release waits in the call until OpenCL is done. That wait cannot end while the queue's commands wait for those of
 * another queue that has not been flushed. Each queue records these other queues. No further queue is flushed: batching
 * is left to a queue's owner, and rusticl 22.3 lets a blocking command return before its bytes are there if another
 * thread flushes its queue at that moment. */
#include "track/track.h"

#include "emulate/emulate.h"
#include "log.h"
#include "next/query.h"
#include "track/handle_kind.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- sets of handles ---- */

static bool handles_has(const struct handles *set, const void *handle)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->list[i] == handle)
            return true;
    return false;
}

/* False if out of memory. */
static bool handles_add(struct handles *set, void *handle)
{
    if (handles_has(set, handle))
        return true;
    if (set->count == set->capacity) {
        const unsigned wider = set->capacity ? set->capacity * 2 : 8;
        void **grown = realloc(set->list, wider * sizeof(*grown));
        if (!grown)
            return false;
        set->list = grown;
        set->capacity = wider;
    }
    set->list[set->count++] = handle;
    return true;
}

static void handles_remove(struct handles *set, const void *handle)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->list[i] == handle)
            set->list[i--] = set->list[--set->count];
}

/* ---- queues ---- */

atomic_uint queue_count;

/* How many handles all `awaits` have. Guarded by registry_lock. */
static unsigned awaited_count;

atomic_bool events_failed; /* nothing else makes a command fail in PoCL */

static void destroy(struct record *record)
{
    struct queue_record *queue = (struct queue_record *)record;
    registry_leave(record);
    os_lock(&registry_lock);
    awaited_count -= queue->awaits.count;
    os_unlock(&registry_lock);
    record_release(queue->context);
    if (queue->head.weak)
        below()->clReleaseCommandQueue(queue->head.handle);
    free(queue->awaits.list);
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
static struct handles told;
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
    if ((!record || record->weak) && handles_add(&told, handle))
        atomic_store_explicit(&any_told, true, memory_order_relaxed);
    os_unlock(&registry_lock);
}

/* Whether the handle is such a queue, in a context with a record. */
static bool has_come_back(cl_command_queue handle)
{
    cl_context context = NULL;
    os_lock(&registry_lock);
    const bool is_queue = handles_has(&told, handle);
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

static void is_flushed(struct record *record, void *handle)
{
    struct handles *awaits = &((struct queue_record *)record)->awaits;
    const unsigned before = awaits->count;
    handles_remove(awaits, handle);
    awaited_count -= before - awaits->count;
}

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
    os_lock(&registry_lock);
    if (awaited_count)
        registry_each_locked(RECORD_QUEUE, is_flushed, handle);
    os_unlock(&registry_lock);
    record_release(queue);
    reap(REAP_AND_WAIT, NULL);
    return CL_SUCCESS;
}

/* ---- flushing ---- */

cl_int queue_insist(cl_int(CL_API_CALL *call)(cl_command_queue), cl_command_queue handle)
{
    enum { TRIES = 10 };
    cl_int status = call(handle);
    for (int i = 1; i < TRIES && driver_short(status); i++) {
        os_sleep_shortly();
        status = call(handle);
    }
    return status;
}

static atomic_uint finishers; /* threads between queue_begin_finish and queue_end_finish */

/* The queue that this thread finishes; only compared. A blocking command on an emulated image flushes it before it waits in the driver. */
static _Thread_local const struct queue_record *finishing_here;

/* `in_callback`: the driver may have called this thread back while it holds the queue's lock. */
static bool finished_by_another_locked(const struct queue_record *queue, bool in_callback)
{
    return queue && queue->finishing && (finishing_here != queue || in_callback);
}

/* False: the flush is left to a thread that waits for the queue. *queue: for end_push, or NULL. */
static bool begin_push(cl_command_queue handle, struct queue_record **queue)
{
    const bool in_callback = callback_runs_here();
    os_lock(&registry_lock);
    *queue = registry_get_locked(RECORD_QUEUE, handle);
    const bool left = finished_by_another_locked(*queue, in_callback);
    if (left)
        (*queue)->owed = true;
    else if (*queue)
        (*queue)->pushing++;
    os_unlock(&registry_lock);
    if (!left)
        return true;
    record_release(*queue);
    return false;
}

static void end_push(struct queue_record *queue)
{
    os_lock(&registry_lock);
    if (queue)
        queue->pushing--;
    os_unlock(&registry_lock);
    record_release(queue);
}

void queue_flush_alone(cl_command_queue handle)
{
    struct queue_record *queue;
    if (!begin_push(handle, &queue))
        return;
    queue_insist(below()->clFlush, handle);
    end_push(queue);
}

static bool is_pushed(struct queue_record *queue)
{
    os_lock(&registry_lock);
    const bool pushed = queue->pushing != 0;
    os_unlock(&registry_lock);
    return pushed;
}

struct queue_record *queue_begin_finish(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (!queue || !context_has(queue->context, QUIRK_RUSTICL_FLUSH_WAITS)) {
        record_release(queue);
        return NULL;
    }
    atomic_fetch_add(&finishers, 1);
    os_lock(&registry_lock);
    queue->finishing++;
    os_unlock(&registry_lock);
    while (is_pushed(queue))
        os_sleep_shortly();
    finishing_here = queue;
    return queue;
}

void queue_end_finish(struct queue_record *queue)
{
    if (!queue)
        return;
    finishing_here = NULL;
    os_lock(&registry_lock);
    const bool owed = --queue->finishing == 0 && queue->owed;
    if (owed)
        queue->owed = false;
    os_unlock(&registry_lock);
    atomic_fetch_sub(&finishers, 1);
    if (owed)
        queue_flush_alone(queue->head.handle);
    record_release(queue);
}

bool queue_is_finished(cl_event event)
{
    const cl_command_queue handle = atomic_load(&finishers) ? event_queue(event) : NULL;
    if (!handle)
        return false;
    const bool in_callback = callback_runs_here();
    os_lock(&registry_lock);
    const struct queue_record *queue = registry_find_locked(RECORD_QUEUE, handle);
    const bool finished = finished_by_another_locked(queue, in_callback);
    os_unlock(&registry_lock);
    return finished;
}

static cl_int CL_API_CALL finish(cl_command_queue handle)
{
    struct queue_record *queue = queue_begin_finish(handle);
    const cl_int status = below()->clFinish(handle);
    queue_end_finish(queue);
    reap(REAP_AT_FINISH, NULL);
    return status;
}

static struct queue_record *take_awaited(struct queue_record *queue)
{
    struct queue_record *other = NULL;
    os_lock(&registry_lock);
    for (; queue->awaits.count && !other; awaited_count--)
        other = registry_get_locked(RECORD_QUEUE, queue->awaits.list[--queue->awaits.count]);
    os_unlock(&registry_lock);
    return other;
}

static void flush_awaited(struct queue_record *queue)
{
    for (struct queue_record *other = take_awaited(queue); other; other = take_awaited(queue)) {
        queue_flush_alone(other->head.handle);
        record_release(other);
    }
}

void queue_flush(struct queue_record *queue)
{
    flush_awaited(queue);
    queue_flush_alone(queue->head.handle);
}

void queue_flush_awaited(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue)
        flush_awaited(queue);
    record_release(queue);
}

void queue_flush_for(cl_event event)
{
    const cl_command_queue handle = event_queue(event);
    struct queue_record *queue = handle ? registry_get(RECORD_QUEUE, handle) : NULL;
    if (queue)
        queue_flush(queue);
    record_release(queue);
}

/* The queue of an event's command, or NULL for a user event. Called without the lock, because it queries the driver. */
static cl_command_queue queue_of(cl_event event)
{
    cl_command_queue of = NULL;
    struct event_record *ours = registry_get(RECORD_EVENT, event);
    if (ours)
        of = ours->queue;
    else if (event_may_be(event))
        of = event_queue(event);
    record_release(ours);
    return of;
}

/* False: there was no memory to record what `queue` awaits, or its record may be freed before the queue. */
static bool await_locked(struct queue_record *queue, const struct queue_record *other, bool flushed)
{
    if (queue->head.weak)
        return false;
    const unsigned before = queue->awaits.count;
    bool noted = flushed || handles_add(&queue->awaits, other->head.handle);
    for (unsigned i = 0; i < other->awaits.count; i++)
        noted = handles_add(&queue->awaits, other->awaits.list[i]) && noted;
    awaited_count += queue->awaits.count - before;
    return noted;
}

/* A command that is CL_SUBMITTED needs no flush: the device already has it. */
static void wait_for(struct queue_record *queue, cl_event event)
{
    cl_command_queue of = queue_of(event);
    const cl_int status = of && of != queue->head.handle ? event_status(event) : CL_COMPLETE;
    if (status <= CL_COMPLETE)
        return;
    os_lock(&registry_lock);
    struct queue_record *other = registry_get_locked(RECORD_QUEUE, of);
    const bool noted = !other || await_locked(queue, other, status < CL_QUEUED);
    os_unlock(&registry_lock);
    if (!noted)
        queue_flush(other); /* now, because it is not recorded for later */
    record_release(other);
}

void queue_waits(cl_command_queue handle, cl_uint count, const cl_event *events)
{
    if (atomic_load_explicit(&queue_count, memory_order_relaxed) < 2)
        return;
    struct queue_record *queue = count && events ? registry_get(RECORD_QUEUE, handle) : NULL;
    for (cl_uint i = 0; queue && i < count; i++)
        wait_for(queue, events[i]);
    record_release(queue);
}

/* ---- commands that fail ---- */

static void lose_command(struct record *record, void *context)
{
    struct queue_record *queue = (struct queue_record *)record;
    if (!context || queue->context->head.handle == context)
        atomic_fetch_add(&queue->failures, 1);
}

/* Commands of extensions are not tracked, nor are those with which PoCL moves memory between devices. If there may be
 * such commands, any queue of the event's context may lose one. */
void queues_lose_unseen(cl_event event)
{
    cl_context context = NULL;
    cl_uint devices = 0;
    if (!handle_may_be(event, clGetEventInfo))
        return;
    if (below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS && context)
        below()->clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(devices), &devices, NULL);
    if (devices == 1 && writes_known())
        return;
    os_lock(&registry_lock);
    registry_each_locked(RECORD_QUEUE, lose_command, context);
    os_unlock(&registry_lock);
}

bool queue_loses_order(const struct queue_record *queue)
{
    return context_has(queue->context, QUIRK_POCL_ORDER) && !queue_out_of_order(queue);
}

/* *seen gets the current number of failures. */
static bool lost_order(struct queue_record *queue, unsigned *seen)
{
    *seen = atomic_load(&queue->failures);
    return queue_loses_order(queue) && atomic_load(&queue->failures_seen) != *seen;
}

void queue_restore_order(struct queue_record *queue)
{
    unsigned seen;
    if (lost_order(queue, &seen) && queue_insist(below()->clFinish, queue->head.handle) == CL_SUCCESS)
        atomic_store(&queue->failures_seen, seen);
}

atomic_uint queue_deferred;

/* Whether a user event may block commands of any queue unseen: this thread may be the one that sets it. */
static bool may_be_held_unseen(void)
{
    return blockers_possible() && !writes_known();
}

void queue_keep_order(cl_command_queue handle)
{
    unsigned seen;
    if (!atomic_load_explicit(&events_failed, memory_order_relaxed) || atomic_load(&queue_deferred) ||
        callback_runs_here() || may_be_held_unseen())
        return;
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (queue && lost_order(queue, &seen) && queue_enter(queue, ORDER_AFTER_ALL)) {
        queue_restore_order(queue);
        queue_leave(queue);
    }
    record_release(queue);
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
