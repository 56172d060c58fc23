/* Command queues of contexts with interop, and what holds their commands back.
 *
 * A release has to wait in the call until OpenCL is done, since Direct3D may use the resource right after it. It must
 * not wait if the queue's commands wait for a user event, which perhaps the same thread sets later. Only user events can
 * hold a queue for ever, so they are followed while they are pending: which queues have commands that wait for them,
 * directly or through another held queue.
 *
 * Nor can such a wait end while the queue's commands wait for those of another queue that nobody has flushed. Each queue
 * knows those others. No more than they are flushed: the batches of a queue are its owner's business, and rusticl 22.3
 * lets a blocking command return before its bytes are there if another thread flushes its queue at that moment. */
#include "share/share.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* ---- sets of handles ---- */

static bool handles_has(const struct handles *set, const void *handle)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->list[i] == handle)
            return true;
    return false;
}

/* False if memory is short. */
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

/* How many queues are followed. */
static atomic_uint queue_count;

static void destroy(struct record *record)
{
    struct queue_record *queue = (struct queue_record *)record;
    record_put(queue->context);
    if (queue->given_back)
        below()->clReleaseCommandQueue(queue->head.handle);
    free(queue->held_by.list);
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

static void follow(cl_context context, cl_command_queue handle)
{
    struct context_record *record = registry_get(RECORD_CONTEXT, context);
    if (!record)
        return;
    struct queue_record *queue = calloc(1, sizeof(*queue));
    if (queue) {
        queue->head = (struct record){.kind = RECORD_QUEUE, .handle = handle, .destroy = destroy};
        queue->context = record;
        below()->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(queue->properties), &queue->properties, NULL);
        atomic_fetch_add_explicit(&queue_count, 1, memory_order_relaxed);
        if (registry_add(&queue->head))
            return;
        atomic_fetch_sub_explicit(&queue_count, 1, memory_order_relaxed);
        free(queue);
    }
    log_write(LOG_ERROR, "no memory to follow a command queue: it can't acquire shared objects");
    record_put(record);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueue(context, device, properties, errcode_ret);
    if (queue && registry_hot())
        follow(context, queue);
    return queue;
}

static cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                                 const cl_queue_properties *properties,
                                                                 cl_int *errcode_ret)
{
    cl_command_queue queue = below()->clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
    if (queue && registry_hot())
        follow(context, queue);
    return queue;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    const cl_int status = below()->clRetainCommandQueue(queue);
    if (status == CL_SUCCESS)
        registry_app_retain(RECORD_QUEUE, queue);
    return status;
}

/* Queues that the application gave back while they were held: their commands live on, and others may wait for them. Each
 * is held by the list. Guarded by registry_lock. */
static struct queue_record *gone;

static struct queue_record *find_locked(cl_command_queue handle)
{
    struct queue_record *queue = registry_find_locked(RECORD_QUEUE, handle);
    for (struct queue_record *q = gone; q && !queue; q = q->after)
        if (q->head.handle == handle)
            queue = q;
    return queue;
}

static void is_flushed(struct record *record, void *handle)
{
    handles_remove(&((struct queue_record *)record)->awaits, handle);
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (!queue || !registry_app_release(RECORD_QUEUE, handle)) {
        record_put(queue);
        return below()->clReleaseCommandQueue(handle);
    }
    os_lock(&registry_lock);
    if (queue->held_by.count) {
        queue->after = gone;
        gone = queue;
        record_hold(queue);
    }
    os_unlock(&registry_lock);
    /* The driver's goes with the record: another thread may be about to flush it. Flushed it is at once, as the release
     * of a queue promises. */
    queue->given_back = true;
    const cl_int status = below()->clFlush(handle);
    os_lock(&registry_lock);
    registry_each_locked(RECORD_QUEUE, is_flushed, handle);
    os_unlock(&registry_lock);
    record_put(queue);
    return status;
}

/* Takes the queues out of the list that nothing holds any longer; the caller puts them when the lock is free. */
static struct queue_record *free_gone_locked(void)
{
    struct queue_record *freed = NULL;
    for (struct queue_record **place = &gone; *place;) {
        struct queue_record *queue = *place;
        if (queue->held_by.count) {
            place = &queue->after;
            continue;
        }
        *place = queue->after;
        queue->after = freed;
        freed = queue;
    }
    return freed;
}

