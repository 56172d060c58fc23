/* Wine 8's opencl.dll changes a device's execution capabilities in the result buffer, without checking that there is
 * one: a program that queries the size alone would crash. */
#include "emulate/emulate.h"

#include "next/query.h"

static cl_int(CL_API_CALL *get_info_below)(cl_device_id, cl_device_info, size_t, void *, size_t *);

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                          void *param_value, size_t *param_value_size_ret)
{
    cl_device_exec_capabilities capabilities = 0;
    if (param_name != CL_DEVICE_EXECUTION_CAPABILITIES)
        return get_info_below(device, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status = get_info_below(device, param_name, sizeof(capabilities), &capabilities, NULL);
    return status == CL_SUCCESS ? answer("clGetDeviceInfo", &capabilities, sizeof(capabilities), param_value_size,
                                         param_value, param_value_size_ret)
                                : status;
}

void wine_queries_install(cl_icd_dispatch *table)
{
    get_info_below = table->clGetDeviceInfo;
    table->clGetDeviceInfo = get_device_info;
}
