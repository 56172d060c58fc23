/* A deferred command, and the files of it for one another: deferred.c puts it into the queue, deferred_steps.c is what it does,
 * deferred_run.c who does that and when. */
#ifndef CLD3D_SHARE_DEFERRED_H
#define CLD3D_SHARE_DEFERRED_H

#include "share/command.h"

enum deferred_kind {
    DEFERRED_RELEASE,
    DEFERRED_ACQUIRE,
    DEFERRED_UNDO /* of an acquire that failed while some of its commands were enqueued */
};

struct deferred {
    struct command command; /* its own lists and blockers */
    enum deferred_kind kind;
    cl_event gate; /* owned; NULL of an undo, for which nothing waits */
    struct event_list
        before;           /* what it waits for: a marker behind the earlier commands, the bytes of acquires; of an undo
                                 the commands that were enqueued */
    cl_command_queue own; /* owned; for the moves, since the application's queue waits at the gate */
    struct event_list moves;
    bool moving;        /* the moves are enqueued */
    bool done;          /* what the gate will say */
    atomic_bool failed; /* one of the events has */
    cl_uint at;         /* the next event to wait for */
    atomic_uint references;
    struct blocker
        *behind; /* kept; what blocked the command when it was enqueued, or NULL. What blocks its queue since then
                                 comes after it */
    struct blocker *gate_blocker; /* kept; the gate's */
    struct event_record *event;   /* held; of the application's event. NULL: it wants none */

    /* Guarded by registry_lock. */
    cl_event told_by; /* whose end somebody has to go on with, of a command that was begun in a callback: who sets it to
                                 NULL does */
    bool told;        /* the driver has been asked to call back at that end */
    unsigned number;  /* in the order of their calls */
    cl_uint end;      /* the objects that move stand before it; fixed once the command is begun */
    bool begun;       /* somebody runs it */
    bool over;        /* Direct3D has what it was to bring; the gate may be open */
    bool coming;      /* see coming_locked */
    bool depends;     /* of one look through the list: on the user event that is being set */
    unsigned owner;   /* who sets that event: nobody else begins it. 0: anybody does */
    struct deferred *after;

    struct reaped reaped;
};

/* In the order of their calls. Guarded by registry_lock. */
extern struct deferred *deferred_list;

/* Gives back a `struct deferred`; NULL is allowed. */
void deferred_put(void *what);

/* ---- deferred.c ---- */

/* The queue is blocked, or an earlier command on one of the objects is deferred: the command, a release or an acquire, runs
 * when the user events are set that it waits for. On success it is on its way, and has set the state that the objects show;
 * else nothing has happened. */
cl_int defer(struct command *command, enum deferred_kind kind);

/* Whether a deferred release is still to bring bytes to a surface of the command's objects: perhaps from another object, which
 * the application has given back or which stands beside this one. */
bool deferred_writes_to(const struct command *command);

/* For an acquire that fails after some of its commands were enqueued: they use the transports' memory, and may wait for a user
 * event that the caller sets later. Their events go to `before`. Made before, since memory may be short then: NULL if it is. Put
 * if it was not needed. */
struct deferred *deferred_undo_prepare(const struct command *command);
/* Undoes the acquire when those events are over; the objects are idle for the application. */
void deferred_undo_begin(struct deferred *undo);

/* ---- deferred_steps.c ---- */

/* The events that have to be over before the next step. */
struct event_list *deferred_awaited(struct deferred *d);
/* Goes on when what was awaited is over. False: there is more to wait for. */
bool deferred_step(struct deferred *d);
/* Its gate opens for all that wait for it, and with that it leaves the list. */
void deferred_finish(struct deferred *d);

#endif
