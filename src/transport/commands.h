/* OpenCL operations shared by several transports. They log nothing. */
#ifndef CLD3D_TRANSPORT_COMMANDS_H
#define CLD3D_TRANSPORT_COMMANDS_H

#include "handles/event_list.h"

/* For objects that need no transfer: one marker behind the wait list, or behind the queue's commands if that is empty. */
cl_int commands_marker(const struct enqueueing *to);

/* Also for such objects: a command behind the wait list, and behind nothing else in an out-of-order queue, where a marker
 * would wait for everything before it. None if it is unobserved. */
cl_int commands_placeholder(const struct enqueueing *to);

/* The last step of a `cl_take` before which `done` had `before` events: a placeholder if there are no more, or for a queue with
 * profiling. NVIDIA's driver has no times for an external acquire. */
cl_int commands_after_take(const struct enqueueing *to, cl_uint before);

#endif
