/* Commands that can't end in their call: a release whose queue waits for a user event, and what follows it on the same
 * objects.
 *
 * In OpenCL they are complete: their reads and writes are enqueued, and behind them a barrier waits for the `gate`, a
 * user event of ours, so that events and later commands of the queue keep their order. Direct3D's part runs when the
 * last user event that holds the queue is set, inside that call: only such a call can set the queue free, and when it
 * returns Direct3D sees the result. So no thread of ours ever touches a Direct3D device. */
#include "share/command.h"

#include "log.h"

#include <stdlib.h>

struct deferred {
    struct command command; /* its own lists and holds */
    bool release;
    cl_event gate;          /* owned */
    cl_event start;         /* owned; complete when the commands before it are: of an acquire with its wait list */
    cl_event *reads;        /* owned; of a release */
    cl_event *waits;        /* what held the queue when the command was enqueued, and is not over: guarded by
                               registry_lock. What holds it since then comes after the command */
    unsigned wait_count;
    struct deferred *after;
};

/* In the order of their calls. Guarded by registry_lock. */
static struct deferred *list;
/* Runs them one after the other, though several threads set user events. Free while a gate is set: the driver may call
 * the application back from there, and that may set the next user event. */
static os_mutex running = OS_MUTEX_INIT;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

static void destroy(struct deferred *d)
{
    if (!d)
        return;
    for (cl_uint i = 0; i < d->command.count; i++)
        record_put(d->command.objects[i]);
    if (d->reads)
        event_release_all(d->command.count, d->reads);
    event_release_all(1, &d->gate);
    event_release_all(1, &d->start);
    record_put(d->command.queue);
    free(d->command.objects);
    free(d->reads);
    free(d->waits);
    free(d);
}

/* A copy of the command that outlives its call. */
static struct deferred *make(const struct command *c, bool release)
{
    struct deferred *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->release = release;
    d->command = *c;
    d->command.first = NULL;
    d->command.wait = NULL;
    d->command.wait_count = 0;
    d->command.event = NULL;
    record_hold(c->queue);
    d->command.count = 0;
    d->command.objects = calloc(c->count, sizeof(struct object_record *));
    d->reads = release ? calloc(c->count, sizeof(*d->reads)) : NULL;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (d->command.objects && (d->reads || !release) && holds_copy(c->queue, &d->waits, &d->wait_count))
        d->gate = below()->clCreateUserEvent(c->queue->context->head.handle, &status);
    if (!d->gate) {
        destroy(d);
        return NULL;
    }
    for (; d->command.count < c->count; d->command.count++) {
        d->command.objects[d->command.count] = c->objects[d->command.count];
        record_hold(c->objects[d->command.count]);
    }
    return d;
}

/* The command stands in the list from now on, its objects are in `state`, and its gate holds the queue. What held the
 * queue may be over by now, and nobody else would run the command then. */
static void append(struct deferred *d, enum object_state state)
{
    os_lock(&registry_lock);
    struct deferred **place = &list;
    while (*place)
        place = &(*place)->after;
    *place = d;
    d->wait_count = holds_left_locked(d->command.queue, d->waits, d->wait_count);
    holds_add_gate_locked(d->command.queue, d->gate);
    for (cl_uint i = 0; i < d->command.count; i++) {
        d->command.objects[i]->state = state;
        d->command.objects[i]->deferred++;
    }
    os_unlock(&registry_lock);
    deferred_run();
}

void deferred_let_go_locked(cl_event event)
{
    for (struct deferred *d = list; d; d = d->after)
        for (unsigned i = 0; i < d->wait_count; i++)
            if (d->waits[i] == event)
                d->waits[i--] = d->waits[--d->wait_count];
}

/* Puts the gate into the queue and gives the application its event. */
static cl_int close_gate(struct command *c, struct deferred *d)
{
    cl_event end = NULL;
    const cl_int status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                                   below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, 1, &d->gate, &end));
    if (status != CL_SUCCESS)
        return status;
    if (c->event) {
        event_track(end, c->type, c->queue, c->first);
        c->first = NULL;
        *c->event = end;
    } else {
        event_put(end);
    }
    return CL_SUCCESS;
}

cl_int deferred_release(struct command *c)
{
    struct deferred *d = make(c, true);
    if (!d)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    cl_int status = command_barrier(c);
    if (status == CL_SUCCESS)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, 0, NULL, &d->start));
    command_set_rows(c, true);
    if (status == CL_SUCCESS)
        status = command_transfer(c, false, c->queue->head.handle, c->wait_count, c->wait, d->reads);
    if (status == CL_SUCCESS)
        status = close_gate(c, d);
    if (status != CL_SUCCESS) {
        destroy(d);
        return status;
    }
    log_write(LOG_DEBUG, "%s: the queue waits for a user event: Direct3D gets its bytes when that is set", c->call);
    append(d, OBJECT_IDLE);
    return CL_SUCCESS;
}

