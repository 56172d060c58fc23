/* Acquire and release: clEnqueueAcquire...KHR and clEnqueueRelease...KHR of all APIs.
 *
 * Ownership changes in the call, for the whole list or for nothing of it. Direct3D's part of an acquire (the copy to the
 * staging resource, the map) runs in the call; OpenCL's part is an ordinary command behind the wait list. A release waits
 * in the call until OpenCL is done, so that Direct3D calls right after it see the result; only where that could wait for
 * the caller itself it is deferred (deferred.c). */
#include "share/command.h"

#include "log.h"
#include "share/aside.h"

#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* ---- arguments ---- */

static cl_int find_queue(struct command *c, cl_command_queue handle)
{
    cl_context context = NULL;
    c->queue = registry_get(RECORD_QUEUE, handle);
    if (!c->queue && (!handle || (!os_is_wine() && !os_looks_like_object(handle)) ||
                      below()->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) !=
                          CL_SUCCESS))
        return log_refuse(c->call, CL_INVALID_COMMAND_QUEUE, "%p is no command queue", (void *)handle);
    if (!c->queue || !context_serves(c->queue->context, c->api))
        return log_refuse(c->call, CL_INVALID_CONTEXT, "the queue's context was not made with a %s device", c->api->name);
    return CL_SUCCESS;
}

static cl_int find_objects(struct command *c, cl_uint count, const cl_mem *handles)
{
    if ((count == 0) != (handles == NULL))
        return log_refuse(c->call, CL_INVALID_VALUE, "the list of objects is %p, but its length %u", (const void *)handles,
                          count);
    if (count == 0)
        return CL_SUCCESS;
    c->objects = count <= FEW ? c->few : calloc(count, sizeof(struct object_record *));
    if (!c->objects)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of %u objects", count);
    for (; c->count < count; c->count++) {
        struct object_record *object = registry_get(RECORD_OBJECT, handles[c->count]);
        if (!object || object->parent || object->transfer.surface.api->family != c->api->family) {
            record_put(object);
            return log_refuse(c->call, CL_INVALID_MEM_OBJECT, "object %u of the list, %p, was not made of a resource of %s",
                              c->count, (void *)handles[c->count], c->api->extension);
        }
        c->objects[c->count] = object;
        if (object->context != c->queue->context) {
            c->count++;
            return log_refuse(c->call, CL_INVALID_CONTEXT, "object %u of the list, %p, belongs to another context than the "
                              "queue", c->count - 1, (void *)handles[c->count - 1]);
        }
    }
    return CL_SUCCESS;
}

static cl_int command_begin(struct command *c, cl_command_queue queue, cl_uint count, const cl_mem *objects)
{
    cl_int status = find_queue(c, queue);
    if (status == CL_SUCCESS)
        status = find_objects(c, count, objects);
    if (status == CL_SUCCESS)
        status = event_check_list(c->call, c->queue->context->head.handle, c->wait_count, c->wait);
    for (cl_uint i = 0; i < c->count && status == CL_SUCCESS; i++)
        object_settle(c->objects[i]);
    return status;
}

static void command_end(struct command *c)
{
    for (cl_uint i = 0; i < c->count; i++)
        record_put(c->objects[i]);
    if (c->objects != c->few)
        free(c->objects);
    if (c->first)
        event_put(c->first);
    record_put(c->queue);
}

/* ---- lists of events ---- */

bool event_list_open(struct event_list *list, const char *call, cl_uint count)
{
    memset(list->few, 0, sizeof(list->few));
    list->events = count <= FEW ? list->few : calloc(count, sizeof(cl_event));
    if (!list->events)
        log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of %u events", count);
    return list->events != NULL;
}

void event_list_close(struct event_list *list)
{
    if (list->events != list->few)
        free(list->events);
}

/* ---- ownership ---- */

/* Takes all objects from one state to another, or none: an object that stands twice in the list is in the wrong state
 * the second time. Returns the first object that could not be taken, or NULL. */
static const struct object_record *take(const struct command *c, enum object_state from, enum object_state to,
                                        bool *deferred)
{
    const struct object_record *stuck = NULL;
    cl_uint taken = 0;
    os_lock(&registry_lock);
    for (; taken < c->count && !stuck; taken++) {
        if (c->objects[taken]->state != from) {
            stuck = c->objects[taken--];
        } else {
            c->objects[taken]->state = to;
            if (to == OBJECT_ACQUIRING)
                c->objects[taken]->written = false;
            *deferred = *deferred || c->objects[taken]->deferred;
        }
    }
    while (stuck && taken > 0)
        c->objects[--taken]->state = from;
    os_unlock(&registry_lock);
    return stuck;
}

