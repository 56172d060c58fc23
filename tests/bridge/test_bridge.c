/* The host's OpenCL through the bridge: what the tests of sharing, all of which run over it, do not call of platforms, devices, queues and
 * buffers. Every function is called so that a call without effect is seen. */
#include "bridge.h"

/* ---- the bridge itself ---- */

CASE("the bridge is connected", connected)
{
    const char *bridge = report("bridge"), *below = report("next");
    if (CHECK(bridge != NULL) && !CHECK(strncmp(bridge, "connected: libcld3d.so ", 23) == 0))
        printf("# %s\n", bridge);
    if (CHECK(below != NULL))
        CHECK_STR(below, "the host's libOpenCL.so.1");
}

/* ---- platforms and devices ---- */

BASE_CASE("platforms and devices", platforms)
{
    cl_platform_id found[2] = {NULL, (cl_platform_id)found};
    cl_device_id devices[2] = {NULL, (cl_device_id)devices};
    cl_uint count = 0;
    CHECK_INT(clGetPlatformIDs(0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(clGetPlatformIDs(2, found, NULL), CL_SUCCESS);
    CHECK(found[0] == base->platform && found[1] == (cl_platform_id)found); /* no more than there are */
    CHECK_INT(clUnloadPlatformCompiler(base->platform), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 2, devices, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(devices[0] == base->device && devices[1] == (cl_device_id)devices);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ACCELERATOR, 1, devices, &count), CL_DEVICE_NOT_FOUND);
    CHECK_INT(clRetainDevice(base->device), CL_SUCCESS); /* without effect for a root device */
    CHECK_INT(clReleaseDevice(base->device), CL_SUCCESS);
}

/* What a part of a device computes arrives. */
static void part_works(cl_device_id part)
{
    struct base base = {.device = part};
    cl_int status = UNSET;
    const cl_uint pattern = 0x12345678;
    cl_uint found[4] = {0};
    base.context = clCreateContext(NULL, 1, &part, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    base.queue = clCreateCommandQueue(base.context, part, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem buffer = make_buffer(&base, sizeof(found), found);
    CHECK_INT(clEnqueueFillBuffer(base.queue, buffer, &pattern, 4, 0, sizeof(found), 0, NULL, NULL), CL_SUCCESS);
    read_all(&base, buffer, found, sizeof(found));
    CHECK_INT(found[3], pattern);
    release_memory(buffer);
    close_base(&base);
}

BASE_CASE("parts of devices", sub_devices)
{
    const cl_device_partition_property by_counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1,
                                                      CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_partition_property type[8] = {0};
    cl_device_id parts[3] = {(cl_device_id)parts, (cl_device_id)parts, (cl_device_id)parts}, parent = NULL;
    cl_uint count = UNSET;
    size_t size = 0;
    if (device_number(base, CL_DEVICE_PARTITION_MAX_SUB_DEVICES) < 2) {
        CHECK(clCreateSubDevices(base->device, by_counts, 3, parts, &count) < 0);
        CHECK(parts[0] == (cl_device_id)parts);
        CHECK_INT(count, UNSET);
        return;
    }
    CHECK_INT(clCreateSubDevices(base->device, by_counts, 0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    if (CHECK_INT(clCreateSubDevices(base->device, by_counts, 3, parts, NULL), CL_SUCCESS)) {
        CHECK(parts[0] != parts[1] && parts[0] != base->device && parts[2] == (cl_device_id)parts);
        CHECK_INT(clGetDeviceInfo(parts[1], CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL), CL_SUCCESS);
        CHECK(parent == base->device);
        CHECK_INT(clGetDeviceInfo(parts[1], CL_DEVICE_PARTITION_TYPE, sizeof(type), type, &size), CL_SUCCESS);
        CHECK(size >= 4 * sizeof(type[0]) && size % sizeof(type[0]) == 0);
        CHECK_INT(type[0], CL_DEVICE_PARTITION_BY_COUNTS);
        CHECK_INT(type[1], 1);
        struct base part = {.device = parts[0]};
        const cl_ulong before = device_number(&part, CL_DEVICE_REFERENCE_COUNT);
        CHECK_INT(clRetainDevice(parts[0]), CL_SUCCESS);
        CHECK_INT(device_number(&part, CL_DEVICE_REFERENCE_COUNT), before + 1);
        CHECK_INT(clReleaseDevice(parts[0]), CL_SUCCESS);
        CHECK_INT(device_number(&part, CL_DEVICE_REFERENCE_COUNT), before);
        part_works(parts[1]);
        CHECK_INT(clReleaseDevice(parts[0]), CL_SUCCESS);
        if (!is_pocl(base->platform)) /* 3.1 crashes now and then where a part goes that has worked */
            CHECK_INT(clReleaseDevice(parts[1]), CL_SUCCESS);
    }
}

BASE_CASE("extension strings", extension_strings)
{
    static cl_name_version list[256];
    size_t size = 0;
    CHECK(has_extension(base, "cl_khr_d3d11_sharing"));
    CHECK(!has_extension(base, "cl_khr_gl_"));
    CHECK(!has_extension(base, "  "));
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size), CL_SUCCESS);
    CHECK(size > 0 && size % sizeof(*list) == 0);
    for (size_t i = 0; i < size / sizeof(*list); i++)
        CHECK(has_extension(base, list[i].name));
}

/* ---- queues ---- */

static void queue_is(cl_command_queue queue, cl_command_queue_properties expected)
{
    cl_command_queue_properties got = UNSET;
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(got), &got, NULL), CL_SUCCESS);
    CHECK_INT(got, expected);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

BASE_CASE("queues", queues)
{
    const cl_queue_properties none[] = {0}, profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int status = UNSET;
    cl_command_queue_properties before = UNSET;
    queue_is(clCreateCommandQueueWithProperties(base->context, base->device, NULL, &status), 0);
    queue_is(clCreateCommandQueueWithProperties(base->context, base->device, none, NULL), 0);
    queue_is(clCreateCommandQueueWithProperties(base->context, base->device, profiling, &status),
             CL_QUEUE_PROFILING_ENABLE);
    queue_is(clCreateCommandQueue(base->context, base->device, CL_QUEUE_PROFILING_ENABLE, &status),
             CL_QUEUE_PROFILING_ENABLE);
    CHECK(clCreateCommandQueue(base->context, base->device, 0x4711000, &status) == NULL);
    CHECK(status == CL_INVALID_VALUE || status == CL_INVALID_QUEUE_PROPERTIES);
    /* Of OpenCL 1.0: NVIDIA's driver alone has it. */
    CHECK((clSetCommandQueueProperty(base->queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &before) == CL_SUCCESS) ==
          is_nvidia(base->platform));
    if (!device_number(base, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES))
        CHECK(clSetDefaultDeviceCommandQueue(base->context, base->device, base->queue) < 0);
    CHECK_INT(clFinish(base->queue), CL_SUCCESS);
}

/* ---- buffers ---- */

enum { BYTES = 4096 };

BASE_CASE("buffers are made", buffers_are_made)
{
    static unsigned char bytes[BYTES] __attribute__((aligned(4096)));
    const cl_mem_properties none[] = {0}, unknown[] = {0x4711, 1, 0};
    cl_int status = UNSET;
    void *host = NULL;
    make_pattern(bytes, BYTES, 1);
    cl_mem used = clCreateBuffer(base->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(used, CL_MEM_HOST_PTR, sizeof(host), &host, NULL), CL_SUCCESS);
    CHECK(host == bytes);
    cl_mem with = clCreateBufferWithProperties(base->context, none, CL_MEM_COPY_HOST_PTR, BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    buffer_has(base, with, bytes, BYTES);
    CHECK(clCreateBufferWithProperties(base->context, unknown, 0, BYTES, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
    CHECK(clCreateBuffer(base->context, (cl_mem_flags)1 << 40, 16, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateBuffer(base->context, CL_MEM_READ_WRITE, 0, NULL, NULL) == NULL);
    release_memory(with);
    release_memory(used);
}

/* All six pitches. */
BASE_CASE("commands on rectangles", rectangles)
{
    static const size_t from[3] = {3, 2, 1}, to[3] = {5, 1, 0}, region[3] = {7, 4, 2};
    unsigned char a_bytes[BYTES], b_bytes[BYTES], host[BYTES], found[BYTES];
    make_pattern(a_bytes, BYTES, 6);
    make_pattern(b_bytes, BYTES, 7);
    make_pattern(host, BYTES, 8);
    cl_mem a = make_buffer(base, BYTES, a_bytes), b = make_buffer(base, BYTES, b_bytes);
    CHECK_INT(clEnqueueCopyBufferRect(base->queue, a, b, from, to, region, 32, 512, 40, 600, 0, NULL, NULL),
              CL_SUCCESS);
    copy_box(b_bytes, to, 40, 600, a_bytes, from, 32, 512, region);
    CHECK_INT(
        clEnqueueWriteBufferRect(base->queue, b, CL_TRUE, to, from, region, 64, 1024, 32, 256, host, 0, NULL, NULL),
        CL_SUCCESS);
    copy_box(b_bytes, to, 64, 1024, host, from, 32, 256, region);
    buffer_has(base, b, b_bytes, BYTES);
    memcpy(found, host, BYTES);
    CHECK_INT(
        clEnqueueReadBufferRect(base->queue, b, CL_TRUE, from, to, region, 32, 256, 48, 336, found, 0, NULL, NULL),
        CL_SUCCESS);
    copy_box(host, to, 48, 336, b_bytes, from, 32, 256, region);
    CHECK_MEM(found, host, BYTES);
    release_memory(b);
    release_memory(a);
}

TAP_MAIN
