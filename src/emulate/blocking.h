/* Blocking commands in queues with callbacks.
 *
 * The thread that waits for a callback's event makes the driver flush the queue. rusticl 22.3 then lets a blocking
 * command that is being enqueued at that moment return before it has run, and clFinish before the queue has: each waits
 * for the last of the commands that it flushed itself. So while callbacks of a queue are awaited, its blocking commands
 * are enqueued without blocking, and cld3d waits for their events, which no flush can disturb. */
#ifndef CLD3D_EMULATE_BLOCKING_H
#define CLD3D_EMULATE_BLOCKING_H

#include "emulate/emulate.h"

/* Whether a command is enqueued without blocking, and its event is waited for. */
static inline bool blocking_waits(cl_command_queue queue, cl_bool blocking)
{
    return blocking && atomic_load_explicit(&callback_queues, memory_order_relaxed) && event_callback_awaited(queue);
}

/* Ends such a call, which returned `status`: waits for its event `done`, and releases it if it is cld3d's `own`
 * (otherwise NULL). Returns the result of the whole call: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the command
 * has failed. */
cl_int blocking_end(const cl_event *done, cl_event own, cl_int status);
/* The same for a map of `memory`: returns the application's pointer. A map that has failed is unmapped. */
void *blocking_mapped(cl_command_queue queue, cl_mem memory, const cl_event *done, cl_event own, void *mapped,
                      cl_int status, cl_int *errcode_ret);

void blocking_install_generated(cl_icd_dispatch *table);

#endif
