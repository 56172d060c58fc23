/* Functions of the program or of cld3d that a driver calls. Drivers call back on the threads that run their commands,
 * so a thread that waits for a command there may wait for itself. */
#ifndef CLD3D_HANDLES_CALLBACK_H
#define CLD3D_HANDLES_CALLBACK_H

#include <CL/cl.h>
#include <stdbool.h>

/* Whether the calling thread is in a callback of an event, where it must not wait for any command. */
bool callback_runs_here(void);
/* Whether commands may be unable to end until the calling thread returns: it is in a callback and may be one of the
 * driver's threads, which run the commands. */
bool callback_runs_commands(void);
/* Whether the calling thread is in a callback that reports `event`, and with which status. The driver must not be
 * queried about that event: some call back with it locked. */
bool callback_reports(cl_event event, cl_int *status);

#endif
