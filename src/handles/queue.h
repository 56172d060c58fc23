/* Command queues of contexts with interop: their records, and flushing. */
#ifndef CLD3D_HANDLES_QUEUE_H
#define CLD3D_HANDLES_QUEUE_H

#include "handles/context.h"

#include <CL/cl.h>

/* The queue of cld3d's own in a context with a record, made when it is first needed; it lives as long as the record. The
 * application's commands do not block it. NULL on failure, with the code in `*status`. */
cl_command_queue context_own_queue(cl_context context, cl_int *status);
/* Releases a queue that is not the application's; NULL is allowed. */
void own_queue_put(cl_command_queue queue);

struct queue_record {
    struct record head;             /* while it is weak, the driver's queue is released together with the record */
    struct context_record *context; /* retained */
    cl_command_queue_properties properties;
    atomic_bool unflushed; /* commands were enqueued that no flush has followed */
    atomic_uint finishing; /* threads in clFinish, or in a command that blocks */
    os_mutex enqueueing;   /* held while the driver gets a command, while a user event is pending (defer/pending.h) */
    uint64_t blocked_by, barred_by, entering; /* of defer/pending.c; guarded by registry_lock, like the list */
    struct queue_record *after;
};

/* All records, which may be without references (registry_get_locked). Guarded by registry_lock. */
extern struct queue_record *queue_list;

static inline bool queue_out_of_order(const struct queue_record *queue)
{
    return (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}

static inline bool queue_has_times(const struct queue_record *queue)
{
    return (queue->properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

/* Flushes all unflushed queues of a context, because the commands of one may wait for those of another: a wait cannot
 * starve then. */
void queues_flush(const struct context_record *context);
/* The same for the context of an event's queue. */
void queue_flush_for(cl_event event);

#endif
