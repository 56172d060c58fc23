/* What several transports do with the OpenCL below. */
#ifndef CLD3D_TRANSPORT_COMMANDS_H
#define CLD3D_TRANSPORT_COMMANDS_H

#include "track/event_list.h"
#include "transport/transport.h"

#include <CL/cl.h>
#include <stdbool.h>

/* For objects that nothing has to be moved for: one marker behind the wait list, or behind the queue's commands if that is empty.
 * Not clEnqueueMigrateMemObjects: PoCL 3.1 orders it behind commands of other queues on the same objects,
 * and so behind those that wait for a deferred command. */
cl_int commands_mark(const struct enqueueing *to);

/* For objects that nothing has to be moved for, too: commands behind the wait list, and behind nothing else that is in an
 * out-of-order queue, where a marker would wait for all that is before it. */
cl_int commands_stand(const struct enqueueing *to, cl_uint count, struct transfer *const *transfers);

/* The same without a command on the objects: a driver may wait in a call with imported memory for all that comes before. */
cl_int commands_stand_apart(const struct enqueueing *to);

/* Whether somebody but the caller, who has so many references, uses a memory object. Commands of a driver that counts them are
 * references, and so are maps; but those that the application still has of an object which it has released are nobody's. True
 * where the driver does not tell. */
bool commands_use(cl_mem memory, cl_uint references);

#endif