/* ---- flushing ---- */

static struct queue_record *hold_found(cl_command_queue handle)
{
    os_lock(&registry_lock);
    struct queue_record *queue = find_locked(handle);
    if (queue)
        record_hold(queue);
    os_unlock(&registry_lock);
    return queue;
}

static struct queue_record *take_awaited(struct queue_record *queue)
{
    struct queue_record *other = NULL;
    os_lock(&registry_lock);
    while (queue->awaits.count && !other) {
        other = find_locked(queue->awaits.list[--queue->awaits.count]);
        if (other)
            record_hold(other);
    }
    os_unlock(&registry_lock);
    return other;
}

void queue_flush(struct queue_record *queue)
{
    for (struct queue_record *other = take_awaited(queue); other; other = take_awaited(queue)) {
        below()->clFlush(other->head.handle);
        record_put(other);
    }
    below()->clFlush(queue->head.handle);
}

void queue_flush_for(cl_event event)
{
    cl_command_queue handle = NULL;
    struct queue_record *queue = NULL;
    if (below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) == CL_SUCCESS && handle)
        queue = hold_found(handle);
    if (queue)
        queue_flush(queue);
    record_put(queue);
}

/* ---- user events ---- */

/* The pending user events of contexts with interop, and our own gates. Guarded by registry_lock; the count may be read
 * without it. */
static struct user_event {
    cl_event event;
    unsigned app_refs;
} *pending;
static unsigned pending_capacity;
static atomic_uint pending_count;

bool holds_possible(void)
{
    return atomic_load_explicit(&pending_count, memory_order_relaxed) != 0;
}

static struct user_event *find_pending_locked(cl_event event)
{
    const unsigned count = atomic_load_explicit(&pending_count, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++)
        if (pending[i].event == event)
            return &pending[i];
    return NULL;
}

static bool add_pending_locked(cl_event event)
{
    const unsigned count = atomic_load_explicit(&pending_count, memory_order_relaxed);
    if (count == pending_capacity) {
        const unsigned wider = count ? count * 2 : 8;
        struct user_event *grown = realloc(pending, wider * sizeof(*grown));
        if (!grown)
            return false;
        pending = grown;
        pending_capacity = wider;
    }
    pending[count] = (struct user_event){event, 1};
    atomic_store_explicit(&pending_count, count + 1, memory_order_relaxed);
    return true;
}

static void remove_pending_locked(cl_event event)
{
    struct user_event *found = find_pending_locked(event);
    if (!found)
        return;
    const unsigned count = atomic_load_explicit(&pending_count, memory_order_relaxed) - 1;
    *found = pending[count];
    atomic_store_explicit(&pending_count, count, memory_order_relaxed);
}

void holds_retain(cl_event event)
{
    if (!holds_possible())
        return;
    os_lock(&registry_lock);
    struct user_event *found = find_pending_locked(event);
    if (found)
        found->app_refs++;
    os_unlock(&registry_lock);
}

void holds_release(cl_event event)
{
    if (!holds_possible())
        return;
    os_lock(&registry_lock);
    struct user_event *found = find_pending_locked(event);
    if (found && --found->app_refs == 0)
        remove_pending_locked(event);
    os_unlock(&registry_lock);
}

static void hold_locked(struct queue_record *queue, cl_event event)
{
    handles_add(&queue->held_by, event);
}

/* The queue of an event's command, NULL of a user event. Asked without the lock: it is the driver's knowledge. */
static cl_command_queue queue_of(cl_event event)
{
    cl_command_queue of = NULL;
    struct event_record *ours = registry_get(RECORD_EVENT, event);
    if (ours)
        of = ours->queue;
    else if (os_is_wine() || os_readable(event, sizeof(void *))) /* Wine's host memory is not to be seen from here */
        below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(of), &of, NULL);
    record_put(ours);
    return of;
}

/* What the other queue waits for `queue` does from now on. False: memory was short for what it awaits. */
static bool follow_locked(struct queue_record *queue, const struct queue_record *other, bool flushed)
{
    bool noted = true;
    for (unsigned i = 0; i < other->held_by.count; i++)
        hold_locked(queue, other->held_by.list[i]);
    for (unsigned i = 0; i < other->awaits.count; i++)
        noted = handles_add(&queue->awaits, other->awaits.list[i]) && noted;
    return (flushed || handles_add(&queue->awaits, other->head.handle)) && noted;
}

