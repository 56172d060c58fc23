/* Acquire and release: clEnqueueAcquire...KHR and clEnqueueRelease...KHR of all APIs.
 *
 * Ownership changes in the call, for the whole list or not at all. Direct3D's part of an acquire runs in the call;
 * OpenCL's part is an ordinary command behind the wait list, or none if there is nothing to do. A release waits in the
 * call until OpenCL is done, so that Direct3D calls right after it see the result. It is deferred (deferred.c) only if
 * it could wait for the caller itself, or if it is called on a thread that runs OpenCL's commands. */
#include "share/deferred.h"

#include "log.h"
#include "share/passthrough.h"

/* ---- events of the commands ---- */

/* In a queue with profiling the command's time begins with a marker, so that it includes all of the transports' commands
 * and, in a release, Direct3D's part. Not called for an acquire in an out-of-order queue, where a marker would wait for
 * more than the acquire does. */
static void begin_profile(struct command *c)
{
    if (!c->event || !queue_profiles(c->queue))
        return;
    if (below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &c->first) != CL_SUCCESS)
        c->first = NULL;
}

/* Tracks the command while a user event blocks it. */
static cl_int begin_blocker(struct command *c, unsigned order)
{
    queue_keep_order(c->queue->head.handle);
    queue_waits(c->queue->head.handle, c->wait_count, c->wait);
    return blocker_begin(c->call, c->queue->head.handle, order, c->wait_count, c->wait, true, &c->blocker);
}

/* Passes the command's event to the application, or releases it. */
static void publish(struct command *c, cl_event event)
{
    struct blocker_failure *failure = blocker_failure(c->blocker);
    command_blocker_end(c, CL_SUCCESS, event);
    command_publish(c, event);
    if (c->event && blocker_failed(failure)) /* an event of its wait list failed before the event had a record */
        event_fail(event);
    blocker_failure_put(failure);
}

/* Direct3D or a wait list made the command fail. Its event reports the failure, or without an event, the call. */
static cl_int fail(struct command *c, cl_int failure)
{
    if (!c->event)
        return failure == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : failure;
    return event_make_failed(c->call, c->type, c->queue, failure, c->event);
}

/* A command without objects does nothing, but provides an event if requested. */
static cl_int nothing_to_do(struct command *c)
{
    cl_event event;
    if (!c->event)
        return CL_SUCCESS;
    /* PoCL 3.1 never ends a command that is enqueued behind an event that has already failed. */
    if (event_list_failed(c->wait_count, c->wait))
        return fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    const unsigned order = c->wait_count ? ORDER_ALONE : ORDER_AFTER_ALL;
    cl_int status = begin_blocker(c, order);
    if (status == CL_SUCCESS)
        status = command_enter(c, order);
    if (status == CL_SUCCESS)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &event));
    command_leave(c);
    if (status == CL_SUCCESS)
        publish(c, event);
    return status;
}

/* ---- acquire ---- */

/* The event that ends an acquire: later commands of the queue run after the writes, even in an out-of-order queue. */
static cl_int end_acquire(const struct command *c, struct event_list *writes, cl_event *end)
{
    cl_command_queue queue = c->queue->head.handle;
    *end = NULL;
    if (!event_list_reserve(writes, 1)) /* for the end event, if it cannot be retained */
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of events");
    if (queue_out_of_order(c->queue))
        return log_next(c->call, "clEnqueueBarrierWithWaitList",
                        below()->clEnqueueBarrierWithWaitList(queue, writes->count, writes->events, end));
    if (writes->count > 1)
        return log_next(c->call, "clEnqueueMarkerWithWaitList",
                        below()->clEnqueueMarkerWithWaitList(queue, writes->count, writes->events, end));
    *end = writes->events[0];
    writes->count = 0;
    return CL_SUCCESS;
}