cl_int deferred_acquire(struct command *c)
{
    struct deferred *d = make(c, false);
    if (!d)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    cl_int status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                             below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait,
                                                                  &d->start));
    if (status == CL_SUCCESS)
        status = close_gate(c, d);
    if (status != CL_SUCCESS) {
        destroy(d);
        return status;
    }
    append(d, OBJECT_ACQUIRED);
    return CL_SUCCESS;
}

/* ---- the second part ---- */

/* OpenCL's reads are done or have failed; on success Direct3D gets the bytes. */
static bool end_release(struct deferred *d)
{
    const struct command *c = &d->command;
    if (below()->clWaitForEvents(c->count, d->reads) != CL_SUCCESS) {
        log_write(LOG_WARN, "%s: a command that it waits for has failed: the objects stay acquired", c->call);
        /* A failed command may let later ones overtake those before it (PoCL 3.1): let these be over. */
        below()->clWaitForEvents(1, &d->start);
        command_set_state(c, OBJECT_ACQUIRED);
        return false;
    }
    bool done = true;
    for (cl_uint i = 0; i < c->count; i++) {
        const bool stored = c->objects[i]->transport->store(&c->objects[i]->transfer);
        done = done && stored;
    }
    return done;
}

/* The writes go through a queue of their own, since the application's waits at the gate. */
static cl_int write_now(const struct command *c)
{
    cl_int status;
    cl_device_id device;
    cl_command_queue application = c->queue->head.handle;
    cl_event *writes = calloc(c->count, sizeof(*writes));
    if (!writes)
        return CL_OUT_OF_HOST_MEMORY;
    status = below()->clGetCommandQueueInfo(application, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    cl_command_queue own = NULL;
    if (status == CL_SUCCESS)
        own = below()->clCreateCommandQueue(c->queue->context->head.handle, device, 0, &status);
    if (own)
        status = command_transfer(c, true, own, 0, NULL, writes);
    if (own && status == CL_SUCCESS) {
        below()->clFlush(own);
        status = below()->clWaitForEvents(c->count, writes);
        event_release_all(c->count, writes);
    }
    if (own)
        below()->clReleaseCommandQueue(own);
    free(writes);
    return log_next(c->call, "the write to an object", status);
}

static bool end_acquire(struct deferred *d)
{
    const struct command *c = &d->command;
    bool done = below()->clWaitForEvents(1, &d->start) == CL_SUCCESS;
    cl_uint fetched = 0, arrived = 0;
    for (; done && fetched < c->count; fetched++)
        done = c->objects[fetched]->transport->fetch(&c->objects[fetched]->transfer);
    for (; done && arrived < c->count; arrived++)
        done = c->objects[arrived]->transport->arrive(&c->objects[arrived]->transfer);
    if (done)
        done = write_now(c) == CL_SUCCESS;
    if (!done) {
        command_abandon(c, arrived);
        command_set_state(c, OBJECT_IDLE);
        log_write(LOG_WARN, "%s: the deferred acquire failed: the objects are not acquired", c->call);
    }
    return done;
}

static bool ready_locked(const struct deferred *d)
{
    if (d->wait_count)
        return false;
    /* Behind an earlier command on one of its objects it has to wait, even in a free queue. */
    for (const struct deferred *before = list; before != d; before = before->after)
        for (cl_uint i = 0; i < before->command.count; i++)
            for (cl_uint k = 0; k < d->command.count; k++)
                if (before->command.objects[i] == d->command.objects[k])
                    return false;
    return true;
}

static struct deferred *next_ready(void)
{
    os_lock(&registry_lock);
    struct deferred **place = &list;
    while (*place && !ready_locked(*place))
        place = &(*place)->after;
    struct deferred *found = *place;
    if (found)
        *place = found->after;
    os_unlock(&registry_lock);
    return found;
}

/* With `running` held. */
static void run(struct deferred *d)
{
    context_flush(d->command.queue->context);
    const bool done = d->release ? end_release(d) : end_acquire(d);
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < d->command.count; i++)
        d->command.objects[i]->deferred--;
    os_unlock(&registry_lock);
    os_unlock(&running);
    below()->clSetUserEventStatus(d->gate, done ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    holds_over(d->gate);
    destroy(d);
    os_lock(&running);
}

void deferred_run(void)
{
    os_lock(&running);
    for (struct deferred *d = next_ready(); d; d = next_ready())
        run(d);
    os_unlock(&running);
}
