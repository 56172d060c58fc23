/* The functions of OpenCL 1.0 that order commands, implemented by their OpenCL 1.2 replacements: in queues of contexts
 * with interop, so that commands are tracked in the same way, and under Wine. Some drivers
 * crash in clEnqueueWaitForEvents. */
#include "share/share.h"

#include "log.h"
#include "os/os.h"

/* Other queues may belong to a driver without OpenCL 1.2. */
static bool is_replaced(cl_command_queue queue)
{
    return os_is_wine() || (registry_hot() && registry_has(RECORD_QUEUE, queue));
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_event *event)
{
    if (!is_replaced(queue))
        return below()->clEnqueueMarker(queue, event);
    if (!event)
        return log_refuse("clEnqueueMarker", CL_INVALID_VALUE, "the pointer for the event is NULL");
    return tier_share()->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
}

static cl_int CL_API_CALL enqueue_barrier(cl_command_queue queue)
{
    if (!is_replaced(queue))
        return below()->clEnqueueBarrier(queue);
    return tier_share()->clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

static cl_int CL_API_CALL enqueue_wait_for_events(cl_command_queue queue, cl_uint num_events,
                                                  const cl_event *event_list)
{
    static const char call[] = "clEnqueueWaitForEvents";
    if (!is_replaced(queue))
        return below()->clEnqueueWaitForEvents(queue, num_events, event_list);
    if (!num_events || !event_list)
        return log_refuse(call, CL_INVALID_VALUE, "the list of %u events is invalid: %p", num_events,
                          (const void *)event_list);
    const cl_int status = tier_share()->clEnqueueBarrierWithWaitList(queue, num_events, event_list, NULL);
    return status == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : status;
}

void deprecated_install(cl_icd_dispatch *table)
{
    table->clEnqueueMarker = enqueue_marker;
    table->clEnqueueBarrier = enqueue_barrier;
    table->clEnqueueWaitForEvents = enqueue_wait_for_events;
}