/* Ends an acquire for which commands were enqueued. */
static cl_int follow_writes(struct command *c, struct event_list *writes)
{
    cl_event end;
    cl_int status = end_acquire(c, writes, &end);
    if (status != CL_SUCCESS)
        return status;
    struct upload *upload = upload_make();
    if (!upload)
        status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to track the acquire");
    else if (below()->clRetainEvent(end) != CL_SUCCESS)
        status = log_refuse(c->call, CL_OUT_OF_RESOURCES, "the driver cannot retain the event of a write");
    if (status != CL_SUCCESS) {
        event_list_add(writes, end);
        upload_put(upload);
        return status;
    }
    upload->event = end;
    upload->failure = blocker_failure(c->blocker);
    for (cl_uint i = 0; i < c->count; i++)
        object_expect(c->objects[i], upload);
    event_list_move(&upload->writes, writes);
    upload_put(upload);
    publish(c, end);
    return CL_SUCCESS;
}

/* OpenCL's part. `writes` gets the events of the enqueued commands that are not passed to the application. No command is
 * needed where nothing is copied, nothing is waited for and the application wants no event. */
static cl_int enqueue_writes(struct command *c, struct event_list *writes)
{
    const bool unobserved = !c->event && !c->wait_count && !c->blocker;
    if (!queue_out_of_order(c->queue))
        begin_profile(c);
    const cl_int status = command_cl_take(
        c, &(struct enqueueing){c->queue->head.handle, c->wait_count, c->wait, writes, false, unobserved});
    return status == CL_SUCCESS && writes->count ? follow_writes(c, writes) : status;
}

/* The commands that the driver has already accepted use the transports' memory, and may wait for a user event that the
 * caller sets later. `undo` then waits for them. */
static void undo_acquire(struct command *c, struct event_list *writes, struct deferred *undo)
{
    if (undo && writes->count) {
        command_blocker_end(c, CL_SUCCESS, writes->events[0]);
        deferred_undo_begin(undo);
        return;
    }
    command_refused(c); /* gives up its turn before waiting for anything */
    queue_flush(c->queue);
    event_list_await(writes);
    command_undo(c, 0);
    command_finish(c, true, OBJECT_IDLE);
    deferred_put(undo);
}

/* Prepares the undo for the case that some commands are refused and this thread must not wait for the others. */
static cl_int prepare_undo(const struct command *c, struct deferred **undo)
{
    if (!blockers_possible() && !callback_runs_here())
        return CL_SUCCESS;
    *undo = deferred_undo_prepare(c);
    return *undo ? CL_SUCCESS : log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the command");
}

/* Whether Direct3D's part failed because host memory ran out. */
static bool memory_was_short(const struct command *c)
{
    bool is_short = false;
    for (cl_uint i = 0; i < c->count; i++)
        is_short = is_short || c->transfers[i]->short_of_memory;
    return is_short;
}

static cl_int acquire_now(struct command *c)
{
    struct event_list local, *writes = &local;
    struct deferred *undo = NULL;
    event_list_open(&local);
    const bool given = command_d3d_give(c), is_short = !given && memory_was_short(c);
    cl_int status = given ? command_enter(c, ORDER_BEFORE_ALL) : CL_OUT_OF_RESOURCES;
    if (status == CL_SUCCESS)
        status = prepare_undo(c, &undo);
    if (undo)
        writes = &undo->waits;
    if (status == CL_SUCCESS)
        status = enqueue_writes(c, writes);
    command_leave(c);
    if (given && status != CL_SUCCESS) {
        undo_acquire(c, writes, undo);
    } else {
        command_set_owner(c, given);
        command_finish(c, true, OBJECT_IDLE);
        deferred_put(undo);
    }
    event_list_close(&local);
    if (is_short)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the rows of an object");
    return given ? status : fail(c, CL_OUT_OF_RESOURCES);
}

