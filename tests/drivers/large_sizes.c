/* A driver that has a size above 4 GiB, if the host's sizes can be so large. */
#include "layer.h"

REPLACES(clGetDeviceInfo)
{
    const size_t large = sizeof(size_t) == 8 ? (size_t)(5ull << 30) : 0;
    return param_name == CL_DEVICE_PRINTF_BUFFER_SIZE && large != 0
               ? give_answer(&large, sizeof(large), param_value_size, param_value, param_value_size_ret)
               : PASS(clGetDeviceInfo);
}
