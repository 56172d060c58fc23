/* clEnqueueAcquire...KHR of all APIs.
 *
 * Ownership changes in the call, for the whole list or not at all. Direct3D's part runs in the call; OpenCL's part is an
 * ordinary command behind the wait list, or none if there is nothing to do. Behind a user event the acquire is
 * deferred. */
#include "share/command.h"

#include "log.h"

/* The event that ends the acquire: later commands of the queue run after the writes, even if it is out of order. It fails if any of them
 * does, but not in a queue with profiling: some drivers' barriers have no times. */
static cl_int end_event(const struct command *c, const struct event_list *writes, cl_event *end)
{
    if (queue_out_of_order(c->queue) || (writes->count > 1 && !queue_has_times(c->queue)))
        return log_next(
            c->call, "clEnqueueBarrierWithWaitList",
            below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, writes->count, writes->events, end));
    *end = writes->events[writes->count - 1];
    return log_next(c->call, "clRetainEvent", below()->clRetainEvent(*end));
}

/* OpenCL's part, right after Direct3D's. If a part of it is refused, `writes` has the events of the others. */
static cl_int enqueue_writes(const struct command *c, struct event_list *writes)
{
    struct pending_command pending;
    cl_event end = NULL;
    pending_begin(&pending, c->queue, PENDING_BARRIER, c->wait_count, c->wait, false);
    const struct enqueueing to = {.queue = c->queue->head.handle,
                                  .wait_count = c->wait_count,
                                  .wait = c->wait,
                                  .done = writes,
                                  .blocked = pending.mask || (queue_out_of_order(c->queue) && user_event_pending()),
                                  .unobserved = !c->event && !c->wait_count};
    cl_int status = command_cl_take(c, &to);
    if (status == CL_SUCCESS && writes->count)
        status = end_event(c, writes, &end);
    pending_end(&pending, writes->count != 0, status == CL_SUCCESS ? end : NULL);
    atomic_store(&c->queue->unflushed, true);
    if (status != CL_SUCCESS || !end)
        return status;
    if (!object_expect_acquire(c->objects, c->count, end, c->queue->head.handle)) {
        event_list_close(writes);
        event_list_add(writes, end);
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to track the acquire");
    }
    command_publish(c, end);
    return CL_SUCCESS;
}

static cl_int acquire(struct command *c)
{
    struct pending_command pending;
    struct event_list writes;
    const struct object_record *stuck = command_change_state(c, OBJECT_IDLE, OBJECT_ACQUIRING);
    if (stuck)
        return log_refuse(c->call, c->api->already_acquired, "object %p is acquired already; release it first",
                          (void *)stuck->head.handle);
    if (event_list_failed(c->wait_count, c->wait)) {
        log_write(LOG_WARN, "%s: an event of the wait list has failed: nothing was acquired", c->call);
        command_finish(c, true, OBJECT_IDLE);
        return command_fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }

    pending_begin(&pending, c->queue, PENDING_BARRIER, c->wait_count, c->wait, false);
    if (pending.mask || command_follows(c) || callback_runs_commands())
        return command_defer(c, &pending, false);
    pending_end(&pending, false, NULL);

    if (!command_d3d_give(c)) {
        bool is_short = false;
        for (cl_uint i = 0; i < c->count; i++)
            is_short = is_short || c->transfers[i]->short_of_memory;
        command_finish(c, true, OBJECT_IDLE);
        return is_short ? log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the rows of an object")
                        : command_fail(c, CL_OUT_OF_RESOURCES);
    }

    event_list_open(&writes);
    const cl_int status = enqueue_writes(c, &writes);
    if (status == CL_SUCCESS) {
        command_set_owner(c, true);
    } else { /* what the driver has accepted uses the transports' memory */
        queues_flush(c->queue->context);
        event_list_await(&writes);
        command_undo(c, 0);
    }
    command_finish(c, true, OBJECT_IDLE);
    event_list_close(&writes);
    return status;
}

cl_int share_acquire(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.api = api,
                        .call = api->call.acquire,
                        .type = api->command_acquire,
                        .wait_count = wait_count,
                        .wait = wait,
                        .event = event};
    cl_int status;
    leaving_run();
    if (command_passes(&c, queue, count, objects, &status))
        return status;
    status = command_begin(&c, queue, count, objects);
    if (status == CL_SUCCESS)
        status = c.count ? acquire(&c) : command_empty(&c);
    command_end(&c);
    return extension_code(status);
}
