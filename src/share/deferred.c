/* Acquires and releases in a queue that a user event blocks.
 *
 * The program's call must not wait for a user event, because the program may set it right afterwards. So the call
 * enqueues a marker, which completes when the commands before it have completed, and behind it a gate. The gate is a
 * user event of cld3d's that blocks the rest of the queue, so that later commands keep their order. Everything else
 * happens between the marker and the gate, for each object one deferred command after the other: Direct3D's part, and
 * OpenCL's part in a queue of cld3d's.
 *
 * A deferred command begins when the last user event that blocked the queue before it is set, inside that call: only
 * such a call can unblock the queue, and when it returns, Direct3D sees the result. In a callback no thread may wait.
 * There the command is only begun, and the thread that ends OpenCL's part continues with Direct3D's: a thread of the
 * driver, or one of cld3d's if the driver does not report that a command has failed.
 *
 * A deferred command that fails changes nothing: its objects stay with their owner. A later command of the chain that
 * then finds an object with the other side fails in the same way. */
#include "share/deferred.h"

#include "log.h"
#include "transport/commands.h"

#include <stdlib.h>

struct deferred *deferred_list;
static unsigned numbers; /* guarded by registry_lock */

void deferred_put(void *what)
{
    struct deferred *d = what;
    if (!d || atomic_fetch_sub_explicit(&d->references, 1, memory_order_acq_rel) != 1)
        return;
    event_list_close(&d->waits);
    event_list_close(&d->transfers);
    event_put(d->gate);
    own_queue_put(d->transfer_queue);
    command_lists_free(&d->command);
    record_release(d->command.queue);
    blocker_put(d->blocked_by);
    blocker_put(d->gate_blocker);
    record_release(d->event);
    free(d);
}

/* A copy of the command that outlives its call. */
static struct deferred *make(const struct command *c, enum deferred_kind kind)
{
    struct deferred *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    atomic_store_explicit(&d->references, 1, memory_order_relaxed);
    d->kind = kind;
    d->command = (struct command){.api = c->api, .call = c->call, .type = c->type, .queue = c->queue};
    record_retain(c->queue);
    event_list_open(&d->waits);
    event_list_open(&d->transfers);
    if (command_lists_copy(&d->command, c))
        return d;
    deferred_put(d);
    return NULL;
}

/* Adds the command to the list; its objects show `state` from now on. Whatever blocked the queue may have ended by now;
 * then no other call would run the command, so this one does. */
static void append(struct deferred *d, enum object_state state)
{
    os_lock(&registry_lock);
    struct deferred **place = &deferred_list;
    while (*place)
        place = &(*place)->after;
    *place = d;
    d->number = ++numbers;
    for (cl_uint i = d->end; i < d->command.count && d->kind == DEFERRED_RELEASE; i++)
        if (d->command.objects[i]->written)
            d->end = d->command.count; /* an earlier release has failed since `end` was found */
    atomic_fetch_add(&queue_deferred, 1);
    command_set_state_locked(&d->command, state);
    os_unlock(&registry_lock);
    deferred_run(0);
}

/* Puts the gate into the queue and passes its event to the application. The commands before it are flushed first:
 * rusticl 22.3 reports the end of a flushed batch's commands only when all of them have ended, and the gate may be
 * opened by a thread that waits for such a report. */
static cl_int close_gate(struct command *c, struct deferred *d)
{
    cl_event end = NULL;
    struct blocker *blocker;
    cl_int status = blocker_begin(c->call, c->queue->head.handle, ORDER_BEFORE_ALL, 1, &d->gate, true, &blocker);
    if (status != CL_SUCCESS)
        return status;
    queue_flush_alone(c->queue->head.handle);
    blocker_turn(blocker, true, 1, &d->gate);
    status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                      below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, 1, &d->gate, &end));
    blocker_end(blocker, status, end);
    if (status != CL_SUCCESS)
        return status;
    command_publish(c, end);
    d->event = c->event ? registry_get(RECORD_EVENT, end) : NULL;
    return CL_SUCCESS;
}

/* Adds the queue's earlier barriers, which PoCL ignores for the gate's barrier: those that a user event blocks, and in
 * PoCL also the last one, by a command behind it that does nothing. */
static cl_int add_barriers(struct command *c, struct deferred *d)
{
    const struct enqueueing behind = {.queue = c->queue->head.handle, .done = &d->waits};
    cl_int status = CL_SUCCESS;
    if (!blocked_list_events(c->queue, ORDER_BEFORE_ALL, &d->waits))
        status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    else if (context_has(c->queue->context, QUIRK_POCL_EVENTS))
        status = log_next(c->call, "clEnqueueFillBuffer", commands_placeholder_apart(&behind));
    d->barriers = d->waits.count;
    return status;
}

/* An acquire in an out-of-order queue runs after its wait list and the barriers of its queue, and after nothing else. A
 * marker would wait for more. */
static cl_int wait_for_list(struct command *c, struct deferred *d)
{
    cl_int status = command_enter(c, ORDER_BEFORE_ALL);
    if (status != CL_SUCCESS)
        return status;
    d->blocked_by = blocker_keep(c->blocker);
    status = add_barriers(c, d);
    for (cl_uint i = 0; i < c->wait_count && status == CL_SUCCESS; i++)
        if (!event_list_retain(&d->waits, c->wait[i]))
            status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    command_leave(c);
    if (status == CL_SUCCESS)
        command_blocker_end(c, CL_SUCCESS, NULL);
    return status;
}

