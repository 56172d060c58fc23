/* What is left in the queues of a context, for drivers whose counts of references leave queued commands out (NVIDIA's):
 * when such an object has only one reference left, commands may still use it. */
#ifndef CLD3D_EMULATE_FENCE_H
#define CLD3D_EMULATE_FENCE_H

#include "emulate/emulate.h"

struct fence;

/* Whether the driver below counts queued commands among an object's references. Tried once per platform, with a command of
 * ours in a queue of ours. */
bool fence_counted_below(cl_context context);

/* Behind all commands that are in the context's queues now. NULL if memory is short: then try again later. The caller owns it.
 * No lock may be held that is taken in callbacks, here and in fence_passed. */
struct fence *fence_make(cl_context context);
/* Whether all that was before it has ended. One thread at a time may ask. */
bool fence_passed(struct fence *fence);
void fence_free(struct fence *fence);

/* Whether a handle is a queue that the application holds or, `as_context`, the context of one, which the queue keeps. False where the
 * queues are not kept in mind, and for queues that an extension has made. */
bool fence_keeps(const void *handle, bool as_context);

/* Keeps the queues of `table` in mind from now on. */
void fence_install(cl_icd_dispatch *table);

#endif
