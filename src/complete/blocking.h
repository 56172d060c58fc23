/* Commands that wait, in queues with callbacks.
 *
 * The thread that waits for a callback's event makes the driver flush the queue. rusticl 22.3 then lets a blocking command
 * that is being enqueued at that moment return before it has run, and clFinish before the queue has: each waits for the
 * last of the commands that it flushed itself. So while callbacks of a queue are awaited its blocking commands are enqueued
 * as others are and their events waited for, which no flush can disturb. */
#ifndef CLD3D_COMPLETE_BLOCKING_H
#define CLD3D_COMPLETE_BLOCKING_H

#include "complete/complete.h"

/* How a command that may block is passed on. */
struct blocking {
    bool waits;       /* for the event, instead of blocking */
    cl_bool blocking; /* what the command is given */
    cl_event *event;  /* likewise: the application's, or that of `own` */
    cl_event own;     /* given back in the end */
};

void blocking_begin(struct blocking *wait, cl_command_queue queue, cl_bool blocking, cl_event *event);
/* `status` is what the command returned; the result is the whole call's. */
cl_int blocking_end(struct blocking *wait, cl_int status);
/* The same for a map: the pointer that the application gets. */
void *blocking_mapped(struct blocking *wait, void *mapped, cl_int status, cl_int *errcode_ret);

void blocking_install_generated(cl_icd_dispatch *table);

#endif
