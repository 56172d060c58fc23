/* The blockers as files of this folder see them: the list of the commands that are blocked, and which of them still are. What others
 * may do with blockers stands in blocker.h. */
#ifndef CLD3D_TRACK_BLOCKER_LIST_H
#define CLD3D_TRACK_BLOCKER_LIST_H

#include "track/blocker.h"
#include "track/reaper.h"

struct besides;

/* All guarded by registry_lock unless said otherwise. The registry finds a blocker by its event: a user event's while the
 * application has it, a command's while it is held. */
struct blocker {
    struct record head;
    struct queue_record *queue; /* retained; constant. NULL: a user event */
    unsigned order;             /* constant */
    cl_event slot;              /* where the driver puts an event that the application does not want */
    cl_event event;             /* of a command: one reference, as soon as the driver has taken it, or NULL */
    bool active;                /* a user event is pending; a command is held, and in the list */
    bool over;                  /* the command is over, though something of it seems to be held: an error ended it */
    bool watched;               /* the driver has been asked to tell its end */
    bool comes;                 /* see blocker_comes_locked */
    bool marked;                /* see blocker_mark_locked */
    bool stuck;                 /* of one look through the list */
    bool first;                 /* of the held commands of its queue; constant */
    struct besides *besides;    /* owned; constant as soon as it is not NULL. See besides.h */
    struct blocker *after;      /* in the order of their turns: nothing waits for what comes later */
    struct reaped reaped;       /* once it is over */
    unsigned count;             /* what the command waits for; held */
    struct blocker *waits[];
};

/* A blocker with one reference and room for what it waits for. NULL: memory is short. */
struct blocker *blocker_new(unsigned capacity);
/* A user event blocks nothing any longer. */
void blocker_stop_pending_locked(struct blocker *user);

/* The first one in the list, or NULL; `after` leads to the others. */
struct blocker *blocker_list_locked(void);
/* Puts a command behind the others, and takes a reference. */
void blocker_append_locked(struct blocker *blocker);
/* Puts a command that is in the list behind the others. */
void blocker_move_last_locked(struct blocker *blocker);
/* The command of an event, if it is in the list; or the user event, if it is pending. Else NULL. */
struct blocker *blocker_find_active_locked(cl_event event);

/* Marks the commands as `stuck` that cannot begin while the user events are pending for which `blocks` says true. */
void blocker_look_locked(bool (*blocks)(const struct blocker *user));
/* For blocker_look_locked: all user events; those that the application has to set; those that are marked. */
bool blocker_pending(const struct blocker *user);
bool blocker_pending_and_not_coming(const struct blocker *user);
bool blocker_pending_and_marked(const struct blocker *user);
/* Takes the commands out of the list that nothing blocks any longer. */
void blockers_finish(void);

/* Calls `visit` with each blocker that has an event, without a lock. It may be that those added or removed meanwhile are left out. */
void blockers_each_with_event(void (*visit)(struct blocker *blocker));
/* The next one with an event behind `last`, or the first one for NULL, with a reference in place of that of `last`. Both may leave the
 * list meanwhile: then the rest is not looked at. */
struct blocker *blocker_next_with_event(struct blocker *last);

/* An error in its wait list ends a command at once, whatever else it waits for, and only the driver knows: asks whether the command is
 * over. For blockers_each_with_event. */
void blocker_ask_driver(struct blocker *blocker);

#endif
