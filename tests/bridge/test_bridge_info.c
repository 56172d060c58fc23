/* Queries through the bridge: the sizes and handles of the program's own bitness, no more room used than there is, and for handles of
 * nothing the error that the specification has. */
#include "bridge.h"
#include "query.h"

/* ---- one object of each kind ---- */

static struct base base;
static cl_command_queue queue;
static cl_mem buffer, part, image;
static cl_sampler sampler;
static cl_program program;
static cl_kernel kernel;
static cl_event event;

enum { BUFFER = 16384, WIDTH = 20, HEIGHT = 10 };

static const char source[] = "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(global int *to, int value)\n"
                             "{\n"
                             "    to[get_global_id(0)] = value;\n"
                             "}\n";

static bool open_objects(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_int status = UNSET;
    if (!open_base(&base))
        return false;
    const size_t align = (size_t)device_number(&base, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    const cl_buffer_region region = {align, 64};
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)base.platform, 0};
    CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
    base.context = clCreateContext(properties, 1, &base.device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    base.queue = queue = clCreateCommandQueue(base.context, base.device, CL_QUEUE_PROFILING_ENABLE, &status);
    CHECK_INT(status, CL_SUCCESS);
    buffer = make_buffer(&base, BUFFER, NULL);
    part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK_INT(status, CL_SUCCESS);
    image = clCreateImage(base.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    sampler = clCreateSampler(base.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK_INT(status, CL_SUCCESS);
    program = built_program(&base, source, "-cl-kernel-arg-info");
    kernel = kernel_of(program, "k");
    CHECK_INT(clEnqueueFillBuffer(queue, buffer, "ab", 2, 0, BUFFER, 0, NULL, &event), CL_SUCCESS);
    return CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
}

static void close_objects(void)
{
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseSampler(sampler), CL_SUCCESS);
    release_memory(image);
    release_memory(part);
    release_memory(buffer);
    close_base(&base);
}

/* ---- queries ---- */

enum kind {
    OF_DEVICE,
    OF_CONTEXT,
    OF_QUEUE,
    OF_MEMORY,
    OF_PART,
    OF_IMAGE,
    OF_SAMPLER,
    OF_PROGRAM,
    OF_KERNEL,
    OF_ARGUMENT,
    OF_GROUP,
    OF_EVENT,
    OF_TIME
};

static cl_int ask(int kind, cl_uint name, size_t room, void *to, size_t *size)
{
    switch (kind) {
    case OF_DEVICE: return clGetDeviceInfo(base.device, name, room, to, size);
    case OF_CONTEXT: return clGetContextInfo(base.context, name, room, to, size);
    case OF_QUEUE: return clGetCommandQueueInfo(queue, name, room, to, size);
    case OF_MEMORY: return clGetMemObjectInfo(buffer, name, room, to, size);
    case OF_PART: return clGetMemObjectInfo(part, name, room, to, size);
    case OF_IMAGE: return clGetImageInfo(image, name, room, to, size);
    case OF_SAMPLER: return clGetSamplerInfo(sampler, name, room, to, size);
    case OF_PROGRAM: return clGetProgramInfo(program, name, room, to, size);
    case OF_KERNEL: return clGetKernelInfo(kernel, name, room, to, size);
    case OF_ARGUMENT: return clGetKernelArgInfo(kernel, 1, name, room, to, size);
    case OF_GROUP: return clGetKernelWorkGroupInfo(kernel, base.device, name, room, to, size);
    case OF_EVENT: return clGetEventInfo(event, name, room, to, size);
    default: return clGetEventProfilingInfo(event, name, room, to, size);
    }
}

/* ---- sizes and values ---- */

static void answer_is(enum kind kind, cl_uint name, size_t size, const void *value)
{
    static unsigned char answer[ROOM];
    bool right = CHECK_INT(check_query(ask, kind, name, answer), size);
    if (value && right)
        right = CHECK_MEM(answer, value, size);
    if (!right)
        printf("# kind %d, name 0x%x\n", kind, name);
}

static void handle_is(enum kind kind, cl_uint name, const void *handle)
{
    answer_is(kind, name, sizeof(handle), &handle);
}

static void size_is(enum kind kind, cl_uint name, size_t size)
{
    answer_is(kind, name, sizeof(size), &size);
}

CASE("handles in answers", handles)
{
    if (!open_objects())
        return;
    handle_is(OF_DEVICE, CL_DEVICE_PLATFORM, base.platform);
    handle_is(OF_CONTEXT, CL_CONTEXT_DEVICES, base.device);
    handle_is(OF_QUEUE, CL_QUEUE_CONTEXT, base.context);
    handle_is(OF_QUEUE, CL_QUEUE_DEVICE, base.device);
    handle_is(OF_MEMORY, CL_MEM_CONTEXT, base.context);
    handle_is(OF_MEMORY, CL_MEM_ASSOCIATED_MEMOBJECT, NULL);
    handle_is(OF_MEMORY, CL_MEM_HOST_PTR, NULL);
    handle_is(OF_PART, CL_MEM_ASSOCIATED_MEMOBJECT, buffer);
    handle_is(OF_IMAGE, CL_IMAGE_BUFFER, NULL);
    handle_is(OF_SAMPLER, CL_SAMPLER_CONTEXT, base.context);
    handle_is(OF_PROGRAM, CL_PROGRAM_CONTEXT, base.context);
    handle_is(OF_PROGRAM, CL_PROGRAM_DEVICES, base.device);
    handle_is(OF_KERNEL, CL_KERNEL_CONTEXT, base.context);
    handle_is(OF_KERNEL, CL_KERNEL_PROGRAM, program);
    handle_is(OF_EVENT, CL_EVENT_COMMAND_QUEUE, queue);
    handle_is(OF_EVENT, CL_EVENT_CONTEXT, base.context);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)base.platform, 0};
    answer_is(OF_CONTEXT, CL_CONTEXT_PROPERTIES, sizeof(properties), properties);
    close_objects();
}

