/* Contexts with interop: clCreateContext, clCreateContextFromType, clGetContextInfo and reference counts. */
#include "share/share.h"

#include "formats/common_formats.h"
#include "formats/storage.h"
#include "log.h"
#include "next/query.h"
#include "share/passthrough.h"
#include "track/handle_kind.h"

#include <CL/cl_gl.h>
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

static void free_all(struct sharing_context *context)
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
        free_all(context);
}

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
        free_all(context);
}

static void CL_CALLBACK on_destroyed(cl_context handle, void *data)
{
    (void)data;
    forget_weak(handle, true);
}

/* Asks the driver to report the context's end. False: the driver is out of memory. Drivers before OpenCL 3.0 cannot
 * report it, and if callbacks are cld3d's, one would cost a thread and a reference. */
static bool follow_end(const char *call, const struct sharing_context *context)
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

/* The driver has created a context: an earlier one at the same address no longer exists, and nothing can hold its
 * record. */
static void forget_former(cl_context handle)
{
    os_lock(&registry_lock);
    for (unsigned i = 0; i < ENDED; i++)
        if (ended[i] == handle)
            ended[i] = NULL;
    struct sharing_context *former = registry_find_locked(RECORD_CONTEXT, handle);
    const bool over = former && take_locked(former);
    os_unlock(&registry_lock);
    if (over)
        free_all(former);
}

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

/* ---- properties ---- */

static const struct d3d_api *api_of_property(cl_context_properties name)
{
    for (unsigned i = 0; i < d3d_api_count; i++)
        if (d3d_apis[i]->context_device == name)
            return d3d_apis[i];
    return NULL;
}

/* Whether the property requests interop with another graphics API. A display or device context alone does not request
 * OpenGL. */
static bool other_graphics(cl_context_properties name)
{
    enum {
        CL_CONTEXT_VA_API_DISPLAY_INTEL = 0x4097
    }; /* cl_va_api_media_sharing_intel.h, which needs VA-API's headers */
    return name == CL_GL_CONTEXT_KHR || name == CL_CGL_SHAREGROUP_KHR || name == CL_CONTEXT_VA_API_DISPLAY_INTEL;
}

/* Whether the list has properties that cld3d handles. All others are left to the driver, including their errors. */
static bool concerns_us(const cl_context_properties *properties)
{
    for (const cl_context_properties *p = properties; p && *p; p += 2)
        if (*p == CL_CONTEXT_INTEROP_USER_SYNC || api_of_property(*p))
            return true;
    return false;
}

/* Whether the context shares with an API that excludes other graphics APIs. */
static bool exclusive(const struct sharing_context *context)
{
    for (unsigned i = 0; i < context->interop_count; i++)
        if (context->interop[i].api->exclusive)
            return true;
    return false;
}

static cl_int add_interop(const char *call, struct sharing_context *context, const struct d3d_api *api, void *object)
{
    if (!object)
        return CL_SUCCESS;
    void *device = d3d_is_object(object) ? api->ops->open_device(object) : NULL;
    if (!device)
        return log_refuse(call, api->invalid_device, "%p is not a %s device", object, api->name);
    /* Media adapters may be combined; Direct3D 10 or 11 must be alone. */
    const struct d3d_api *before = context->interop_count ? context->interop[0].api : api;
    if (before->family != api->family) {
        api->ops->release(device);
        return log_refuse(call, CL_INVALID_OPERATION,
                          "interop with both %s and %s was requested; create a context for each", before->name,
                          api->name);
    }
    context->interop[context->interop_count].api = api;
    context->interop[context->interop_count].identity = api->ops->identity(device);
    context->interop[context->interop_count++].device = device;
    context->base.interop = true;
    context->base.video = context->base.video || api->family == FAMILY_DX9;
    return CL_SUCCESS;
}

static cl_int read_property(const char *call, struct sharing_context *context, const cl_context_properties *p)
{
    for (const cl_context_properties *other = p + 2; *other; other += 2)
        if (*other == *p)
            return log_refuse(call, CL_INVALID_PROPERTY, "property 0x%lx is given twice", (unsigned long)*p);
    if (*p == CL_CONTEXT_INTEROP_USER_SYNC) {
        if (p[1] != CL_TRUE && p[1] != CL_FALSE)
            return log_refuse(call, CL_INVALID_PROPERTY,
                              "CL_CONTEXT_INTEROP_USER_SYNC is %ld; it can be CL_TRUE or CL_FALSE", (long)p[1]);
        context->user_sync = p[1] == CL_TRUE;
        return CL_SUCCESS;
    }
    const struct d3d_api *api = api_of_property(*p);
    return api ? add_interop(call, context, api, (void *)p[1]) : CL_SUCCESS;
}

