#include "share/guard.h"

#include "log.h"
#include "settings.h"
#include "handles/kernel.h"
#include "handles/handle_kind.h"

static bool strict(void)
{
    return atomic_load_explicit(&object_count, memory_order_relaxed) != 0 && setting_on(SETTING_STRICT);
}

/* Takes over the reference to `object`. Not every driver checks the origin of an object. */
static cl_int check(const struct guard *guard, struct object_record *object, bool writes)
{
    const char *call = guard->call;
    struct object_record *root = object_root(object);
    object_check_acquire(root);
    os_lock(&registry_lock);
    const bool usable = root->state == OBJECT_ACQUIRED;
    root->written = root->written || writes;
    os_unlock(&registry_lock);
    const struct d3d_api *api = root->transfer->surface.api;
    cl_int status = CL_SUCCESS;
    if (guard->queue && guard->queue->context != &root->context->base)
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

/* The checks are over. */
static cl_int go_on(struct guard *guard, cl_int status)
{
    if (status == CL_SUCCESS)
        status = check_wait(guard);
    if (status != CL_SUCCESS) {
        record_release(guard->queue);
    } else if (guard->queue) {
        pending_begin(&guard->pending, guard->queue, guard->order, guard->wait_count, guard->wait, guard->blocking);
        if (guard->blocking) {
            atomic_store(&guard->queue->unflushed, false);
            atomic_fetch_add(&guard->queue->finishing, 1);
        }
    }
    return status;
}

cl_int guard_objects(struct guard *guard, cl_uint count, const cl_mem *objects, unsigned writes)
{
    cl_int status = CL_SUCCESS;
    guard->queue = registry_get(RECORD_QUEUE, guard->handle); /* once for the whole command */
    for (cl_uint i = 0; objects && i < count && status == CL_SUCCESS && strict(); i++) {
        struct object_record *object = registry_get(RECORD_OBJECT, objects[i]);
        if (object)
            status = check(guard, object, i >= 32 || (writes >> i & 1));
    }
    return go_on(guard, status);
}

/* An object counts as not written only if the kernel cannot write it: a read-only memory object, an image argument
 * declared read-only, constant memory. A pointer to const proves nothing. Not every driver refuses a read-only image as an
 * argument declared write-only. */
static bool may_write(cl_kernel kernel, cl_uint index, const struct object_record *object)
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
    guard->queue = registry_get(RECORD_QUEUE, guard->handle); /* once for the whole command */
    if (strict()) {
        struct object_record *objects[KERNEL_ARGUMENTS];
        cl_uint indexes[KERNEL_ARGUMENTS];
        const cl_uint count =
            kernel_records(kernel, RECORD_OBJECT, (struct record **)objects, indexes, KERNEL_ARGUMENTS);
        for (cl_uint i = 0; i < count; i++) {
            if (status == CL_SUCCESS)
                status = check(guard, objects[i], may_write(kernel, indexes[i], objects[i]));
            else
                record_release(objects[i]);
        }
    }
    return go_on(guard, status);
}

/* ---- migrations ---- */

static cl_int(CL_API_CALL *guarded_migration)(cl_command_queue, cl_uint, const cl_mem *, cl_mem_migration_flags,
                                              cl_uint, const cl_event *, cl_event *);

/* A driver may close the gaps between the rows of an image over host memory when it is migrated to the host.
 * The flag is a wish for a place only, so nothing is migrated there once there is a context with interop. */
static cl_int CL_API_CALL migrate(cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem *mem_objects,
                                  cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
                                  const cl_event *event_wait_list, cl_event *event)
{
    if (registry_hot())
        flags &= ~(cl_mem_migration_flags)CL_MIGRATE_MEM_OBJECT_HOST;
    return guarded_migration(command_queue, num_mem_objects, mem_objects, flags, num_events_in_wait_list,
                             event_wait_list, event);
}

void guard_changes_install(cl_icd_dispatch *table)
{
    guarded_migration = table->clEnqueueMigrateMemObjects;
    table->clEnqueueMigrateMemObjects = migrate;
}
