/* What a deferred command does: OpenCL's part, Direct3D's, and its end. */
#include "share/deferred.h"

#include "log.h"

struct event_list *deferred_awaited(struct deferred *d)
{
    return d->transferring ? &d->transfers : &d->waits;
}

/* OpenCL's part. Its events are awaited even if it fails in the middle. */
static void enqueue_transfers(struct deferred *d)
{
    const struct command *c = &d->command;
    cl_device_id device;
    cl_int status =
        below()->clGetCommandQueueInfo(c->queue->head.handle, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    d->transferring = true;
    if (status == CL_SUCCESS)
        d->transfer_queue = own_queue_make(c->queue->context->head.handle, device, 0, &status);
    const struct enqueueing to = {d->transfer_queue, 0, NULL, &d->transfers, true, false};
    if (log_next(c->call, "clCreateCommandQueue", status) == CL_SUCCESS)
        status = d->kind == DEFERRED_RELEASE ? command_cl_give(c, d->end, &to) : command_cl_take(c, &to);
    /* A driver may count the commands before as users of the objects until another command has run. */
    if (status == CL_SUCCESS && d->end && !d->transfers.count)
        status = command_marker(c, &to);
    if (d->transfer_queue)
        queue_flush_alone(d->transfer_queue);
    if (status != CL_SUCCESS)
        atomic_store(&d->failed, true);
}

/* Direct3D has failed: the event reports this, and not a failure of an earlier command. */
static bool direct3d_fails(const struct deferred *d)
{
    if (d->event)
        atomic_store(&d->event->failure, CL_OUT_OF_RESOURCES);
    return false;
}

/* NVIDIA's driver may report success for a marker with a failed event in its wait list. */
static bool list_failed(const struct deferred *d)
{
    struct blocker_failure *failure = blocker_failure(d->blocked_by);
    const bool failed = blocker_failed(failure);
    blocker_failure_put(failure);
    return failed;
}

/* Everything that the command waited for has ended. False: the command ends here. */
static bool begin_transfers(struct deferred *d)
{
    const struct command *c = &d->command;
    const bool release = d->kind == DEFERRED_RELEASE;
    if (d->kind == DEFERRED_UNDO || atomic_load(&d->failed) || list_failed(d))
        return false;
    for (cl_uint i = 0; i < c->count && release; i++)
        object_end_upload(c->objects[i]);
    if (!command_owner_is(c, release))
        return false;
    if (!release && !command_d3d_give(c))
        return direct3d_fails(d);
    enqueue_transfers(d);
    return true;
}

/* The transfers have ended. */
static void end_transfers(struct deferred *d)
{
    const struct command *c = &d->command;
    const bool release = d->kind == DEFERRED_RELEASE, moved = !atomic_load(&d->failed);
    if (release && moved) {
        d->done = command_d3d_take(c, d->end) || direct3d_fails(d);
        command_undo(c, d->end);
    } else if (release) {
        command_cl_keep(c, d->end);
    } else if (!moved) {
        command_undo(c, 0);
    } else {
        d->done = true;
    }
    if (moved)
        command_set_owner(c, !release);
}

bool deferred_step(struct deferred *d)
{
    if (!d->transferring && begin_transfers(d))
        return false;
    if (d->transferring)
        end_transfers(d);
    else if (d->kind == DEFERRED_UNDO)
        command_undo(&d->command, 0);
    if (!d->done && d->kind != DEFERRED_UNDO)
        log_write(LOG_WARN,
                  "%s: the deferred command, or one that it waits for, has failed: the objects keep their owner",
                  d->command.call);
    return true;
}

/* Bytes that OpenCL has written and that did not reach Direct3D must be copied by the next release, which may already
 * be deferred. */
static void keep_written(const struct deferred *d)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < d->command.count && !d->done; i++)
        if (d->command.objects[i]->opencl_owns)
            d->command.objects[i]->written = true;
    for (struct deferred *later = d->after; later && !d->done; later = later->after)
        if (!later->begun)
            later->end = later->command.count;
    os_unlock(&registry_lock);
}