void command_set_state(const struct command *c, enum object_state state)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++)
        c->objects[i]->state = state;
    os_unlock(&registry_lock);
}

void command_abandon(const struct command *c, cl_uint count)
{
    for (cl_uint i = 0; i < count; i++)
        c->objects[i]->transport->abandon(&c->objects[i]->transfer);
}

/* Written only where it changes: an earlier deferred command of the object may be reading it, and has set the same. */
void command_set_rows(const struct command *c, cl_uint count, bool later)
{
    for (cl_uint i = 0; i < count; i++)
        if (c->objects[i]->transfer.in_rows != later)
            c->objects[i]->transfer.in_rows = later;
}

/* The bytes are on their way, and the acquire may still fail with what it waits for: each object remembers the event that
 * will tell. */
static void remember(const struct command *c, cl_event event)
{
    for (cl_uint i = 0; i < c->count; i++)
        object_expect(c->objects[i], c->queue, event);
}

/* ---- commands ---- */

cl_int command_transfer(const struct command *c, cl_uint count, bool to_opencl, cl_command_queue queue,
                        cl_uint wait_count, const cl_event *wait, cl_event *events)
{
    cl_int status = CL_SUCCESS;
    cl_uint i = 0;
    for (; i < count && status == CL_SUCCESS; i++) {
        const struct transport *transport = c->objects[i]->transport;
        struct transfer *transfer = &c->objects[i]->transfer;
        status = to_opencl ? transport->upload(transfer, queue, wait_count, wait, &events[i])
                           : transport->download(transfer, queue, wait_count, wait, &events[i]);
    }
    if (status == CL_SUCCESS)
        return status;
    log_next(c->call, to_opencl ? "the write to an object" : "the read of an object", status);
    if (--i > 0) {
        below()->clWaitForEvents(i, events);
        event_release_all(i, events);
    }
    return status;
}

cl_int command_barrier(const struct command *c)
{
    cl_event passed = NULL;
    if (!queue_out_of_order(c->queue))
        return CL_SUCCESS;
    const cl_int status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                                   below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, 0, NULL, &passed));
    event_put(passed);
    return status;
}

/* In a queue with profiling the command's time begins with a marker, so that Direct3D's part is inside. */
static void begin_profile(struct command *c)
{
    if (!c->event || !queue_profiles(c->queue))
        return;
    if (below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &c->first) != CL_SUCCESS)
        c->first = NULL;
}

/* Hands the command's event to the application, or gives it back. */
static void publish(struct command *c, cl_event event)
{
    if (c->event) {
        event_track(event, c->type, c->queue, c->first);
        c->first = NULL;
        *c->event = event;
    } else if (event) {
        event_put(event);
    }
}

/* Direct3D or a wait list made the command fail: its event says so. Without an event the call does. */
static cl_int fail(struct command *c, cl_int failure)
{
    if (!c->event)
        return failure == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : failure;
    return event_make_failed(c->call, c->type, c->queue, failure, c->event);
}

/* A command without objects does nothing, but what asks for its event gets one. */
static cl_int nothing_to_do(struct command *c)
{
    cl_event event;
    if (!c->event)
        return CL_SUCCESS;
    /* PoCL 3.1 never ends a command that is enqueued behind an event which has failed already. */
    if (event_list_failed(c->wait_count, c->wait))
        return fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    queue_waits(c->queue->head.handle, c->wait_count, c->wait);
    const cl_int status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                                   below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait,
                                                                        &event));
    if (status == CL_SUCCESS)
        publish(c, event);
    return status;
}

static bool fetch_all(const struct command *c)
{
    /* All copies are queued before the first is waited for. */
    for (cl_uint i = 0; i < c->count; i++)
        if (!c->objects[i]->transport->fetch(&c->objects[i]->transfer))
            return false;
    for (cl_uint i = 0; i < c->count; i++) {
        if (!c->objects[i]->transport->arrive(&c->objects[i]->transfer)) {
            command_abandon(c, i);
            return false;
        }
    }
    return true;
}

