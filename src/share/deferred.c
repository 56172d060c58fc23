/* Commands that can't end in their call: a release whose queue waits for a user event, and what follows it on the same
 * objects.
 *
 * In OpenCL they are complete: their reads and writes are enqueued, and behind them a barrier waits for the `gate`, a
 * user event of ours, so that events and later commands of the queue keep their order. Direct3D's part runs when the
 * last user event that held the queue before the command is set, inside that call: only such a call can set the queue
 * free, and when it returns Direct3D sees the result. In a callback nobody may wait: there it is begun, and whoever ends
 * OpenCL's part goes on with Direct3D's. So there is no thread of ours that could touch a Direct3D device. */
#include "share/command.h"

#include "log.h"

#include <stdlib.h>

struct deferred {
    struct command command; /* its own lists and holds */
    bool release;
    cl_event gate;          /* owned */
    cl_event *parts;        /* owned, one more than objects. First a marker: complete when the commands before it are, of
                               an acquire with its wait list. Then the reads or writes of the objects, as far as they are
                               enqueued */
    cl_command_queue own;   /* owned; of an acquire: for its writes, since the application's queue waits at the gate */
    bool written;           /* an acquire's writes are enqueued */
    bool done;              /* what the gate will say */
    atomic_bool failed;     /* one of the parts has */
    atomic_uint left;       /* parts that a command begun in a callback still waits for */
    atomic_uint holds;

    /* Guarded by registry_lock. */
    cl_event *waits;        /* what held the queue when the command was enqueued, and is not over. What holds it since then
                               comes after the command */
    unsigned wait_count;
    unsigned number;        /* in the order of their calls */
    bool begun;             /* somebody runs it */
    bool coming;            /* see coming_locked */
    struct deferred *after;
};

/* In the order of their calls. Guarded by registry_lock. */
static struct deferred *list;
static unsigned numbers;
/* Those that ended in a callback. rusticl 22.3 calls back with the event locked, which can't be given back there. Guarded by
 * registry_lock; whether there are any may be read without it. */
static struct deferred *spent;
static atomic_bool any_spent;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

static void put(struct deferred *d)
{
    if (atomic_fetch_sub_explicit(&d->holds, 1, memory_order_acq_rel) != 1)
        return;
    for (cl_uint i = 0; i < d->command.count; i++)
        record_put(d->command.objects[i]);
    if (d->parts)
        event_release_all(d->command.count + 1, d->parts);
    event_put(d->gate);
    if (d->own)
        below()->clReleaseCommandQueue(d->own);
    record_put(d->command.queue);
    free(d->command.objects);
    free(d->parts);
    free(d->waits);
    free(d);
}

/* A copy of the command that outlives its call. */
static struct deferred *make(const struct command *c, bool release)
{
    struct deferred *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    atomic_store_explicit(&d->holds, 1, memory_order_relaxed);
    d->release = release;
    d->command = *c;
    d->command.first = NULL;
    d->command.wait = NULL;
    d->command.wait_count = 0;
    d->command.event = NULL;
    record_hold(c->queue);
    d->command.count = 0;
    d->command.objects = calloc(c->count, sizeof(struct object_record *));
    d->parts = calloc(c->count + 1, sizeof(*d->parts));
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (d->command.objects && d->parts && holds_copy(c->queue, &d->waits, &d->wait_count))
        d->gate = below()->clCreateUserEvent(c->queue->context->head.handle, &status);
    if (!d->gate) {
        put(d);
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
    d->number = ++numbers;
    d->wait_count = holds_left_locked(d->command.queue, d->waits, d->wait_count);
    holds_add_gate_locked(d->command.queue, d->gate);
    for (cl_uint i = 0; i < d->command.count; i++) {
        d->command.objects[i]->state = state;
        d->command.objects[i]->deferred++;
    }
    os_unlock(&registry_lock);
    deferred_run(false);
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
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, 0, NULL, &d->parts[0]));
    command_set_rows(c, c->count, true);
    if (status == CL_SUCCESS)
        status = command_transfer(c, c->count, false, c->queue->head.handle, c->wait_count, c->wait, d->parts + 1);
    if (status == CL_SUCCESS)
        status = close_gate(c, d);
    if (status != CL_SUCCESS) {
        put(d);
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
                                                                  &d->parts[0]));
    if (status == CL_SUCCESS)
        status = close_gate(c, d);
    if (status != CL_SUCCESS) {
        put(d);
        return status;
    }
    append(d, OBJECT_ACQUIRED);
    return CL_SUCCESS;
}

