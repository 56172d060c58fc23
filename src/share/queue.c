/* Command queues of contexts with interop, and what holds their commands back.
 *
 * A release has to wait in the call until OpenCL is done, since Direct3D may use the resource right after it. It must
 * not wait if the queue's commands wait for a user event, which perhaps the same thread sets later. Only user events can
 * hold a queue for ever, so they are followed while they are pending: which queues have commands that wait for them,
 * directly or through another held queue. */
#include "share/share.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

static void destroy(struct record *record)
{
    struct queue_record *queue = (struct queue_record *)record;
    record_put(queue->context);
    if (queue->given_back)
        below()->clReleaseCommandQueue(queue->head.handle);
    free(queue->held_by);
    free(queue);
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
        if (registry_add(&queue->head))
            return;
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

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    if (!queue || !registry_app_release(RECORD_QUEUE, handle)) {
        record_put(queue);
        return below()->clReleaseCommandQueue(handle);
    }
    os_lock(&registry_lock);
    if (queue->held_count) {
        queue->after = gone;
        gone = queue;
        record_hold(queue);
    }
    os_unlock(&registry_lock);
    /* The driver's goes with the record: another thread may be about to flush it. Flushed it is at once, as the release
     * of a queue promises. */
    queue->given_back = true;
    const cl_int status = below()->clFlush(handle);
    record_put(queue);
    return status;
}

/* Takes the queues out of the list that nothing holds any longer; the caller puts them when the lock is free. */
static struct queue_record *free_gone_locked(void)
{
    struct queue_record *freed = NULL;
    for (struct queue_record **place = &gone; *place;) {
        struct queue_record *queue = *place;
        if (queue->held_count) {
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

struct queue_list {
    const struct context_record *context;
    struct queue_record *queues[64];
    unsigned count;
};

static void collect(struct record *record, void *data)
{
    struct queue_list *list = data;
    struct queue_record *queue = (struct queue_record *)record;
    if (queue->context == list->context && list->count < sizeof(list->queues) / sizeof(list->queues[0])) {
        record_hold(queue);
        list->queues[list->count++] = queue;
    }
}

void context_flush(const struct context_record *context)
{
    struct queue_list list = {.context = context};
    os_lock(&registry_lock);
    registry_each_locked(RECORD_QUEUE, collect, &list);
    os_unlock(&registry_lock);
    for (unsigned i = 0; i < list.count; i++) {
        below()->clFlush(list.queues[i]->head.handle);
        record_put(list.queues[i]);
    }
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

static bool add_event(cl_event **list, unsigned *capacity, unsigned count, cl_event event)
{
    if (count == *capacity) {
        const unsigned wider = *capacity ? *capacity * 2 : 8;
        cl_event *grown = realloc(*list, wider * sizeof(*grown));
        if (!grown)
            return false;
        *list = grown;
        *capacity = wider;
    }
    (*list)[count] = event;
    return true;
}

static bool listed(const cl_event *list, unsigned count, cl_event event)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == event)
            return true;
    return false;
}

static unsigned without(cl_event *list, unsigned count, cl_event event)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == event)
            list[i--] = list[--count];
    return count;
}

static void hold_locked(struct queue_record *queue, cl_event event)
{
    if (!listed(queue->held_by, queue->held_count, event) &&
        add_event(&queue->held_by, &queue->held_capacity, queue->held_count, event))
        queue->held_count++;
}

void holds_note(cl_command_queue handle, cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; events && i < count; i++) {
        /* Asked before the lock: the event's queue is the driver's knowledge. User events have none. */
        cl_command_queue of = NULL;
        struct event_record *ours = registry_get(RECORD_EVENT, events[i]);
        if (ours)
            of = ours->queue;
        else if (os_is_wine() || os_readable(events[i], sizeof(void *))) /* Wine's host memory is not to be seen from here */
            below()->clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof(of), &of, NULL);
        record_put(ours);
        os_lock(&registry_lock);
        struct queue_record *queue = find_locked(handle);
        struct queue_record *other = of ? find_locked(of) : NULL;
        if (queue && find_pending_locked(events[i]))
            hold_locked(queue, events[i]);
        for (unsigned k = 0; queue && other && other != queue && k < other->held_count; k++)
            hold_locked(queue, other->held_by[k]);
        os_unlock(&registry_lock);
    }
}

bool queue_held(const struct queue_record *queue)
{
    if (!holds_possible())
        return false;
    os_lock(&registry_lock);
    const bool held = queue->held_count != 0;
    os_unlock(&registry_lock);
    return held;
}

bool holds_copy(const struct queue_record *queue, cl_event **events, unsigned *count)
{
    os_lock(&registry_lock);
    *count = queue->held_count;
    *events = malloc((*count + 1) * sizeof(**events)); /* never nothing, which malloc may answer with NULL */
    if (*events && *count)
        memcpy(*events, queue->held_by, *count * sizeof(**events));
    os_unlock(&registry_lock);
    return *events != NULL;
}

unsigned holds_left_locked(const struct queue_record *queue, cl_event *events, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!listed(queue->held_by, queue->held_count, events[i]))
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
        held = held || listed(queue->held_by, queue->held_count, by[i]);
    os_unlock(&registry_lock);
    return held;
}

static void let_go(struct record *record, void *event)
{
    struct queue_record *queue = (struct queue_record *)record;
    queue->held_count = without(queue->held_by, queue->held_count, event);
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
