/* A companion of another version, for test_old_companion: it answers as one whose channel has version 99. */
#include "../src/host/channel.h"

#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <string.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    if (name != CHANNEL_QUERY)
        return below->clGetDeviceInfo(device, name, room, to, size);
    struct channel_request *request = to;
    request->result = 99;
    return request->action == CHANNEL_HELLO ? CL_SUCCESS : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *to, size_t *size)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (to && room < sizeof(version)))
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, &version, sizeof(version));
    if (size)
        *size = sizeof(version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *count,
                                            const cl_icd_dispatch **layer)
{
    below = target;
    memcpy(&table, target, entries * sizeof(void *) < sizeof(table) ? entries * sizeof(void *) : sizeof(table));
    table.clGetDeviceInfo = get_device_info;
    *count = sizeof(table) / sizeof(void *);
    *layer = &table;
    return CL_SUCCESS;
}
