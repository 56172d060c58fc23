/* Blockers as the files of this folder see them: the list of blocked commands, and which of them still are blocked.
 * blocker.h has the functions for others. */
#ifndef CLD3D_HANDLES_BLOCKER_LIST_H
#define CLD3D_HANDLES_BLOCKER_LIST_H

#include "handles/blocker.h"
#include "handles/reaper.h"

struct prerequisites;
struct blocker_failure;

/* All guarded by registry_lock unless stated otherwise. The registry finds a blocker by its event: a user event's while
 * the application has it, a command's while it is blocked. */
struct blocker {
    struct record head;
    struct queue_record *queue; /* retained; constant. NULL: a user event */
    unsigned order;             /* constant */
    cl_event slot;              /* where the driver stores an event that the application does not want */
    cl_event event;             /* of a command: one reference, once the driver has accepted it, or NULL */
    bool active;                /* a user event is pending; a command is blocked, and in the list */
    bool kept_turn;             /* a command that keeps its turn until blocker_end, unless another one takes it away */
    bool entering;              /* a command that has yet to come to blocker_end: it stays in the list */
    bool unblocked;             /* nothing blocks it any longer while it is entering: the queue does not count it */
    bool over;                  /* the command has ended although something seems to block it: an error ended it */
    bool stands;                /* see blocker_stands_for_earlier */
    bool watched;               /* the driver has been asked to report its end */
    bool polled;                /* and has refused */
    bool setting;               /* a user event: a thread is in the driver's call that sets it */
    bool comes;                 /* see blocker_comes_locked */
    bool marked;                /* see blocker_mark_locked */
    bool stuck;                 /* used during one pass through the list */
    struct blocker_failure *failure;     /* of a command; one reference */
    struct prerequisites *prerequisites; /* owned; constant once it is not NULL. See prerequisites.h */
    struct blocker *after;               /* in the order of their turns: nothing waits for a later one */
    unsigned long long turn;             /* its number, which only grows along the list */
    struct reaped reaped;                /* once it has ended */
    unsigned count;                      /* what the command waits for; retained */
    struct blocker *waits[];
};

/* Whether a command fails because an event of its wait list has failed. `by`: that user event, while the driver may still
 * refuse to set it; guarded by registry_lock. */
struct blocker_failure {
    atomic_uint references;
    atomic_bool failed;
    const struct blocker *by;
};

/* A blocker with one reference and space for what it waits for. NULL: out of memory. */
struct blocker *blocker_new(unsigned capacity);
/* A user event blocks nothing any longer. */
void blocker_stop_pending_locked(struct blocker *user);
/* Does this, and takes the user event from the registry, if the application has released it and no command waits for it:
 * it can't be set any more, and its address may be reused. The caller has a reference. */
void blocker_forget_released_locked(struct blocker *user);

/* The first one in the list, or NULL; `after` leads to the others. */
struct blocker *blocker_list_locked(void);
/* Those of the list that are wanted, each retained, up to a NULL: for the caller to put, and to free. NULL: out of memory. */
struct blocker **blockers_collect_locked(bool (*wanted)(const struct blocker *, const void *data), const void *data);
/* Appends a command to the list, and takes a reference. */
void blocker_append_locked(struct blocker *blocker);
/* Moves a command of the list to its end. */
void blocker_move_last_locked(struct blocker *blocker);
/* Counts a command as blocked again that nothing has blocked any longer. */
void blocker_block_again_locked(struct blocker *blocker);
/* Whether the queue has a command that is blocked and that one with this order relative to the others comes after. */
bool blocker_comes_behind_locked(const struct queue_record *queue, unsigned order);
/* The command of an event, if it is in the list; or the user event, if it is pending. Otherwise NULL. */
struct blocker *blocker_find_active_locked(cl_event event);

/* Marks as `stuck` the commands that cannot start while the user events are pending for which `blocks` returns true. */
void blocker_mark_blocked_locked(bool (*blocks)(const struct blocker *user));
/* For blocker_mark_blocked_locked: the user events that no thread is setting; those that the application must set; those that are
 * marked. */
bool blocker_pending_and_not_setting(const struct blocker *user);
bool blocker_pending_and_not_coming(const struct blocker *user);
bool blocker_pending_and_marked(const struct blocker *user);
/* Calls `visit` with each blocker that has an event, without a lock; not with those that are added meanwhile. */
void blockers_each_with_event(void (*visit)(struct blocker *blocker));
/* A command that stands for others has not ended before they have, unless it has failed. */
bool blocker_ends_locked(const struct blocker *blocker, cl_int status);

/* An error in its wait list ends a command at once, whatever else it waits for, and only the driver knows: queries
 * whether the command has ended. For blockers_each_with_event. */
void blocker_ask_driver(struct blocker *blocker);

#endif
