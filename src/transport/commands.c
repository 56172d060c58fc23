#include "transport/commands.h"

#include "track/tiers.h"

cl_int commands_mark(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, struct event_list *done)
{
    cl_event event = NULL;
    if (!event_list_reserve(done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = below()->clEnqueueMarkerWithWaitList(queue, wait_count, wait, &event);
    event_list_add(done, status == CL_SUCCESS ? event : NULL);
    return status;
}

static cl_int migrate(cl_command_queue queue, cl_uint count, const cl_mem *memories, cl_uint wait_count,
                      const cl_event *wait, struct event_list *done)
{
    cl_event event = NULL;
    if (!event_list_reserve(done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = below()->clEnqueueMigrateMemObjects(queue, count, memories, 0, wait_count, wait, &event);
    event_list_add(done, status == CL_SUCCESS ? event : NULL);
    return status;
}

cl_int commands_stand(cl_command_queue queue, cl_uint count, struct transfer *const *transfers, cl_uint wait_count,
                      const cl_event *wait, struct event_list *done)
{
    enum { AT_ONCE = 64 };
    cl_mem memories[AT_ONCE];
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < count && status == CL_SUCCESS; i++) {
        const cl_uint place = i % AT_ONCE;
        memories[place] = transfers[i]->memory;
        if (place + 1 == AT_ONCE || i + 1 == count)
            status = migrate(queue, place + 1, memories, wait_count, wait, done);
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

cl_int commands_stand_by_marker(cl_command_queue queue, cl_uint count, struct transfer *const *transfers,
                                cl_uint wait_count, const cl_event *wait, struct event_list *done)
{
    return wait_count || in_order(queue) ? commands_mark(queue, wait_count, wait, done)
                                         : commands_stand(queue, count, transfers, wait_count, wait, done);
}

bool commands_use(cl_mem memory, cl_uint references)
{
    cl_uint counted = 0, maps = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(counted), &counted, NULL);
    next.clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL);
    return counted > references + maps;
}
