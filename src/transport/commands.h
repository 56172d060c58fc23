/* OpenCL operations shared by several transports. They log nothing. */
#ifndef CLD3D_TRANSPORT_COMMANDS_H
#define CLD3D_TRANSPORT_COMMANDS_H

#include "handles/event_list.h"
#include "transport/transport.h"

#include <CL/cl.h>
#include <stdbool.h>

/* For objects that need no transfer: one marker behind the wait list, or behind the queue's commands if that is empty.
 * Not clEnqueueMigrateMemObjects: PoCL 3.1 orders it behind commands of other queues on the same objects, and so behind
 * those that wait for a deferred command. */
cl_int commands_marker(const struct enqueueing *to);

/* Also for objects that need no transfer: commands behind the wait list, and behind nothing else in an out-of-order
 * queue, where a marker would wait for everything before it. None if they are unobserved. */
cl_int commands_placeholder(const struct enqueueing *to, cl_uint count, struct transfer *const *transfers);

/* The same without a use of the objects: a driver may wait, in the call of a command that uses imported memory, until
 * everything before it has ended. */
cl_int commands_placeholder_apart(const struct enqueueing *to);

/* Whether anything other than the caller, who has this many references, uses a memory object. Commands of a driver that
 * counts them are references, and so are maps; but maps that the application still has of a released object do not
 * count. True if the driver does not report it. */
bool commands_use(cl_mem memory, cl_uint references);

#endif
