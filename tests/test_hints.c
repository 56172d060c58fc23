/* Hints of queues over an OpenCL 1.2 that lists their extensions, as Wine's opencl.dll may: nobody can pass them on, and they change
 * nothing that a program can rely on. The OpenCL is played. */
#include "tap.h"

#include "emulate/emulate.h"
#include "next/query.h"

#include <CL/cl_ext.h>

/* Handles begin with their driver's table. */
static cl_icd_dispatch driver;
static const cl_icd_dispatch *const things[3] = {&driver, &driver, &driver};
static cl_context context;
static cl_device_id device, other_device;

static const char *extensions = "";

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *list, cl_uint *count)
{
    (void)room;
    (void)list;
    (void)count;
    return CL_PLATFORM_NOT_FOUND_KHR;
}

static cl_int CL_API_CALL get_context_info(cl_context of, cl_context_info name, size_t room, void *to, size_t *size_ret)
{
    return of == context && name == CL_CONTEXT_DEVICES
               ? answer("clGetContextInfo", &device, sizeof(cl_device_id), room, to, size_ret)
               : CL_INVALID_CONTEXT;
}

static cl_int CL_API_CALL get_device_info(cl_device_id of, cl_device_info name, size_t room, void *to, size_t *size_ret)
{
    return of == device && name == CL_DEVICE_EXTENSIONS
               ? answer("clGetDeviceInfo", extensions, strlen(extensions) + 1, room, to, size_ret)
               : CL_INVALID_DEVICE;
}

static cl_command_queue_properties got;

static cl_command_queue CL_API_CALL create_queue(cl_context in, cl_device_id on, cl_command_queue_properties properties,
                                                 cl_int *status)
{
    got = properties;
    *status = in == context && on == device ? CL_SUCCESS : CL_INVALID_DEVICE;
    return *status == CL_SUCCESS ? (cl_command_queue)&things[2] : NULL;
}

static void play(void)
{
    context = (cl_context)&things[0];
    device = (cl_device_id)&things[1];
    other_device = (cl_device_id)&things[2];
    driver.clGetPlatformIDs = get_platforms;
    driver.clGetContextInfo = get_context_info;
    driver.clGetDeviceInfo = get_device_info;
    driver.clCreateCommandQueue = create_queue;
    next_set(&driver, sizeof(driver) / sizeof(void *));
    underlying = next;
    cl2_install(&next);
}

static void queue_is(cl_device_id on, cl_queue_properties name, cl_queue_properties value, cl_int code)
{
    const cl_queue_properties properties[] = {name, value, CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int status = 1;
    cl_command_queue queue = next.clCreateCommandQueueWithProperties(context, on, properties, &status);
    CHECK_INT(status, code);
    CHECK((queue != NULL) == (code == CL_SUCCESS));
    if (queue)
        CHECK_INT(got, CL_QUEUE_PROFILING_ENABLE);
}

static void hints(void)
{
    play();
    extensions = "cl_khr_fp64 cl_khr_priority_hints cl_khr_throttle_hintsx";
    for (cl_queue_properties level = 0; level <= 8; level++)
        queue_is(device, CL_QUEUE_PRIORITY_KHR, level,
                 level == 1 || level == 2 || level == 4 ? CL_SUCCESS : CL_INVALID_VALUE);
    queue_is(device, CL_QUEUE_THROTTLE_KHR, CL_QUEUE_THROTTLE_LOW_KHR, CL_INVALID_VALUE);
    queue_is(other_device, CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, CL_INVALID_VALUE);
    queue_is(device, 0x4711, 1, CL_INVALID_VALUE);
    extensions = "cl_khr_throttle_hints";
    queue_is(device, CL_QUEUE_THROTTLE_KHR, CL_QUEUE_THROTTLE_LOW_KHR, CL_SUCCESS);
    queue_is(device, CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, CL_INVALID_VALUE);
}

static const struct tap_test tests[] = {
    {"hints of queues where the device lists them", hints},
};

TAP_MAIN(tests)
