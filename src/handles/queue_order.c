/* In-order queues whose commands may have failed: PoCL loses their order (QUIRK_POCL_ORDER). */
#include "handles/handles.h"

#include "next/query.h"
#include "handles/handle_kind.h"

atomic_bool events_failed; /* nothing else makes a command fail in PoCL */

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
    if (devices == 1 && commands_known())
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
    return blockers_possible() && !commands_known();
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
