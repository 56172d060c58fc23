/* A companion of another version, for test_old_companion: it answers as one whose channel has version 99. And each device lists one
 * extension many times over, more than Wine 8 has room for in 64 KiB by its way of counting. */
#include "../src/companion/channel.h"

#include "layer_entry.h"

#include <string.h>

static cl_int long_list(cl_device_id device, size_t room, void *to, size_t *size)
{
    enum { TIMES = 128 };
    static const char word[] = " cl_khr_byte_addressable_store";
    static char text[16384];
    const cl_int status = below->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text) / 2, text, NULL);
    if (status != CL_SUCCESS)
        return status;
    char *end = text + strlen(text);
    for (unsigned i = 0; i < TIMES; i++, end += sizeof(word) - 1)
        memcpy(end, word, sizeof(word));
    return give_answer(text, strlen(text) + 1, room, to, size);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    if (name == CL_DEVICE_EXTENSIONS)
        return long_list(device, room, to, size);
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
