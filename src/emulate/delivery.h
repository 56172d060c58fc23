/* Calls of the application's functions, one after the other, on one thread of ours. */
#ifndef CLD3D_EMULATE_DELIVERY_H
#define CLD3D_EMULATE_DELIVERY_H

#include <stdbool.h>

/* The first member of what is delivered. `run` makes the call and frees the whole. */
struct delivery {
    void (*run)(struct delivery *delivery);
    struct delivery *after;
};

/* Starts the thread if it does not run. False: there are no means for it. */
bool delivery_ready(void);

/* Takes `delivery` over, and starts the thread again if it has gone for want of work. May be called with any lock held. */
void deliver(struct delivery *delivery);

/* Whether this is the thread that delivers. */
bool delivery_here(void);

/* Waits until all is delivered that was there and the thread has gone, or a second is over; not for the thread that delivers. Threads
 * must not be left when a process ends: Wine ends them with a signal for which PoCL's compiler has a handler. */
void delivery_drain(void);

/* How long a thread waits for work before it goes. */
enum { THREAD_REST_MS = 500 };

/* Regular looks at what nobody can wait for. `look` tells after how many milliseconds it wants to look again; 0: not
 * until it is asked for again. It runs on a thread of ours that sleeps while nobody wants to look. */
struct watch {
    unsigned (*look)(void);
    struct watch *after;
    unsigned long long due;
    bool listed, wanted;
};

/* `watch` lives for ever. False: there are no means for the thread. */
bool watch_start(struct watch *watch);

/* Waits a moment for the thread to go, unless somebody wants to look. */
void watches_drain(void);

#endif
