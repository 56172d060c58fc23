/* The arguments of an acquire or release, the ownership of its objects, and the calls of their transports. */
#include "share/command.h"

#include "handles/handle_kind.h"
#include "log.h"
#include "share/passthrough.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static cl_int find_queue(struct command *c, cl_command_queue handle)
{
    cl_context context = NULL;
    c->queue = registry_get(RECORD_QUEUE, handle);
    if (!c->queue &&
        (!handle_may_be(handle, clGetCommandQueueInfo) || handle_is_other(HANDLE_QUEUE, handle) ||
         below()->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS))
        return log_refuse(c->call, CL_INVALID_COMMAND_QUEUE, "%p is not a command queue", (void *)handle);
    if (!c->queue || !context_serves(sharing(c->queue->context), c->api))
        return log_refuse(c->call, CL_INVALID_CONTEXT, "the queue's context was not created with a %s device",
                          c->api->name);
    return CL_SUCCESS;
}

bool command_lists_make(struct command *c, cl_uint count)
{
    c->objects = calloc(count + 1, sizeof(*c->objects)); /* an empty list is no failure */
    c->transfers = calloc(count + 1, sizeof(*c->transfers));
    return c->objects && c->transfers;
}

static cl_int check_object(const struct command *c, const struct object_record *object, cl_mem handle)
{
    if (!object || object->parent || object->transfer->surface.api->family != c->api->family)
        return log_refuse(c->call, CL_INVALID_MEM_OBJECT,
                          "object %u of the list, %p, was not created from a %s resource", c->count, (void *)handle,
                          c->api->extension);
    if (&object->context->base != c->queue->context)
        return log_refuse(c->call, CL_INVALID_CONTEXT,
                          "object %u of the list, %p, does not belong to the queue's context", c->count,
                          (void *)handle);
    return CL_SUCCESS;
}

/* Inserts an object after the last one with the same transport; the order of a list has no meaning. */
static void insert(struct command *c, struct object_record *object)
{
    cl_uint at = c->count;
    while (at > 0 && c->objects[at - 1]->transfer->transport != object->transfer->transport)
        at--;
    if (at == 0)
        at = c->count;
    memmove(&c->objects[at + 1], &c->objects[at], (c->count - at) * sizeof(*c->objects));
    memmove(&c->transfers[at + 1], &c->transfers[at], (c->count - at) * sizeof(*c->transfers));
    c->objects[at] = object;
    c->transfers[at] = object->transfer;
    c->count++;
}

static cl_int find_objects(struct command *c, cl_uint count, const cl_mem *handles)
{
    if ((count == 0) != (handles == NULL))
        return log_refuse(c->call, CL_INVALID_VALUE, "the list of objects is %p, but its length is %u",
                          (const void *)handles, count);
    if (!command_lists_make(c, count))
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for a list of %u objects", count);
    while (c->count < count) {
        struct object_record *object = registry_get(RECORD_OBJECT, handles[c->count]);
        const cl_int status = check_object(c, object, handles[c->count]);
        if (status != CL_SUCCESS) {
            record_release(object);
            return status;
        }
        insert(c, object);
    }
    return CL_SUCCESS;
}

cl_int command_begin(struct command *c, cl_command_queue queue, cl_uint count, const cl_mem *objects)
{
    cl_int status = find_queue(c, queue);
    if (status == CL_SUCCESS)
        status = find_objects(c, count, objects);
    if (status == CL_SUCCESS)
        status = event_check_list(c->call, c->queue->context->head.handle, c->wait_count, c->wait);
    for (cl_uint i = 0; i < c->count && status == CL_SUCCESS; i++)
        object_check_acquire(c->objects[i]);
    return status;
}

void command_end(struct command *c)
{
    for (cl_uint i = 0; i < c->count; i++)
        record_release(c->objects[i]);
    free(c->objects);
    free(c->transfers);
    record_release(c->queue);
}

/* Such a driver does not know the objects that cld3d has created in other drivers' contexts. */
bool command_passes(const struct command *c, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                    cl_int *status)
{
    if (registry_has(RECORD_QUEUE, queue) || !passthrough_queue(queue))
        return false;
    for (cl_uint i = 0; objects && i < count; i++) {
        if (registry_has(RECORD_OBJECT, objects[i])) {
            *status =
                log_refuse(c->call, CL_INVALID_CONTEXT,
                           "object %u of the list, %p, does not belong to the queue's context", i, (void *)objects[i]);
            return true;
        }
    }
    *status = passthrough_enqueue(c->call, queue, count, objects, c->wait_count, c->wait, c->event);
    return true;
}

/* ---- events ---- */

void command_publish(const struct command *c, cl_event event)
{
    if (c->event) {
        event_track(event, c->type, c->queue);
        *c->event = event;
    } else {
        event_put(event);
    }
}

cl_int command_fail(const struct command *c, cl_int failure)
{
    if (!c->event)
        return failure == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : failure;
    return event_make_failed(c->call, c->type, c->queue, failure, c->event);
}

