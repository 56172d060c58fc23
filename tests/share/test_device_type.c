/* CLD3D_CPU_AS_GPU=1: a program that looks for GPUs alone finds the CPU devices, and shares with them. */
#include "sharing.h"

/* Without the setting a CPU is a CPU: the first device, as the OpenCL of these tests may have nothing else. */
CASE("a CPU with the setting and without", with_and_without)
{
    cl_platform_id platform;
    cl_device_id device, by_type;
    cl_device_type type = 0;
    if (getenv("CLD3D_CPU_AS_GPU") || !CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) ||
        !CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS))
        return;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    if (!(type & CL_DEVICE_TYPE_CPU)) {
        SKIP("the first device is no CPU");
        return;
    }
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &by_type, NULL), CL_SUCCESS);
    CHECK(by_type == device);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), CL_DEVICE_NOT_FOUND);
    CHECK_INT(run_again("as a GPU", "CLD3D_CPU_AS_GPU", "1"), 2);
}

static void check_gpu(cl_device_id device)
{
    cl_device_type type = 0;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    CHECK(type & CL_DEVICE_TYPE_GPU);
    CHECK(!(type & CL_DEVICE_TYPE_CPU));
}

/* As FFmpeg goes: the preferred device of a Direct3D device must be a GPU. */
OBJECT_CASE("as a GPU", as_a_gpu, 0, KIND_2D)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform, 0};
    cl_device_id device = NULL, again = NULL;
    cl_uint count = 0;
    cl_int status = 1;
    if (!is_child("CLD3D_CPU_AS_GPU") ||
        !CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_GPU, 1, &device, &count), CL_SUCCESS))
        return;
    CHECK(count >= 1);
    check_gpu(device);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_CPU, 1, &again, &count), CL_DEVICE_NOT_FOUND);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_ACCELERATOR, 1, &again, &count),
              CL_DEVICE_NOT_FOUND);
    status = clGetDeviceIDs(rig->platform, 0, 1, &again, &count); /* no type; PoCL 3.1 finds no device of it */
    CHECK(status == CL_INVALID_DEVICE_TYPE || status == CL_DEVICE_NOT_FOUND);
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 1, &again, &count), CL_SUCCESS);
    CHECK(device == again);
    cl_context context = clCreateContextFromType(properties, CL_DEVICE_TYPE_GPU, NULL, NULL, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(rig->get_device_ids(rig->platform, rig->api->device_source, rig->device, rig->api->preferred_set, 1,
                                  &again, &count),
              CL_SUCCESS);
    CHECK_INT(count, 1);
    check_gpu(again);
    CHECK(round_trip(rig, shared, 1, 2));
}

TAP_MAIN
