/* A list of events, each with one reference, that a command waits for or consists of.
 *
 * Space is reserved before a command is enqueued, so that no event is lost once the driver has accepted the command.
 * Not thread-safe, and not to be copied: short lists are stored in the structure itself. */
#ifndef CLD3D_HANDLES_EVENT_LIST_H
#define CLD3D_HANDLES_EVENT_LIST_H

#include <CL/cl.h>
#include <stdbool.h>

enum { EVENT_LIST_INLINE = 8 };

struct event_list {
    cl_event *events; /* `count` of them */
    cl_uint count, capacity;
    cl_event inline_storage[EVENT_LIST_INLINE];
};

/* The queue in which commands are enqueued, their wait list, and the list for their own events. */
struct enqueueing {
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait;
    struct event_list *done;
    bool blocked; /* a user event may block the queue */
    /* There is no wait list, and nobody needs an event: a command that would do nothing is left out. */
    bool unobserved;
};

/* Makes the structure an empty list; what it contains is not freed. */
void event_list_open(struct event_list *list);
/* Reserves space for `more` events. False: out of memory, and the list is unchanged. */
bool event_list_reserve(struct event_list *list, cl_uint more);
/* Takes over a reference to `event`, for which space must be reserved. NULL is ignored. */
void event_list_add(struct event_list *list, cl_event event);
/* Adds one more reference to `event`. False: out of memory, or the driver refuses; the list is unchanged. */
bool event_list_retain(struct event_list *list, cl_event event);
/* Extends a wait list by the events of the list, until the list changes. A wait list that the driver must refuse stays
 * as it is. False: out of memory. */
bool event_list_join(struct event_list *list, cl_uint *wait_count, const cl_event **wait);
/* Waits for the events. False: one failed. */
bool event_list_await(const struct event_list *list);
/* Drops all references and frees the list. */
void event_list_close(struct event_list *list);

#endif