/* All transports of an API are alike in this. */
bool command_fetch(const struct command *c)
{
    const struct transport *transport = c->objects[0]->transport;
    transport->begin(c->api);
    const bool fetched = fetch_all(c), done = transport->end(c->api) && fetched;
    if (fetched && !done)
        command_abandon(c, c->count);
    return done;
}

/* The event that ends an acquire: later commands of the queue come after the writes, in any order of execution. */
static cl_int end_acquire(struct command *c, cl_event *writes, cl_event *end)
{
    *end = NULL;
    if (queue_out_of_order(c->queue))
        return log_next(c->call, "clEnqueueBarrierWithWaitList",
                        below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, c->count, writes, end));
    *end = writes[c->count - 1];
    writes[c->count - 1] = NULL;
    return CL_SUCCESS;
}

static cl_int acquire_now(struct command *c)
{
    struct event_list writes;
    cl_event end;
    if (!event_list_open(&writes, c->call, c->count))
        return CL_OUT_OF_HOST_MEMORY;
    begin_profile(c);
    cl_int status = command_transfer(c, c->count, true, c->queue->head.handle, c->wait_count, c->wait, writes.events);
    if (status == CL_SUCCESS) {
        status = end_acquire(c, writes.events, &end);
        if (status != CL_SUCCESS)
            below()->clWaitForEvents(c->count, writes.events);
        event_release_all(c->count, writes.events);
    }
    event_list_close(&writes);
    if (status != CL_SUCCESS)
        return status;
    remember(c, end);
    publish(c, end);
    return CL_SUCCESS;
}

static cl_int acquire_objects(struct command *c)
{
    bool deferred = false;
    const struct object_record *stuck = take(c, OBJECT_IDLE, OBJECT_ACQUIRING, &deferred);
    if (stuck)
        return log_refuse(c->call, c->api->already_acquired, "object %p is acquired already; release it first",
                          stuck->head.handle);
    cl_int status;
    if (event_list_failed(c->wait_count, c->wait)) {
        log_write(LOG_WARN, "%s: an event of the wait list has failed: nothing was acquired", c->call);
        command_set_state(c, OBJECT_IDLE);
        return fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    queue_waits(c->queue->head.handle, c->wait_count, c->wait);
    if (deferred) {
        status = deferred_acquire(c);
        if (status == CL_SUCCESS)
            return status;
    } else if (!command_fetch(c)) {
        command_set_state(c, OBJECT_IDLE);
        return fail(c, CL_OUT_OF_RESOURCES);
    } else {
        status = acquire_now(c);
        if (status != CL_SUCCESS)
            command_abandon(c, c->count);
    }
    command_set_state(c, status == CL_SUCCESS ? OBJECT_ACQUIRED : OBJECT_IDLE);
    return status;
}

/* Waits for the reads of a release. On failure they are over too, whatever the reason. */
static cl_int await(const struct command *c, cl_uint count, const cl_event *events)
{
    queue_flush(c->queue);
    if (below()->clWaitForEvents(count, events) == CL_SUCCESS)
        return CL_SUCCESS;
    log_write(LOG_WARN, "%s: a command that it waits for has failed: the objects stay acquired", c->call);
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

/* Puts the objects that commands may have changed since their acquire in front: Direct3D has the bytes of the others. */
static void sort_out_unwritten(struct command *c)
{
    c->moving = 0;
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++) {
        struct object_record *object = c->objects[i];
        if (!object->written && writes_known())
            continue;
        c->objects[i] = c->objects[c->moving];
        c->objects[c->moving++] = object;
    }
    os_unlock(&registry_lock);
}

/* Where no bytes go back there still is something to wait for: the wait list, and the acquire's own bytes. */
static cl_int await_queue(struct command *c)
{
    cl_event all;
    cl_int status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                             below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &all));
    if (status != CL_SUCCESS)
        return status;
    status = await(c, 1, &all);
    event_put(all);
    return status;
}

static cl_int read_moving(struct command *c)
{
    struct event_list reads;
    if (!event_list_open(&reads, c->call, c->moving))
        return CL_OUT_OF_HOST_MEMORY;
    command_set_rows(c, c->moving, false);
    cl_int status =
        command_transfer(c, c->moving, false, c->queue->head.handle, c->wait_count, c->wait, reads.events);
    if (status == CL_SUCCESS) {
        status = await(c, c->moving, reads.events);
        event_release_all(c->moving, reads.events);
    }
    event_list_close(&reads);
    return status;
}

