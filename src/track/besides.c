#include "track/besides.h"

#include "track/track.h"

#include <stdlib.h>

struct besides {
    struct event_list events;
    bool marked; /* the last one is a marker that nobody else has */
    bool profiles;
};

static void note_list(struct besides *besides, cl_uint count, const cl_event *wait)
{
    for (cl_uint i = 0; wait && i < count; i++)
        if (event_status(wait[i]) > CL_COMPLETE && event_is_command(wait[i]) &&
            event_list_reserve(&besides->events, 1) && below()->clRetainEvent(wait[i]) == CL_SUCCESS)
            event_list_add(&besides->events, wait[i]);
}

static void note_queue(struct besides *besides, const struct queue_record *queue)
{
    cl_event marker = NULL;
    if (!event_list_reserve(&besides->events, 1) ||
        below()->clEnqueueMarkerWithWaitList(queue->head.handle, 0, NULL, &marker) != CL_SUCCESS)
        return;
    event_list_add(&besides->events, marker);
    besides->marked = true;
    besides->profiles = queue_profiles(queue);
}

struct besides *besides_note(const struct queue_record *queue, bool first, cl_event previous, cl_uint count,
                             const cl_event *wait)
{
    struct besides *besides = calloc(1, sizeof(*besides));
    if (!besides)
        return NULL;
    event_list_open(&besides->events);
    note_list(besides, count, wait);
    note_list(besides, previous != NULL, &previous);
    if (first && !queue_out_of_order(queue))
        note_queue(besides, queue);
    if (besides->events.count)
        return besides;
    free(besides);
    return NULL;
}

/* Lets go of those that are over, or of all. Gives how many are left. */
static cl_uint put_events(struct besides *besides, bool all)
{
    cl_uint left = 0;
    for (cl_uint i = 0; i < besides->events.count; i++) {
        cl_event event = besides->events.events[i];
        if (!all && event_status(event) > CL_COMPLETE)
            besides->events.events[left++] = event;
        else
            event_put_late(event);
    }
    return besides->events.count = left;
}

void besides_free(struct besides *besides)
{
    if (!besides)
        return;
    put_events(besides, true);
    event_list_close(&besides->events);
    free(besides);
}

struct besides *besides_trim(struct besides *besides)
{
    if (besides && put_events(besides, false))
        return besides;
    besides_free(besides);
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

/* A thread of the driver is still at work on an event when its status says that it is over: as long as it has a reference. How many
 * others have is known of the marker alone. */
void besides_let_end(const struct besides *besides, unsigned *patience)
{
    enum { THROUGH = 3 };
    const cl_uint count = besides->events.count;
    for (cl_uint i = 0; i < count; i++)
        for (; *patience && is_running(besides->events.events[i]); (*patience)--)
            os_sleep_shortly();
    for (int i = 0;
         besides->marked && i < THROUGH && references(besides->events.events[count - 1]) > 1u + besides->profiles; i++)
        os_sleep_shortly();
    if (count > besides->marked)
        os_sleep_shortly();
}
