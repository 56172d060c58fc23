/* Deferred destruction: of things that could not be destroyed at once because a callback runs, where drivers allow
 * little, or because something still uses them. This is the only list of such things, and `reap` the only way to
 * destroy them; reaper.c says which of them are checked when.
 *
 * Any thread may call. No lock may be held in `reap`, which calls drivers and Direct3D; in reap_later any but the
 * reaper's. */
#ifndef CLD3D_HANDLES_REAPER_H
#define CLD3D_HANDLES_REAPER_H

#include <CL/cl.h>
#include <stdbool.h>

/* In the order in which they are checked: each may release things that come after it. */
enum reap_kind {
    REAP_BLOCKER, /* blockers that ended in a callback (blocker_list.c) */
    REAP_COMMAND, /* deferred commands that ended in a callback (share/deferred_steps.c) */
    REAP_OBJECT,  /* shared objects with a pending transfer (share/object.c) */
    REAP_MEMORY,  /* memory of shared objects that commands still use (transport/outlive.c) */
    REAP_NOTICE,  /* callbacks that have been called (callback.c) */
    REAP_EVENT,   /* events that PoCL needs for longer (event_release.c) */
    REAP_KINDS
};

enum reap_moment {
    REAP_AT_COMMAND, /* a command is enqueued while a user event is pending: Direct3D is not touched */
    REAP_AT_RELEASE, /* an event or a context is released, a memory object created, released or handed over */
    REAP_AT_WAIT,    /* events were waited for: what other threads are destroying is waited for too */
    REAP_AT_FINISH,  /* a queue was finished: the same, and waits a moment, because drivers may count a command
                      * shortly after its end */
    REAP_AND_WAIT,   /* a user event was set or a queue released: may wait for what is about to end */
    REAP_CONTEXT /* the application's last reference to a context is dropped: the same, and nothing of it may stay */
};

enum { REAP_MARKERS = 4 };

/* One call of reap, with one or more passes through the lists, or of reap_one_kind. */
struct reap {
    enum reap_moment moment;
    cl_context context; /* for REAP_CONTEXT: the context that is released; NULL: any */
    int patience;       /* remaining milliseconds that may be spent waiting */
    /* Set by `over`: when something that only needs time will be over (nanoseconds of os.h); 0: nothing. */
    unsigned long long can_go_at;
    /* The last markers of this pass, for things of one queue to share (event_release.c): `over` sets them; the owner of
     * a marker is kept until the end of the pass. */
    struct {
        cl_command_queue queue;
        cl_event event; /* not owned */
    } markers[REAP_MARKERS];
    unsigned marker_count;
};

/* What things of one kind have in common. */
struct reap_class {
    enum reap_kind kind;
    bool (*over)(void *what,
                 struct reap *reap); /* whether it can be destroyed; NULL: whenever no callback runs on this thread */
    void (*destroy)(void *what);
};

/* Embedded in each such thing; belongs to the reaper from reap_later to `destroy`. */
struct reaped {
    const struct reap_class *of;
    void *what;
    struct reaped *after;
};

/* Takes over the thing that contains `one`. Cannot fail. */
void reap_later(struct reaped *one, const struct reap_class *of, void *what);
/* Destroys the things that can be destroyed, and at REAP_CONTEXT waits for those that only need time. Does nothing in a
 * callback. */
void reap(enum reap_moment moment, cl_context context);
/* Waits up to 50 ms until other threads have destroyed what they have taken from the list. Not in a callback. */
void reap_await_others(void);
/* As reap for one kind, also in a callback. */
void reap_one_kind(enum reap_kind kind, enum reap_moment moment);
/* A callback ends here. If callbacks have left much, another thread destroys it: a program may call nothing outside of
 * callbacks. No lock may be held. */
void reap_in_background(void);
/* For `over`: waits a millisecond before the next check. False: there is no time, or what is waited for may need the
 * caller. */
bool reap_pause(struct reap *reap);

#endif
