/* The host's OpenCL through the bridge: platforms, devices, contexts, queues and buffers. Every function is called so that a call
 * without effect is seen. */
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

/* clang-format off */
static const char *const functions[] = {
    /* 1.0 */
    "clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext", "clCreateContextFromType",
    "clRetainContext", "clReleaseContext", "clGetContextInfo", "clCreateCommandQueue", "clRetainCommandQueue", "clReleaseCommandQueue",
    "clGetCommandQueueInfo", "clSetCommandQueueProperty", "clCreateBuffer", "clCreateImage2D", "clCreateImage3D", "clRetainMemObject",
    "clReleaseMemObject", "clGetSupportedImageFormats", "clGetMemObjectInfo", "clGetImageInfo", "clCreateSampler", "clRetainSampler",
    "clReleaseSampler", "clGetSamplerInfo", "clCreateProgramWithSource", "clCreateProgramWithBinary", "clRetainProgram",
    "clReleaseProgram", "clBuildProgram", "clUnloadCompiler", "clGetProgramInfo", "clGetProgramBuildInfo", "clCreateKernel",
    "clCreateKernelsInProgram", "clRetainKernel", "clReleaseKernel", "clSetKernelArg", "clGetKernelInfo", "clGetKernelWorkGroupInfo",
    "clWaitForEvents", "clGetEventInfo", "clRetainEvent", "clReleaseEvent", "clGetEventProfilingInfo", "clFlush", "clFinish",
    "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer", "clEnqueueReadImage", "clEnqueueWriteImage",
    "clEnqueueCopyImage", "clEnqueueCopyImageToBuffer", "clEnqueueCopyBufferToImage", "clEnqueueMapBuffer", "clEnqueueMapImage",
    "clEnqueueUnmapMemObject", "clEnqueueNDRangeKernel", "clEnqueueTask", "clEnqueueNativeKernel", "clEnqueueMarker",
    "clEnqueueWaitForEvents", "clEnqueueBarrier", "clGetExtensionFunctionAddress",
    /* 1.1 */
    "clCreateSubBuffer", "clSetMemObjectDestructorCallback", "clCreateUserEvent", "clSetUserEventStatus", "clSetEventCallback",
    "clEnqueueReadBufferRect", "clEnqueueWriteBufferRect", "clEnqueueCopyBufferRect",
    /* 1.2 */
    "clCreateSubDevices", "clRetainDevice", "clReleaseDevice", "clCreateImage", "clCreateProgramWithBuiltInKernels", "clCompileProgram",
    "clLinkProgram", "clUnloadPlatformCompiler", "clGetKernelArgInfo", "clEnqueueFillBuffer", "clEnqueueFillImage",
    "clEnqueueMigrateMemObjects", "clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList",
    "clGetExtensionFunctionAddressForPlatform",
    /* 2.0 to 3.0 */
    "clCreateCommandQueueWithProperties", "clCreatePipe", "clGetPipeInfo", "clSVMAlloc", "clSVMFree", "clCreateSamplerWithProperties",
    "clSetKernelArgSVMPointer", "clSetKernelExecInfo", "clEnqueueSVMFree", "clEnqueueSVMMemcpy", "clEnqueueSVMMemFill",
    "clEnqueueSVMMap", "clEnqueueSVMUnmap", "clSetDefaultDeviceCommandQueue", "clGetDeviceAndHostTimer", "clGetHostTimer",
    "clCreateProgramWithIL", "clCloneKernel", "clGetKernelSubGroupInfo", "clEnqueueSVMMigrateMem", "clSetProgramReleaseCallback",
    "clSetProgramSpecializationConstant", "clSetContextDestructorCallback", "clCreateBufferWithProperties",
    "clCreateImageWithProperties",
};
/* clang-format on */

CASE("every function is exported", exported)
{
    CHECK_INT(COUNT(functions), 114);
    for (unsigned i = 0; i < COUNT(functions); i++)
        if (!CHECK(GetProcAddress(GetModuleHandleA("OpenCL.dll"), functions[i]) != NULL))
            printf("# %s\n", functions[i]);
}

