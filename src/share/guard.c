#include "share/guard.h"

#include "log.h"
#include "settings.h"
#include "handles/kernel.h"
#include "handles/handle_kind.h"

static bool strict(void)
{
    return atomic_load_explicit(&object_count, memory_order_relaxed) != 0 && setting_on(SETTING_STRICT);
}

/* Whether a queue without a record does not belong to the object's context. Handles that are not queues are left to the
 * OpenCL below. */
static bool is_elsewhere(cl_command_queue queue, const struct object_record *object)
{
    cl_context context = NULL;
    return handle_may_be(queue, clGetCommandQueueInfo) && !handle_is_other(HANDLE_QUEUE, queue) &&
           below()->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS &&
           context != object->context->base.head.handle;
}

/* Takes over the reference to `object`. Not every driver checks the origin of an object: PoCL 3.1 runs kernels on
 * another driver's. */
static cl_int check(const struct guard *guard, struct object_record *object, bool writes)
{
    const char *call = guard->call;
    struct object_record *root = object_root(object);
    object_check_acquire(root);
    os_lock(&registry_lock);
    const struct queue_record *queue = registry_find_locked(RECORD_QUEUE, guard->queue);
    const bool known = queue != NULL;
    bool elsewhere = known && queue->context != &root->context->base;
    const bool usable = root->state == OBJECT_ACQUIRED;
    root->written = root->written || writes;
    os_unlock(&registry_lock);
    elsewhere = elsewhere || (!known && is_elsewhere(guard->queue, root));
    const struct d3d_api *api = root->transfer->surface.api;
    cl_int status = CL_SUCCESS;
    if (elsewhere)
        status = log_refuse(call, CL_INVALID_CONTEXT, "object %p does not belong to the queue's context",
                            object->head.handle);
    else if (!usable)
        status = log_refuse(call, api->not_acquired,
                            "object %p is shared with %s and not acquired; call %s first (%s=0 turns this check off)",
                            object->head.handle, api->name, api->call.acquire, setting_variable(SETTING_STRICT));
    record_release(object);
    return status;
}

/* Checked here because not every driver returns the specified code; other invalid events are left to the OpenCL
 * below. */
static cl_int check_wait(const struct guard *guard)
{
    for (cl_uint i = 0; guard->queue && guard->wait && i < guard->wait_count; i++)
        if (!guard->wait[i])
            return log_refuse(guard->call, CL_INVALID_EVENT_WAIT_LIST, "event %u of the wait list is NULL", i);
    return CL_SUCCESS;
}

void guard_leave(struct queue_record *entered)
{
    queue_leave(entered);
    record_release(entered);
}

/* False: by now the command must follow a blocked one. */
static bool enter(struct guard *guard, struct queue_record *queue)
{
    if (!queue || !queue_follows(queue, guard->order, guard->named))
        return true;
    if (!queue_enter(queue, guard->order))
        return false;
    record_retain(queue);
    guard->entered = queue;
    return true;
}

/* Tracks the command if a user event blocks it. Otherwise, if the order matters, the queue is entered, so that no
 * blocked command is enqueued before it: other threads may be enqueueing behind a user event that is created only now.
 * A call that waits for its command does not enter, because it would keep the other threads out of the queue. */
static cl_int follow(struct guard *guard, struct queue_record *queue)
{
    cl_int status;
    do {
        status = blocker_begin(guard->call, guard->queue, guard->order, guard->wait_count, guard->wait, guard->named,
                               &guard->blocker);
    } while (status == CL_SUCCESS && !guard->blocker && !guard->blocking && !enter(guard, queue));
    return status;
}

static cl_int begin(struct guard *guard)
{
    cl_int status = check_wait(guard);
    if (status != CL_SUCCESS)
        return status;
    struct queue_record *queue = queue_get(guard->queue);
    if (queue)
        queue_note_thread(queue);
    queue_keep_order(guard->queue);
    queue_waits(guard->queue, guard->wait_count, guard->wait);
    status = follow(guard, queue);
    record_release(queue);
    blocker_turn(guard->blocker, !guard->blocking, guard->wait_count, guard->wait);
    if (status == CL_SUCCESS && guard->blocking)
        guard->finished = queue_begin_finish(guard->queue);
    return status;
}

cl_int guard_objects(struct guard *guard, cl_uint count, const cl_mem *objects, unsigned writes)
{
    if (strict()) {
        for (cl_uint i = 0; objects && i < count; i++) {
            struct object_record *object = registry_get(RECORD_OBJECT, objects[i]);
            const cl_int status = object ? check(guard, object, i >= 32 || (writes >> i & 1)) : CL_SUCCESS;
            if (status != CL_SUCCESS)
                return status;
        }
    }
    return begin(guard);
}

