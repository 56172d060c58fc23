/* A layer below the bridge whose devices have a size above 4 GiB, if the host's sizes can be so large. */
#include "../layer_entry.h"

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
{
    const size_t large = sizeof(size_t) == 8 ? (size_t)(5ull << 30) : 0;
    return name == CL_DEVICE_PRINTF_BUFFER_SIZE && large ? give_answer(&large, sizeof(large), room, to, size_ret)
                                                         : below->clGetDeviceInfo(device, name, room, to, size_ret);
}

static void replace(void)
{
    table.clGetDeviceInfo = get_device_info;
}
