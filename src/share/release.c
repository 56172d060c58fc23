/* clEnqueueRelease...KHR of all APIs.
 *
 * A release waits in its call until OpenCL is done, and gives the objects to Direct3D, so that Direct3D calls right
 * after it see the result. It must not wait for the calling thread: behind a user event, and on a thread that may run
 * OpenCL's commands, it is deferred. */
#include "share/command.h"

#include "log.h"
#include "transport/commands.h"

/* A release in another queue than the acquire's runs after the acquire's transfer, which would otherwise read memory
 * that the release gives up. Waits for it, or returns what blocks it. */
static pending_mask follow_acquires(const struct command *c)
{
    pending_mask blocked = 0;
    for (cl_uint i = 0; i < c->count; i++) {
        struct acquire_event *acquire = object_acquire(c->objects[i]);
        if (acquire && acquire->queue != c->queue->head.handle) {
            os_lock(&registry_lock);
            blocked |= pending_of_locked(acquire->event);
            os_unlock(&registry_lock);
            if (!blocked && !callback_runs_commands()) {
                queue_flush_for(acquire->event);
                event_await(acquire->event);
            }
        }
        acquire_event_put(acquire);
    }
    return blocked;
}

/* OpenCL's part: the reads of the objects that must be copied, or a marker behind the commands before. */
static cl_int enqueue_reads(struct command *c, struct pending_command *pending, cl_uint *moving,
                            struct event_list *reads)
{
    const struct enqueueing to = {
        .queue = c->queue->head.handle, .wait_count = c->wait_count, .wait = c->wait, .done = reads};
    cl_int status = CL_SUCCESS;
    if (queue_out_of_order(c->queue))
        status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                          below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, 0, NULL, NULL));
    *moving = command_sort_written(c);
    if (status == CL_SUCCESS)
        status = command_cl_give(c, *moving, &to);
    if (status == CL_SUCCESS && !reads->count)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList", commands_marker(&to));
    pending_end(pending, reads->count != 0, NULL);
    atomic_store(&c->queue->unflushed, true);
    return status;
}

/* Whether the acquire of one of the objects has failed meanwhile: then the bytes that were read are invalid. */
static bool acquire_failed(const struct command *c)
{
    bool failed = false;
    for (cl_uint i = 0; i < c->count; i++)
        failed = object_end_acquire(c->objects[i]) || failed;
    return failed;
}

/* The event of a release that has ended. If the driver cannot create one, the event of a read is used. */
static void publish_end(const struct command *c, struct event_list *reads)
{
    struct pending_command pending;
    cl_event end = NULL;
    if (!c->event)
        return;
    pending_begin(&pending, c->queue, PENDING_AFTER_ALL, 0, NULL, false);
    const cl_int status = below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, 0, NULL, &end);
    pending_end(&pending, status == CL_SUCCESS, end);
    atomic_store(&c->queue->unflushed, true);
    if (log_next(c->call, "clEnqueueMarkerWithWaitList", status) != CL_SUCCESS)
        end = reads->events[--reads->count];
    command_publish(c, end);
}

static cl_int release(struct command *c)
{
    struct pending_command pending;
    struct event_list reads;
    cl_uint moving = 0;
    const struct object_record *stuck = command_change_state(c, OBJECT_ACQUIRED, OBJECT_RELEASING);
    if (stuck)
        return log_refuse(c->call, c->api->not_acquired, "object %p is not acquired; acquire it first",
                          (void *)stuck->head.handle);
    if (event_list_failed(c->wait_count, c->wait)) {
        command_finish(c, true, OBJECT_ACQUIRED);
        return log_refuse(c->call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                          "an event of the wait list has failed: the objects stay acquired");
    }

    const pending_mask blocked = follow_acquires(c);
    pending_begin(&pending, c->queue, PENDING_AFTER_ALL | PENDING_BARRIER, c->wait_count, c->wait, false);
    if (pending.mask || blocked || command_follows(c) || callback_runs_commands())
        return command_defer(c, &pending, true);

    event_list_open(&reads);
    cl_int status = enqueue_reads(c, &pending, &moving, &reads);
    queues_flush(c->queue->context);
    const bool done = event_list_await(&reads); /* after a failure too: they use the transports' memory */
    if (status == CL_SUCCESS && (!done || acquire_failed(c))) {
        log_write(LOG_WARN, "%s: a command that it waits for has failed: nothing is copied to Direct3D", c->call);
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    if (status == CL_SUCCESS) {
        const bool taken = command_d3d_take(c, moving);
        command_undo(c, moving);
        command_set_owner(c, false);
        command_finish(c, false, OBJECT_IDLE);
        if (taken)
            publish_end(c, &reads);
        else
            status = command_fail(c, CL_OUT_OF_RESOURCES);
    } else {
        command_finish(c, true, OBJECT_ACQUIRED);
    }
    event_list_close(&reads);
    return status;
}

cl_int share_release(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.api = api,
                        .call = api->call.release,
                        .type = api->command_release,
                        .wait_count = wait_count,
                        .wait = wait,
                        .event = event};
    cl_int status;
    if (command_passes(&c, queue, count, objects, &status))
        return status;
    status = command_begin(&c, queue, count, objects);
    if (status == CL_SUCCESS)
        status = c.count ? release(&c) : command_empty(&c);
    command_end(&c);
    return extension_code(status);
}
