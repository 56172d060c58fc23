/* What blocks commands for ever unless the program does something: its user events, and our own gates (deferred.c).
 *
 * While a user event of a context with interop is pending, each command that waits for one is followed, directly or behind
 * other commands: in its wait list, or before it in its queue. So it is known at any time whether a command can end by
 * itself, as of the moment when it was enqueued: what its queue was given later does not matter. Nothing is followed, and
 * nothing costs more than a look at a number, while no user event is pending. */
#ifndef CLD3D_TRACK_BLOCKER_H
#define CLD3D_TRACK_BLOCKER_H

#include "track/event_list.h"
#include "track/registry.h"

#include <CL/cl.h>

struct queue_record;

/* A pending user event, or a command that waits for one. Ended and out of the way when nothing blocks it any longer. */
struct blocker;

/* How a command stands to the others of an out-of-order queue. Those of an in-order queue are all of these. */
enum blocking_order {
    ORDER_ALONE = 0,     /* it waits for its wait list, and nothing for it */
    ORDER_AFTER_ALL = 1, /* it comes after all that was enqueued before it */
    ORDER_BEFORE_ALL = 2 /* all that is enqueued later comes after it */
};

extern atomic_uint blockers_pending;

/* Whether a user event is pending: if not, nothing is blocked. */
static inline bool blockers_possible(void)
{
    return atomic_load_explicit(&blockers_pending, memory_order_relaxed) != 0;
}

/* ---- commands ---- */

/* To be called before the driver gets a command: `*blocker` is NULL if nothing blocks it, else it is followed from now on, and
 * blocker_end is due. `named` says whether others may name the command, by its event or otherwise. Fails with
 * CL_OUT_OF_HOST_MEMORY alone. */
cl_int blocker_begin(const char *call, cl_command_queue queue, unsigned order, cl_uint count, const cl_event *wait,
                     bool named, struct blocker **blocker);
/* To be called right before the driver gets the command: it comes after all that are followed in its queue. With `keep` no other
 * thread gives the driver a followed command of the queue until blocker_end, so that the order of the blockers is the driver's. A
 * command for which the driver's call waits does not keep the turn. NULL for `blocker` is allowed. */
void blocker_turn(struct blocker *blocker, bool keep);
/* Where the driver is to put the event of a command, which is wanted if it is blocked even if the application wants none. */
cl_event *blocker_event(struct blocker *blocker, cl_event *wanted);
/* The driver has taken the command if `status` is CL_SUCCESS; `event` is its event, of which one reference more is taken,
 * or NULL if there is none beside blocker_event's. Else nothing has been enqueued. NULL for `blocker` is allowed. */
void blocker_end(struct blocker *blocker, cl_int status, cl_event event);

/* For a command whose caller waits for it. False: the queue has a command that is blocked. Else what other threads enqueue there that
 * is to be held waits until queue_leave, and so comes behind what the caller enqueues. Nothing may be waited for in between. */
bool queue_enter(struct queue_record *queue);
void queue_leave(struct queue_record *queue);
/* Whether the command of an event is blocked. */
bool event_blocked(cl_event event);

/* The events of the commands of a queue that are blocked and stand so to the others, each with a reference. False: memory is short. */
bool blocked_list_events(const struct queue_record *queue, unsigned order, struct event_list *list);

/* ---- user events ---- */

/* Follows a user event, which is pending. NULL if memory is short. For the caller to put. */
struct blocker *blocker_user_event(cl_event event);
/* The application is about to set an event: gives what is deferred and depends on it to the calling thread. Returns the number for
 * blockers_set and deferral.run, which is due even where the driver refuses; 0 in a callback. */
unsigned blockers_claim(cl_event event);
/* A user event is about to be set to an error: the queues of the commands that it blocks lose them, and what these wait for besides
 * ends first, where the driver needs it (besides.h). */
void blockers_fail(cl_event event);
/* A user event is set; `failed`: to an error, with which commands may end that other events still block. `owner`: by the
 * application, with the number of blockers_claim; else 0. */
void blockers_set(cl_event event, bool failed, unsigned owner);
/* A pending user event that the application gives back without having set it blocks what was enqueued for ever, but its address
 * may come again. Tells whether that has just happened to one that blocks nothing. */
bool blockers_release(cl_event event);

/* ---- for commands that are deferred until nothing blocks them ---- */

/* Keeps a blocker beyond blocker_end, until it is put. NULL is allowed in both. */
struct blocker *blocker_keep(struct blocker *blocker);
void blocker_put(struct blocker *blocker);
/* Whether the command is still blocked. Nothing, NULL, never is. */
bool blocker_active_locked(const struct blocker *blocker);
/* A gate that will be set without anything the application does. */
void blocker_comes_locked(struct blocker *gate, bool comes);
/* Whether nothing but such gates blocks a command. */
bool blocker_coming_locked(const struct blocker *blocker);
/* Whether marked gates, or the marked user event, hold a command. */
void blocker_mark_locked(struct blocker *gate, bool marked);
bool blocker_depends_locked(const struct blocker *blocker);

#endif
