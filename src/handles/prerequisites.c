#include "handles/prerequisites.h"

#include "handles/handles.h"

#include <stdlib.h>

struct prerequisites {
    struct event_list events;
    bool marked; /* the last one is a marker whose event is known only here */
    bool bare;   /* there are events other than cld3d's markers */
};

/* A marker of cld3d's behind a command that ends by itself. PoCL notifies the commands that wait for a command from the
 * latest to the earliest: once the marker has ended, PoCL has finished with the blocked command, which is later. NULL:
 * there is none. */
static cl_event mark_behind(const struct queue_record *queue, cl_event event)
{
    cl_device_id device;
    cl_event marker = NULL;
    if (event_blocked(event) || below()->clGetCommandQueueInfo(queue->head.handle, CL_QUEUE_DEVICE, sizeof(device),
                                                               &device, NULL) != CL_SUCCESS)
        return NULL;
    cl_command_queue own =
        own_queue_make(queue->context->head.handle, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    if (own && below()->clEnqueueMarkerWithWaitList(own, 1, &event, &marker) != CL_SUCCESS)
        marker = NULL;
    own_queue_put(own); /* PoCL's events keep their queue alive */
    return marker;
}

static void note_one(struct prerequisites *prerequisites, const struct queue_record *queue, cl_event event)
{
    if (event_status(event) <= CL_COMPLETE || !event_is_command(event) ||
        !event_list_reserve(&prerequisites->events, 1))
        return;
    cl_event marker = mark_behind(queue, event);
    if (!marker && below()->clRetainEvent(event) != CL_SUCCESS)
        return;
    prerequisites->bare = prerequisites->bare || !marker;
    event_list_add(&prerequisites->events, marker ? marker : event);
}

static void note_list(struct prerequisites *prerequisites, const struct queue_record *queue, cl_uint count,
                      const cl_event *wait)
{
    for (cl_uint i = 0; wait && i < count; i++)
        note_one(prerequisites, queue, wait[i]);
}

static void note_queue(struct prerequisites *prerequisites, const struct queue_record *queue)
{
    cl_event marker = NULL;
    if (!event_list_reserve(&prerequisites->events, 1) ||
        below()->clEnqueueMarkerWithWaitList(queue->head.handle, 0, NULL, &marker) != CL_SUCCESS)
        return;
    event_list_add(&prerequisites->events, marker);
    prerequisites->marked = true;
}

struct prerequisites *prerequisites_note(const struct queue_record *queue, bool first, cl_event previous, cl_uint count,
                                         const cl_event *wait)
{
    struct prerequisites *prerequisites = calloc(1, sizeof(*prerequisites));
    if (!prerequisites)
        return NULL;
    event_list_open(&prerequisites->events);
    note_list(prerequisites, queue, count, wait);
    note_list(prerequisites, queue, previous != NULL, &previous);
    if (first && !queue_out_of_order(queue))
        note_queue(prerequisites, queue);
    if (prerequisites->events.count)
        return prerequisites;
    free(prerequisites);
    return NULL;
}

/* Releases the events that have ended, or all. Returns how many are left. */
static cl_uint put_events(struct prerequisites *prerequisites, bool all)
{
    cl_uint left = 0;
    for (cl_uint i = 0; i < prerequisites->events.count; i++) {
        cl_event event = prerequisites->events.events[i];
        if (!all && event_status(event) > CL_COMPLETE)
            prerequisites->events.events[left++] = event;
        else
            event_put_late(event);
    }
    return prerequisites->events.count = left;
}

void prerequisites_free(struct prerequisites *prerequisites)
{
    if (!prerequisites)
        return;
    put_events(prerequisites, true);
    event_list_close(&prerequisites->events);
    free(prerequisites);
}

struct prerequisites *prerequisites_trim(struct prerequisites *prerequisites)
{
    if (prerequisites && put_events(prerequisites, false))
        return prerequisites;
    prerequisites_free(prerequisites);
    return NULL;
}

static cl_uint references(cl_event event)
{
    cl_uint count = 0;
    below()->clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(count), &count, NULL);
    return count;
}

static bool is_running(cl_event event)
{
    return event_status(event) > CL_COMPLETE && !event_blocked(event);
}

/* When an event's status shows that it has ended, a thread of the driver may still be working on it, as long as it
 * holds a reference. Only for the marker is the number of other references known. */
bool prerequisites_let_end(const struct prerequisites *prerequisites, unsigned *patience)
{
    const cl_uint count = prerequisites->events.count;
    for (cl_uint i = 0; i < count; i++)
        for (; *patience && is_running(prerequisites->events.events[i]); (*patience)--)
            os_sleep_shortly();
    for (; prerequisites->marked && *patience && references(prerequisites->events.events[count - 1]) > 1; (*patience)--)
        os_sleep_shortly();
    return prerequisites->bare;
}
