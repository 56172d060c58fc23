/* Waits of Windows threads. None is inside a driver: a program may end such a thread (TerminateThread, the end of the
 * process), and a lock that it holds in the driver would stay locked. So a blocking command is enqueued as one that does not
 * block, and its event is waited for by a callback of the driver and a wait of the kernel. */
#ifndef CLD3D_BRIDGE_WAITS_H
#define CLD3D_BRIDGE_WAITS_H

#include <CL/cl.h>
#include <stdbool.h>

/* A command that blocks if the program says so. The driver gets `event`, and CL_FALSE. */
struct blocking {
    bool waits;
    cl_event *event;
    cl_event own; /* if the program wants no event */
};

static inline void blocking_begin(struct blocking *wait, cl_bool is_blocking, cl_event *wanted)
{
    wait->waits = is_blocking != CL_FALSE;
    wait->own = NULL;
    wait->event = wait->waits && !wanted ? &wait->own : wanted;
}

/* After the driver's call. Waits, and returns the code for the program. */
cl_int blocking_end(struct blocking *wait, cl_int status);

/* In place of the driver's. */
cl_int CL_API_CALL waits_for_events(cl_uint num_events, const cl_event *event_list);
cl_int CL_API_CALL waits_finish(cl_command_queue command_queue);

#endif
