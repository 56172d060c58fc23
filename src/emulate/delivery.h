/* Calls the application's callbacks, one after the other, on one of cld3d's threads. */
#ifndef CLD3D_EMULATE_DELIVERY_H
#define CLD3D_EMULATE_DELIVERY_H

#include <stdbool.h>

/* The first member of a delivered item. `run` makes the call and frees the item. */
struct delivery {
    void (*run)(struct delivery *delivery);
    struct delivery *after;
};

/* Starts the thread if it is not running. False: out of resources. For calls with no lock held, before the first `deliver`. */
bool delivery_ready(void);

/* Takes over `delivery`, and restarts the thread if it has ended for lack of work. May be called with any lock held. */
void deliver(struct delivery *delivery);

/* Whether something waits although no thread can be started for it. Tries again. May be called with any lock held. */
bool delivery_stuck(void);

/* Whether something has yet to be called, or is being called. */
bool delivery_pending(void);

/* Whether this is the delivering thread. */
bool delivery_here(void);

/* Waits until everything pending is delivered and the thread has ended, at most a second; not for calls from the
 * delivering thread. No threads may be left when a process ends: Wine ends them with a signal for which PoCL's compiler
 * has a handler. */
void delivery_drain(void);

/* How long a thread waits for work before it ends, and how long it waits after a failure before it tries again. */
enum { THREAD_REST_MS = 500, RETRY_MS = 16 };

/* Polling of things that cannot be waited for. `poll` returns the milliseconds until the next poll; 0: not until it is
 * requested again. It runs on one of cld3d's threads, which sleeps while nothing needs polling. */
struct watch {
    unsigned (*poll)(void);
    struct watch *after;
    unsigned long long due; /* of the next poll, if it is wanted: os_nanoseconds in milliseconds */
    bool listed, wanted;
};

/* Requests a poll in a millisecond, unless one is due sooner. `watch` must live forever. False: the thread cannot be
 * created. For calls with no lock held, unless after delivery_ready. */
bool watch_start(struct watch *watch);

/* Waits briefly for the thread to end, unless something needs polling. */
void watches_drain(void);

#endif
