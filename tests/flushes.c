/* A layer that counts the flushes of each queue, for test_flushes: below cld3d, where its own are seen too. */
#include "flushes.h"

#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <string.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

enum { ROOM = 64 };
static struct {
    _Atomic(cl_command_queue) queue;
    atomic_uint flushes;
} counters[ROOM];

static atomic_uint *counter_of(cl_command_queue queue)
{
    for (unsigned i = 0; i < ROOM; i++) {
        cl_command_queue none = NULL;
        if (atomic_compare_exchange_strong(&counters[i].queue, &none, queue) || none == queue)
            return &counters[i].flushes;
    }
    return &counters[ROOM - 1].flushes;
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    atomic_fetch_add(counter_of(queue), 1);
    return below->clFlush(queue);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name, size_t room, void *to,
                                         size_t *size_ret)
{
    if (name != FLUSHES_OF_QUEUE)
        return below->clGetCommandQueueInfo(queue, name, room, to, size_ret);
    const cl_uint flushes = atomic_load(counter_of(queue));
    memcpy(to, &flushes, sizeof(flushes));
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (to && room < sizeof(version)))
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, &version, sizeof(version));
    if (size_ret)
        *size_ret = sizeof(version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **table_ret)
{
    (void)entries;
    below = target;
    table = *target;
    table.clFlush = flush;
    table.clGetCommandQueueInfo = get_queue_info;
    *entries_ret = sizeof(table) / sizeof(void *);
    *table_ret = &table;
    return CL_SUCCESS;
}
