#include "transport/commands.h"

#include "handles/tiers.h"

cl_int commands_marker(const struct enqueueing *to)
{
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = below()->clEnqueueMarkerWithWaitList(to->queue, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

/* In an out-of-order queue it fills a buffer of one byte, which waits only for the wait list and earlier barriers. In PoCL
 * 3.1 a marker whose wait list has ended comes after everything in the queue, and commands behind a barrier with a wait
 * list overtake earlier barriers. */
cl_int commands_placeholder(const struct enqueueing *to)
{
    static const cl_uchar zero;
    cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    cl_context context = NULL;
    cl_event event = NULL;
    if (to->unobserved)
        return CL_SUCCESS;
    below()->clGetCommandQueueInfo(to->queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (!(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return commands_marker(to);
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    cl_int status = below()->clGetCommandQueueInfo(to->queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    cl_mem byte =
        status == CL_SUCCESS ? below()->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status) : NULL;
    if (!byte)
        return status;
    status = below()->clEnqueueFillBuffer(to->queue, byte, &zero, sizeof(zero), 0, sizeof(zero), to->wait_count,
                                          to->wait, &event);
    below()->clReleaseMemObject(byte);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

static bool has_times(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    below()->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    return (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

cl_int commands_after_take(const struct enqueueing *to, cl_uint before)
{
    const struct enqueueing behind = {.queue = to->queue, .done = to->done};
    if (to->done->count == before)
        return commands_placeholder(to);
    return has_times(to->queue) ? commands_placeholder(&behind) : CL_SUCCESS;
}