/* One reference more, and one less. */
#define COUNTED(kind, name, word, object)                                      \
    do {                                                                       \
        cl_uint before = 0;                                                    \
        CHECK_INT(ask(kind, name, sizeof(before), &before, NULL), CL_SUCCESS); \
        CHECK_INT(clRetain##word(object), CL_SUCCESS);                         \
        answer_is(kind, name, sizeof(before), &(cl_uint){before + 1});         \
        CHECK_INT(clRelease##word(object), CL_SUCCESS);                        \
        answer_is(kind, name, sizeof(before), &before);                        \
    } while (0)

CASE("references are counted", references)
{
    if (!open_objects())
        return;
    COUNTED(OF_CONTEXT, CL_CONTEXT_REFERENCE_COUNT, Context, base.context);
    COUNTED(OF_QUEUE, CL_QUEUE_REFERENCE_COUNT, CommandQueue, queue);
    COUNTED(OF_MEMORY, CL_MEM_REFERENCE_COUNT, MemObject, buffer);
    COUNTED(OF_SAMPLER, CL_SAMPLER_REFERENCE_COUNT, Sampler, sampler);
    COUNTED(OF_PROGRAM, CL_PROGRAM_REFERENCE_COUNT, Program, program);
    COUNTED(OF_KERNEL, CL_KERNEL_REFERENCE_COUNT, Kernel, kernel);
    /* Of a user event: drivers have references of their own to a command's, and drop them when they like. */
    const cl_event of_command = event;
    event = clCreateUserEvent(base.context, NULL);
    COUNTED(OF_EVENT, CL_EVENT_REFERENCE_COUNT, Event, event);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    event = of_command;
    close_objects();
}

/* A 32-bit program gets the largest size that it knows. */
CASE("a size above 4 GiB", large_sizes)
{
    const bool host_of_64_bits = sizeof(void *) == 8 || in_wow64();
    if (!has_layer("large_sizes") || !open_objects())
        return;
    if (host_of_64_bits)
        size_is(OF_DEVICE, CL_DEVICE_PRINTF_BUFFER_SIZE, in_wow64() ? UINT32_MAX : (size_t)(5ull << 30));
    close_objects();
}

CASE("sizes in answers", sizes)
{
    static const cl_uint of_device[] = {
        CL_DEVICE_MAX_WORK_GROUP_SIZE,        CL_DEVICE_IMAGE2D_MAX_WIDTH,
        CL_DEVICE_IMAGE2D_MAX_HEIGHT,         CL_DEVICE_IMAGE3D_MAX_WIDTH,
        CL_DEVICE_IMAGE3D_MAX_HEIGHT,         CL_DEVICE_IMAGE3D_MAX_DEPTH,
        CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,      CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
        CL_DEVICE_MAX_PARAMETER_SIZE,         CL_DEVICE_PRINTF_BUFFER_SIZE,
        CL_DEVICE_PROFILING_TIMER_RESOLUTION, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE};
    const cl_device_exec_capabilities kernels_alone = CL_EXEC_KERNEL;
    const size_t group[3] = {4, 2, 1};
    static unsigned char answer[ROOM];
    size_t sizes_of_items[3] = {0}, most = 0, pitch = 0, zeros = 0;
    if (!open_objects())
        return;
    for (unsigned i = 0; i < COUNT(of_device); i++) {
        size_t number = 0;
        answer_is(OF_DEVICE, of_device[i], sizeof(number), NULL);
        CHECK_INT(ask(OF_DEVICE, of_device[i], sizeof(number), &number, NULL), CL_SUCCESS);
        CHECK(number > 0 || of_device[i] == CL_DEVICE_PROFILING_TIMER_RESOLUTION); /* rusticl 22.3's is 0 */
    }
    answer_is(OF_DEVICE, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(sizes_of_items), NULL);
    CHECK_INT(ask(OF_DEVICE, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(sizes_of_items), sizes_of_items, NULL), CL_SUCCESS);
    CHECK(sizes_of_items[0] >= 64 && sizes_of_items[1] >= 1 && sizes_of_items[2] >= 1);
    const size_t count = check_query(ask, OF_DEVICE, CL_DEVICE_SUB_GROUP_SIZES_INTEL, answer) / sizeof(size_t);
    for (size_t i = 0; i < count; i++)
        zeros += ((const size_t *)(void *)answer)[i] == 0; /* one of PoCL 7.1's; the upper half of each 64-bit word */
    CHECK(!count || 2 * zeros < count);
    CHECK(check_query(ask, OF_DEVICE, CL_DEVICE_PARTITION_PROPERTIES, answer) % sizeof(intptr_t) == 0);
    answer_is(OF_DEVICE, CL_DEVICE_GLOBAL_MEM_SIZE, 8, NULL);
    answer_is(OF_DEVICE, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8, NULL);
    answer_is(OF_DEVICE, CL_DEVICE_TYPE, 8, NULL);
    answer_is(OF_DEVICE, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(kernels_alone),
              &kernels_alone); /* none of the host's own */
    CHECK(device_number(&base, CL_DEVICE_GLOBAL_MEM_SIZE) >= 64u << 20);
    size_is(OF_MEMORY, CL_MEM_SIZE, BUFFER);
    size_is(OF_MEMORY, CL_MEM_OFFSET, 0);
    size_is(OF_PART, CL_MEM_OFFSET, (size_t)device_number(&base, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
    size_is(OF_PART, CL_MEM_SIZE, 64);
    answer_is(OF_MEMORY, CL_MEM_FLAGS, 8, NULL);
    size_is(OF_IMAGE, CL_IMAGE_WIDTH, WIDTH);
    size_is(OF_IMAGE, CL_IMAGE_HEIGHT, HEIGHT);
    size_is(OF_IMAGE, CL_IMAGE_ELEMENT_SIZE, 4);
    answer_is(OF_IMAGE, CL_IMAGE_ROW_PITCH, sizeof(pitch), NULL);
    CHECK_INT(ask(OF_IMAGE, CL_IMAGE_ROW_PITCH, sizeof(pitch), &pitch, NULL), CL_SUCCESS);
    CHECK(pitch >= WIDTH * 4);
    size_is(OF_PROGRAM, CL_PROGRAM_NUM_KERNELS, 1);
    answer_is(OF_PROGRAM, CL_PROGRAM_BINARY_SIZES, sizeof(size_t), NULL);
    answer_is(OF_PROGRAM, CL_PROGRAM_KERNEL_NAMES, 2, "k");
    answer_is(OF_KERNEL, CL_KERNEL_FUNCTION_NAME, 2, "k");
    answer_is(OF_ARGUMENT, CL_KERNEL_ARG_NAME, 6, "value");
    answer_is(OF_ARGUMENT, CL_KERNEL_ARG_TYPE_NAME, 4, "int");
    answer_is(OF_GROUP, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group), group);
    answer_is(OF_GROUP, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), NULL);
    CHECK_INT(ask(OF_GROUP, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, NULL), CL_SUCCESS);
    CHECK(most >= 8 && most <= sizes_of_items[0]);
    answer_is(OF_GROUP, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(size_t), NULL);
    answer_is(OF_GROUP, CL_KERNEL_LOCAL_MEM_SIZE, 8, NULL);
    answer_is(OF_TIME, CL_PROFILING_COMMAND_END, 8, NULL);
    close_objects();
}

/* ---- handles of nothing ---- */

static bool lenient; /* any error will do */

static void refused(const char *call, cl_int status, cl_int code)
{
    if (!CHECK(status == code || (lenient && status < 0)))
        printf("# %s: %d, expected %d\n", call, status, code);
}

static cl_int made(const void *object, cl_int status)
{
    CHECK(object == NULL);
    return status;
}

#define REFUSED(call, code) refused(#call, (call), (code))
/* For a function that gives an object: `status` is its last argument. */
#define NOT_MADE(call, code)                        \
    do {                                            \
        cl_int status = UNSET;                      \
        const void *const object = (call);          \
        refused(#call, made(object, status), code); \
    } while (0)

static void bad_roots(void *bad)
{
    char text[64];
    cl_device_id device = bad;
    if (bad) { /* NULL is the driver's own choice */
        REFUSED(clGetPlatformInfo(bad, CL_PLATFORM_NAME, sizeof(text), text, NULL), CL_INVALID_PLATFORM);
        REFUSED(clGetDeviceIDs(bad, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_INVALID_PLATFORM);
        device = bad;
    }
    REFUSED(clGetDeviceInfo(bad, CL_DEVICE_NAME, sizeof(text), text, NULL), CL_INVALID_DEVICE);
    REFUSED(clGetDeviceInfo(bad, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_INVALID_DEVICE);
    REFUSED(clReleaseDevice(bad), CL_INVALID_DEVICE);
    NOT_MADE(clCreateContext(NULL, 1, &device, NULL, NULL, &status), CL_INVALID_DEVICE);
    NOT_MADE(clCreateCommandQueue(base.context, bad, 0, &status), CL_INVALID_DEVICE);
}

static void bad_contexts(void *bad)
{
    const char *text = source;
    cl_uint count = 0;
    REFUSED(clRetainContext(bad), CL_INVALID_CONTEXT);
    REFUSED(clReleaseContext(bad), CL_INVALID_CONTEXT);
    REFUSED(clGetContextInfo(bad, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL), CL_INVALID_CONTEXT);
    NOT_MADE(clCreateCommandQueueWithProperties(bad, base.device, NULL, &status), CL_INVALID_CONTEXT);
    NOT_MADE(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, &status), CL_INVALID_CONTEXT);
    NOT_MADE(clCreateProgramWithSource(bad, 1, &text, NULL, &status), CL_INVALID_CONTEXT);
    NOT_MADE(clCreateUserEvent(bad, &status), CL_INVALID_CONTEXT);
    REFUSED(clGetSupportedImageFormats(bad, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count),
            CL_INVALID_CONTEXT);
    CHECK(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, NULL) == NULL);
    CHECK(clSVMAlloc(bad, CL_MEM_READ_WRITE, 64, 0) == NULL);
}

static void bad_queues(void *bad)
{
    char bytes[4];
    REFUSED(clReleaseCommandQueue(bad), CL_INVALID_COMMAND_QUEUE);
    REFUSED(clFinish(bad), CL_INVALID_COMMAND_QUEUE);
    REFUSED(clEnqueueReadBuffer(bad, buffer, CL_TRUE, 0, 4, bytes, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    REFUSED(clEnqueueMarkerWithWaitList(bad, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    NOT_MADE(clEnqueueMapBuffer(bad, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status),
             CL_INVALID_COMMAND_QUEUE);
}

static void bad_memory(void *bad)
{
    char bytes[4];
    size_t size = 0;
    REFUSED(clReleaseMemObject(bad), CL_INVALID_MEM_OBJECT);
    REFUSED(clGetMemObjectInfo(bad, CL_MEM_SIZE, sizeof(size), &size, NULL), CL_INVALID_MEM_OBJECT);
    REFUSED(clGetImageInfo(bad, CL_IMAGE_WIDTH, sizeof(size), &size, NULL), CL_INVALID_MEM_OBJECT);
    REFUSED(clEnqueueCopyBuffer(queue, buffer, bad, 0, 0, 4, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    NOT_MADE(clEnqueueMapBuffer(queue, bad, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status), CL_INVALID_MEM_OBJECT);
    REFUSED(clEnqueueUnmapMemObject(queue, bad, bytes, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
}

static void bad_programs(void *bad)
{
    cl_uint count = 0;
    const size_t items[3] = {4, 2, 1};
    REFUSED(clReleaseSampler(bad), CL_INVALID_SAMPLER);
    REFUSED(clReleaseProgram(bad), CL_INVALID_PROGRAM);
    REFUSED(clBuildProgram(bad, 0, NULL, "", NULL, NULL), CL_INVALID_PROGRAM);
    NOT_MADE(clCreateKernel(bad, "k", &status), CL_INVALID_PROGRAM);
    REFUSED(clReleaseKernel(bad), CL_INVALID_KERNEL);
    REFUSED(clSetKernelArg(bad, 1, sizeof(count), &count), CL_INVALID_KERNEL);
    REFUSED(clGetKernelInfo(bad, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL), CL_INVALID_KERNEL);
    REFUSED(clEnqueueNDRangeKernel(queue, bad, 3, NULL, items, NULL, 0, NULL, NULL), CL_INVALID_KERNEL);
    NOT_MADE(clCloneKernel(bad, &status), CL_INVALID_KERNEL);
}

static void CL_CALLBACK on_event(cl_event of, cl_int status, void *data)
{
    (void)of, (void)status, (void)data;
}

static void bad_events(void *bad)
{
    cl_event list[] = {event, bad};
    cl_uint count = 0;
    REFUSED(clReleaseEvent(bad), CL_INVALID_EVENT);
    REFUSED(clGetEventInfo(bad, CL_EVENT_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_INVALID_EVENT);
    REFUSED(clSetUserEventStatus(bad, CL_COMPLETE), CL_INVALID_EVENT);
    REFUSED(clSetEventCallback(bad, CL_COMPLETE, on_event, NULL), CL_INVALID_EVENT);
    REFUSED(clWaitForEvents(2, list), CL_INVALID_EVENT);
    REFUSED(clEnqueueMarkerWithWaitList(queue, 2, list, NULL), CL_INVALID_EVENT_WAIT_LIST);
}

/* The process goes on. */
static void goes_on(void)
{
    cl_uint found[2] = {0};
    const cl_uint pattern = 0x13572468;
    CHECK_INT(clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, BUFFER, 0, NULL, NULL), CL_SUCCESS);
    read_all(&base, buffer, found, sizeof(found));
    CHECK_INT(found[1], pattern);
}

static void (*const bad_handles[])(void *) = {bad_roots,  bad_contexts, bad_queues,
                                              bad_memory, bad_programs, bad_events};

/* A 64-bit program's reach the driver. One crashes, and the call gives an error; PoCL takes some for objects, and has other errors. */
CASE("what is no handle", no_handles)
{
    if (!open_objects())
        return;
    char *zeros = calloc(64, sizeof(void *)), *filled = malloc(64 * sizeof(void *));
    memset(filled, 0x5A, 64 * sizeof(void *));
    void *const bad[] = {NULL, (void *)1, zeros, zeros + 1, filled, filled + 3, (void *)(uintptr_t)0x7FFF0004};
    for (unsigned i = 0; i < COUNT(bad); i++) {
        lenient = bad[i] && !in_wow64();
        for (unsigned k = 0; k < COUNT(bad_handles); k++)
            bad_handles[k](bad[i]);
        goes_on();
    }
    free(filled);
    free(zeros);
    close_objects();
}

TAP_MAIN
