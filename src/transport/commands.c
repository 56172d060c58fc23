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

static cl_int migrate(const struct enqueueing *to, cl_uint count, const cl_mem *memories)
{
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status =
        below()->clEnqueueMigrateMemObjects(to->queue, count, memories, 0, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

cl_int commands_placeholder(const struct enqueueing *to, cl_uint count, struct transfer *const *transfers)
{
    enum { AT_ONCE = 64 };
    cl_mem memories[AT_ONCE];
    cl_int status = CL_SUCCESS;
    if (to->unobserved)
        return CL_SUCCESS;
    for (cl_uint i = 0; i < count && status == CL_SUCCESS; i++) {
        const cl_uint place = i % AT_ONCE;
        memories[place] = transfers[i]->memory;
        if (place + 1 == AT_ONCE || i + 1 == count)
            status = migrate(to, place + 1, memories);
    }
    return status;
}

static bool in_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    return below()->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) ==
               CL_SUCCESS &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Waits only for the wait list and earlier barriers. In PoCL 3.1 a marker whose wait list has ended comes after
 * everything in the queue, and commands behind a barrier with a wait list overtake earlier barriers. */
static cl_int fill_byte(const struct enqueueing *to)
{
    static const cl_uchar zero;
    cl_context context = NULL;
    cl_event event = NULL;
    cl_int status = below()->clGetCommandQueueInfo(to->queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
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

cl_int commands_placeholder_apart(const struct enqueueing *to)
{
    if (to->unobserved)
        return CL_SUCCESS;
    return in_order(to->queue) ? commands_marker(to) : fill_byte(to);
}

bool commands_use(cl_mem memory, cl_uint references)
{
    cl_uint counted = CL_UINT_MAX, maps = 0; /* if the driver cannot answer, it is asked again */
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(counted), &counted, NULL);
    next.clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL);
    return counted > references + maps;
}
