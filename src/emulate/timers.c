/* clGetHostTimer and clGetDeviceAndHostTimer, where the OpenCL below lacks them: cld3d's clock gives the host's time,
 * and the profile of a command gives the device's.
 *
 * The existence of the functions does not mean that timers work: with PoCL 3.1 and NVIDIA's driver both return
 * CL_INVALID_OPERATION. */
#include "emulate/emulate.h"
#include "emulate/known_devices.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"

static bool below_has_functions;

static cl_int check(const char *call, cl_device_id device, bool places)
{
    cl_device_type type;
    if (!known_may_be_device(device) ||
        underlying.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) != CL_SUCCESS)
        return log_refuse(call, CL_INVALID_DEVICE, "%p is not a device", (void *)device);
    return places ? CL_SUCCESS : log_refuse(call, CL_INVALID_VALUE, "the pointer for a timestamp is NULL");
}

static cl_int CL_API_CALL get_host_timer(cl_device_id device, cl_ulong *host_timestamp)
{
    cl_int status = below_has_functions ? underlying.clGetHostTimer(device, host_timestamp) : CL_INVALID_OPERATION;
    if (status != CL_INVALID_OPERATION)
        return status;
    status = check("clGetHostTimer", device, host_timestamp != NULL);
    if (status == CL_SUCCESS)
        *host_timestamp = os_nanoseconds();
    return status;
}

/* A command that does nothing and has just ended. */
static cl_int profile(cl_command_queue queue, cl_ulong *device_time)
{
    cl_event event;
    cl_int status = underlying.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    if (status != CL_SUCCESS)
        return status;
    status = underlying.clWaitForEvents(1, &event);
    if (status == CL_SUCCESS)
        status = underlying.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(*device_time), device_time,
                                                    NULL);
    underlying.clReleaseEvent(event);
    return status;
}

/* cld3d's own queues, one for each device that was queried, kept until the process ends: programs query repeatedly, and
 * creating a context takes long. Guarded by clocks_lock. */
static struct {
    cl_device_id device; /* retained: with PoCL 3.1 a context does not keep a sub-device alive */
    cl_command_queue queue;
} clocks[32];
static unsigned clock_count;
static os_mutex clocks_lock = OS_MUTEX_INIT;

static cl_command_queue make_queue(cl_device_id device, cl_int *status)
{
    cl_context context = underlying.clCreateContext(NULL, 1, &device, NULL, NULL, status);
    if (!context)
        return NULL;
    cl_command_queue queue = underlying.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, status);
    underlying.clReleaseContext(context); /* the queue keeps it alive */
    return queue;
}

/* The queue for a device, with a reference for the caller. */
static cl_command_queue clock_queue(cl_device_id device, cl_int *status)
{
    cl_command_queue queue = NULL;
    os_lock(&clocks_lock);
    for (unsigned i = 0; i < clock_count && !queue; i++)
        if (clocks[i].device == device)
            queue = clocks[i].queue;
    if (queue)
        underlying.clRetainCommandQueue(queue);
    os_unlock(&clocks_lock);
    return queue ? queue : make_queue(device, status);
}

/* Stores a queue, unless one was stored meanwhile or there is no room; takes over the caller's reference. */
static void keep_queue(cl_device_id device, cl_command_queue queue)
{
    bool keep = true;
    os_lock(&clocks_lock);
    for (unsigned i = 0; i < clock_count; i++)
        keep = keep && clocks[i].device != device;
    keep = keep && clock_count < sizeof(clocks) / sizeof(clocks[0]);
    if (keep) {
        clocks[clock_count].device = device;
        clocks[clock_count++].queue = queue;
    }
    os_unlock(&clocks_lock);
    if (keep)
        underlying.clRetainDevice(device);
    else
        underlying.clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL get_device_and_host_timer(cl_device_id device, cl_ulong *device_timestamp,
                                                    cl_ulong *host_timestamp)
{
    cl_int status = below_has_functions ? underlying.clGetDeviceAndHostTimer(device, device_timestamp, host_timestamp)
                                        : CL_INVALID_OPERATION;
    if (status != CL_INVALID_OPERATION)
        return status;
    status = check("clGetDeviceAndHostTimer", device, device_timestamp && host_timestamp);
    if (status != CL_SUCCESS)
        return status;
    cl_ulong device_time = 0;
    cl_command_queue queue = clock_queue(device, &status);
    if (queue)
        status = profile(queue, &device_time);
    const cl_ulong host_time = os_nanoseconds();
    if (queue)
        keep_queue(device, queue);
    if (driver_short(status))
        return log_next("clGetDeviceAndHostTimer", "a command that reads the device's time", status);
    /* rusticl 22.3 does not profile: its four times are 0, 1, 2 and 3. */
    if (status != CL_SUCCESS || device_time <= 3)
        return log_refuse("clGetDeviceAndHostTimer", CL_INVALID_OPERATION, "the device does not report its time");
    *device_timestamp = device_time;
    *host_timestamp = host_time;
    return CL_SUCCESS;
}

/* For a platform whose devices have no timers, the resolution of the host's timer is that of cld3d's clock. */
static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param_name,
                                            size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    cl_device_id device = NULL;
    cl_ulong time;
    const cl_int status =
        underlying.clGetPlatformInfo(platform, param_name, param_value_size, param_value, param_value_size_ret);
    if (status != CL_SUCCESS || param_name != CL_PLATFORM_HOST_TIMER_RESOLUTION || !param_value)
        return status;
    if (!below_has_functions ||
        (underlying.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS &&
         underlying.clGetHostTimer(device, &time) == CL_INVALID_OPERATION))
        *(cl_ulong *)param_value = TIMER_RESOLUTION_NS;
    return status;
}

void timers_install(cl_icd_dispatch *table, bool has_functions)
{
    below_has_functions = has_functions;
    table->clGetPlatformInfo = get_platform_info;
    table->clGetHostTimer = get_host_timer;
    table->clGetDeviceAndHostTimer = get_device_and_host_timer;
}