/* ---- platforms and devices ---- */

CASE("platforms", platforms)
{
    cl_platform_id found[4] = {(cl_platform_id)found, (cl_platform_id)found, (cl_platform_id)found};
    cl_uint count = 0;
    CHECK_INT(clGetPlatformIDs(0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    count = 0;
    CHECK_INT(clGetPlatformIDs(3, found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found[0] != NULL && found[0] != (cl_platform_id)found);
    CHECK(found[1] == (cl_platform_id)found); /* no more than there are */
    CHECK_INT(clGetPlatformIDs(0, found, NULL), CL_INVALID_VALUE);
    CHECK_INT(clGetPlatformIDs(0, NULL, NULL), CL_INVALID_VALUE);
    cl_platform_id again = NULL;
    CHECK_INT(clGetPlatformIDs(1, &again, NULL), CL_SUCCESS);
    CHECK(again == found[0]);
    CHECK_INT(clUnloadPlatformCompiler(again), CL_SUCCESS);
}

BASE_CASE("devices", devices)
{
    cl_device_id found[3] = {(cl_device_id)found, (cl_device_id)found, (cl_device_id)found};
    cl_uint count = 0;
    cl_device_type type = 0;
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 3, found, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    CHECK(found[0] == base->device);
    CHECK(found[1] == (cl_device_id)found);
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_TYPE, sizeof(type), &type, NULL), CL_SUCCESS);
    type &= ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
    CHECK_INT(clGetDeviceIDs(base->platform, type, 1, found, NULL), CL_SUCCESS);
    CHECK(found[0] == base->device);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ACCELERATOR, 1, found, &count), CL_DEVICE_NOT_FOUND);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 0, found, NULL), CL_INVALID_VALUE);
    CHECK_INT(clRetainDevice(base->device), CL_SUCCESS); /* without effect for a root device */
    CHECK_INT(clReleaseDevice(base->device), CL_SUCCESS);
    CHECK_INT(device_number(base, CL_DEVICE_TYPE) & type, type);
}

static cl_uint device_references(cl_device_id device)
{
    cl_uint count = 0;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
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
        const cl_uint before = device_references(parts[0]);
        CHECK_INT(clRetainDevice(parts[0]), CL_SUCCESS);
        CHECK_INT(device_references(parts[0]), before + 1);
        CHECK_INT(clReleaseDevice(parts[0]), CL_SUCCESS);
        CHECK_INT(device_references(parts[0]), before);
        part_works(parts[1]);
        CHECK_INT(clReleaseDevice(parts[0]), CL_SUCCESS);
        if (!is_pocl(base->platform)) /* 3.1 crashes now and then where a part goes that has worked */
            CHECK_INT(clReleaseDevice(parts[1]), CL_SUCCESS);
    }
}

BASE_CASE("extension strings", extension_strings)
{
    static char text[32768], of_platform[32768];
    static cl_name_version list[256];
    size_t size = 0;
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXTENSIONS, sizeof(text), text, &size), CL_SUCCESS);
    CHECK_INT(size, strlen(text) + 1);
    CHECK(strstr(text, "cl_khr_d3d11_sharing") != NULL);
    CHECK(strstr(text, "cl_khr_gl_") == NULL);
    CHECK(strstr(text, "  ") == NULL);
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list, &size), CL_SUCCESS);
    CHECK(size > 0 && size % sizeof(*list) == 0);
    for (size_t i = 0; i < size / sizeof(*list); i++)
        CHECK(strstr(text, list[i].name) != NULL);
    CHECK_INT(clGetPlatformInfo(base->platform, CL_PLATFORM_EXTENSIONS, sizeof(of_platform), of_platform, &size),
              CL_SUCCESS);
    CHECK_INT(size, strlen(of_platform) + 1);
    CHECK(strstr(of_platform, "cl_khr_d3d11_sharing") != NULL);
    CHECK(clGetPlatformInfo(base->platform, CL_PLATFORM_EXTENSIONS, 3, text, NULL) == CL_INVALID_VALUE);
}