/* Enqueues the marker that completes when everything has completed that the command must follow, in its queue and its
 * wait list. */
static cl_int enqueue_marker(struct command *c, struct deferred *d)
{
    cl_event marker, passed = NULL;
    if (!event_list_reserve(&d->waits, 1))
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    cl_int status = d->kind == DEFERRED_RELEASE ? command_barrier(c, &passed) : CL_SUCCESS;
    if (status == CL_SUCCESS)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &marker));
    if (status != CL_SUCCESS && passed)
        command_blocker_end(c, CL_SUCCESS, passed); /* the barrier is in the queue */
    event_put(passed);
    if (status != CL_SUCCESS)
        return status;
    event_list_add(&d->waits, marker);
    if (queue_loses_order(c->queue))
        blocker_stands_for_earlier(c->blocker);
    if (queue_loses_order(c->queue) && !blocked_list_events(c->queue, ORDER_ALONE, &d->waits))
        status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    command_blocker_end(c, CL_SUCCESS, marker);
    if (c->event && queue_profiles(c->queue) && below()->clRetainEvent(marker) == CL_SUCCESS)
        c->first = marker;
    return status;
}

/* Makes the command run after everything in the queue. */
static cl_int wait_for_queue(struct command *c, struct deferred *d)
{
    cl_int status = command_enter(c, ORDER_AFTER_ALL | ORDER_BEFORE_ALL);
    d->blocked_by = blocker_keep(c->blocker);
    if (status == CL_SUCCESS)
        status = enqueue_marker(c, d);
    command_leave(c);
    return status;
}

/* Makes the command wait for transfers of earlier acquires, which may be in other queues. */
static cl_int wait_for_uploads(struct deferred *d)
{
    bool added = true;
    for (cl_uint i = 0; i < d->command.count && added; i++) {
        struct upload *upload = object_upload(d->command.objects[i]);
        added = !upload || event_list_retain(&d->waits, upload->event);
        upload_put(upload);
    }
    return added ? CL_SUCCESS : log_refuse(d->command.call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
}

/* Determines what the command waits for, and enqueues its gate. */
static cl_int enqueue(struct command *c, struct deferred *d)
{
    cl_int status;
    d->gate = below()->clCreateUserEvent(c->queue->context->head.handle, &status);
    if (!d->gate)
        return log_next(c->call, "clCreateUserEvent", status);
    d->gate_blocker = blocker_user_event(d->gate);
    if (!d->gate_blocker)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    if (d->kind == DEFERRED_ACQUIRE && queue_out_of_order(c->queue))
        status = wait_for_list(c, d);
    else
        status = wait_for_queue(c, d);
    if (status == CL_SUCCESS)
        status = wait_for_uploads(d);
    return status == CL_SUCCESS ? close_gate(c, d) : status;
}

cl_int defer(struct command *c, enum deferred_kind kind)
{
    struct deferred *d = make(c, kind);
    if (!d)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    const cl_int status = enqueue(c, d);
    if (status != CL_SUCCESS) {
        blockers_set(blocker_keep(d->gate_blocker), true, 0); /* the gate is in no queue */
        event_set_unset(d->gate);
        deferred_put(d);
        return status;
    }
    d->end = kind == DEFERRED_RELEASE ? command_sort_written(&d->command) : d->command.count;
    log_write(LOG_DEBUG, "%s: the queue waits for a user event; ownership changes when that is set", c->call);
    append(d, kind == DEFERRED_ACQUIRE ? OBJECT_ACQUIRED : OBJECT_IDLE);
    return CL_SUCCESS;
}

static bool same_surface(const struct object_record *a, const struct object_record *b)
{
    const struct surface *of = &a->transfer->surface, *other = &b->transfer->surface;
    return a->context == b->context && of->resource == other->resource &&
           of->desc.subresource == other->desc.subresource && of->desc.format == other->desc.format;
}

/* Whether a deferred release will write to the surface of one of the objects of `c`. */
static bool writes_locked(const struct deferred *d, const struct command *c)
{
    for (cl_uint i = 0; i < d->command.count && d->kind == DEFERRED_RELEASE && !d->over; i++)
        for (cl_uint k = 0; k < c->count; k++)
            if (same_surface(d->command.objects[i], c->objects[k]))
                return true;
    return false;
}

bool deferred_writes_to(const struct command *c)
{
    bool writes = false;
    os_lock(&registry_lock);
    for (const struct deferred *d = deferred_list; d && !writes; d = d->after)
        writes = writes_locked(d, c);
    os_unlock(&registry_lock);
    return writes;
}

struct deferred *deferred_undo_prepare(const struct command *c)
{
    struct deferred *undo = make(c, DEFERRED_UNDO);
    if (undo)
        undo->blocked_by = blocker_keep(c->blocker);
    return undo;
}

void deferred_undo_begin(struct deferred *undo)
{
    append(undo, OBJECT_IDLE);
}
