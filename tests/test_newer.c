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
    if (!has_companion()) /* PoCL 3.1 ends the process */
        queue_fails(on_device, CL_INVALID_QUEUE_PROPERTIES);
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
    cl_int status = 1;
    cl_addressing_mode addressing = 0;
    cl_filter_mode filter = 0;
    cl_bool normalized = 4711;
    if (!open_context())
        return;
    for (int i = has_companion() ? 1 : 0; i < 2; i++) { /* PoCL 3.1 refuses NULL */
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

/* Also with the companion. */
static void CL_CALLBACK on_context(cl_context ended, void *data)
{
    (void)ended, (void)data;
}

static void CL_CALLBACK on_program(cl_program ended, void *data)
{
    (void)ended, (void)data;
}

static void ends_are_refused(void)
{
    const char *text = "kernel void k(global int *p) { p[0] = 1; }";
    cl_int status = 1;
    if (!open_context())
        return;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clSetContextDestructorCallback(context, on_context, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clSetProgramReleaseCallback(program, on_program, NULL), CL_INVALID_OPERATION);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
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
    cl_ulong time = 0;
    const void *pointer = &number;
    const char *text = "kernel void k(global int *p) { p[0] = 1; }";
    if (!open_context())
        return;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "k", &status);
    CHECK(clCloneKernel(kernel, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION);
    CHECK_INT(clGetHostTimer(device, &time), CL_INVALID_OPERATION);
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
    close_context();
}

static const struct tap_test tests[] = {
    {"queues with properties", queues},
    {"samplers with properties", samplers},
    {"buffers and images with properties", buffers_and_images},
    {"what OpenCL 1.2 has replaced", older},
    {"callbacks at the ends of contexts and programs are refused", ends_are_refused},
    {"what OpenCL 1.2 has not is refused", the_rest_is_refused},
    {"what is refused is not promised", nothing_is_promised},
};

TAP_MAIN(tests)
