/* CLD3D_CPU_AS_GPU: presents CPU devices as GPUs to programs that accept only GPUs (FFmpeg does). Only the
 * application's view changes: the type in queries, and which devices a type selects. */
#include "share/share.h"

#include "settings.h"

cl_device_type device_type_shown(cl_device_type type)
{
    if (!setting_on(SETTING_CPU_AS_GPU) || !(type & CL_DEVICE_TYPE_CPU))
        return type;
    return (type & ~(cl_device_type)CL_DEVICE_TYPE_CPU) | CL_DEVICE_TYPE_GPU;
}

cl_device_type device_type_meant(cl_device_type type)
{
    if (!setting_on(SETTING_CPU_AS_GPU) || type == CL_DEVICE_TYPE_ALL)
        return type;
    const cl_device_type others = type & ~(cl_device_type)(CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU);
    if (type & CL_DEVICE_TYPE_GPU)
        return others | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU;
    /* Only CPUs were requested, and none is shown: use a type that hardly any device has. */
    return others || !type ? others : CL_DEVICE_TYPE_CUSTOM;
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                         cl_device_id *devices, cl_uint *num_devices)
{
    return below()->clGetDeviceIDs(platform, device_type_meant(device_type), num_entries, devices, num_devices);
}

void device_type_install(cl_icd_dispatch *table)
{
    table->clGetDeviceIDs = get_device_ids;
}