static cl_int acquire_objects(struct command *c)
{
    bool behind;
    const struct object_record *stuck = command_change_state(c, OBJECT_IDLE, OBJECT_ACQUIRING, &behind);
    if (stuck)
        return log_refuse(c->call, c->api->already_acquired, "object %p is acquired already; release it first",
                          (void *)stuck->head.handle);
    if (event_list_failed(c->wait_count, c->wait)) {
        log_write(LOG_WARN, "%s: an event of the wait list has failed: nothing was acquired", c->call);
        command_finish(c, true, OBJECT_IDLE);
        return fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    cl_int status = begin_blocker(c, ORDER_BEFORE_ALL);
    /* The acquire must see what Direct3D did before the call, and the results of the releases that precede it. */
    if (status == CL_SUCCESS && !behind && !(c->blocker && deferred_writes_to(c)))
        return acquire_now(c);
    if (status == CL_SUCCESS)
        status = defer(c, DEFERRED_ACQUIRE);
    if (status != CL_SUCCESS)
        command_finish(c, true, OBJECT_IDLE);
    return status;
}

/* ---- release ---- */

/* OpenCL's part: the reads of the objects that must be copied. If there are none, one marker for the wait list and the
 * commands before; or no command at all, if `*emptying`: then queue_end_emptying must follow. */
static cl_int enqueue_reads(const struct command *c, cl_uint moving, struct event_list *reads, bool *emptying)
{
    const struct enqueueing to = {c->queue->head.handle, c->wait_count, c->wait, reads, false, false};
    const cl_int status = command_cl_give(c, moving, &to);
    if (status != CL_SUCCESS || reads->count)
        return status;
    *emptying = !c->event && !c->wait_count && queue_begin_emptying(c->queue);
    return *emptying ? CL_SUCCESS : command_marker(c, &to);
}

/* Whether the acquire of one of the objects has failed meanwhile: then the bytes that were read are invalid. */
static bool acquire_failed(const struct command *c)
{
    bool failed = false;
    for (cl_uint i = 0; i < c->count; i++)
        failed = object_end_upload(c->objects[i]) || failed;
    return failed;
}

/* The caller has entered the queue; this function leaves it. */
static cl_int enqueue_release(struct command *c, cl_uint *moving, struct event_list *reads, bool *emptying)
{
    cl_event passed;
    begin_profile(c);
    queue_restore_order(c->queue);
    cl_int status = command_barrier(c, &passed);
    event_put(passed);
    if (status == CL_SUCCESS) {
        *moving = command_sort_written(c);
        status = enqueue_reads(c, *moving, reads, emptying);
    }
    queue_leave(c->queue);
    return status;
}

static cl_int read_objects(struct command *c, cl_uint *moving, struct event_list *reads)
{
    bool emptying = false;
    cl_int status = enqueue_release(c, moving, reads, &emptying);
    /* The enqueued commands use the transports' memory, even after a failure. */
    queue_flush(c->queue);
    const bool done = event_list_await(reads);
    if (emptying)
        status = queue_end_emptying(c->call, c->queue);
    if (status != CL_SUCCESS || (done && !acquire_failed(c)))
        return status;
    if (atomic_load(&c->queue->context->lost))
        return log_refuse(c->call, CL_OUT_OF_RESOURCES, "the device is lost: nothing is copied to Direct3D");
    log_write(LOG_WARN, "%s: a command that it waits for has failed: nothing is copied to Direct3D", c->call);
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

/* Direct3D has the bytes. The event remains to be created; its time ends now. If the driver cannot create one, the
 * event of a read is used. */
static void end_release(struct command *c, struct event_list *reads)
{
    cl_event end;
    if (!c->event)
        return;
    cl_int status = command_enter(c, ORDER_AFTER_ALL);
    if (status == CL_SUCCESS)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, 0, NULL, &end));
    command_leave(c);
    if (status != CL_SUCCESS)
        command_blocker_end(c, status, NULL);
    publish(c, status == CL_SUCCESS ? end : reads->events[--reads->count]);
}

static cl_int release_now(struct command *c)
{
    struct event_list reads;
    cl_uint moving = 0;
    event_list_open(&reads);
    cl_int status = read_objects(c, &moving, &reads);
    if (status == CL_SUCCESS) {
        const bool taken = command_d3d_take(c, moving);
        command_undo(c, moving);
        command_set_owner(c, false);
        command_finish(c, false, OBJECT_IDLE);
        if (taken)
            end_release(c, &reads);
        else
            status = fail(c, CL_OUT_OF_RESOURCES);
    } else {
        command_cl_keep(c, moving);
        command_finish(c, true, OBJECT_ACQUIRED);
    }
    event_list_close(&reads);
    return status;
}