/* In an in-order queue the commands behind a failed one fail too, before its gate reports the failure to the driver.
 * Their events are behind that gate, and get an error from drivers that propagate errors, although NVIDIA's may show
 * the markers between them as complete. */
static void fail_later(const struct deferred *d)
{
    if (d->done || d->kind == DEFERRED_UNDO || queue_out_of_order(d->command.queue))
        return;
    os_lock(&registry_lock);
    for (struct deferred *other = d->after; other; other = other->after)
        if (other->kind != DEFERRED_UNDO && other->command.queue == d->command.queue)
            atomic_store(&other->failed, true);
    os_unlock(&registry_lock);
}

/* In an in-order queue, the command behind a failed gate also waits for the marker, so the marker must not end at the
 * moment of the failure. If it is still blocked, it does not end now. */
static void let_marker_end(const struct deferred *d)
{
    const struct queue_record *queue = d->command.queue;
    if (d->done || !d->gate || !d->waits.count || queue_out_of_order(queue) ||
        !context_has(queue->context, QUIRK_POCL_FAILURE_RACE))
        return;
    os_lock(&registry_lock);
    const bool held = blocker_active_locked(d->blocked_by);
    os_unlock(&registry_lock);
    cl_event marker = d->waits.events[0];
    if (!held || event_status(marker) <= CL_COMPLETE)
        command_let_end(marker, 1 + (d->blocked_by != NULL) + (queue_profiles(queue) && d->event));
}

static void put_objects(void *what)
{
    struct deferred *d = what;
    command_lists_free(&d->command);
    deferred_put(d);
}

/* In a callback nothing is released: rusticl 22.3 calls back with the event locked. */
static const struct reap_class objects_in_callback = {REAP_COMMAND, NULL, put_objects};
static const struct reap_class ended_in_callback = {REAP_COMMAND, NULL, deferred_put};

/* Before the gate opens: a program that has waited for the command releases its objects, and expects their surfaces to be
 * its own then, for example to resize a swap chain. */
static void leave_objects(struct deferred *d, bool later)
{
    os_lock(&registry_lock);
    struct deferred **place = &deferred_list;
    while (*place != d)
        place = &(*place)->after;
    *place = d->after;
    /* No pass through the list updates them any longer. */
    blocker_comes_locked(d->gate_blocker, true);
    blocker_mark_locked(d->gate_blocker, false);
    os_unlock(&registry_lock);
    if (later) {
        atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
        reap_later(&d->reaped_objects, &objects_in_callback, d);
    } else {
        command_lists_free(&d->command);
    }
}

/* How many are ending in callbacks and will be passed to the reaper, although their gates may already be open. */
static atomic_uint ending;

void deferred_finish(struct deferred *d)
{
    const bool later = callback_runs_here();
    atomic_fetch_add_explicit(&ending, later, memory_order_relaxed);
    keep_written(d);
    fail_later(d);
    command_finish(&d->command, false, OBJECT_IDLE);
    os_lock(&registry_lock);
    d->over = true;
    blocker_setting_locked(d->gate_blocker);
    atomic_fetch_sub(&queue_deferred, 1); /* a thread that waits for the gate may already enqueue */
    os_unlock(&registry_lock);
    if (d->event && !d->done)
        atomic_store(&d->event->failed, true);
    leave_objects(d, later);
    if (d->gate) {
        let_marker_end(d);
        gate_open(d->command.call, d->gate, d->done);
        blockers_set(blocker_keep(d->gate_blocker), !d->done, 0);
    }
    if (later)
        reap_later(&d->reaped, &ended_in_callback, d);
    else
        deferred_put(d);
    atomic_fetch_sub_explicit(&ending, later, memory_order_release);
    if (later)
        reap_in_background();
}

void deferred_await_ends(void)
{
    enum { MOST = 1000 }; /* milliseconds at least: a callback of the application may take that long */
    for (int i = 0;
         i < MOST && atomic_load_explicit(&ending, memory_order_acquire) && !os_process_ends() && !callback_runs_here();
         i++)
        os_sleep_shortly();
}
