/* The check before every command that uses memory objects: a shared one must be acquired.
 *
 * The generated functions of guard_generated.c are at the top of the tier: they check `registry_hot`, one load and one
 * branch for a program that shares nothing, and only then call the checks. */
#ifndef CLD3D_SHARE_GUARD_H
#define CLD3D_SHARE_GUARD_H

#include "defer/pending.h"
#include "share/share.h"

/* The command may write to all of its objects. */
#define GUARD_WRITES_ALL (~0u)

/* A command on its way to the driver. */
struct guard {
    cl_command_queue handle;
    const char *call;
    unsigned order; /* of enum pending_order */
    cl_uint wait_count;
    const cl_event *wait;
    bool blocking;              /* the driver's call waits for the command */
    struct queue_record *queue; /* retained by guard_objects or guard_kernel, or NULL */
    struct pending_command pending;
};

/* CL_SUCCESS, or CL_INVALID_CONTEXT if one of the objects is shared and belongs to another context than the queue, or
 * the API's NOT_ACQUIRED code if one is shared and not acquired. On success guard_end must follow. Lists that break OpenCL's own rules are left to the OpenCL below. Bit i of
 * `writes`: the command may write to objects[i]; each object remembers that until its next acquire. */
cl_int guard_objects(struct guard *guard, cl_uint count, const cl_mem *objects, unsigned writes);
/* The same for the memory objects that a kernel's arguments name: it may write to those that it is not known to only
 * read. */
cl_int guard_kernel(struct guard *guard, cl_kernel kernel);

/* The driver has taken the command, or not; returns `status`. `event` is where the application wants its event, or
 * NULL. */
static inline cl_int guard_end(struct guard *guard, cl_int status, const cl_event *event)
{
    if (guard->pending.queue)
        pending_end(&guard->pending, status == CL_SUCCESS, event && status == CL_SUCCESS ? *event : NULL);
    if (guard->queue && guard->blocking)
        atomic_fetch_sub(&guard->queue->finishing, 1);
    else if (guard->queue)
        atomic_store_explicit(&guard->queue->unflushed, true, memory_order_relaxed);
    record_release(guard->queue);
    return status;
}

#endif