cl_int command_empty(const struct command *c)
{
    struct pending_command pending;
    cl_event event = NULL;
    if (!c->event)
        return CL_SUCCESS;
    if (event_list_failed(c->wait_count, c->wait)) /* not every driver ends a command behind a failed event */
        return command_fail(c, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    pending_begin(&pending, c->queue, c->wait_count ? PENDING_ALONE : PENDING_AFTER_ALL, c->wait_count, c->wait, false);
    const cl_int status = below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &event);
    pending_end(&pending, status == CL_SUCCESS, event);
    atomic_store(&c->queue->unflushed, true);
    if (status == CL_SUCCESS)
        command_publish(c, event);
    return log_next(c->call, "clEnqueueMarkerWithWaitList", status);
}

/* ---- ownership ---- */

const struct object_record *command_change_state(const struct command *c, enum object_state from, enum object_state to)
{
    const struct object_record *stuck = NULL;
    cl_uint taken = 0;
    os_lock(&registry_lock);
    for (; taken < c->count && !stuck; taken++) {
        if (c->objects[taken]->state != from) {
            stuck = c->objects[taken--];
        } else {
            c->objects[taken]->state = to;
            c->objects[taken]->commands++;
        }
    }
    while (stuck && taken > 0) {
        c->objects[--taken]->state = from;
        c->objects[taken]->commands--;
    }
    for (cl_uint i = 0; i < taken && to == OBJECT_ACQUIRING; i++)
        c->objects[i]->written = false;
    os_unlock(&registry_lock);
    return stuck;
}

void command_set_owner(const struct command *c, bool opencl)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++)
        c->objects[i]->opencl_owns = opencl;
    os_unlock(&registry_lock);
}

bool command_owner_is(const struct command *c, bool opencl)
{
    bool all = true;
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++)
        all = all && c->objects[i]->opencl_owns == opencl;
    os_unlock(&registry_lock);
    return all;
}

void command_finish(const struct command *c, bool restore, enum object_state state)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++) {
        struct object_record *object = c->objects[i];
        object->commands--;
        if (!object->commands)
            object->state = object->opencl_owns ? OBJECT_ACQUIRED : OBJECT_IDLE;
        else if (restore)
            object->state = state;
    }
    os_unlock(&registry_lock);
}

/* ---- the steps of the transports ---- */

/* The objects from `first` up to `end` that share a transport. Returns the index of the first object after them. */
static cl_uint next_run(const struct command *c, cl_uint first, cl_uint end, struct handover *run)
{
    cl_uint after = first + 1;
    while (after < end && c->transfers[after]->transport == c->transfers[first]->transport)
        after++;
    *run = (struct handover){c->api, c->transfers + first, after - first};
    return after;
}

static const struct transport *transport_of(const struct handover *run)
{
    return run->transfers[0]->transport;
}

static void undo_range(const struct command *c, cl_uint first, cl_uint end)
{
    struct handover run;
    while (first < end) {
        first = next_run(c, first, end, &run);
        transport_of(&run)->undo(&run);
    }
}

void command_undo(const struct command *c, cl_uint first)
{
    undo_range(c, first, c->count);
}

bool command_d3d_give(const struct command *c)
{
    struct handover run;
    for (cl_uint i = 0; i < c->count; i++)
        c->transfers[i]->short_of_memory = false;
    for (cl_uint first = 0; first < c->count;) {
        const cl_uint after = next_run(c, first, c->count, &run);
        if (!transport_of(&run)->d3d_give(&run)) {
            undo_range(c, 0, first);
            return false;
        }
        first = after;
    }
    return true;
}

cl_int command_cl_take(const struct command *c, const struct enqueueing *to)
{
    struct handover run;
    cl_int status = CL_SUCCESS;
    for (cl_uint first = 0; first < c->count && status == CL_SUCCESS;) {
        first = next_run(c, first, c->count, &run);
        status = transport_of(&run)->cl_take(&run, to);
    }
    return log_next(c->call, "the write to an object", status);
}

cl_int command_cl_give(const struct command *c, cl_uint end, const struct enqueueing *to)
{
    struct handover run;
    cl_int status = CL_SUCCESS;
    for (cl_uint first = 0; first < end && status == CL_SUCCESS;) {
        first = next_run(c, first, end, &run);
        if (transport_of(&run)->cl_give)
            status = transport_of(&run)->cl_give(&run, to);
    }
    return log_next(c->call, "the read of an object", status);
}

bool command_d3d_take(const struct command *c, cl_uint end)
{
    struct handover run;
    bool done = true;
    for (cl_uint first = 0; first < end;) {
        first = next_run(c, first, end, &run);
        done = transport_of(&run)->d3d_take(&run) && done;
    }
    return done;
}

/* The objects of each transport stay adjacent in both parts, because they were adjacent before and keep their order. */
cl_uint command_sort_written(struct command *c)
{
    const bool known = writes_known();
    cl_uint moving = 0;
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < c->count; i++) {
        struct object_record *object = c->objects[i];
        struct transfer *transfer = c->transfers[i];
        if (known && !object->written && transfer->left_out)
            continue;
        memmove(&c->objects[moving + 1], &c->objects[moving], (i - moving) * sizeof(*c->objects));
        memmove(&c->transfers[moving + 1], &c->transfers[moving], (i - moving) * sizeof(*c->transfers));
        c->objects[moving] = object;
        c->transfers[moving++] = transfer;
    }
    os_unlock(&registry_lock);
    return moving;
}
