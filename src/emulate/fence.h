/* Tracks the remaining commands in the queues of a context, for drivers whose reference counts exclude queued commands:
 * when such an object has only one reference left, commands may still use it. */
#ifndef CLD3D_EMULATE_FENCE_H
#define CLD3D_EMULATE_FENCE_H

#include "emulate/emulate.h"

struct fence;

/* Whether the driver below counts queued commands in an object's reference count. Tested once per platform, with
 * cld3d's own command in its own queue. False if that fails, too: the next call tries again. From the first call on the
 * ends of released queues are recorded, for fences; those of queues released earlier are missed. */
bool fence_counted_below(cl_context context);

/* Creates a fence behind all commands that are in the context's queues now. NULL if out of memory: try again later. The
 * caller owns it. No lock may be held that is taken in callbacks. */
struct fence *fence_make(cl_context context);
/* Whether everything before it has ended. */
bool fence_passed(const struct fence *fence);
void fence_free(struct fence *fence); /* NULL is allowed */

/* Whether a handle is a queue that the application holds or, with `as_context`, the context of one, which the queue
 * keeps. False if queues are not tracked. */
bool fence_keeps(const void *handle, bool as_context);

/* Tracks the queues of `table` from now on. */
void fence_install(cl_icd_dispatch *table);

#endif
