/* clCreateContext and clCreateContextFromType. */
#include "share/context.h"

#include "drivers/drivers.h"
#include "log.h"
#include "next/query.h"
#include "share/passthrough.h"
#include "handles/handle_kind.h"

#include <stdlib.h>

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

static cl_context create_in_driver(const struct creation *c, const cl_context_properties *properties, cl_int *status)
{
    return c->by_type
               ? below()->clCreateContextFromType(properties, c->type, c->notify, c->user_data, status)
               : below()->clCreateContext(properties, c->device_count, c->devices, c->notify, c->user_data, status);
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

/* Whether all of the list are devices: drivers crash in clCreateContext for others, with their locks held. */
static cl_int check_handles(const struct creation *c)
{
    cl_platform_id platform;
    if (c->by_type || !os_readable_array(c->devices, c->device_count, sizeof(*c->devices)))
        return CL_SUCCESS; /* left to the driver */
    for (cl_uint i = 0; i < c->device_count; i++) {
        const cl_device_id device = c->devices[i];
        const cl_int status = device_may_be(device) ? below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM,
                                                                               sizeof(platform), &platform, NULL)
                                                    : CL_INVALID_DEVICE;
        if (driver_short(status))
            return log_next(c->call, "clGetDeviceInfo", status);
        if (status != CL_SUCCESS)
            return log_refuse(c->call, CL_INVALID_DEVICE, "%p is not an OpenCL device", (void *)device);
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
            return log_refuse(call, api->invalid_device,
                              "a device of the context has no image support, is older than OpenCL 1.2 or is lost: it "
                              "cannot share with %s; use another device",
                              api->name);
    }
    return CL_SUCCESS;
}

/* The devices are checked in the finished context, because only the driver knows which devices a type selects. */
static cl_context create_sharing(const struct creation *c, const struct sharing_context *context,
                                 const cl_context_properties *properties, cl_int *status)
{
    cl_context handle = create_in_driver(c, properties, status);
    if (*status != CL_SUCCESS)
        return NULL; /* some drivers return a context and an error for a type without devices */
    if (context->interop_count)
        *status = check_devices(c->call, context->interop[0].api, handle);
    if (*status == CL_SUCCESS)
        return handle;
    below()->clReleaseContext(handle);
    return NULL;
}

/* Creates the context with the remaining properties, of which there may be none. Without a platform most drivers choose
 * one, but some do not if the devices are selected by type. */
static cl_context create_on(const struct creation *c, const struct sharing_context *context,
                            cl_context_properties *driver, cl_int *status)
{
    cl_context handle = create_sharing(c, context, driver[0] ? driver : NULL, status);
    if (*status == CL_INVALID_PLATFORM && name_platform(driver)) {
        *status = CL_SUCCESS;
        handle = create_sharing(c, context, driver, status);
    }
    return handle;
}

cl_platform_id context_platform(cl_context handle)
{
    struct device_list devices;
    cl_platform_id platform = NULL;
    if (devices_of_context(below(), handle, &devices) == CL_SUCCESS && devices.count)
        below()->clGetDeviceInfo(devices.at[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

static cl_context create_recorded(const struct creation *c, const cl_context_properties *properties, cl_int *status)
{
    os_stay_loaded(); /* the driver will call functions of this library */
    struct sharing_context *context = context_record_make(RECORD_CONTEXT, properties);
    cl_context_properties *driver = context ? malloc((context->property_count + 2) * sizeof(*driver)) : NULL;
    cl_context handle = NULL;
    if (!driver)
        *status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory for the context's properties");
    else
        *status = context_properties_read(c->call, context, driver);
    if (*status == CL_SUCCESS)
        *status = check_handles(c);
    if (*status == CL_SUCCESS)
        handle = create_on(c, context, driver, status);
    free(driver);
    if (handle) {
        context->base.head.handle = handle;
        context->base.quirks = quirks_of(context_platform(handle));
        context->transports = transports_open(handle);
        if (context->transports && registry_add(&context->base.head)) {
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
        context_record_free(context);
    return NULL;
}

/* A driver with sharing of its own may refuse CL_CONTEXT_INTEROP_USER_SYNC with any value. It synchronises then, which is what CL_FALSE
 * asks for, and does no harm to a program that synchronises too. */
static cl_context create_passed(const struct creation *c, const cl_context_properties *properties, cl_int *status)
{
    cl_context handle = create_in_driver(c, properties, status);
    const bool again = !handle && context_properties_ours(properties);
    struct sharing_context *context = again ? context_record_make(RECORD_PASSED_CONTEXT, properties) : NULL;
    cl_context_properties *driver = context ? calloc(context->property_count, sizeof(*driver)) : NULL;
    size_t kept = 0;
    for (const cl_context_properties *p = properties; driver && *p; p += 2) {
        if (*p == CL_CONTEXT_INTEROP_USER_SYNC && (p[1] == CL_TRUE || p[1] == CL_FALSE))
            continue;
        driver[kept++] = p[0];
        driver[kept++] = p[1];
    }
    if (driver && kept + 3 == context->property_count) /* it was there, once */
        handle = create_in_driver(c, driver, status);
    free(driver);
    if (context)
        context->base.head.handle = handle;
    if (context && (!handle || !registry_add(&context->base.head)))
        context_record_free(context);
    return handle;
}

static cl_context create(const struct creation *c, const cl_context_properties *properties, cl_int *errcode_ret)
{
    cl_int status = CL_SUCCESS;
    const bool ours =
        context_properties_ours(properties) && !passthrough_new_context(properties, c->device_count, c->devices);
    cl_context context = ours ? create_recorded(c, properties, &status) : create_passed(c, properties, &status);
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

void context_create_install(cl_icd_dispatch *table)
{
    table->clCreateContext = create_context;
    table->clCreateContextFromType = create_context_from_type;
}
