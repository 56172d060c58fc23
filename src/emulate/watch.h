/* Polling of what cannot be waited for, on two threads of cld3d. They sleep while nothing needs polling, and end when
 * there has been nothing for half a second. */
#ifndef CLD3D_EMULATE_WATCH_H
#define CLD3D_EMULATE_WATCH_H

#include <stdbool.h>

/* `poll` returns the milliseconds until the next poll; 0: not until it is requested again. */
struct watch {
    unsigned (*poll)(void);
    bool calls_back; /* `poll` calls functions of the program, which may take long: it has the second thread */
    struct watch *after;
    unsigned long long due; /* of the next poll, if it is wanted: os_nanoseconds in milliseconds */
    bool listed, wanted;
};

/* Requests a poll in a millisecond, unless one is due sooner. `watch` must live forever. False: the thread cannot be
 * created. For calls with no lock held. */
bool watch_start(struct watch *watch);

/* Waits for threads with nothing to poll to end, 100 ms at most. No threads may be left when a process ends: Wine ends
 * them with a signal for which a driver's compiler may have a handler. Not for calls on those threads. */
void watches_drain(void);

#endif