static bool has_other_graphics(const cl_context_properties *properties)
{
    for (const cl_context_properties *p = properties; *p; p += 2)
        if (other_graphics(*p) && p[1])
            return true;
    return false;
}

/* Fills the record from the list, and `driver`, which is at least as large, with the properties for the driver. */
static cl_int read_properties(const char *call, struct sharing_context *context, cl_context_properties *driver)
{
    const bool graphics = has_other_graphics(context->properties);
    size_t kept = 0;
    for (const cl_context_properties *p = context->properties; *p; p += 2) {
        const cl_int status = read_property(call, context, p);
        if (status != CL_SUCCESS)
            return status;
        /* The driver handles the synchronisation of OpenGL's objects. */
        if ((*p == CL_CONTEXT_INTEROP_USER_SYNC && !graphics) || api_of_property(*p))
            continue;
        driver[kept++] = p[0];
        driver[kept++] = p[1];
    }
    driver[kept] = 0;
    if (graphics && exclusive(context))
        return log_refuse(call, CL_INVALID_OPERATION,
                          "interop with both %s and another graphics API was requested; create a context for each",
                          context->interop[0].api->name);
    return CL_SUCCESS;
}

static struct sharing_context *record_from(const cl_context_properties *properties)
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

/* ---- creation ---- */

/* The parameters in which the two functions differ. */
struct creation {
    const char *call;
    bool by_type;
    cl_device_type type;
    cl_uint device_count;
    const cl_device_id *devices;
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);
    void *user_data;
};

static cl_context create_below(const struct creation *c, const cl_context_properties *properties, cl_int *status)
{
    cl_context context =
        c->by_type ? below()->clCreateContextFromType(properties, c->type, c->notify, c->user_data, status)
                   : below()->clCreateContext(properties, c->device_count, c->devices, c->notify, c->user_data, status);
    if (context && registry_hot())
        forget_former(context);
    return context;
}

/* Adds the first platform to a list that names none. There is room for it. */
static bool name_platform(cl_context_properties *driver)
{
    cl_platform_id platform;
    size_t count = 0;
    for (; driver[count]; count += 2)
        if (driver[count] == CL_CONTEXT_PLATFORM)
            return false;
    if (below()->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS)
        return false;
    driver[count] = CL_CONTEXT_PLATFORM;
    driver[count + 1] = (cl_context_properties)platform;
    driver[count + 2] = 0;
    return true;
}

/* NVIDIA's driver returns CL_INVALID_VALUE for an unknown property, but this code has other causes as well. */
static bool refused_property(const struct creation *c, const cl_context_properties *driver, cl_int status)
{
    const bool arguments_fit = (c->by_type || (c->devices && c->device_count)) && (c->notify || !c->user_data);
    bool others = false;
    for (const cl_context_properties *p = driver; *p; p += 2)
        others = others || *p != CL_CONTEXT_PLATFORM;
    return status == CL_INVALID_VALUE && arguments_fit && others;
}

static cl_int platform_of(const char *call, cl_device_id device, cl_platform_id *platform)
{
    const cl_int status = device_may_be(device)
                              ? below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(*platform), platform, NULL)
                              : CL_INVALID_DEVICE;
    if (driver_short(status))
        return log_next(call, "clGetDeviceInfo", status);
    return status == CL_SUCCESS ? status
                                : log_refuse(call, CL_INVALID_DEVICE, "%p is not an OpenCL device", (void *)device);
}

/* Whether all devices belong to one platform, the named one if one is named: PoCL treats other drivers' devices as its
 * own. */
static cl_int check_platforms(const struct creation *c, const cl_context_properties *properties)
{
    cl_platform_id named = NULL, platform = NULL;
    if (c->by_type || !os_readable_array(c->devices, c->device_count, sizeof(*c->devices)))
        return CL_SUCCESS; /* left to the driver */
    for (const cl_context_properties *p = properties; *p; p += 2)
        if (*p == CL_CONTEXT_PLATFORM && platform_valid((cl_platform_id)p[1]))
            named = (cl_platform_id)p[1];
    for (cl_uint i = 0; i < c->device_count; i++) {
        const cl_int status = platform_of(c->call, c->devices[i], &platform);
        if (status != CL_SUCCESS)
            return status;
        if (!platform_valid(platform))
            continue; /* a driver may report a platform that it does not list */
        if (named && platform != named)
            return log_refuse(c->call, CL_INVALID_DEVICE, "device %u of the list, %p, belongs to another platform", i,
                              (void *)c->devices[i]);
        named = platform;
    }
    return CL_SUCCESS;
}