/* ---- contexts and queues ---- */

static cl_uint context_references(cl_context context)
{
    cl_uint count = 0;
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

static void context_has(cl_context context, const struct base *base, size_t words)
{
    cl_context_properties found[8] = {0};
    cl_device_id device = NULL;
    size_t size = 0;
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(device));
    CHECK(device == base->device);
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(found), found, &size), CL_SUCCESS);
    CHECK_INT(size, words * sizeof(found[0]));
    CHECK_INT(found[0], CL_CONTEXT_PLATFORM);
    CHECK_INT(found[1], (cl_context_properties)base->platform);
    CHECK_INT(found[words - 1], 0);
}

BASE_CASE("contexts", contexts)
{
    cl_int status = UNSET;
    const cl_context_properties platform[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)base->platform, 0};
    const cl_context_properties both[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)base->platform,
                                          CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0};
    const cl_context_properties unknown[] = {0x4711, 1, 0};
    cl_context context = clCreateContext(platform, 1, &base->device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    context_has(context, base, 3);
    const cl_uint before = context_references(context);
    CHECK_INT(clRetainContext(context), CL_SUCCESS);
    CHECK_INT(context_references(context), before + 1);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(context_references(context), before);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    context = clCreateContextFromType(both, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    context_has(context, base, 5);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK(clCreateContext(unknown, 1, &base->device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, is_nvidia(base->platform) ? CL_INVALID_VALUE : CL_INVALID_PROPERTY);
    CHECK(clCreateContext(NULL, 0, NULL, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    clCreateContextFromType(platform, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status); /* PoCL 3.1 gives one, too */
    CHECK_INT(status, CL_DEVICE_NOT_FOUND);
}

static void queue_is(cl_command_queue queue, cl_command_queue_properties expected)
{
    cl_command_queue_properties got = UNSET;
    cl_uint before = 0, count = 0;
    if (!CHECK(queue != NULL))
        return;
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(got), &got, NULL), CL_SUCCESS);
    CHECK_INT(got, expected);
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(before), &before, NULL), CL_SUCCESS);
    CHECK_INT(clRetainCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    CHECK_INT(count, before + 1);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    CHECK_INT(count, before);
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

enum { BYTES = 4096, PLACE = 1024, PART = 512 };

BASE_CASE("buffers are made", buffers_are_made)
{
    static unsigned char bytes[BYTES] __attribute__((aligned(4096)));
    const cl_mem_properties none[] = {0}, unknown[] = {0x4711, 1, 0};
    cl_int status = UNSET;
    void *host = NULL;
    make_pattern(bytes, BYTES, 1);
    cl_mem copied = make_buffer(base, BYTES, bytes);
    buffer_has(base, copied, bytes, BYTES);
    cl_mem used = clCreateBuffer(base->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(used, CL_MEM_HOST_PTR, sizeof(host), &host, NULL), CL_SUCCESS);
    CHECK(host == bytes);
    buffer_has(base, used, bytes, BYTES);
    cl_mem with = clCreateBufferWithProperties(base->context, none, CL_MEM_COPY_HOST_PTR, BYTES, bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    buffer_has(base, with, bytes, BYTES);
    CHECK(clCreateBufferWithProperties(base->context, unknown, 0, BYTES, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
    CHECK(clCreateBuffer(base->context, CL_MEM_READ_WRITE, 0, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_BUFFER_SIZE);
    CHECK(clCreateBuffer(base->context, CL_MEM_COPY_HOST_PTR, 16, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_HOST_PTR);
    CHECK(clCreateBuffer(base->context, (cl_mem_flags)1 << 40, 16, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateBuffer(base->context, CL_MEM_READ_WRITE, 0, NULL, NULL) == NULL);
    release_memory(with);
    release_memory(used);
    release_memory(copied);
}

BASE_CASE("parts of buffers", sub_buffers)
{
    const cl_buffer_region region = {PLACE * 2, PART}, outside = {PLACE * 2, BYTES};
    unsigned char bytes[BYTES], part[PART];
    cl_int status = UNSET;
    cl_uint before = 0, count = 0;
    make_pattern(bytes, BYTES, 2);
    make_pattern(part, PART, 3);
    cl_mem whole = make_buffer(base, BYTES, bytes);
    cl_mem sub = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (CHECK_INT(status, CL_SUCCESS)) {
        size_t offset = UNSET;
        CHECK_INT(clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof(offset), &offset, NULL), CL_SUCCESS);
        CHECK_INT(offset, PLACE * 2);
        buffer_has(base, sub, bytes + offset, PART);
        CHECK_INT(clEnqueueWriteBuffer(base->queue, sub, CL_TRUE, 0, PART, part, 0, NULL, NULL), CL_SUCCESS);
        memcpy(bytes + offset, part, PART);
        buffer_has(base, whole, bytes, BYTES);
        CHECK_INT(clGetMemObjectInfo(sub, CL_MEM_REFERENCE_COUNT, sizeof(before), &before, NULL), CL_SUCCESS);
        CHECK_INT(clRetainMemObject(sub), CL_SUCCESS);
        CHECK_INT(clGetMemObjectInfo(sub, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
        CHECK_INT(count, before + 1);
        release_memory(sub);
        release_memory(sub);
    }
    if (!is_nvidia(base->platform)) { /* which gives one */
        CHECK(clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &outside, &status) == NULL);
        CHECK_INT(status, CL_INVALID_VALUE);
    }
    release_memory(whole);
}

BASE_CASE("commands on buffers", buffer_commands)
{
    unsigned char bytes[BYTES], other[BYTES], found[BYTES];
    cl_event events[4] = {NULL};
    make_pattern(bytes, BYTES, 4);
    make_pattern(other, BYTES, 5);
    cl_mem a = make_buffer(base, BYTES, bytes), b = make_buffer(base, BYTES, other);
    CHECK_INT(clEnqueueWriteBuffer(base->queue, a, CL_FALSE, 100, 300, other, 0, NULL, &events[0]), CL_SUCCESS);
    memcpy(bytes + 100, other, 300);
    CHECK_INT(clEnqueueCopyBuffer(base->queue, a, b, 200, 700, 600, 1, events, &events[1]), CL_SUCCESS);
    memcpy(other + 700, bytes + 200, 600);
    CHECK_INT(clEnqueueFillBuffer(base->queue, b, "abcdefgh", 8, 2048, 96, 2, events, &events[2]), CL_SUCCESS);
    for (int i = 0; i < 96; i++)
        other[2048 + i] = (unsigned char)"abcdefgh"[i % 8];
    CHECK_INT(clEnqueueReadBuffer(base->queue, b, CL_FALSE, 0, BYTES, found, 3, events, &events[3]), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(4, events), CL_SUCCESS);
    CHECK_MEM(found, other, BYTES);
    buffer_has(base, a, bytes, BYTES);
    for (int i = 0; i < 4; i++)
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(base->queue, a, CL_TRUE, BYTES - 4, 8, found, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueCopyBuffer(base->queue, a, a, 0, 4, 32, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
    const cl_mem both[] = {a, b};
    CHECK_INT(clEnqueueMigrateMemObjects(base->queue, 2, both, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &events[0]),
              CL_SUCCESS);
    finish_event(events[0]);
    CHECK_INT(clEnqueueMigrateMemObjects(base->queue, 0, NULL, 0, 0, NULL, NULL), CL_INVALID_VALUE);
    release_memory(b);
    release_memory(a);
}

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
    buffer_has(base, b, b_bytes, BYTES);
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
    CHECK_INT(clEnqueueReadBufferRect(base->queue, b, CL_TRUE, from, to, region, 2, 0, 0, 0, found, 0, NULL, NULL),
              CL_INVALID_VALUE);
    release_memory(b);
    release_memory(a);
}

TAP_MAIN
