/* A layer that counts the flushes of each queue and the commands in it that move nothing, for test_flushes: below cld3d,
 * where its own are seen too. The markers with which a release begins in a queue with profiling take their time. */
#include "flushes.h"

#include "layer_entry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 64 };
static struct counters {
    _Atomic(cl_command_queue) queue;
    atomic_uint flushes, idle_commands;
} counters[ROOM];

static struct counters *counters_of(cl_command_queue queue)
{
    for (unsigned i = 0; i < ROOM; i++) {
        cl_command_queue none = NULL;
        if (atomic_compare_exchange_strong(&counters[i].queue, &none, queue) || none == queue)
            return &counters[i];
    }
    return &counters[ROOM - 1];
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    atomic_fetch_add(&counters_of(queue)->flushes, 1);
    return getenv(FLUSHES_FAIL) ? CL_INVALID_COMMAND_QUEUE : below->clFlush(queue);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name, size_t room, void *to,
                                         size_t *size_ret)
{
    if (name != FLUSHES_OF_QUEUE && name != IDLE_COMMANDS_OF_QUEUE)
        return below->clGetCommandQueueInfo(queue, name, room, to, size_ret);
    struct counters *of = counters_of(queue);
    const cl_uint count = atomic_load(name == FLUSHES_OF_QUEUE ? &of->flushes : &of->idle_commands);
    memcpy(to, &count, sizeof(count));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    static const struct timespec slow = {0, FLUSHES_SLOW_MS * 1000000};
    cl_command_queue_properties properties = 0;
    if (!wait_count)
        below->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (properties & FLUSHES_SLOW_PROPERTY)
        nanosleep(&slow, NULL);
    atomic_fetch_add(&counters_of(queue)->idle_commands, 1);
    return below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
}

static cl_int CL_API_CALL barrier(cl_command_queue queue, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    atomic_fetch_add(&counters_of(queue)->idle_commands, 1);
    return below->clEnqueueBarrierWithWaitList(queue, wait_count, wait, event);
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem *memories,
                                  cl_mem_migration_flags flags, cl_uint wait_count, const cl_event *wait,
                                  cl_event *event)
{
    atomic_fetch_add(&counters_of(queue)->idle_commands, 1);
    return below->clEnqueueMigrateMemObjects(queue, count, memories, flags, wait_count, wait, event);
}

static void replace(void)
{
    table.clEnqueueBarrierWithWaitList = barrier;
    table.clEnqueueMarkerWithWaitList = marker;
    table.clEnqueueMigrateMemObjects = migrate;
    table.clFlush = flush;
    table.clGetCommandQueueInfo = get_queue_info;
}
