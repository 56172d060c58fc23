/* Contexts with interop: records, reference counts and queries. */
#include "share/context.h"

#include "formats/storage.h"
#include "log.h"
#include "next/query.h"
#include "settings.h"
#include "share/passthrough.h"
#include "handles/handle_kind.h"

#include <stdlib.h>
#include <string.h>

/* The Direct3D devices are released when the application's count reaches zero, as the specification requires, even if
 * queues and objects keep the context and this record for longer. */
static void drop_devices(struct sharing_context *context)
{
    os_lock(&registry_lock);
    const bool held = context->devices_held;
    context->devices_held = false;
    os_unlock(&registry_lock);
    transports_close(context->transports);
    for (unsigned i = 0; i < context->interop_count && held; i++)
        com_release(context->interop[i].device);
}

void *context_device(const struct sharing_context *context, unsigned n, void *resource)
{
    const struct d3d_ops *ops = context->interop[n].api->ops;
    os_lock(&registry_lock);
    const bool held = context->devices_held;
    os_unlock(&registry_lock);
    if (held)
        return context->interop[n].device;
    void *owner = ops->owner(resource);
    const bool alive = owner && com_identity(owner) == context->interop[n].identity;
    com_release(owner);
    return alive ? context->interop[n].device : NULL;
}

void context_record_free(struct sharing_context *context)
{
    drop_devices(context);
    own_queue_put(context->base.own_queue);
    converters_destroy(context->base.converters);
    transports_free(context->transports);
    free(context->properties);
    free(context);
}

static void destroy(struct record *record)
{
    struct sharing_context *context = (struct sharing_context *)record;
    registry_leave(record);
    transports_log_costs(context->transports);
    context_record_free(context);
}

struct sharing_context *context_record_make(enum record_kind kind, const cl_context_properties *properties)
{
    size_t count = 1;
    for (const cl_context_properties *p = properties; *p; p += 2)
        count += 2;
    struct sharing_context *context = calloc(1, sizeof(*context));
    cl_context_properties *copy = malloc(count * sizeof(*copy));
    if (!context || !copy) {
        free(context);
        free(copy);
        return NULL;
    }
    memcpy(copy, properties, count * sizeof(*copy));
    context->base.head = (struct record){.kind = kind, .destroy = destroy};
    context->properties = copy;
    context->property_count = count;
    context->devices_held = true;
    return context;
}

/* ---- lookups ---- */

bool context_serves(const struct sharing_context *context, const struct d3d_api *api)
{
    for (unsigned i = 0; i < context->interop_count; i++)
        if (context->interop[i].api->family == api->family)
            return true;
    return false;
}

cl_int context_get(const char *call, cl_context handle, struct sharing_context **context)
{
    *context = registry_get(RECORD_CONTEXT, handle);
    if (*context && !registry_is_weak(&(*context)->base.head))
        return CL_SUCCESS;
    cl_uint refs;
    if (handle_may_be(handle, clGetContextInfo) && !handle_is_other(HANDLE_CONTEXT, handle) &&
        below()->clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL) == CL_SUCCESS)
        return CL_SUCCESS;
    record_release(*context);
    *context = NULL;
    return log_refuse(call, CL_INVALID_CONTEXT, "%p is not an OpenCL context", (void *)handle);
}

/* ---- retains and releases ---- */

static cl_int CL_API_CALL retain_context(cl_context context)
{
    const cl_int status = below()->clRetainContext(context);
    if (status == CL_SUCCESS) {
        registry_app_retain(RECORD_CONTEXT, context);
        registry_app_retain(RECORD_PASSED_CONTEXT, context);
    }
    return status;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    struct sharing_context *record = registry_get(RECORD_CONTEXT, context);
    if (record && registry_app_weaken(RECORD_CONTEXT, context))
        drop_devices(record);
    record_release(record);
    registry_app_release(RECORD_PASSED_CONTEXT, context);
    leaving_run();
    return below()->clReleaseContext(context);
}

/* ---- queries ---- */

static cl_int query(const struct sharing_context *context, cl_context_info name, size_t capacity, void *value,
                    size_t *size_ret)
{
    if (name == CL_CONTEXT_PROPERTIES)
        return answer("clGetContextInfo", context->properties, context->property_count * sizeof(*context->properties),
                      capacity, value, size_ret);
    for (unsigned i = 0; i < context->interop_count; i++) {
        const struct d3d_api *api = context->interop[i].api;
        if (name == (cl_context_info)api->context_device)
            return answer("clGetContextInfo", &context->interop[i].device, sizeof(void *), capacity, value, size_ret);
    }
    return CL_INVALID_OPERATION; /* cld3d does not answer this query */
}

static bool asks_prefer_shared(cl_context_info name)
{
    for (unsigned i = 0; i < d3d_api_count; i++)
        if (name && name == d3d_apis[i]->context_prefer_shared)
            return true;
    return false;
}

/* The extension defines this answer for any context. No transport gains anything from shared resources. */
static cl_int query_prefer_shared(cl_context context, cl_context_info name, size_t capacity, void *value,
                                  size_t *size_ret)
{
    const cl_bool prefer = CL_FALSE;
    cl_uint refs;
    if (!asks_prefer_shared(name) || !handle_may_be(context, clGetContextInfo) ||
        handle_is_other(HANDLE_CONTEXT, context) ||
        below()->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL) != CL_SUCCESS ||
        passthrough_context(context))
        return CL_INVALID_OPERATION;
    return answer("clGetContextInfo", &prefer, sizeof(prefer), capacity, value, size_ret);
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info param_name, size_t param_value_size,
                                           void *param_value, size_t *param_value_size_ret)
{
    struct sharing_context *record = registry_get(RECORD_CONTEXT, context);
    cl_int status = CL_INVALID_OPERATION;
    if (!record)
        record = registry_get(RECORD_PASSED_CONTEXT, context);
    if (record)
        status = query(record, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(record);
    if (status == CL_INVALID_OPERATION)
        status = query_prefer_shared(context, param_name, param_value_size, param_value, param_value_size_ret);
    if (status != CL_INVALID_OPERATION)
        return status;
    return below()->clGetContextInfo(context, param_name, param_value_size, param_value, param_value_size_ret);
}

void context_install(cl_icd_dispatch *table)
{
    context_create_install(table);
    table->clRetainContext = retain_context;
    table->clReleaseContext = release_context;
    table->clGetContextInfo = get_context_info;
}