/* Whether each device of a context may interoperate with Direct3D. */
static cl_int check_devices(const char *call, const struct d3d_api *api, cl_context handle)
{
    struct device_list devices;
    devices_of_context(below(), handle, &devices); /* a failure is a limit of the driver */
    for (cl_uint i = 0; i < devices.count; i++) {
        bool shares;
        const cl_int status = log_next(call, "clGetDeviceInfo", device_sharing(devices.at[i], &shares));
        if (status != CL_SUCCESS)
            return status;
        if (!shares)
            return log_refuse(
                call, api->invalid_device,
                "a device of the context has no image support or is lost: it cannot share with %s; use another device",
                api->name);
    }
    return CL_SUCCESS;
}

/* The devices are checked in the finished context, because only the driver knows which devices a type selects. */
static cl_context create_sharing(const struct creation *c, const struct sharing_context *context,
                                 const cl_context_properties *properties, cl_int *status)
{
    cl_context handle = create_below(c, properties, status);
    if (*status != CL_SUCCESS)
        return NULL; /* PoCL 3.1 returns a context and an error for a type without devices */
    if (context->interop_count)
        *status = check_devices(c->call, context->interop[0].api, handle);
    if (*status == CL_SUCCESS)
        return handle;
    below()->clReleaseContext(handle);
    return NULL;
}

/* Creates the context with the remaining properties, of which there may be none. Without a platform most drivers choose
 * one, but NVIDIA's driver does not if the devices are selected by type. */
static cl_context create_on(const struct creation *c, const struct sharing_context *context,
                            cl_context_properties *driver, cl_int *status)
{
    cl_context handle = create_sharing(c, context, driver[0] ? driver : NULL, status);
    if (*status == CL_INVALID_PLATFORM && name_platform(driver)) {
        *status = CL_SUCCESS;
        handle = create_sharing(c, context, driver, status);
    }
    if (refused_property(c, driver, *status))
        *status = log_refuse(c->call, CL_INVALID_PROPERTY, "the driver does not know one of the properties");
    return handle;
}

static cl_context create_recorded(const struct creation *c, const cl_context_properties *properties, cl_int *status)
{
    os_stay_loaded(); /* the driver will call functions of this library */
    struct sharing_context *context = record_from(properties);
    cl_context_properties *driver = context ? malloc((context->property_count + 2) * sizeof(*driver)) : NULL;
    cl_context handle = NULL;
    if (!driver)
        *status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the context's properties");
    else
        *status = read_properties(c->call, context, driver);
    if (*status == CL_SUCCESS)
        *status = check_platforms(c, context->properties);
    if (*status == CL_SUCCESS)
        handle = create_on(c, context, driver, status);
    free(driver);
    if (handle) {
        context->base.head.handle = handle;
        context->base.quirks = quirks_of(platform_of_context(handle));
        if (context_has(&context->base, QUIRK_POCL_EVENTS))
            event_keep_begin();
        if (context_has(&context->base, QUIRK_POCL_SERVER_LOST))
            event_devices_go();
        context->transports = transports_open(handle);
        if (context->transports && common_formats_find(&context->base) && follow_end(c->call, context) &&
            registry_add(&context->base.head)) {
            if (context->interop_count)
                log_write(LOG_INFO, "%s: context %p shares with %s device %p%s", c->call, (void *)handle,
                          context->interop[0].api->name, context->interop[0].device,
                          context->user_sync ? "; the application synchronises (CL_CONTEXT_INTEROP_USER_SYNC)" : "");
            return handle;
        }
        below()->clReleaseContext(handle);
        *status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the context's record");
    }
    if (context)
        free_all(context);
    return NULL;
}

static cl_context create(const struct creation *c, const cl_context_properties *properties, cl_int *errcode_ret)
{
    cl_int status = CL_SUCCESS;
    const bool ours = concerns_us(properties) && !passthrough_new_context(properties, c->device_count, c->devices);
    cl_context context = ours ? create_recorded(c, properties, &status) : create_below(c, properties, &status);
    give_code(errcode_ret, status);
    return context;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint num_devices,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *),
                                             void *user_data, cl_int *errcode_ret)
{
    const struct creation c = {"clCreateContext", false, 0, num_devices, devices, pfn_notify, user_data};
    return create(&c, properties, errcode_ret);
}

static cl_context CL_API_CALL create_context_from_type(
    const cl_context_properties *properties, cl_device_type device_type,
    void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *errcode_ret)
{
    const struct creation c = {
        "clCreateContextFromType", true, device_type_meant(device_type), 0, NULL, pfn_notify, user_data};
    return create(&c, properties, errcode_ret);
}

/* ---- the rest ---- */

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
    table->clCreateContext = create_context;
    table->clCreateContextFromType = create_context_from_type;
    table->clRetainContext = retain_context;
    table->clReleaseContext = release_context;
    table->clGetContextInfo = get_context_info;
}
