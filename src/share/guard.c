#include "share/guard.h"

#include "log.h"
#include "share/kernel.h"

const cl_icd_dispatch *guard_below(void)
{
    return tier_formats();
}

static bool strict(void)
{
    return atomic_load_explicit(&object_count, memory_order_relaxed) != 0 && setting_on(SETTING_STRICT);
}

/* Takes the hold of `object` over. */
static cl_int check(const char *call, struct object_record *object)
{
    struct object_record *root = object_root(object);
    object_settle(root);
    os_lock(&registry_lock);
    const bool usable = root->state == OBJECT_ACQUIRED;
    os_unlock(&registry_lock);
    const struct d3d_api *api = root->transfer.surface.api;
    cl_int status = CL_SUCCESS;
    if (!usable)
        status = log_refuse(call, api->not_acquired,
                            "object %p is shared with %s and not acquired; call %s first (%s=0 turns this check off)",
                            object->head.handle, api->name, api->call.acquire, setting_variable(SETTING_STRICT));
    record_put(object);
    return status;
}

cl_int guard_objects(cl_command_queue queue, const char *call, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                     const cl_event *wait)
{
    if (strict()) {
        for (cl_uint i = 0; objects && i < count; i++) {
            struct object_record *object = registry_get(RECORD_OBJECT, objects[i]);
            const cl_int status = object ? check(call, object) : CL_SUCCESS;
            if (status != CL_SUCCESS)
                return status;
        }
    }
    if (holds_possible())
        holds_note(queue, wait_count, wait);
    return CL_SUCCESS;
}

cl_int guard_kernel(cl_command_queue queue, const char *call, cl_kernel kernel, cl_uint wait_count, const cl_event *wait)
{
    cl_int status = CL_SUCCESS;
    if (strict()) {
        struct object_record *objects[256]; /* more than any device's kernels can have parameters */
        const cl_uint count = kernel_records(kernel, RECORD_OBJECT, (struct record **)objects, NULL,
                                             sizeof(objects) / sizeof(objects[0]));
        for (cl_uint i = 0; i < count; i++) {
            if (status == CL_SUCCESS)
                status = check(call, objects[i]);
            else
                record_put(objects[i]);
        }
    }
    if (status == CL_SUCCESS && holds_possible())
        holds_note(queue, wait_count, wait);
    return status;
}

void guard_install(cl_icd_dispatch *table)
{
    guard_install_generated(table);
}
