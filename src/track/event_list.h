/* A list of events, each with a reference of ours, that a command waits for or is made of.
 *
 * Room is reserved before a command is enqueued, so that no event is lost once the driver has taken the command. Not safe
 * for several threads, and not to be copied: short lists are stored in the structure itself. */
#ifndef CLD3D_TRACK_EVENT_LIST_H
#define CLD3D_TRACK_EVENT_LIST_H

#include <CL/cl.h>
#include <stdbool.h>

enum { EVENT_LIST_INLINE = 8 };

struct event_list {
    cl_event *events; /* `count` of them */
    cl_uint count, capacity;
    cl_event inline_storage[EVENT_LIST_INLINE];
};

/* Where commands are enqueued, behind which events, and the list for their own. */
struct enqueueing {
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait;
    struct event_list *done;
    bool ours; /* the queue is one of ours, which no user event blocks */
};

void event_list_open(struct event_list *list);
/* Makes room for `more` events. False: memory is short, and the list is as it was. */
bool event_list_reserve(struct event_list *list, cl_uint more);
/* Takes over a reference to `event`, for which there must be room. NULL is left out. */
void event_list_add(struct event_list *list, cl_event event);
/* Makes a wait list wait for the events of the list besides, until the list changes. One that the driver has to refuse stays as it is.
 * False: memory is short. */
bool event_list_join(struct event_list *list, cl_uint *wait_count, const cl_event **wait);
/* Waits for the events one by one: behind a failed one PoCL 3.1 may run later commands before it is over. False: one
 * failed. */
bool event_list_await(const struct event_list *list);
/* Drops all references and frees the list. */
void event_list_close(struct event_list *list);

#endif
