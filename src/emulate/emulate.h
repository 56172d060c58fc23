/* What the OpenCL below lacks and cld3d can provide, independent of sharing: callbacks (Wine's opencl.dll calls none)
 * and the functions of OpenCL 2.0 to 3.0 that OpenCL 1.2 can emulate. An entry point installs it in those slots of
 * `next`, so that everything above sees a complete OpenCL.
 *
 * Callbacks run on one of cld3d's threads, one after the other, never on a thread of the driver; they may call OpenCL
 * again. Each registered callback is delivered once. */
#ifndef CLD3D_EMULATE_EMULATE_H
#define CLD3D_EMULATE_EMULATE_H

#include "next/next.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Called once by an entry point, after `next` is filled and before anything else runs. */
void emulate_install(void);

/* Whether callbacks run on cld3d's thread. Otherwise drivers may call them on the threads that run their commands. */
bool emulate_calls_back(void);

/* The functions of `next` before emulate_install. */
extern cl_icd_dispatch underlying;

/* The parts, each for its own slots of a table. */
void event_callback_install(cl_icd_dispatch *table);
void blocking_install(cl_icd_dispatch *table);
void program_notify_install(cl_icd_dispatch *table);
void destructor_install(cl_icd_dispatch *table);
/* Error codes of calls in which the driver crashes below Wine's opencl.dll. */
void wine_calls_install(cl_icd_dispatch *table);
/* Queries that Wine's opencl.dll answers wrongly. */
void wine_queries_install(cl_icd_dispatch *table);
/* Invalid arguments that must be refused. */
void contexts_install(cl_icd_dispatch *table);
/* Slots that nothing fills, and those that a driver fills without supporting the function. */
void cl2_install(cl_icd_dispatch *table);
/* `below_has_functions`: the OpenCL below has the functions; its devices may still have no timers. */
void timers_install(cl_icd_dispatch *table, bool below_has_functions);
void clone_kernel_install(cl_icd_dispatch *table);

/* How many queues have callbacks for their commands, possibly none pending (event_callback.c). */
extern atomic_uint callback_queues;
/* Whether callbacks for commands of a queue are pending, or one of cld3d's threads waits in the driver for its
 * commands. */
bool event_callback_awaited(cl_command_queue queue);

/* Whether a wait for an event would last until another thread's clFinish or blocking command returns: then the event is
 * polled. Set before the first call of the application (queue_is_finished of track.h). */
extern bool (*event_wait_is_held)(cl_event event);

/* Resolution of the clock behind clGetHostTimer, in nanoseconds: Windows counts in steps of 100. */
enum { TIMER_RESOLUTION_NS = 100 };

#endif
