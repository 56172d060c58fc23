/* A companion of another version, for test_old_companion: it answers as one whose channel has version 99. */
#include "../src/host/channel.h"

#include "layer_entry.h"

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    if (name != CHANNEL_QUERY)
        return below->clGetDeviceInfo(device, name, room, to, size);
    struct channel_request *request = to;
    request->result = 99;
    return request->action == CHANNEL_HELLO ? CL_SUCCESS : CL_INVALID_VALUE;
}

static void replace(void)
{
    table.clGetDeviceInfo = get_device_info;
}
