/* Which commands a pending user event blocks, as masks.
 *
 * While no user event of a context with interop is pending nothing is tracked. Otherwise each has a bit: the program's
 * user events, and the gates of deferred commands (deferred.h). A queue has a mask of what blocks any of its commands,
 * and the event of each command that was enqueued meanwhile has one of what blocks that. A command is blocked by what
 * blocks its queue and its wait list; then so are the queue and the command's event. In a queue out of order a second
 * mask of the queue has what blocks its barriers, which most commands follow alone.
 *
 * When a user event is set its bit is cleared everywhere, in one pass, right before the driver sets it. */
#ifndef CLD3D_DEFER_PENDING_H
#define CLD3D_DEFER_PENDING_H

#include "handles/handles.h"

typedef uint64_t pending_mask;

/* All user events that have no bit of their own, because too many are pending, share this one. */
#define PENDING_SHARED ((pending_mask)1 << 63)

/* A pending user event. */
struct user_event {
    struct record head;        /* found by the event while the program, or its deferred command, holds it */
    pending_mask bit;          /* guarded by registry_lock, like what follows; 0: not pending any longer */
    unsigned long long number; /* in the order of creation, with those of deferred commands */
    struct user_event *after;  /* the next one that shares PENDING_SHARED */
};

/* How a command stands to the others of a queue out of order. */
enum pending_order {
    PENDING_ALONE = 0,     /* it follows its wait list and the barriers before, and nothing follows it */
    PENDING_AFTER_ALL = 1, /* it follows everything before */
    PENDING_BARRIER = 2    /* everything behind it follows it */
};

/* A command on its way to the driver. */
struct pending_command {
    struct queue_record *queue; /* not retained; NULL: nothing is tracked */
    unsigned order;
    pending_mask mask; /* what blocked the command when it began */
    bool holds;        /* other threads enqueue nothing in the queue */
};

/* ---- commands ---- */

/* Call this before the driver gets a command. If a user event is pending no other thread enqueues in the queue until
 * pending_end, which must follow. A blocking command, whose call in the driver waits for it, keeps no other thread out. */
void pending_begin(struct pending_command *command, struct queue_record *queue, unsigned order, cl_uint count,
                   const cl_event *wait, bool blocking);
/* The same if none is pending. */
void pending_hold(struct pending_command *command, struct queue_record *queue, unsigned order, cl_uint count,
                  const cl_event *wait, bool blocking);
/* The driver has taken the command, or not. `event` is its event, or NULL. */
void pending_end(struct pending_command *command, bool enqueued, cl_event event);
/* What blocks the command of an event now, or a user event itself; 0: nothing. */
pending_mask pending_of_locked(cl_event event);

/* ---- user events ---- */

/* Tracks a user event that has just been created. NULL: out of memory. */
struct user_event *user_event_make(cl_event event);
/* The driver sets the event. It is asked again if it is short of memory. */
cl_int user_event_set(cl_event event, cl_int status);
/* The user event is set, or will never be: it blocks nothing any longer. */
void user_event_end_locked(struct user_event *event);
/* The command waits for the user event too. Returns what blocks it and the rest of its queue now. */
pending_mask pending_add_locked(const struct pending_command *command, const struct user_event *event);

/* A number for a deferred command, and whether nothing blocks it any longer: its mask is empty, except for user events
 * that share a bit and were created after it. */
unsigned long long pending_number_locked(void);
bool pending_is_free_locked(pending_mask mask, unsigned long long number);

void user_event_install(cl_icd_dispatch *table);

#endif
