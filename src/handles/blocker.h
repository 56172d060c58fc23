/* What blocks commands until the program does something: its user events, and cld3d's gates (deferred.c).
 *
 * While a user event of a context with interop is pending, each command that waits for one, directly or behind other
 * commands, is tracked: in its wait list, or before it in its queue. So it is known at any time whether a command can
 * end by itself, as of the moment when it was enqueued: commands enqueued later do not matter. While no user event is
 * pending nothing is tracked, except that a command which others may name is on its way to the driver (queue_enter). */
#ifndef CLD3D_HANDLES_BLOCKER_H
#define CLD3D_HANDLES_BLOCKER_H

#include "handles/event_list.h"
#include "handles/registry.h"

#include <CL/cl.h>

struct queue_record;

/* A pending user event, or a command that waits for one. It ends when nothing blocks it any longer. */
struct blocker;

/* The order of a command relative to the others of an out-of-order queue. Commands of an in-order queue have all
 * flags. */
enum blocking_order {
    ORDER_ALONE = 0,      /* it waits for its wait list, and nothing waits for it */
    ORDER_AFTER_ALL = 1,  /* it runs after everything enqueued before it */
    ORDER_BEFORE_ALL = 2, /* everything enqueued later runs after it */
    /* added to the others: the calling thread may have entered the queue itself (queue_enter), so blocker_begin waits
     * only briefly until no thread has */
    ORDER_ENTERED = 4
};

/* The number of pending user events, gates included. */
extern atomic_uint blockers_pending;

/* Whether a user event is pending: if not, nothing is blocked. */
static inline bool blockers_possible(void)
{
    return atomic_load_explicit(&blockers_pending, memory_order_relaxed) != 0;
}

/* ---- commands ---- */

/* Call this before the driver gets a command: `*blocker` is NULL if nothing blocks it, otherwise it is tracked from now
 * on, and blocker_end must follow. `named` says whether others may refer to the command, by its event or otherwise.
 * Fails only with CL_OUT_OF_HOST_MEMORY. */
cl_int blocker_begin(const char *call, cl_command_queue queue, unsigned order, cl_uint count, const cl_event *wait,
                     bool named, struct blocker **blocker);
/* Call this right before the driver gets the command: it runs after all tracked commands of its queue. With `keep` no
 * other thread gives the driver a tracked command of the queue until blocker_end, so that the order of the blockers is
 * the driver's. A command for which the driver's call waits does not keep the turn. The wait list is that of blocker_begin. `blocker` may
 * be NULL. */
void blocker_turn(struct blocker *blocker, bool keep, cl_uint count, const cl_event *wait);
/* Where the driver must store the event of a command: a blocked command needs one even if the application wants
 * none. */
cl_event *blocker_event(struct blocker *blocker, cl_event *wanted);
/* The command represents all earlier ones of its queue, whose order the driver may have lost: its success does not imply that they
 * have ended. NULL is allowed. */
void blocker_stands_for_earlier(struct blocker *blocker);
/* The driver has accepted the command if `status` is CL_SUCCESS; `event` is its event, of which one more reference is
 * taken, or NULL if there is none other than blocker_event's. Otherwise nothing has been enqueued. `blocker` may be
 * NULL. */
void blocker_end(struct blocker *blocker, cl_int status, cl_event event);

/* Whether a command with this order relative to the others must be tracked if it comes behind a blocked one: others may name it, or
 * depend on it in an out-of-order queue. In an in-order queue they depend on the earlier ones anyway. With PoCL each is tracked: PoCL
 * 3.1 ends the process if a command fails whose event nobody has. */
bool queue_follows(const struct queue_record *queue, unsigned order, bool named);
/* Call this before the driver gets a command with this order relative to the others. False: it must run after a blocked
 * command of the queue. True: until queue_leave, blocked commands that other threads enqueue there have to wait, and so
 * come after what the caller enqueues. Wait for nothing in between. */
bool queue_enter(struct queue_record *queue, unsigned order);
void queue_leave(struct queue_record *queue);
/* Whether the command of an event is blocked. */
bool event_blocked(cl_event event);

/* The events of the blocked commands of a queue with this order relative to the others, each with a reference. False:
 * out of memory. */
bool blocked_list_events(const struct queue_record *queue, unsigned order, struct event_list *list);

/* Removes the commands from the list that nothing blocks any longer. Those that are entering stay: until the driver has
 * one, another thread may put a blocked command before it. */
void blockers_finish(void);

/* ---- user events ---- */

/* Tracks a pending user event. NULL if out of memory. The caller puts the result. */
struct blocker *blocker_user_event(cl_event event);
/* The application is about to set an event: assigns the deferred commands that depend on it to the calling thread.
 * `*owner` is the number for blockers_set and deferral.run, which must follow even if the driver refuses; 0 in a
 * callback. `*claimed`, which may be NULL, is kept for blockers_set or blockers_not_set, which must follow: the application may release
 * the event once it has seen it set. False: another thread is setting it, and nothing has to follow. */
bool blockers_claim(cl_event event, struct blocker **claimed, unsigned *owner);
/* The driver has refused to set it. Puts `user`; NULL is allowed. */
void blockers_not_set(struct blocker *user);
/* A user event is about to be set to an error: notes in the queues of the commands that it blocks that these may fail,
 * and lets what they wait for in addition end first, if the driver needs it (prerequisites.h). */
void blockers_fail(cl_event event);
/* A user event is set; `failed`: to an error, with which commands may end that other events still block. `owner`: by
 * the application, with the number of blockers_claim; otherwise 0. Puts `user`; NULL is allowed. */
void blockers_set(struct blocker *user, bool failed, unsigned owner);
/* The application releases a user event. If that was the last reference and the event is not set, it blocks what waits for
 * it until that fails with another event; then its address may be reused. Asks the driver for that. Returns whether the
 * event is not set, blocks nothing, and no thread is setting it. */
bool blockers_release(cl_event event);

/* ---- for commands that are deferred until nothing blocks them ---- */

/* Keeps a blocker beyond blocker_end, until blocker_put. NULL is allowed in both. */
struct blocker *blocker_keep(struct blocker *blocker);
void blocker_put(struct blocker *blocker);
/* Whether an event of the wait list has failed, and so the command, whatever the driver reports. Retained for the
 * caller, who can query it long after the blocker is gone. NULL: the blocker is NULL. */
struct blocker_failure *blocker_failure(struct blocker *blocker);
bool blocker_failed(const struct blocker_failure *failure);
void blocker_failure_put(struct blocker_failure *failure);
/* Whether the command is still blocked. NULL never is. */
bool blocker_active_locked(const struct blocker *blocker);
/* The gate is about to be set: a thread that finds its queue blocked by the gate waits for that (queue_enter). NULL is
 * allowed. */
void blocker_setting_locked(struct blocker *gate);
/* Marks a gate that will be set without any action of the application. */
void blocker_comes_locked(struct blocker *gate, bool comes);
/* Whether only such gates block a command. */
bool blocker_coming_locked(const struct blocker *blocker);
/* Whether marked gates, or the marked user event, block a command. */
void blocker_mark_locked(struct blocker *gate, bool marked);
bool blocker_depends_locked(const struct blocker *blocker);

#endif