/* An object counts as not written only if the kernel cannot write it: a read-only memory object, an image argument
 * declared read-only, constant memory. A pointer to const proves nothing. Not every driver refuses a read-only image as an
 * argument declared write-only. */
bool guard_may_write(cl_kernel kernel, cl_uint index, const struct object_record *object)
{
    cl_kernel_arg_access_qualifier access;
    cl_kernel_arg_address_qualifier address;
    if (below()->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL) !=
        CL_SUCCESS)
        access = CL_KERNEL_ARG_ACCESS_NONE;
    if (access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY)
        return true;
    if (access == CL_KERNEL_ARG_ACCESS_READ_ONLY || object->flags & CL_MEM_READ_ONLY)
        return false;
    return below()->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address,
                                       NULL) != CL_SUCCESS ||
           address != CL_KERNEL_ARG_ADDRESS_CONSTANT;
}

cl_int guard_kernel(struct guard *guard, cl_kernel kernel)
{
    cl_int status = CL_SUCCESS;
    if (strict()) {
        struct object_record *objects[KERNEL_ARGUMENTS];
        cl_uint indexes[KERNEL_ARGUMENTS];
        const cl_uint count =
            kernel_records(kernel, RECORD_OBJECT, (struct record **)objects, indexes, KERNEL_ARGUMENTS);
        for (cl_uint i = 0; i < count; i++) {
            if (status == CL_SUCCESS)
                status = check(guard, objects[i], guard_may_write(kernel, indexes[i], objects[i]));
            else
                record_release(objects[i]);
        }
    }
    return status == CL_SUCCESS ? begin(guard) : status;
}

/* ---- barriers ---- */

static cl_int(CL_API_CALL *guarded_barrier)(cl_command_queue, cl_uint, const cl_event *, cl_event *);

/* In an out-of-order queue of PoCL, a barrier with a wait list does not wait for earlier barriers. So it gets those
 * that user events block in its wait list. With another driver it would then fail if they fail. */
static cl_int CL_API_CALL barrier(cl_command_queue handle, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct queue_record *queue = wait_count && blockers_possible() ? registry_get(RECORD_QUEUE, handle) : NULL;
    const bool held_apart = queue && queue_out_of_order(queue) && context_has(queue->context, QUIRK_POCL_EVENTS);
    struct event_list held;
    event_list_open(&held);
    const bool known = !held_apart || (blocked_list_events(queue, ORDER_BEFORE_ALL, &held) &&
                                       event_list_join(&held, &wait_count, &wait));
    const cl_int status =
        known ? guarded_barrier(handle, wait_count, wait, event)
              : log_refuse("clEnqueueBarrierWithWaitList", CL_OUT_OF_HOST_MEMORY, "no memory for the earlier barriers");
    event_list_close(&held);
    record_release(queue);
    return status;
}

/* ---- migrations ---- */

static cl_int(CL_API_CALL *guarded_migration)(cl_command_queue, cl_uint, const cl_mem *, cl_mem_migration_flags,
                                              cl_uint, const cl_event *, cl_event *);

static bool any_shared(cl_uint count, const cl_mem *objects)
{
    bool found = false;
    for (cl_uint i = 0; i < count && !found; i++)
        found = registry_has(RECORD_OBJECT, objects[i]);
    return found;
}

/* PoCL closes the gaps between the rows of an image over host memory when it is migrated to the host: it moves the rows.
 * The flag is a wish for a place only, so shared objects are migrated without it. */
static cl_int CL_API_CALL migrate(cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem *mem_objects,
                                  cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
                                  const cl_event *event_wait_list, cl_event *event)
{
    const cl_mem_migration_flags to_host = CL_MIGRATE_MEM_OBJECT_HOST;
    if (flags & to_host && atomic_load_explicit(&object_count, memory_order_relaxed) &&
        os_readable_array(mem_objects, num_mem_objects, sizeof(*mem_objects)) &&
        any_shared(num_mem_objects, mem_objects))
        flags &= ~to_host;
    return guarded_migration(command_queue, num_mem_objects, mem_objects, flags, num_events_in_wait_list,
                             event_wait_list, event);
}

void guard_changes_install(cl_icd_dispatch *table)
{
    guarded_barrier = table->clEnqueueBarrierWithWaitList;
    table->clEnqueueBarrierWithWaitList = barrier;
    guarded_migration = table->clEnqueueMigrateMemObjects;
    table->clEnqueueMigrateMemObjects = migrate;
}