static cl_int read_back(struct command *c)
{
    const cl_int status = command_barrier(c);
    if (status != CL_SUCCESS)
        return status;
    sort_out_unwritten(c);
    return c->moving ? read_moving(c) : await_queue(c);
}

bool command_store(const struct command *c, cl_uint moving)
{
    const struct transport *transport = c->objects[0]->transport;
    bool done = true;
    transport->begin(c->api);
    for (cl_uint i = 0; i < moving; i++)
        done = c->objects[i]->transport->store(&c->objects[i]->transfer) && done;
    for (cl_uint i = moving; i < c->count; i++)
        c->objects[i]->transport->abandon(&c->objects[i]->transfer);
    return transport->end(c->api) && done;
}

/* The bytes are with Direct3D; what is left is the event, whose time ends now. */
static cl_int end_release(struct command *c)
{
    cl_event end;
    if (!c->event)
        return CL_SUCCESS;
    const cl_int status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                                   below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, 0, NULL, &end));
    if (status == CL_SUCCESS)
        publish(c, end);
    return status;
}

static cl_int release_now(struct command *c)
{
    begin_profile(c);
    const cl_int status = read_back(c);
    if (status != CL_SUCCESS) {
        command_set_state(c, OBJECT_ACQUIRED);
        return status;
    }
    const bool stored = command_store(c, c->moving);
    command_set_state(c, OBJECT_IDLE);
    return stored ? end_release(c) : fail(c, CL_OUT_OF_RESOURCES);
}

static cl_int follow(const struct command *c, cl_event upload)
{
    cl_command_queue handle = c->queue->head.handle, of = NULL;
    cl_event passed = NULL;
    if (event_status(upload) <= CL_COMPLETE ||
        below()->clGetEventInfo(upload, CL_EVENT_COMMAND_QUEUE, sizeof(of), &of, NULL) != CL_SUCCESS || of == handle)
        return CL_SUCCESS;
    queue_waits(handle, 1, &upload);
    const cl_int status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                                   below()->clEnqueueBarrierWithWaitList(handle, 1, &upload, &passed));
    event_put(passed);
    return status;
}

/* A release in another queue than the acquire's comes after its bytes, which else would be read from memory that the
 * release gives back. */
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
    bool deferred = false;
    const struct object_record *stuck = take(c, OBJECT_ACQUIRED, OBJECT_RELEASING, &deferred);
    if (stuck)
        return log_refuse(c->call, c->api->not_acquired, "object %p is not acquired", stuck->head.handle);
    if (event_list_failed(c->wait_count, c->wait)) {
        command_set_state(c, OBJECT_ACQUIRED);
        return log_refuse(c->call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                          "an event of the wait list has failed: the objects stay acquired");
    }
    queue_waits(c->queue->head.handle, c->wait_count, c->wait);
    cl_int status = follow_acquires(c);
    if (status == CL_SUCCESS && !deferred && !queue_held(c->queue))
        return release_now(c);
    if (status == CL_SUCCESS)
        status = deferred_release(c);
    if (status != CL_SUCCESS)
        command_set_state(c, OBJECT_ACQUIRED);
    return status;
}

/* ---- the two calls ---- */

static bool queue_known(cl_command_queue handle)
{
    struct queue_record *queue = registry_get(RECORD_QUEUE, handle);
    record_put(queue);
    return queue != NULL;
}

static cl_int run(struct command *c, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                  cl_int (*act)(struct command *))
{
    if (!queue_known(queue) && aside_queue(queue))
        return aside_enqueue(c->call, queue, count, objects, c->wait_count, c->wait, c->event);
    cl_int status = command_begin(c, queue, count, objects);
    if (status == CL_SUCCESS && c->count == 0)
        status = nothing_to_do(c);
    else if (status == CL_SUCCESS)
        status = act(c);
    command_end(c);
    return status;
}

cl_int share_acquire(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.api = api, .call = api->call.acquire, .type = api->command_acquire, .wait_count = wait_count,
                        .wait = wait, .event = event};
    return run(&c, queue, count, objects, acquire_objects);
}

cl_int share_release(const struct d3d_api *api, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct command c = {.api = api, .call = api->call.release, .type = api->command_release, .wait_count = wait_count,
                        .wait = wait, .event = event};
    return run(&c, queue, count, objects, release_objects);
}
