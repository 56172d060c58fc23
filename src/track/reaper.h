/* What is destroyed later than it could be dropped: because a callback runs, where drivers allow little, or because something
 * still uses it. This is the one list of such things, and `reap` the one way to their end; reaper.c says which of them are
 * looked at when.
 *
 * Any thread may call. No lock may be held in `reap`, which calls drivers and Direct3D; in reap_later any but the reaper's. */
#ifndef CLD3D_TRACK_REAPER_H
#define CLD3D_TRACK_REAPER_H

#include <CL/cl.h>
#include <stdbool.h>

/* In the order in which they are looked at: each may let go of what stands behind it. */
enum reap_kind {
    REAP_BLOCKER, /* blockers that ended in a callback (blocker.c) */
    REAP_COMMAND, /* deferred commands that ended in a callback (share/deferred.c) */
    REAP_OBJECT,  /* shared objects whose bytes are on their way (share/object.c) */
    REAP_MEMORY,  /* memory of shared objects that commands still use (transport/outlive.c) */
    REAP_EVENT,   /* events that PoCL needs for longer (event_release.c) */
    REAP_KINDS
};

enum reap_moment {
    REAP_AT_COMMAND, /* a command is enqueued while a user event is pending: nothing of Direct3D is touched */
    REAP_AT_RELEASE, /* an event or a context is given back, a memory object made or given back */
    REAP_AND_WAIT,   /* a user event was set or a queue given back: what is about to end may be waited for */
    REAP_CONTEXT     /* the application's last reference to a context goes: the same, and nothing of it may stay */
};

/* One look through the list. */
struct reap {
    enum reap_moment moment;
    cl_context context; /* of REAP_CONTEXT: which one goes; NULL: whichever */
    int patience;       /* milliseconds that may still be waited in all */
    /* Set by `over`: when something that is not over will be, for nothing but time is missing (nanoseconds of os.h); 0: nothing. */
    unsigned long long settles_at;
};

/* What things of one sort have in common. */
struct reap_class {
    enum reap_kind kind;
    bool (*over)(void *what, struct reap *reap); /* whether it can be destroyed; NULL: whenever no callback runs here */
    void (*destroy)(void *what);
};

/* Stands in each such thing; the reaper's from reap_later to `destroy`. */
struct reaped {
    const struct reap_class *of;
    void *what;
    struct reaped *after;
};

/* Takes over the thing in which `one` stands. Can't fail. */
void reap_later(struct reaped *one, const struct reap_class *of, void *what);
/* Destroys what is over, and at REAP_CONTEXT waits for what misses nothing but time. Does nothing in a callback. */
void reap(enum reap_moment moment, cl_context context);
/* The same for one kind, wherever the caller is. */
void reap_kind(enum reap_kind kind, enum reap_moment moment);
/* For `over`: lets a millisecond pass, after which to look again. False: there is no time, or what is waited for may need the
 * caller. */
bool reap_pause(struct reap *reap);

#endif
