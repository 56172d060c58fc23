/* Calls the program's callbacks, one after the other, on one of cld3d's threads, which polls for what is due. */
#ifndef CLD3D_EMULATE_DELIVERY_H
#define CLD3D_EMULATE_DELIVERY_H

#include "emulate/watch.h"

#include <CL/cl.h>

/* The first member of a delivered item. */
struct delivery {
    /* Whether it is time for the call; asked on cld3d's thread until it is true, later items first: so commands that end
     * in their order are called back in their order. */
    bool (*due)(struct delivery *delivery);
    /* Then makes the call, and frees the item or delivers it again. */
    void (*run)(struct delivery *delivery);
    cl_command_queue queue; /* whose last releases wait for the call; only compared */
    cl_context context;
    struct delivery *before, *after;
    bool is_due;
};

/* Takes over `delivery`. False, without it, if there is no thread to call it; with `insist` it is then kept for
 * delivery_retry. For calls with no lock held. */
bool deliver(struct delivery *delivery, bool insist);

/* Tries again to start the thread if something waits for it. */
void delivery_retry(void);

/* Before the last release of a queue or context: waits for calls of its own that are due, 100 ms at most while one runs. If nothing is
 * left to deliver, cld3d's threads end. Does nothing in a delivered callback, and when the process ends. */
void delivery_settle(const void *owner);

#endif
