/* CLD3D_CPU_AS_GPU=1: a program that looks for GPUs alone finds the CPU devices, and shares with them. */
#include "sharing.h"

static bool is_set(void)
{
    const char *value = getenv("CLD3D_CPU_AS_GPU");
    return value && strcmp(value, "1") == 0;
}

static bool shown_as_gpus(void)
{
    if (!is_set())
        SKIP("only as a part of the case with the setting");
    return is_set();
}

/* The first device, a CPU as it is without the setting: the OpenCL of these tests may have nothing else. */
static bool find_cpu(cl_platform_id *platform, cl_device_id *device)
{
    cl_device_type type = 0;
    if (!CHECK_INT(clGetPlatformIDs(1, platform, NULL), CL_SUCCESS) ||
        !CHECK_INT(clGetDeviceIDs(*platform, CL_DEVICE_TYPE_ALL, 1, device, NULL), CL_SUCCESS))
        return false;
    CHECK_INT(clGetDeviceInfo(*device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    if (!(type & CL_DEVICE_TYPE_CPU))
        SKIP("the first device is no CPU");
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

CASE("a CPU with the setting", run_with_it)
{
    cl_platform_id platform;
    cl_device_id device;
    if (!is_set() && !find_cpu(&platform, &device))
        return;
    CHECK_INT(run_again("as a GPU", "CLD3D_CPU_AS_GPU", "1"), 4);
}

/* Without the setting a CPU is a CPU. */
CASE("a CPU without the setting", as_it_is)
{
    cl_platform_id platform;
    cl_device_id device, by_type;
    if (is_set() || !find_cpu(&platform, &device))
        return;
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &by_type, NULL), CL_SUCCESS);
    CHECK(by_type == device);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), CL_DEVICE_NOT_FOUND);
}

CASE("as a GPU: found by its type", is_found)
{
    cl_platform_id platform;
    cl_device_id device, again;
    cl_device_type type = 0;
    cl_uint count = 0;
    if (!shown_as_gpus())
        return;
    if (!CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) ||
        !CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, &count), CL_SUCCESS))
        return;
    CHECK(count >= 1);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    CHECK(type & CL_DEVICE_TYPE_GPU);
    CHECK(!(type & CL_DEVICE_TYPE_CPU));
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &again, &count), CL_DEVICE_NOT_FOUND);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_ACCELERATOR, 1, &again, &count),
              CL_DEVICE_NOT_FOUND);
    const cl_int none = clGetDeviceIDs(platform, 0, 1, &again, &count); /* no type; PoCL 3.1 finds no device of it */
    CHECK(none == CL_INVALID_DEVICE_TYPE || none == CL_DEVICE_NOT_FOUND);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &again, &count), CL_SUCCESS);
    CHECK(device == again);
}

CASE("as a GPU: a context of the type", context_of_type)
{
    cl_platform_id platform;
    cl_int status = 1;
    if (!shown_as_gpus())
        return;
    if (!CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS))
        return;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_context context = clCreateContextFromType(properties, CL_DEVICE_TYPE_GPU, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (CHECK(context != NULL))
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* As FFmpeg goes: the preferred device of a Direct3D device must be a GPU. */
OBJECT_CASE("as a GPU: preferred, and sharing", preferred, 0, KIND_2D)
{
    cl_device_id device = NULL;
    cl_device_type type = 0;
    cl_uint count = 0;
    if (!shown_as_gpus())
        return;
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->preferred_set, 1,
                                  &device, &count),
              CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    CHECK(type & CL_DEVICE_TYPE_GPU);
    CHECK(round_trip(rig, shared, 1, 2));
}

TAP_MAIN
