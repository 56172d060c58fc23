/* What holds commands back for ever unless the program does something: its user events, and our own gates (deferred.c).
 *
 * While a user event of a context with interop is pending, each command that waits for one is followed, directly or behind
 * other commands: in its wait list, or before it in its queue. So it is known at any time whether a command can end by
 * itself, as of the moment when it was enqueued: what its queue was given later does not matter. Nothing is followed, and
 * nothing costs more than a look at a number, while no user event is pending. */
#ifndef CLD3D_TRACK_HOLD_H
#define CLD3D_TRACK_HOLD_H

#include "track/event_list.h"
#include "track/registry.h"

#include <CL/cl.h>

struct queue_record;

/* A pending user event, or a command that waits for one. Ended and out of the way when nothing holds it any longer. */
struct hold;

/* How a command stands to the others of an out-of-order queue. Those of an in-order queue are all of these. */
enum hold_order {
    HOLD_ALONE = 0,       /* it waits for its wait list, and nothing for it */
    HOLD_AFTER_ALL = 1,   /* it comes after all that was enqueued before it */
    HOLD_BEFORE_ALL = 2   /* all that is enqueued later comes after it */
};

extern atomic_uint holds_pending;

/* Whether a user event is pending: if not, nothing is held. */
static inline bool holds_possible(void)
{
    return atomic_load_explicit(&holds_pending, memory_order_relaxed) != 0;
}

/* ---- commands ---- */

/* To be called before the driver gets a command: `*hold` is NULL if nothing holds it, else it is followed from now on, and
 * hold_end is due. `named` says whether others may name the command, by its event or otherwise. Fails with
 * CL_OUT_OF_HOST_MEMORY alone. */
cl_int hold_begin(const char *call, cl_command_queue queue, unsigned order, cl_uint count, const cl_event *wait, bool named,
                  struct hold **hold);
/* Where the driver is to put the event of a command, which is wanted if it is held even if the application wants none. */
cl_event *hold_event(struct hold *hold, cl_event *wanted);
/* The driver has taken the command if `status` is CL_SUCCESS; `event` is its event, of which one reference more is taken,
 * or NULL if there is none beside hold_event's. Else nothing has been enqueued. NULL for `hold` is allowed. */
void hold_end(struct hold *hold, cl_int status, cl_event event);

/* For a command whose caller waits for it. False: the queue has a command that is held. Else what other threads enqueue there that
 * is to be held waits until queue_leave, and so comes behind what the caller enqueues. Nothing may be waited for in between. */
bool queue_enter(struct queue_record *queue);
void queue_leave(struct queue_record *queue);
/* Whether the command of an event is held. */
bool event_held(cl_event event);

/* The events of the commands of a queue that are held and stand so to the others, each with a reference. False: memory is short. */
bool hold_list_events(const struct queue_record *queue, unsigned order, struct event_list *list);

/* ---- user events ---- */

/* Follows a user event, which is pending. NULL if memory is short. For the caller to put. */
struct hold *hold_user_event(cl_event event);
/* The application is about to set an event: gives what is deferred and depends on it to the calling thread. Returns the number for
 * holds_set and deferral.run, which is due even where the driver refuses; 0 in a callback. */
unsigned holds_claim(cl_event event);
/* A user event is set; `failed`: to an error, with which commands may end that other events hold still. */
void holds_over(cl_event event, bool failed);
/* The same for one that the application sets, with the number of holds_claim. */
void holds_set(cl_event event, bool failed, unsigned owner);
/* The application's references to a pending user event: one that is given back without being set holds what was enqueued
 * for ever, but its address may come again. */
void holds_retain(cl_event event);
void holds_release(cl_event event);
/* Gives back what was over in callbacks. */
void holds_sweep(void);

/* ---- for commands that are deferred until nothing holds them ---- */

/* Keeps a hold beyond hold_end, until it is put. NULL is allowed in both. */
struct hold *hold_keep(struct hold *hold);
void hold_put(struct hold *hold);
/* Whether the command is still held. Nothing, NULL, never is. */
bool hold_active_locked(const struct hold *hold);
/* A gate that will be set without anything the application does. */
void hold_comes_locked(struct hold *gate, bool comes);
/* Whether nothing but such gates holds a command. */
bool hold_coming_locked(const struct hold *hold);
/* Whether marked gates, or the marked user event, hold a command. */
void hold_mark_locked(struct hold *gate, bool marked);
bool hold_depends_locked(const struct hold *hold);

#endif
