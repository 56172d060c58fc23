/* Acquires and releases that a user event blocks (defer/deferred.h). A deferred command that fails changes nothing: its
 * objects stay with their owner. A later one that then finds an object with the other side fails too. */
#include "share/command.h"

#include "log.h"

#include <stdlib.h>

struct deferred_command {
    struct deferred base;
    struct command command;      /* with its own lists */
    struct event_record *record; /* retained; of the application's event, or NULL */
    cl_command_queue transfers;  /* the queue of cld3d's for them; the context's */
    bool release;
    cl_uint end; /* the objects before it are moved; a release skips the others */
};

static bool same_surface(const struct object_record *a, const struct object_record *b)
{
    const struct surface *of = &a->transfer->surface, *other = &b->transfer->surface;
    return a == b || (a->context == b->context && of->resource == other->resource &&
                      of->desc.subresource == other->desc.subresource && of->desc.format == other->desc.format);
}

static bool share_surfaces(const struct command *a, const struct command *b)
{
    for (cl_uint i = 0; i < a->count; i++)
        for (cl_uint k = 0; k < b->count; k++)
            if (same_surface(a->objects[i], b->objects[k]))
                return true;
    return false;
}

static pending_mask follows_locked(const struct command *c)
{
    pending_mask gates = 0;
    for (const struct deferred *d = deferred_first_locked(); d; d = d->after)
        if (d->queue->context == c->queue->context && share_surfaces(&((const struct deferred_command *)d)->command, c))
            gates |= deferred_gate_locked(d);
    return gates;
}

pending_mask command_follows(const struct command *c)
{
    if (!user_event_pending())
        return 0;
    os_lock(&registry_lock);
    const pending_mask gates = follows_locked(c);
    os_unlock(&registry_lock);
    return gates;
}

/* ---- running ---- */

/* OpenCL's part, in a queue of cld3d's: the application's waits at the gate. */
static bool move(const struct command *c, const struct deferred_command *d)
{
    struct event_list done;
    event_list_open(&done);
    const struct enqueueing to = {.queue = d->transfers, .done = &done};
    const cl_int status = d->release ? command_cl_give(c, d->end, &to) : command_cl_take(c, &to);
    below()->clFlush(d->transfers);
    const bool ended = event_list_await(&done); /* after a failure too: they use the transports' memory */
    event_list_close(&done);
    return status == CL_SUCCESS && ended;
}

static bool direct3d_fails(const struct deferred_command *d)
{
    if (d->record)
        d->record->failure = CL_OUT_OF_RESOURCES;
    return false;
}

static bool run_release(struct deferred_command *d)
{
    const struct command *c = &d->command;
    if (!move(c, d))
        return false;
    const bool done = command_d3d_take(c, d->end) || direct3d_fails(d);
    command_undo(c, d->end);
    command_set_owner(c, false);
    return done;
}

static bool run_acquire(struct deferred_command *d)
{
    const struct command *c = &d->command;
    if (!command_d3d_give(c))
        return direct3d_fails(d);
    if (!move(c, d)) {
        command_undo(c, 0);
        return false;
    }
    command_set_owner(c, true);
    return true;
}

/* Bytes that OpenCL has written and that did not reach Direct3D are copied by the next release. */
static void keep_written(const struct command *c)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++)
        c->objects[i]->written = true;
    os_unlock(&registry_lock);
}

static bool run(struct deferred *base, bool failed)
{
    struct deferred_command *d = (struct deferred_command *)base;
    const struct command *c = &d->command;
    bool done = false;
    for (cl_uint i = 0; i < c->count && d->release && !failed; i++)
        object_end_acquire(c->objects[i]);
    if (!failed && command_owner_is(c, d->release))
        done = d->release ? run_release(d) : run_acquire(d);
    if (!done && d->record)
        event_fail(d->record);
    if (!done) {
        log_write(LOG_WARN, "%s: the deferred command, or one before it, has failed: the objects keep their owner",
                  c->call);
        keep_written(c);
    }
    command_finish(c, false, OBJECT_IDLE);
    /* Before the gate opens: a program that has waited for the command expects the surfaces of released objects to be
     * its own, for example to resize a swap chain. Other threads still find the command, but no objects in it. */
    const cl_uint count = c->count;
    os_lock(&registry_lock);
    d->command.count = 0;
    os_unlock(&registry_lock);
    for (cl_uint i = 0; i < count; i++)
        record_release(c->objects[i]);
    return done;
}

