/* Events: what cld3d reports of them, and references to them. */
#ifndef CLD3D_HANDLES_EVENT_H
#define CLD3D_HANDLES_EVENT_H

#include "handles/quirks.h"
#include "handles/registry.h"

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>

struct prerequisites;
struct queue_record;

/* What queries of one of cld3d's events return instead of the driver's values. */
struct event_record {
    struct record head;
    cl_command_type type;
    cl_command_queue queue;
    struct queue_record *kept; /* retained; the queue, if the driver's event is not one of its events. Otherwise NULL */
    cl_event first;            /* owned; the command starts with this event's. NULL: with the event itself */
    atomic_int failure;        /* the status to report if the command failed: negative */
    atomic_bool failed;        /* the command has failed, even if the driver reports that it is complete */
};

/* Makes `event` report a command of `type` in `queue`. Takes over `first`. */
void event_track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first);
/* Creates the event of a command that has already failed with the negative status `failure`, with one reference for the
 * caller. */
cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event);
/* What one of cld3d's events reports where the driver reports `status`. */
cl_int event_reported(const struct event_record *event, cl_int status);
/* Notes that the command of one of cld3d's events has failed, though the driver may report that it is complete. */
void event_fail(cl_event event);
/* Whether the event belongs to a context with interop whose driver has the quirk. False for NULL. */
bool event_context_has(cl_event event, enum quirk quirk);
/* A user event is released that was never set, and for which nothing waits: it is set to an error if the driver needs
 * that (QUIRK_NVIDIA_UNSET_EVENTS). NULL is allowed. */
void event_set_unset(cl_event event);
/* Whether the driver's event belongs to a command and is not a user event. False if the driver does not report it. */
bool event_is_command(cl_event event);
/* Whether a command has ended, or a user event has been set. False if the driver does not report it. */
bool event_is_over(cl_event event);
/* The driver's execution status, or its error about the event, which is negative too. CL_QUEUED if the driver is out of
 * resources: such a query says nothing about the command. */
cl_int event_status(cl_event event);
/* The queue of the event's command; NULL for a user event, and if the driver does not report it. */
cl_command_queue event_queue(cl_event event);
/* Waits until the event has ended, even if the driver's own wait fails. False: the event failed, or its device was lost
 * and did not come back (QUIRK_POCL_SERVER_LOST). */
bool event_await(cl_event event);
/* A context with QUIRK_POCL_SERVER_LOST was created: from now on devices may be lost. */
void event_devices_go(void);
/* CL_INVALID_EVENT_WAIT_LIST or CL_INVALID_CONTEXT for an invalid list. */
cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events);
/* Whether an event of the list has failed. */
bool event_list_failed(cl_uint count, const cl_event *events);

/* ---- references (event_release.c) ---- */

/* Drops cld3d's reference to a driver's event, NULL is allowed; postponed if PoCL needs the event for longer. */
void event_put(cl_event event);
/* The same for the event of a command that waited for `prerequisites`, which it takes over; NULL is allowed: see
 * prerequisites.h. */
void event_put_with_prerequisites(cl_event event, struct prerequisites *prerequisites);
/* The same for the event of an acquire, which PoCL may need for longer although it is complete. */
void event_put_late(cl_event event);
/* Takes over a reference of the application if PoCL needs it for longer. False: the event can be released. */
bool event_keep(cl_event event);
/* A context with QUIRK_POCL_EVENTS was created: from now on its events may have to be kept. */
void event_keep_begin(void);
/* A context is released: drops its completed events, and those of contexts released before, that are kept for a moment
 * longer. */
void event_drop_recent(cl_context context);

#endif
