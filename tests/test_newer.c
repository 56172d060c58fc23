/* Functions of OpenCL 2.0 to 3.0, linked as any program links them, where the OpenCL below has only 1.2 (Wine's opencl.dll):
 * what 1.2 can do works, the rest has a clear error, and no query promises it. With the companion the host's are there,
 * and what works without it works as well. */
#include "sharing.h"

#include <CL/cl_ext.h>

static cl_device_id device;
static cl_context context;

static bool open_context(void)
{
    cl_platform_id platform;
    cl_int status = 1;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

static void close_context(void)
{
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

static bool has_companion(void)
{
    const char *layers = getenv("OPENCL_LAYERS");
    return layers && strstr(layers, "libcld3d.so");
}

static void queue_is(const cl_queue_properties *properties, cl_command_queue_properties expected)
{
    cl_int status = 1;
    cl_command_queue_properties got = 4711;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, properties, &status);
    if (!CHECK_INT(status, CL_SUCCESS) || !CHECK(queue != NULL))
        return;
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(got), &got, NULL), CL_SUCCESS);
    CHECK_INT(got, expected);
    CHECK_INT(clFinish(queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

static void queue_fails(const cl_queue_properties *properties, cl_int code)
{
    cl_int status = 1;
    CHECK(clCreateCommandQueueWithProperties(context, device, properties, &status) == NULL);
    CHECK_INT(status, code);
}

static void queues(void)
{
    const cl_queue_properties none[] = {0}, profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_queue_properties unknown[] = {0x4711, 1, 0};
    const cl_queue_properties on_device[] = {CL_QUEUE_PROPERTIES,
                                             CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    if (!open_context())
        return;
    queue_is(NULL, 0);
    queue_is(none, 0);
    queue_is(profiling, CL_QUEUE_PROFILING_ENABLE);
    if (!has_companion()) /* NVIDIA's driver takes any */
        queue_fails(unknown, CL_INVALID_VALUE);
    queue_fails(on_device, CL_INVALID_QUEUE_PROPERTIES);
    close_context();
}

static bool device_lists(const char *extension)
{
    static char text[16384];
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    return strstr(text, extension) != NULL;
}

/* Where the device lists an extension for them they are taken, though OpenCL 1.2 can't pass them on. */
static void queue_hints(void)
{
    static const struct {
        const char *extension;
        cl_queue_properties name;
    } hints[] = {{"cl_khr_priority_hints", CL_QUEUE_PRIORITY_KHR}, {"cl_khr_throttle_hints", CL_QUEUE_THROTTLE_KHR}};
    if (!open_context())
        return;
    for (int i = 0; i < 2; i++)
        for (cl_queue_properties value = 1; value <= 4; value *= 2) {
            const cl_queue_properties hint[] = {hints[i].name, value, CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE,
                                                0};
            if (device_lists(hints[i].extension))
                queue_is(hint, CL_QUEUE_PROFILING_ENABLE);
            else if (!has_companion())
                queue_fails(hint, CL_INVALID_VALUE);
        }
    for (int i = 0; i < 2; i++) {
        const cl_queue_properties wrong[] = {hints[i].name, 3, 0};
        if (!has_companion())
            queue_fails(wrong, CL_INVALID_VALUE);
    }
    close_context();
}

static void samplers(void)
{
    const cl_sampler_properties full[] = {CL_SAMPLER_FILTER_MODE,
                                          CL_FILTER_LINEAR,
                                          CL_SAMPLER_NORMALIZED_COORDS,
                                          CL_TRUE,
                                          CL_SAMPLER_ADDRESSING_MODE,
                                          CL_ADDRESS_REPEAT,
                                          0};
    const cl_sampler_properties unknown[] = {0x4711, 1, 0};
    const cl_sampler_properties twice[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE,
                                           CL_FILTER_NEAREST, 0};
    cl_int status = 1;
    cl_addressing_mode addressing = 0;
    cl_filter_mode filter = 0;
    cl_bool normalized = 4711;
    if (!open_context())
        return;
    for (int i = 0; i < 2; i++) {
        cl_sampler sampler = clCreateSamplerWithProperties(context, i ? full : NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clGetSamplerInfo(sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof(addressing), &addressing, NULL),
                  CL_SUCCESS);
        CHECK_INT(addressing, i ? CL_ADDRESS_REPEAT : CL_ADDRESS_CLAMP);
        CHECK_INT(clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof(filter), &filter, NULL), CL_SUCCESS);
        CHECK_INT(filter, i ? CL_FILTER_LINEAR : CL_FILTER_NEAREST);
        CHECK_INT(clGetSamplerInfo(sampler, CL_SAMPLER_NORMALIZED_COORDS, sizeof(normalized), &normalized, NULL),
                  CL_SUCCESS);
        CHECK_INT(normalized, CL_TRUE);
        CHECK_INT(clReleaseSampler(sampler), CL_SUCCESS);
    }
    CHECK(clCreateSamplerWithProperties(context, unknown, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateSamplerWithProperties(context, twice, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    close_context();
}

static void buffers_and_images(void)
{
    const cl_mem_properties none[] = {0}, unknown[] = {0x4711, 1, 0};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    cl_int status = 1;
    size_t size = 0;
    if (!open_context())
        return;
    for (int i = 0; i < 2; i++) {
        cl_mem buffer = clCreateBufferWithProperties(context, i ? none : NULL, CL_MEM_READ_WRITE, 1000, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_SUCCESS);
        CHECK_INT(size, 1000);
        CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
        cl_mem image =
            clCreateImageWithProperties(context, i ? none : NULL, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof(size), &size, NULL), CL_SUCCESS);
        CHECK_INT(size, 16);
        CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    }
    CHECK(clCreateBufferWithProperties(context, unknown, CL_MEM_READ_WRITE, 1000, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
    CHECK(clCreateImageWithProperties(context, unknown, CL_MEM_READ_WRITE, &format, &desc, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_PROPERTY);
    close_context();
}

static bool device_tells_time(void)
{
    cl_int status = 1;
    cl_ulong time = 0;
    cl_event event;
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    return time > 3; /* rusticl 22.3 has 0, 1, 2 and 3 for every command */
}

/* Both clocks go forward, and at the same speed. */
static bool clocks_agree(cl_int expected, unsigned pause)
{
    cl_ulong device_time[2] = {0}, host_time[2] = {0}, between = 0;
    CHECK_INT(clGetHostTimer(device, &host_time[0]), CL_SUCCESS);
    CHECK_INT(clGetDeviceAndHostTimer(device, &device_time[0], &host_time[0]), expected);
    pause_ms(pause);
    CHECK_INT(clGetHostTimer(device, &between), CL_SUCCESS);
    CHECK(between >= host_time[0] + pause * 800000ull);
    CHECK_INT(clGetDeviceAndHostTimer(device, &device_time[1], &host_time[1]), expected);
    const double ratio = (double)(device_time[1] - device_time[0]) / (double)(host_time[1] - host_time[0]);
    CHECK(expected != CL_SUCCESS || between <= host_time[1]);
    return expected != CL_SUCCESS || (ratio > 0.5 && ratio < 2);
}

static void timers(void)
{
    enum { PAUSE = 50, TIMES = 8 }; /* the thread may lose the processor between two readings */
    cl_ulong between = 0, resolution = 0;
    cl_platform_id platform;
    if (!open_context())
        return;
    const cl_int expected = device_tells_time() ? CL_SUCCESS : CL_INVALID_OPERATION;
    bool agree = false;
    for (int i = 0; i < TIMES && !agree; i++)
        agree = clocks_agree(expected, PAUSE << i);
    CHECK(agree);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), CL_SUCCESS);
    if (clGetPlatformInfo(platform, CL_PLATFORM_HOST_TIMER_RESOLUTION, sizeof(resolution), &resolution, NULL) ==
        CL_SUCCESS)
        CHECK(resolution > 0);
    CHECK_INT(clGetHostTimer(device, NULL), CL_INVALID_VALUE);
    CHECK_INT(clGetDeviceAndHostTimer(device, NULL, &between), CL_INVALID_VALUE);
    CHECK_INT(clGetHostTimer(NULL, &between), CL_INVALID_DEVICE);
    close_context();
}

/* ---- kernels' clones ---- */

struct wide {
    cl_int values[8];
};

static cl_program clone_program(void)
{
    const char *text = "struct wide { int values[8]; };\n"
                       "kernel void sum(global int *out, int one, struct wide eight, local int *scratch)\n"
                       "{ int s = one; for (int i = 0; i < 8; i++) s += eight.values[i]; scratch[0] = s;\n"
                       "  out[0] = scratch[0]; }\n";
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    return program;
}

static void set_all(cl_kernel kernel, cl_mem out, cl_int one, cl_int each)
{
    struct wide eight;
    for (int i = 0; i < 8; i++)
        eight.values[i] = each;
    CHECK_INT(clSetKernelArg(kernel, 0, sizeof(out), &out), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 1, sizeof(one), &one), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 2, sizeof(eight), &eight), CL_SUCCESS);
    CHECK_INT(clSetKernelArg(kernel, 3, 64, NULL), CL_SUCCESS);
}

static cl_int sum_of(cl_command_queue queue, cl_kernel kernel, cl_mem out)
{
    const size_t one = 1;
    cl_int sum = -1;
    CHECK_INT(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(sum), &sum, 0, NULL, NULL), CL_SUCCESS);
    return sum;
}

/* The clone has the arguments of the moment, whatever becomes of the first kernel. */
static void clones(void)
{
    cl_int status = 1;
    if (!open_context())
        return;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    cl_program program = clone_program();
    cl_kernel kernel = clCreateKernel(program, "sum", &status);
    CHECK_INT(status, CL_SUCCESS);
    set_all(kernel, out, 5, 10);
    cl_kernel clone = clCloneKernel(kernel, &status);
    if (CHECK_INT(status, CL_SUCCESS) && CHECK(clone != NULL) && CHECK(clone != kernel)) {
        set_all(kernel, out, 6, 20);
        CHECK_INT(sum_of(queue, clone, out), 85);
        CHECK_INT(sum_of(queue, kernel, out), 166);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        cl_kernel second = clCloneKernel(clone, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(sum_of(queue, second, out), 85);
        CHECK_INT(clReleaseKernel(second), CL_SUCCESS);
        CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
    }
    CHECK(clCloneKernel(NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_KERNEL);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    close_context();
}

/* More kernels than the library makes room for at first, in turn made and released. */
static void many_clones(void)
{
    enum { MANY = 500 };
    static cl_kernel kernels[MANY];
    cl_int status = 1;
    if (!open_context())
        return;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    cl_program program = clone_program();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            kernels[i] = clCreateKernel(program, "sum", &status);
            set_all(kernels[i], out, i, 1);
        }
        for (int i = 0; i < MANY; i += 2)
            CHECK_INT(clReleaseKernel(kernels[i]), CL_SUCCESS);
        for (int i = 1; i < MANY; i += 2) {
            cl_kernel clone = clCloneKernel(kernels[i], &status);
            if (CHECK_INT(status, CL_SUCCESS) && i % 50 == 1)
                CHECK_INT(sum_of(queue, clone, out), i + 8);
            CHECK_INT(clReleaseKernel(clone), CL_SUCCESS);
            CHECK_INT(clReleaseKernel(kernels[i]), CL_SUCCESS);
        }
    }
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    close_context();
}

/* ---- contexts ---- */

static void contexts(void)
{
    static const cl_device_type types[] = {CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CUSTOM};
    cl_platform_id platform;
    cl_device_id found;
    cl_int status = 1;
    if (!open_context())
        return;
    CHECK(clCreateContext(NULL, 1, &device, NULL, &status, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, &status, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), CL_SUCCESS);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    for (int i = 0; i < 4; i++) {
        if (clGetDeviceIDs(platform, types[i % 2], 1, &found, NULL) != CL_DEVICE_NOT_FOUND)
            continue;
        status = 1;
        CHECK(clCreateContextFromType(properties, types[i % 2], NULL, NULL, i / 2 ? NULL : &status) == NULL);
        CHECK_INT(status, i / 2 ? 1 : CL_DEVICE_NOT_FOUND);
    }
    close_context();
}

/* ---- what OpenCL 1.2 has replaced ---- */

/* PoCL 3.1 has no clEnqueueWaitForEvents: it ends the process. */
static void older(void)
{
    cl_int status = 1, ended = 0;
    cl_event none = NULL, marked = NULL;
    if (!open_context())
        return;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_event gate = clCreateUserEvent(context, &status);
    CHECK_INT(clEnqueueWaitForEvents(queue, 1, &gate), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrier(queue), CL_SUCCESS);
    CHECK_INT(clEnqueueMarker(queue, &marked), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    pause_ms(20);
    CHECK_INT(clGetEventInfo(marked, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(ended), &ended, NULL), CL_SUCCESS);
    CHECK(ended > CL_COMPLETE);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &marked), CL_SUCCESS);
    CHECK_INT(clEnqueueWaitForEvents(NULL, 1, &gate), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clEnqueueWaitForEvents(queue, 0, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueWaitForEvents(queue, 1, NULL), CL_INVALID_VALUE);
    CHECK_INT(clEnqueueWaitForEvents(queue, 1, &none), CL_INVALID_EVENT);
    CHECK_INT(clEnqueueMarker(queue, NULL), CL_INVALID_VALUE);
    CHECK_INT(clReleaseEvent(marked), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    close_context();
}

static void the_rest_is_refused(void)
{
    if (has_companion()) {
        SKIP("the companion gives the host's functions");
        return;
    }
    cl_int status = 1;
    cl_uint number = 0;
    size_t size = 0;
    const void *pointer = &number;
    if (!open_context())
        return;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    cl_program program = clone_program();
    cl_kernel kernel = clCreateKernel(program, "sum", &status);
    CHECK_INT(clGetPipeInfo(memory, CL_PIPE_PACKET_SIZE, sizeof(number), &number, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(size), &size,
                                      sizeof(size), &size, NULL),
              CL_INVALID_OPERATION);
    CHECK_INT(clSetProgramSpecializationConstant(program, 0, sizeof(number), &number), CL_INVALID_OPERATION);
    CHECK_INT(clEnqueueSVMMigrateMem(queue, 1, &pointer, NULL, 0, 0, NULL, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(memory), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0) == NULL);
    CHECK(clCreatePipe(context, CL_MEM_READ_WRITE, 4, 16, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK(clCreateProgramWithIL(context, "nothing", 7, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK_INT(clSetDefaultDeviceCommandQueue(context, device, NULL), CL_INVALID_OPERATION);
    close_context();
}

/* An answer fills its own bytes alone, however much room there is said to be. */
static void room_is_kept(cl_device_info name, size_t size)
{
    unsigned char bytes[24];
    size_t told = 0;
    memset(bytes, 0xAA, sizeof(bytes));
    CHECK_INT(clGetDeviceInfo(device, name, SIZE_MAX / 2, bytes, &told), CL_SUCCESS);
    CHECK_INT(told, size);
    for (size_t i = 0; i < sizeof(bytes); i++)
        CHECK_INT(bytes[i], i < size ? 0 : 0xAA);
    CHECK_INT(clGetDeviceInfo(device, name, size - 1, bytes, NULL), CL_INVALID_VALUE);
    CHECK_INT(clGetDeviceInfo(device, name, 0, NULL, &told), CL_SUCCESS);
    CHECK_INT(told, size);
}

static void nothing_is_promised(void)
{
    static const cl_device_info numbers[] = {CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_PIPE_SUPPORT,
                                             CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, CL_DEVICE_MAX_NUM_SUB_GROUPS};
    char text[256] = "something";
    size_t size = 0;
    if (has_companion()) {
        SKIP("the companion gives the host's functions");
        return;
    }
    if (!open_context())
        return;
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        cl_ulong value = ~0ull;
        if (clGetDeviceInfo(device, numbers[i], sizeof(value), &value, &size) != CL_SUCCESS)
            continue;
        CHECK_INT(size == 8 ? value : (cl_uint)value, 0);
        room_is_kept(numbers[i], size);
    }
    if (clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof(text), text, &size) == CL_SUCCESS) {
        CHECK_STR(text, "");
        CHECK_INT(size, 1);
    }
    close_context();
}

static const struct tap_test tests[] = {
    {"queues with properties", queues},
    {"queues with hints", queue_hints},
    {"samplers with properties", samplers},
    {"buffers and images with properties", buffers_and_images},
    {"host and device timers", timers},
    {"a kernel's clone", clones},
    {"many kernels and their clones", many_clones},
    {"contexts that are refused", contexts},
    {"what OpenCL 1.2 has replaced", older},
    {"what OpenCL 1.2 has not is refused", the_rest_is_refused},
    {"what is refused is not promised", nothing_is_promised},
};

TAP_MAIN(tests)
