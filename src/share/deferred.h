/* A deferred command, shared by its files: deferred.c adds it to the queue, deferred_steps.c is what it does,
 * deferred_run.c decides which thread runs it and when. */
#ifndef CLD3D_SHARE_DEFERRED_H
#define CLD3D_SHARE_DEFERRED_H

#include "share/command.h"

enum deferred_kind {
    DEFERRED_RELEASE,
    DEFERRED_ACQUIRE,
    DEFERRED_UNDO /* of an acquire that failed after some of its commands were enqueued */
};

struct deferred {
    struct command command; /* its own lists and blockers */
    enum deferred_kind kind;
    cl_event gate; /* owned; NULL for an undo, which nothing waits for */
    /* what it waits for: a marker behind the earlier commands, the transfers of acquires; for an undo the commands that
     * were enqueued */
    struct event_list waits;
    cl_uint
        barriers; /* how many of `waits`, from the first, are barriers: it runs after them and does not fail with them */
    cl_uint next_wait;               /* the next event to wait for, of `waits` or of `transfers` */
    cl_command_queue transfer_queue; /* owned; the application's queue waits at the gate */
    struct event_list transfers;     /* the commands in it */
    bool transferring;               /* they are enqueued */
    bool done;                       /* the result that the gate will report */
    atomic_bool failed;              /* one of the events has failed */
    atomic_uint references;
    /* kept; what blocked the command when it was enqueued, or NULL. Anything that has blocked its queue since then
     * comes after it */
    struct blocker *blocked_by;
    struct blocker *gate_blocker; /* kept; the gate's */
    struct event_record *event;   /* retained; of the application's event. NULL: it wants none */

    /* Guarded by registry_lock. */
    /* for a command that was started in a callback: the event at whose end some thread must continue; the thread that
     * sets it to NULL does */
    cl_event callback_at;
    bool request_open;          /* a callback at that end, or the polling thread, continues the command */
    unsigned callback_requests; /* how many there were; an event may come twice */
    bool polled;                /* the driver has refused the request: a thread looks for the end instead */
    unsigned number;            /* in the order of their calls */
    cl_uint end;                /* the objects before it are transferred; fixed once the command has started */
    bool begun;                 /* a thread runs it */
    bool over;                  /* Direct3D has what the command brings; the gate may be open */
    bool coming;                /* see coming_locked */
    bool depends;               /* used during one pass through the list: depends on the user event that is being set */
    unsigned owner;             /* the thread that sets that event: no other starts the command. 0: any thread may */
    struct deferred *after;

    struct reaped reaped_objects, reaped;
};

/* In the order of their calls. Guarded by registry_lock. */
extern struct deferred *deferred_list;

/* Drops a reference to a `struct deferred`; NULL is allowed. */
void deferred_put(void *what);

/* ---- deferred.c ---- */

/* The queue is blocked, or an earlier command on one of the objects is deferred: the command, a release or an acquire,
 * runs when the user events are set that it waits for. On success it is pending, and has set the state that the objects
 * show; otherwise nothing has happened. */
cl_int defer(struct command *command, enum deferred_kind kind);

/* Whether a deferred release has yet to bring bytes to a surface of the command's objects: possibly from another
 * object, which the application has released or which shares the surface with this one. */
bool deferred_writes_to(const struct command *command);

/* For an acquire that fails after some of its commands were enqueued: these use the transports' memory, and may wait
 * for a user event that the caller sets later. Their events go to its `waits`. Created in advance, because memory may
 * be short then: NULL if out of memory. Put it if it was not needed. */
struct deferred *deferred_undo_prepare(const struct command *command);
/* Undoes the acquire when those events have ended; for the application the objects are idle. */
void deferred_undo_begin(struct deferred *undo);

/* ---- deferred_steps.c ---- */

/* The events that must end before the next step. */
struct event_list *deferred_awaited(struct deferred *d);
/* Continues when the awaited events have ended. False: there is more to wait for. */
bool deferred_step(struct deferred *d);
/* Removes it from the list, puts its objects and opens its gate. */
void deferred_finish(struct deferred *d);

#endif
