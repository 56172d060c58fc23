/* Contexts with interop: records, reference counts and queries. */
#include "share/context.h"

#include "formats/common_formats.h"
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
        context->interop[i].api->ops->release(context->interop[i].device);
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
    const bool alive = owner && ops->identity(owner) == context->interop[n].identity;
    ops->release(owner);
    return alive ? context->interop[n].device : NULL;
}

void context_record_free(struct sharing_context *context)
{
    drop_devices(context);
    converters_destroy(context->base.converters);
    common_formats_drop(&context->base);
    transports_free(context->transports);
    free(context->properties);
    free(context);
}

/* Called when the last reference is dropped: frees everything that keeps other objects alive. The application may still
 * get the context from its programs, so the rest is kept until the driver destroys the context or, if the driver does
 * not report that, reuses its address. */
static void destroy(struct record *record)
{
    struct sharing_context *context = (struct sharing_context *)record;
    os_lock(&registry_lock);
    const bool unused = atomic_load_explicit(&record->references, memory_order_relaxed) == 0;
    struct converter *converters = unused ? context->base.converters : NULL;
    if (unused)
        context->base.converters = NULL;
    os_unlock(&registry_lock);
    if (unused)
        transports_log_costs(context->transports);
    converters_destroy(converters);
    os_lock(&registry_lock);
    const bool over =
        --record->leaving == 0 && context->gone && atomic_load_explicit(&record->references, memory_order_relaxed) == 0;
    os_unlock(&registry_lock);
    if (over)
        context_record_free(context);
}

struct sharing_context *context_record_make(const cl_context_properties *properties)
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
    context->base.head = (struct record){.kind = RECORD_CONTEXT, .destroy = destroy};
    context->properties = copy;
    context->property_count = count;
    context->devices_held = true;
    return context;
}

/* ---- the end of the driver's context ---- */

static bool unused_locked(const struct sharing_context *context)
{
    return atomic_load_explicit(&context->base.head.references, memory_order_relaxed) == 0 &&
           context->base.head.leaving == 0;
}

/* The driver's context no longer exists. True: the record can be freed; otherwise it is freed with its last
 * reference. */
static bool take_locked(struct sharing_context *context)
{
    struct record *head = registry_remove_locked(RECORD_CONTEXT, context->base.head.handle);
    if (!head->weak)
        atomic_fetch_sub_explicit(&head->references, 1, memory_order_relaxed); /* the registry's */
    context->gone = true;
    return unused_locked(context);
}

/* Frees a weak record if it is unused or the driver's context has `gone`. */
static void forget_weak(cl_context handle, bool gone)
{
    os_lock(&registry_lock);
    struct sharing_context *context = registry_find_locked(RECORD_CONTEXT, handle);
    const bool over = context && context->base.head.weak && (gone || unused_locked(context)) && take_locked(context);
    os_unlock(&registry_lock);
    if (over)
        context_record_free(context);
}

static void CL_CALLBACK on_destroyed(cl_context handle, void *data)
{
    (void)data;
    forget_weak(handle, true);
}

bool context_follow_end(const char *call, const struct sharing_context *context)
{
    cl_context handle = context->base.head.handle;
    if (os_is_wine() || setting_on(SETTING_CALLBACKS) ||
        context_has(&context->base, QUIRK_NVIDIA_DESTRUCTOR_CALLBACKS) ||
        platform_predates(platform_of_context(handle), 3))
        return true;
    const cl_int status = below()->clSetContextDestructorCallback(handle, on_destroyed, NULL);
    if (!driver_short(status))
        return true;
    return log_next(call, "clSetContextDestructorCallback", status) == CL_SUCCESS;
}

/* Contexts whose last reference is gone, as far as the driver counts. NVIDIA's driver does not count programs, which
 * keep their context alive, so the application may get the context from a program again. Therefore the most recent ones
 * are remembered. Guarded by `registry_lock`. */
enum { ENDED = 16 };
static cl_context ended[ENDED];

void context_forget_former(cl_context handle)
{
    os_lock(&registry_lock);
    for (unsigned i = 0; i < ENDED; i++)
        if (ended[i] == handle)
            ended[i] = NULL;
    struct sharing_context *former = registry_find_locked(RECORD_CONTEXT, handle);
    const bool over = former && take_locked(former);
    os_unlock(&registry_lock);
    if (over)
        context_record_free(former);
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
    if (status == CL_SUCCESS && !registry_revive(RECORD_CONTEXT, context))
        registry_app_retain(RECORD_CONTEXT, context);
    return status;
}

static void forget_last(cl_context handle)
{
    static unsigned turn;
    cl_uint refs = 0;
    if (below()->clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL) != CL_SUCCESS ||
        refs != 1)
        return;
    os_lock(&registry_lock);
    cl_context former = ended[turn % ENDED];
    ended[turn++ % ENDED] = handle;
    os_unlock(&registry_lock);
    if (former && former != handle)
        forget_weak(former, false);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    struct sharing_context *record = registry_get(RECORD_CONTEXT, context);
    const bool last = record && registry_app_weaken(RECORD_CONTEXT, context);
    if (last)
        drop_devices(record);
    record_release(record);
    if (last)
        deferred_await_ends();
    reap(last ? REAP_CONTEXT : REAP_AT_RELEASE, context);
    if (last) {
        event_drop_recent(context);
        forget_last(context);
    }
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
        if (name && name == api->context_prefer_shared) {
            const cl_bool prefer = transports_prefer_shared(context->transports, api);
            return answer("clGetContextInfo", &prefer, sizeof(prefer), capacity, value, size_ret);
        }
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

/* The extension defines this answer for any context: a context without this Direct3D gains nothing from shared
 * resources. */
static cl_int query_of_others(cl_context context, cl_context_info name, size_t capacity, void *value, size_t *size_ret)
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
    if (record)
        status = query(record, param_name, param_value_size, param_value, param_value_size_ret);
    record_release(record);
    if (status == CL_INVALID_OPERATION)
        status = query_of_others(context, param_name, param_value_size, param_value, param_value_size_ret);
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
