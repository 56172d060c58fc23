#include "handles/handles.h"

#include <stdio.h>

cl_platform_id platform_of_context(cl_context handle)
{
    struct device_list devices;
    cl_platform_id platform;
    const bool known =
        devices_of_context(below(), handle, &devices) == CL_SUCCESS && devices.count &&
        below()->clGetDeviceInfo(devices.at[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS;
    return known ? platform : NULL;
}

bool platform_predates(cl_platform_id platform, int major)
{
    char text[256] = "";
    int reported = 0;
    if (platform)
        below()->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text) - 1, text, NULL);
    return sscanf(text, "OpenCL %d.", &reported) == 1 && reported < major;
}
