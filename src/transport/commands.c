#include "transport/commands.h"

#include "track/tiers.h"

typedef cl_int(CL_API_CALL *marking)(cl_command_queue, cl_uint, const cl_event *, cl_event *);

static cl_int mark_by(marking enqueue, const struct enqueueing *to)
{
    cl_event event = NULL;
    if (!event_list_reserve(to->done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = enqueue(to->queue, to->wait_count, to->wait, &event);
    event_list_add(to->done, status == CL_SUCCESS ? event : NULL);
    return status;
}

cl_int commands_mark(const struct enqueueing *to)
{
    return mark_by(below()->clEnqueueMarkerWithWaitList, to);
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

cl_int commands_stand(const struct enqueueing *to, cl_uint count, struct transfer *const *transfers)
{
    enum { AT_ONCE = 64 };
    cl_mem memories[AT_ONCE];
    cl_int status = CL_SUCCESS;
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

/* PoCL 3.1 takes a marker whose wait list is over for one without a list. What is enqueued behind an acquire comes after it, as
 * after a barrier. */
cl_int commands_stand_by_marker(const struct enqueueing *to, cl_uint count, struct transfer *const *transfers)
{
    if (in_order(to->queue))
        return commands_mark(to);
    return to->wait_count ? mark_by(below()->clEnqueueBarrierWithWaitList, to) : commands_stand(to, count, transfers);
}

bool commands_use(cl_mem memory, cl_uint references)
{
    cl_uint counted = 0, maps = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(counted), &counted, NULL);
    next.clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL);
    return counted > references + maps;
}
