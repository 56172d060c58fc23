/* Queries that Wine's own opencl.dll answers wrongly, or not at all. */
#include "tap.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdlib.h>

enum { ROOM = 16384 };

static cl_platform_id platform;
static cl_device_id device;

static bool find(void)
{
    return CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) &&
           CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
}

static cl_int ask(bool of_device, cl_uint name, size_t room, void *to, size_t *size)
{
    return of_device ? clGetDeviceInfo(device, name, room, to, size)
                     : clGetPlatformInfo(platform, name, room, to, size);
}

/* ---- what a device can execute ---- */

CASE("what a device can execute", execution)
{
    cl_device_exec_capabilities capabilities = 0;
    unsigned char small[4] = {0xAA, 0xAA, 0xAA, 0xAA};
    size_t size = 0;
    if (!find())
        return;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(capabilities));
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL),
              CL_SUCCESS);
    /* A kernel of the host's own can't be called from here. */
    CHECK_INT(capabilities, CL_EXEC_KERNEL);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(small), small, NULL), CL_INVALID_VALUE);
    for (unsigned i = 0; i < sizeof(small); i++)
        CHECK_INT(small[i], 0xAA);
    CHECK_INT(clGetDeviceInfo(NULL, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL),
              CL_INVALID_DEVICE);
}

/* ---- extensions ---- */

/* FFmpeg asserts that the size is strlen + 1. */
CASE("the sizes of extension strings", extension_strings)
{
    static char text[ROOM];
    if (!find())
        return;
    for (int of_device = 0; of_device < 2; of_device++) {
        const cl_uint name = of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS;
        size_t size = 0, again = 0;
        memset(text, 0, ROOM);
        CHECK_INT(ask(of_device, name, 0, NULL, &size), CL_SUCCESS);
        CHECK_INT(ask(of_device, name, size, text, &again), CL_SUCCESS);
        CHECK_INT(again, size);
        CHECK_INT(strlen(text) + 1, size);
        CHECK_INT(ask(of_device, name, size - 1, text, NULL), CL_INVALID_VALUE);
    }
}

/* ---- what is wrong ---- */

CASE("queries that are wrong", bad_queries)
{
    static void *nothing[64];
    char text[16];
    size_t size = 4711;
    if (!find())
        return;
    cl_device_id right = device;
    cl_device_id wrong[] = {NULL, (cl_device_id)nothing};
    for (int w = 0; w < 2; w++) {
        device = wrong[w];
        CHECK_INT(ask(true, CL_DEVICE_EXTENSIONS, 0, NULL, &size), CL_INVALID_DEVICE);
        CHECK_INT(ask(true, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(text), text, NULL), CL_INVALID_DEVICE);
        CHECK_INT(ask(true, CL_DEVICE_NAME, sizeof(text), text, NULL), CL_INVALID_DEVICE);
    }
    device = right;
    CHECK_INT(size, 4711);
    for (int of_device = 0; of_device < 2; of_device++) {
        CHECK_INT(ask(of_device, 0x4711, 0, NULL, &size), CL_INVALID_VALUE);
        CHECK_INT(ask(of_device, of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(ask(of_device, of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS, 0, text, NULL),
                  CL_INVALID_VALUE);
    }
    CHECK_INT(ask(true, CL_DEVICE_EXECUTION_CAPABILITIES, 0, text, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask(true, CL_DEVICE_EXECUTION_CAPABILITIES, 0, NULL, NULL), CL_SUCCESS);
}

/* An error of OpenCL's, also where the driver crashes; and no object. */
static bool refused(const void *object, cl_int *status)
{
    const bool error = *status < 0 && *status > -2000;
    *status = CL_SUCCESS;
    return error && !object;
}

CASE("calls in which the driver crashes", crashes)
{
    static void *nothing[64];
    const char *text = "kernel void k(global int *p) {}";
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    const cl_buffer_region region = {0, 16};
    void *const bad = nothing;
    cl_int status = CL_SUCCESS;
    if (!find())
        return;
    CHECK(refused(clCreateCommandQueue(bad, device, 0, &status), &status));
    CHECK(refused(clCreateCommandQueueWithProperties(bad, device, NULL, &status), &status));
    CHECK(refused(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, &status), &status));
    CHECK(refused(clCreateSubBuffer(bad, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status), &status));
    CHECK(refused(clCreateImage(bad, CL_MEM_READ_WRITE, &format, &desc, NULL, &status), &status));
    CHECK(refused(clCreateSampler(bad, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status), &status));
    CHECK(refused(clCreateProgramWithSource(bad, 1, &text, NULL, &status), &status));
    CHECK(refused(clCreateKernel(bad, "k", &status), &status));
    CHECK(refused(clCreateUserEvent(bad, &status), &status));
    CHECK(refused(clEnqueueMapBuffer(bad, bad, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status), &status));
    CHECK(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, NULL) == NULL);
    cl_int codes[] = {clRetainContext(bad), clReleaseContext(bad),        clFinish(bad),
                      clFlush(bad),         clReleaseMemObject(bad),      clReleaseKernel(bad),
                      clRetainProgram(bad), clSetUserEventStatus(bad, 0), clReleaseCommandQueue(bad)};
    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        CHECK(refused(NULL, &codes[i]));
}

/* ---- the rest ---- */

CASE("the compiler is unloaded", compiler)
{
    for (int i = 0; i < 2; i++)
        CHECK_INT(clUnloadCompiler(), CL_SUCCESS);
    if (find())
        CHECK_INT(clUnloadPlatformCompiler(platform), CL_SUCCESS);
}

TAP_MAIN
