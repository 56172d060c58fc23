/* Events: what cld3d reports of them. */
#ifndef CLD3D_HANDLES_EVENT_H
#define CLD3D_HANDLES_EVENT_H

#include "handles/queue.h"

/* What queries of the event of an acquire or release return instead of the driver's values. */
struct event_record {
    struct record head;
    cl_command_type type;
    cl_command_queue queue;
    struct queue_record *kept; /* retained; the queue, if the driver's event is not one of its events. Otherwise NULL */
    cl_int failure;            /* the status to report if the command failed: negative */
    atomic_bool failed;        /* the command has failed, even if the driver reports that it is complete */
};

/* The number of pending user events of contexts with interop, gates included (defer/pending.c). While it is 0 nothing
 * is blocked. */
extern atomic_uint user_events_pending;

static inline bool user_event_pending(void)
{
    return atomic_load_explicit(&user_events_pending, memory_order_relaxed) != 0;
}

/* Makes `event` report a command of `type` in `queue`. */
void event_track(cl_event event, cl_command_type type, const struct queue_record *queue);
/* Creates the event of a command that has already failed with the negative status `failure`, with one reference for the
 * caller. */
cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event);
/* The command has failed, though the driver may report that it is complete. */
void event_fail(struct event_record *event);
/* What one of cld3d's events reports where the driver reports `status`. */
cl_int event_reported(const struct event_record *event, cl_int status);
/* The driver's execution status, or its error about the event, which is negative too. CL_QUEUED if the driver is out of
 * resources: such a query says nothing about the command. */
cl_int event_status(cl_event event);
/* The queue of the event's command; NULL for a user event, and if the driver does not report it. */
cl_command_queue event_queue(cl_event event);
/* Waits until the event has ended, even if the driver's own wait fails. False: the event failed. */
bool event_await(cl_event event);
/* The same, but while `held` returns true the event is looked at, and not waited for in the driver. */
bool event_await_unless(cl_event event, bool (*held)(cl_event event));
/* CL_INVALID_EVENT_WAIT_LIST or CL_INVALID_CONTEXT for an invalid list. */
cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events);
/* Whether an event of the list has failed. */
bool event_list_failed(cl_uint count, const cl_event *events);
/* Drops cld3d's reference to a driver's event; NULL is allowed. */
void event_put(cl_event event);

#endif
