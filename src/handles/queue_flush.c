/* Which queues have to be flushed.
 *
 * A release waits in the call until OpenCL is done. That wait cannot end while the queue's commands wait for those of
 * another queue that has not been flushed. Each queue records these other queues. No further queue is flushed: batching
 * is left to a queue's owner, and rusticl 22.3 lets a blocking command return before its bytes are there if another
 * thread flushes its queue at that moment. */
#include "handles/handles.h"

#include "next/query.h"
#include "handles/handle_kind.h"

#include <stdlib.h>

/* How many handles all `awaits` have. Guarded by registry_lock. */
static unsigned awaited_count;

void queue_awaits_none(struct queue_record *queue)
{
    os_lock(&registry_lock);
    awaited_count -= queue->awaits.count;
    os_unlock(&registry_lock);
    free(queue->awaits.list);
    queue->awaits = (struct handle_set){0};
}

static void stop_awaiting(struct record *record, void *handle)
{
    struct handle_set *awaits = &((struct queue_record *)record)->awaits;
    const unsigned before = awaits->count;
    handle_set_remove(awaits, handle);
    awaited_count -= before - awaits->count;
}

void queue_was_flushed(cl_command_queue handle)
{
    os_lock(&registry_lock);
    if (awaited_count)
        registry_each_locked(RECORD_QUEUE, stop_awaiting, handle);
    os_unlock(&registry_lock);
}

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

/* The queue that the calling thread finishes; only compared. The thread itself may flush it: a blocking command on an
 * emulated image does so before it waits in the driver. */
static _Thread_local const struct queue_record *finishing_here;

/* `in_callback`: the driver may have called this thread back while it holds the queue's lock. */
static bool finished_by_another_locked(const struct queue_record *queue, bool in_callback)
{
    return queue && queue->finishing && (finishing_here != queue || in_callback);
}

/* False: the flush is left to a thread that waits for the queue. *queue: for end_flush, or NULL. */
static bool begin_flush(cl_command_queue handle, struct queue_record **queue)
{
    const bool in_callback = callback_runs_here();
    os_lock(&registry_lock);
    *queue = registry_get_locked(RECORD_QUEUE, handle);
    const bool left = finished_by_another_locked(*queue, in_callback);
    if (left)
        (*queue)->owed = true;
    else if (*queue)
        (*queue)->flushing++;
    os_unlock(&registry_lock);
    if (!left)
        return true;
    record_release(*queue);
    return false;
}

static void end_flush(struct queue_record *queue)
{
    os_lock(&registry_lock);
    if (queue)
        queue->flushing--;
    os_unlock(&registry_lock);
    record_release(queue);
}

void queue_flush_alone(cl_command_queue handle)
{
    struct queue_record *queue;
    if (!begin_flush(handle, &queue))
        return;
    queue_insist(below()->clFlush, handle);
    end_flush(queue);
}

static bool is_being_flushed(struct queue_record *queue)
{
    os_lock(&registry_lock);
    const bool flushed = queue->flushing != 0;
    os_unlock(&registry_lock);
    return flushed;
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
    while (is_being_flushed(queue))
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
    bool noted = flushed || handle_set_add(&queue->awaits, other->head.handle);
    for (unsigned i = 0; i < other->awaits.count; i++)
        noted = handle_set_add(&queue->awaits, other->awaits.list[i]) && noted;
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