/* ---- deferring ---- */

static void free_command(struct deferred *base)
{
    struct deferred_command *d = (struct deferred_command *)base;
    deferred_close(base);
    record_release(d->record);
    command_end(&d->command);
    free(d);
}

/* A copy of the command that outlives its call. */
static struct deferred_command *make(const struct command *c, bool release)
{
    struct deferred_command *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->base = (struct deferred){.queue = c->queue, .call = c->call, .run = run, .free = free_command};
    d->command = (struct command){.api = c->api, .call = c->call, .type = c->type, .queue = c->queue};
    d->release = release;
    event_list_open(&d->base.waits);
    record_retain(c->queue); /* of the base */
    record_retain(c->queue); /* of the command */
    if (!command_lists_make(&d->command, c->count)) {
        free_command(&d->base);
        return NULL;
    }
    for (; d->command.count < c->count; d->command.count++) {
        d->command.objects[d->command.count] = c->objects[d->command.count];
        d->command.transfers[d->command.count] = c->transfers[d->command.count];
        record_retain(c->objects[d->command.count]);
    }
    return d;
}

/* A release also waits for the transfers of acquires in other queues. */
static cl_int wait_for_acquires(struct deferred_command *d)
{
    bool known = true;
    for (cl_uint i = 0; i < d->command.count && d->release && known; i++) {
        struct acquire_event *acquire = object_acquire(d->command.objects[i]);
        known = !acquire || event_list_retain(&d->base.waits, acquire->event);
        acquire_event_put(acquire);
    }
    return known ? CL_SUCCESS : log_refuse(d->command.call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
}

static cl_int enqueue(struct deferred_command *d, const struct command *c)
{
    cl_int status;
    d->transfers = context_own_queue(c->queue->context->head.handle, &status);
    status = d->transfers ? wait_for_acquires(d) : log_next(c->call, "clCreateCommandQueue", status);
    if (status == CL_SUCCESS)
        status = deferred_enqueue(&d->base, c->wait_count, c->wait);
    if (status == CL_SUCCESS && c->event)
        status = log_next(c->call, "clRetainEvent", below()->clRetainEvent(d->base.event));
    return status;
}

/* From now on the command may run. */
static void append(struct deferred_command *d, const struct command *c, const struct pending_command *pending)
{
    os_lock(&registry_lock);
    pending_mask mask = follows_locked(c);
    for (cl_uint i = 0; i < c->count; i++) {
        c->objects[i]->state = d->release ? OBJECT_IDLE : OBJECT_ACQUIRED;
        if (d->release && c->objects[i]->acquire)
            mask |= pending_of_locked(c->objects[i]->acquire->event);
    }
    deferred_append_locked(&d->base, pending, mask);
    os_unlock(&registry_lock);
}

cl_int command_defer(struct command *c, struct pending_command *pending, bool release)
{
    if (!pending->queue)
        pending_hold(pending, c->queue, PENDING_AFTER_ALL | PENDING_BARRIER, c->wait_count, c->wait, false);
    struct deferred_command *d = make(c, release);
    const cl_int status =
        d ? enqueue(d, c) : log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    if (status != CL_SUCCESS) {
        pending_end(pending, false, NULL);
        if (d)
            free_command(&d->base);
        command_finish(c, true, release ? OBJECT_ACQUIRED : OBJECT_IDLE);
        return status;
    }
    const cl_event event = d->base.event;
    if (c->event) {
        command_publish(c, event);
        d->record = registry_get(RECORD_EVENT, event);
    }
    /* Behind another deferred command everything is copied: an earlier release may fail. */
    d->end = !release || command_follows(c) ? c->count : command_sort_written(&d->command);
    log_write(LOG_DEBUG, "%s: the queue waits for a user event; ownership changes when that is set", c->call);
    append(d, c, pending);
    pending_end(pending, true, event);
    atomic_store(&c->queue->unflushed, true);
    deferred_run();
    return CL_SUCCESS;
}