static void wait_for(struct queue_record *queue, cl_event event)
{
    cl_command_queue of = queue_of(event);
    if (of == queue->head.handle)
        return;
    const bool flushed = !of || event_status(event) < CL_QUEUED;
    os_lock(&registry_lock);
    struct queue_record *other = of ? find_locked(of) : NULL;
    if (find_pending_locked(event))
        hold_locked(queue, event);
    const bool noted = !other || follow_locked(queue, other, flushed);
    if (!noted)
        record_hold(other);
    os_unlock(&registry_lock);
    if (!noted) {
        queue_flush(other); /* now, since later nobody would know */
        record_put(other);
    }
}

void queue_waits(cl_command_queue handle, cl_uint count, const cl_event *events)
{
    if (!holds_possible() && atomic_load_explicit(&queue_count, memory_order_relaxed) < 2)
        return;
    struct queue_record *queue = count && events ? hold_found(handle) : NULL;
    for (cl_uint i = 0; queue && i < count; i++)
        if (events[i])
            wait_for(queue, events[i]);
    record_put(queue);
}

bool queue_held(const struct queue_record *queue)
{
    if (!holds_possible())
        return false;
    os_lock(&registry_lock);
    const bool held = queue->held_by.count != 0;
    os_unlock(&registry_lock);
    return held;
}

bool holds_copy(const struct queue_record *queue, cl_event **events, unsigned *count)
{
    os_lock(&registry_lock);
    *count = queue->held_by.count;
    *events = malloc((*count + 1) * sizeof(**events)); /* never nothing, which malloc may answer with NULL */
    if (*events && *count)
        memcpy(*events, queue->held_by.list, *count * sizeof(**events));
    os_unlock(&registry_lock);
    return *events != NULL;
}

unsigned holds_left_locked(const struct queue_record *queue, cl_event *events, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!handles_has(&queue->held_by, events[i]))
            events[i--] = events[--count];
    return count;
}

void holds_add_gate_locked(struct queue_record *queue, cl_event gate)
{
    if (add_pending_locked(gate))
        hold_locked(queue, gate);
}

bool event_held(cl_event event, const cl_event *by, unsigned count)
{
    cl_command_queue handle = NULL;
    bool held = false;
    if (!count || below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) != CL_SUCCESS)
        return false;
    os_lock(&registry_lock);
    const struct queue_record *queue = find_locked(handle);
    for (unsigned i = 0; queue && i < count; i++)
        held = held || handles_has(&queue->held_by, by[i]);
    os_unlock(&registry_lock);
    return held;
}

static void let_go(struct record *record, void *event)
{
    struct queue_record *queue = (struct queue_record *)record;
    handles_remove(&queue->held_by, event);
}

void holds_over(cl_event event)
{
    os_lock(&registry_lock);
    remove_pending_locked(event);
    deferred_let_go_locked(event);
    registry_each_locked(RECORD_QUEUE, let_go, event);
    for (struct queue_record *queue = gone; queue; queue = queue->after)
        let_go(&queue->head, event);
    struct queue_record *freed = free_gone_locked();
    os_unlock(&registry_lock);
    while (freed) {
        struct queue_record *after = freed->after;
        record_put(freed);
        freed = after;
    }
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *errcode_ret)
{
    cl_event event = below()->clCreateUserEvent(context, errcode_ret);
    if (!event || !registry_hot())
        return event;
    os_lock(&registry_lock);
    if (registry_find_locked(RECORD_CONTEXT, context))
        add_pending_locked(event);
    os_unlock(&registry_lock);
    return event;
}

static cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int execution_status)
{
    const cl_int status = below()->clSetUserEventStatus(event, execution_status);
    if (status == CL_SUCCESS && holds_possible()) {
        holds_over(event);
        deferred_run(true);
        deferred_sweep();
        object_sweep();
        event_sweep();
    }
    return status;
}

void queue_install(cl_icd_dispatch *table)
{
    table->clCreateCommandQueue = create_queue;
    table->clCreateCommandQueueWithProperties = create_queue_with_properties;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
    table->clCreateUserEvent = create_user_event;
    table->clSetUserEventStatus = set_user_event_status;
}