/* ---- the second part ---- */

/* The events of OpenCL's part that have to be over before the next step. */
static cl_event *awaited(const struct deferred *d, cl_uint *count)
{
    const bool first = !d->release && !d->written;
    *count = d->release ? d->command.count + 1 : first ? 1 : d->command.count;
    return d->release || first ? d->parts : d->parts + 1;
}

/* OpenCL's reads are done or have failed; on success Direct3D gets the bytes. */
static void end_release(struct deferred *d)
{
    const struct command *c = &d->command;
    if (atomic_load(&d->failed)) {
        log_write(LOG_WARN, "%s: a command that it waits for has failed: the objects stay acquired", c->call);
        command_set_state(c, OBJECT_ACQUIRED);
        return;
    }
    d->done = command_store(c, c->count);
}

static cl_int write_all(struct deferred *d)
{
    const struct command *c = &d->command;
    cl_device_id device;
    cl_int status = below()->clGetCommandQueueInfo(c->queue->head.handle, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    if (status == CL_SUCCESS)
        d->own = below()->clCreateCommandQueue(c->queue->context->head.handle, device, 0, &status);
    if (d->own)
        status = command_transfer(c, c->count, true, d->own, 0, NULL, d->parts + 1);
    if (status == CL_SUCCESS)
        below()->clFlush(d->own);
    return log_next(c->call, "the write to an object", status);
}

/* What the acquire waits for is over: Direct3D's part, and the writes. */
static bool begin_writes(struct deferred *d)
{
    d->written = !atomic_load(&d->failed) && command_fetch(&d->command) && write_all(d) == CL_SUCCESS;
    return d->written;
}

static void end_acquire(struct deferred *d)
{
    const struct command *c = &d->command;
    d->done = d->written && !atomic_load(&d->failed);
    if (d->done)
        return;
    command_abandon(c, c->count);
    command_set_state(c, OBJECT_IDLE);
    log_write(LOG_WARN, "%s: the deferred acquire failed: the objects are not acquired", c->call);
}

/* Goes on when what was awaited is over. False: there is more to wait for. */
static bool step(struct deferred *d)
{
    if (d->release) {
        end_release(d);
        return true;
    }
    if (!d->written && begin_writes(d))
        return false;
    end_acquire(d);
    return true;
}

/* It stays in the list until its gate is over for all that wait for it. */
static void finish(struct deferred *d)
{
    const bool later = callback_runs_here();
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < d->command.count; i++)
        d->command.objects[i]->deferred--;
    os_unlock(&registry_lock);
    below()->clSetUserEventStatus(d->gate, d->done ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    holds_over(d->gate);
    os_lock(&registry_lock);
    struct deferred **place = &list;
    while (*place != d)
        place = &(*place)->after;
    *place = d->after;
    if (later) {
        d->after = spent;
        spent = d;
        atomic_store_explicit(&any_spent, true, memory_order_relaxed);
    }
    os_unlock(&registry_lock);
    if (!later)
        put(d);
}

/* ---- who runs it, and when ---- */

static bool share_objects(const struct deferred *a, const struct deferred *b)
{
    for (cl_uint i = 0; i < a->command.count; i++)
        for (cl_uint k = 0; k < b->command.count; k++)
            if (a->command.objects[i] == b->command.objects[k])
                return true;
    return false;
}

static bool ready_locked(const struct deferred *d)
{
    if (d->begun || d->wait_count)
        return false;
    /* Behind an earlier command on one of its objects it has to wait, even in a free queue. */
    for (const struct deferred *before = list; before != d; before = before->after)
        if (share_objects(before, d))
            return false;
    return true;
}

static struct deferred *next_ready(void)
{
    os_lock(&registry_lock);
    struct deferred *d = list;
    while (d && !ready_locked(d))
        d = d->after;
    if (d)
        d->begun = true;
    os_unlock(&registry_lock);
    if (d)
        queue_flush(d->command.queue);
    return d;
}

static void await_here(struct deferred *d, cl_event event)
{
    below()->clWaitForEvents(1, &event);
    if (event_status(event) < 0)
        atomic_store(&d->failed, true);
}

static void run_here(struct deferred *d)
{
    do {
        cl_uint count;
        cl_event *events = awaited(d, &count);
        /* One by one: a failed command may let later ones overtake those before it (PoCL 3.1). */
        for (cl_uint i = 0; i < count; i++)
            await_here(d, events[i]);
    } while (!step(d));
    finish(d);
}

static void run_ready_later(void);
static void run_later(struct deferred *d);

static void go_on(struct deferred *d)
{
    if (atomic_fetch_sub(&d->left, 1) != 1)
        return;
    if (!step(d)) {
        run_later(d);
        return;
    }
    finish(d);
    run_ready_later();
}

static void CL_CALLBACK part_over(cl_event event, cl_int status, void *data)
{
    struct callback_entry entry;
    struct deferred *d = data;
    (void)event;
    if (status < 0)
        atomic_store(&d->failed, true);
    callback_enter(&entry);
    go_on(d);
    callback_leave(&entry);
}

/* Whoever ends the last part goes on with the command. */
static void run_later(struct deferred *d)
{
    cl_uint count;
    cl_event *events = awaited(d, &count);
    atomic_store(&d->left, count + 1);
    for (cl_uint i = 0; i < count; i++) {
        if (below()->clSetEventCallback(events[i], CL_COMPLETE, part_over, d) == CL_SUCCESS)
            continue;
        await_here(d, events[i]);
        atomic_fetch_sub(&d->left, 1);
    }
    go_on(d);
}

static void run_ready_later(void)
{
    for (struct deferred *d = next_ready(); d; d = next_ready())
        run_later(d);
}

/* Whether a command comes to its end by itself: others run it, or all that it waits for. */
static bool coming_locked(const struct deferred *d)
{
    unsigned gates = 0;
    for (const struct deferred *before = list; before != d; before = before->after) {
        for (unsigned i = 0; i < d->wait_count; i++)
            gates += before->coming && d->waits[i] == before->gate;
        if (!before->coming && share_objects(before, d))
            return d->begun;
    }
    return d->begun || gates == d->wait_count;
}

/* The first command up to number `last` that is on its way, with a hold. */
static struct deferred *find_coming(unsigned last)
{
    struct deferred *found = NULL;
    os_lock(&registry_lock);
    for (struct deferred *d = list; d && !found; d = d->after) {
        d->coming = coming_locked(d);
        if (d->coming && d->number <= last)
            found = d;
    }
    if (found)
        atomic_fetch_add_explicit(&found->holds, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    return found;
}

static void run_ready_here(void)
{
    for (struct deferred *d = next_ready(); d; d = next_ready())
        run_here(d);
}

/* What a user event has set free may wait for a command that another thread runs, or be run by it. */
static void run_all(void)
{
    os_lock(&registry_lock);
    const unsigned last = numbers;
    os_unlock(&registry_lock);
    run_ready_here();
    for (struct deferred *d = find_coming(last); d; d = find_coming(last)) {
        below()->clWaitForEvents(1, &d->gate);
        put(d);
        run_ready_here();
    }
}

void deferred_sweep(void)
{
    if (!atomic_load_explicit(&any_spent, memory_order_relaxed) || callback_runs_here())
        return;
    os_lock(&registry_lock);
    struct deferred *d = spent;
    spent = NULL;
    atomic_store_explicit(&any_spent, false, memory_order_relaxed);
    os_unlock(&registry_lock);
    while (d) {
        struct deferred *after = d->after;
        put(d);
        d = after;
    }
}

void deferred_run(bool all)
{
    if (callback_runs_here())
        run_ready_later();
    else if (all)
        run_all();
    else
        run_ready_here();
}
