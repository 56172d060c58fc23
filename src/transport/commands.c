#include "transport/commands.h"

#include "track/tiers.h"

cl_int commands_mark(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, struct event_list *done)
{
    cl_event event = NULL;
    if (!event_list_reserve(done, 1))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = tier_formats()->clEnqueueMarkerWithWaitList(queue, wait_count, wait, &event);
    event_list_add(done, status == CL_SUCCESS ? event : NULL);
    return status;
}

bool commands_use(cl_mem memory)
{
    cl_uint references = 0, maps = 0;
    next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(references), &references, NULL);
    next.clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL);
    return references > 1 + maps;
}