static cl_int follow(const struct command *c, cl_event upload)
{
    cl_command_queue handle = c->queue->head.handle;
    cl_event passed = NULL;
    if (event_status(upload) <= CL_COMPLETE || event_queue(upload) == handle)
        return CL_SUCCESS;
    struct blocker *blocker;
    queue_waits(handle, 1, &upload);
    cl_int status = blocker_begin(c->call, handle, ORDER_BEFORE_ALL, 1, &upload, false, &blocker);
    if (status != CL_SUCCESS)
        return status;
    blocker_turn(blocker, true, 1, &upload);
    status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                      below()->clEnqueueBarrierWithWaitList(handle, 1, &upload, &passed));
    blocker_end(blocker, status, passed);
    if (status == CL_SUCCESS)
        event_put(passed);
    return status;
}

/* A release in a different queue than the acquire must run after the acquire's transfer. Otherwise the transfer would
 * read memory that the release gives up. */
static cl_int follow_acquires(const struct command *c)
{
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < c->count && status == CL_SUCCESS; i++) {
        struct upload *upload = object_upload(c->objects[i]);
        if (upload)
            status = follow(c, upload->event);
        upload_put(upload);
    }
    return status;
}

static cl_int release_objects(struct command *c)
{
    bool behind;
    const struct object_record *stuck = command_change_state(c, OBJECT_ACQUIRED, OBJECT_RELEASING, &behind);
    if (stuck)
        return log_refuse(c->call, c->api->not_acquired, "object %p is not acquired; acquire it first",
                          (void *)stuck->head.handle);
    if (event_list_failed(c->wait_count, c->wait)) {
        command_finish(c, true, OBJECT_ACQUIRED);
        return log_refuse(c->call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                          "an event of the wait list has failed: the objects stay acquired");
    }
    cl_int status = follow_acquires(c);
    if (status == CL_SUCCESS)
        status = begin_blocker(c, ORDER_AFTER_ALL | ORDER_BEFORE_ALL);
    if (status == CL_SUCCESS && !behind && !callback_runs_commands() && queue_enter(c->queue, ORDER_AFTER_ALL))
        return release_now(c);
    if (status == CL_SUCCESS)
        status = defer(c, DEFERRED_RELEASE);
    if (status != CL_SUCCESS)
        command_finish(c, true, OBJECT_ACQUIRED);
    return status;
}

/* ---- the two calls ---- */

/* For a driver that shares by itself: it does not know the objects that cld3d has created in other drivers'
 * contexts. */
static cl_int pass_on(const struct command *c, cl_command_queue queue, cl_uint count, const cl_mem *objects)
{
    for (cl_uint i = 0; objects && i < count; i++)
        if (registry_has(RECORD_OBJECT, objects[i]))
            return log_refuse(c->call, CL_INVALID_CONTEXT,
                              "object %u of the list, %p, does not belong to the queue's context", i,
                              (void *)objects[i]);
    return passthrough_enqueue(c->call, queue, count, objects, c->wait_count, c->wait, c->event);
}

static cl_int run(struct command *c, const struct d3d_api *api, cl_command_queue queue, cl_uint count,
                  const cl_mem *objects, cl_uint wait_count, const cl_event *wait, cl_int (*act)(struct command *))
{
    c->api = api;
    c->wait_count = wait_count;
    c->wait = wait;
    if (!registry_has(RECORD_QUEUE, queue) && passthrough_queue(queue))
        return pass_on(c, queue, count, objects);
    reap(REAP_AT_RELEASE, NULL); /* a program may release things only in callbacks */
    cl_int status = command_begin(c, queue, count, objects);
    if (status == CL_SUCCESS)
        status = c->count ? act(c) : nothing_to_do(c);
    command_end(c);
    return extension_code(status);
}

cl_int share_acquire(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.call = api->call.acquire, .type = api->command_acquire, .event = event};
    return run(&c, api, queue, count, objects, wait_count, wait, acquire_objects);
}

cl_int share_release(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.call = api->call.release, .type = api->command_release, .event = event};
    return run(&c, api, queue, count, objects, wait_count, wait, release_objects);
}
