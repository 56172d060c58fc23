#include "defer/deferred.h"

#include "drivers/drivers.h"
#include "log.h"

static struct deferred *first; /* in the order of their calls; guarded by registry_lock */

struct deferred *deferred_first_locked(void)
{
    return first;
}

pending_mask deferred_gate_locked(const struct deferred *d)
{
    return d->gate_record->bit;
}

void deferred_clear_locked(pending_mask bit)
{
    for (struct deferred *d = first; d; d = d->after)
        d->mask &= ~bit;
}

pending_mask deferred_masks_locked(void)
{
    pending_mask masks = 0;
    for (const struct deferred *d = first; d; d = d->after)
        masks |= d->mask;
    return masks;
}

/* ---- enqueueing ---- */

/* The marker waits for the queue alone: some drivers do not bear a command whose wait list fails. The events of the list
 * are awaited themselves. */
static cl_int enqueue_marker(struct deferred *d, cl_uint wait_count, const cl_event *wait)
{
    cl_event marker;
    bool known = event_list_reserve(&d->waits, wait_count + 1);
    for (cl_uint i = 0; i < wait_count && known; i++)
        known = event_list_retain(&d->waits, wait[i]);
    if (!known)
        return log_refuse(d->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    const cl_int status = log_next(d->call, "clEnqueueMarkerWithWaitList",
                                   below()->clEnqueueMarkerWithWaitList(d->queue->head.handle, 0, NULL, &marker));
    if (status != CL_SUCCESS)
        return status;
    event_list_add(&d->waits, marker);
    /* Some drivers report the end of a batch's commands when all of them have ended: the gate is in the next batch. */
    below()->clFlush(d->queue->head.handle);
    return CL_SUCCESS;
}

cl_int deferred_enqueue(struct deferred *d, cl_uint wait_count, const cl_event *wait)
{
    cl_int status;
    d->gate = below()->clCreateUserEvent(d->queue->context->head.handle, &status);
    if (!d->gate)
        return log_next(d->call, "clCreateUserEvent", status);
    os_lock(&registry_lock);
    d->number = pending_number_locked();
    os_unlock(&registry_lock);
    d->gate_record = user_event_make(d->gate);
    if (!d->gate_record)
        return log_refuse(d->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    status = enqueue_marker(d, wait_count, wait);
    if (status == CL_SUCCESS)
        status = log_next(d->call, "clEnqueueBarrierWithWaitList",
                          below()->clEnqueueBarrierWithWaitList(d->queue->head.handle, 1, &d->gate, &d->event));
    return status;
}

/* Sets the gate, or gives up one that is in no queue. As a user event it blocks nothing any longer before that. */
static void open_gate(struct deferred *d, cl_int status)
{
    os_lock(&registry_lock);
    user_event_end_locked(d->gate_record);
    os_unlock(&registry_lock);
    registry_app_release(RECORD_USER_EVENT, d->gate);
    d->gate_record = NULL;
    const cl_int set = user_event_set(d->gate, status);
    if (set != CL_SUCCESS)
        log_write(LOG_ERROR, "%s: the driver cannot set a user event (%d): the command's event never ends", d->call,
                  set);
}

void deferred_close(struct deferred *d)
{
    if (d->gate_record) /* the command was refused, and what is behind it goes on */
        open_gate(d, CL_COMPLETE);
    event_put(d->gate);
    event_put(d->event);
    event_list_close(&d->waits);
    record_release(d->queue);
}

void deferred_append_locked(struct deferred *d, const struct pending_command *command, pending_mask mask)
{
    struct deferred **place = &first;
    while (*place)
        place = &(*place)->after;
    *place = d;
    d->mask = mask | pending_add_locked(command, d->gate_record);
    deferred_assign_locked();
}

/* ---- running ---- */

enum { OWN_THREAD = 1 }; /* as `runner`: a thread of cld3d's, for callbacks. os_thread never gives it */

static _Thread_local bool is_own_thread;

static uintptr_t runner_here(void)
{
    return is_own_thread || callback_runs_here() ? OWN_THREAD : os_thread();
}

void deferred_assign_locked(void)
{
    for (struct deferred *d = first; d; d = d->after)
        if (!d->runner && pending_is_free_locked(d->mask, d->number))
            d->runner = runner_here();
}

/* The next command of a runner, or NULL. */
static struct deferred *find_next_locked(uintptr_t runner)
{
    struct deferred *d = first;
    while (d && (d->begun || d->runner != runner))
        d = d->after;
    return d;
}

static struct deferred *begin_next(uintptr_t runner)
{
    os_lock(&registry_lock);
    struct deferred *d = find_next_locked(runner);
    if (d)
        d->begun = true;
    os_unlock(&registry_lock);
    return d;
}

/* Whether a thread finishes the event's queue, and may keep others from waiting for it until this one opens the gate. */
static bool is_finished(cl_event event)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, event_queue(event));
    const bool finished = queue && atomic_load(&queue->finishing) != 0;
    record_release(queue);
    return finished;
}

/* Those that wait for the command fail too, and in a queue in order those behind it, even if the driver does not report that. The program
 * may have released the event, and with it what cld3d knows of it. */
static void fail_later_locked(const struct deferred *d)
{
    for (struct deferred *later = d->after; later; later = later->after) {
        later->failed = later->failed || (later->queue == d->queue && !queue_out_of_order(d->queue));
        for (cl_uint i = 0; i < later->waits.count; i++)
            later->failed = later->failed || later->waits.events[i] == d->event;
    }
}

static void run(struct deferred *d)
{
    bool (*const held)(cl_event) = context_has(d->queue->context, QUIRK_FINISH_HOLDS_QUEUE) ? is_finished : NULL;
    bool failed = d->failed;
    queues_flush(d->queue->context);
    for (cl_uint i = 0; i < d->waits.count; i++)
        failed = !event_await_unless(d->waits.events[i], held) || failed;
    failed = failed || event_list_failed(d->waits.count, d->waits.events); /* of deferred commands, too */
    const bool done = d->run(d, failed);
    os_lock(&registry_lock);
    if (!done)
        fail_later_locked(d);
    struct deferred **place = &first;
    while (*place != d)
        place = &(*place)->after;
    *place = d->after;
    os_unlock(&registry_lock);
    open_gate(d, done || context_has(d->queue->context, QUIRK_FAILED_COMMANDS_CRASH)
                     ? CL_COMPLETE
                     : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    d->free(d);
}

static bool working; /* a thread of cld3d's runs commands; guarded by registry_lock */

static void work(void *data)
{
    bool more = true;
    (void)data;
    is_own_thread = true;
    while (more) {
        struct deferred *d = begin_next(OWN_THREAD);
        if (d)
            run(d);
        os_lock(&registry_lock);
        more = working = d || find_next_locked(OWN_THREAD);
        os_unlock(&registry_lock);
    }
}

void deferred_run(void)
{
    const uintptr_t runner = runner_here();
    if (runner != OWN_THREAD) {
        for (struct deferred *d = begin_next(runner); d; d = begin_next(runner))
            run(d);
        return;
    }
    os_lock(&registry_lock);
    const bool starts = !working && find_next_locked(OWN_THREAD);
    working = working || starts;
    os_unlock(&registry_lock);
    if (!starts)
        return;
    os_stay_loaded();
    if (os_thread_start(work, NULL))
        return;
    log_write(LOG_ERROR, "a thread cannot be started: deferred commands wait for the next callback");
    os_lock(&registry_lock);
    working = false;
    os_unlock(&registry_lock);
}
