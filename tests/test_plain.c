/* A program that knows nothing of Direct3D gets the same answers, errors and results through cld3d as without it. Each
 * case runs twice in one process, over this library and over the system's own opencl.dll, and writes down all that an
 * application can see, but for the values of handles and times. The two records must be equal. */
#include "tap.h"

#include <windows.h>

#include <CL/cl.h>
#include <CL/cl_gl.h>
#include <stdarg.h>
#include <stdlib.h>

/* ---- the functions of OpenCL 1.2, twice ---- */

/* clang-format off */
#define FUNCTIONS(F)                                                                                                   \
    F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateSubDevices)                \
    F(clRetainDevice) F(clReleaseDevice) F(clCreateContext) F(clCreateContextFromType) F(clRetainContext)              \
    F(clReleaseContext) F(clGetContextInfo) F(clCreateCommandQueue) F(clRetainCommandQueue) F(clReleaseCommandQueue)   \
    F(clGetCommandQueueInfo) F(clCreateBuffer) F(clCreateSubBuffer) F(clCreateImage) F(clCreateImage2D)                \
    F(clCreateImage3D) F(clRetainMemObject) F(clReleaseMemObject) F(clGetSupportedImageFormats) F(clGetMemObjectInfo)  \
    F(clGetImageInfo) F(clCreateSampler) F(clRetainSampler) F(clReleaseSampler) F(clGetSamplerInfo)                    \
    F(clCreateProgramWithSource) F(clCreateProgramWithBinary) F(clRetainProgram) F(clReleaseProgram) F(clBuildProgram) \
    F(clCompileProgram) F(clLinkProgram) F(clUnloadCompiler) F(clGetProgramInfo) F(clGetProgramBuildInfo)              \
    F(clCreateKernel) F(clCreateKernelsInProgram) F(clRetainKernel) F(clReleaseKernel) F(clSetKernelArg)               \
    F(clGetKernelInfo) F(clGetKernelArgInfo) F(clGetKernelWorkGroupInfo) F(clWaitForEvents) F(clGetEventInfo)          \
    F(clCreateUserEvent) F(clRetainEvent) F(clReleaseEvent) F(clSetUserEventStatus) F(clGetEventProfilingInfo)         \
    F(clFlush) F(clFinish) F(clEnqueueReadBuffer) F(clEnqueueReadBufferRect) F(clEnqueueWriteBuffer)                   \
    F(clEnqueueWriteBufferRect) F(clEnqueueFillBuffer) F(clEnqueueCopyBuffer) F(clEnqueueCopyBufferRect)               \
    F(clEnqueueReadImage) F(clEnqueueWriteImage) F(clEnqueueFillImage) F(clEnqueueCopyImage)                           \
    F(clEnqueueCopyImageToBuffer) F(clEnqueueCopyBufferToImage) F(clEnqueueMapBuffer) F(clEnqueueMapImage)             \
    F(clEnqueueUnmapMemObject) F(clEnqueueMigrateMemObjects) F(clEnqueueNDRangeKernel) F(clEnqueueTask)                \
    F(clEnqueueMarkerWithWaitList) F(clEnqueueBarrierWithWaitList) F(clEnqueueMarker) F(clEnqueueBarrier)              \
    F(clEnqueueWaitForEvents) F(clEnqueueNativeKernel) F(clCreateProgramWithBuiltInKernels) F(clUnloadPlatformCompiler)
/* clang-format on */

#define MEMBER(name) __typeof__(&name) name;

struct opencl {
    FUNCTIONS(MEMBER)
};

/* Loads the opencl.dll in a folder; only cld3d's has a report of its own. */
static bool load(struct opencl *cl, const char *folder, bool is_cld3d)
{
    char path[MAX_PATH + 16];
    snprintf(path, sizeof(path), "%s\\OpenCL.dll", folder);
    HMODULE library = LoadLibraryA(path);
    if (!CHECK(library != NULL) || !CHECK_INT(GetProcAddress(library, "cld3d_report") != NULL, is_cld3d))
        return false;
#define LOAD(name) cl->name = (__typeof__(&name))(void (*)(void))GetProcAddress(library, #name);
    FUNCTIONS(LOAD)
    void *const *slots = (void *const *)cl;
    bool whole = true;
    for (size_t i = 0; i < sizeof(*cl) / sizeof(slots[0]); i++)
        whole = CHECK(slots[i] != NULL) && whole;
    return whole;
}

static bool load_ours(struct opencl *cl)
{
    char folder[MAX_PATH] = "";
    GetModuleFileNameA(NULL, folder, sizeof(folder) - 1);
    char *name = strrchr(folder, '\\');
    if (!CHECK(name != NULL))
        return false;
    *name = '\0';
    return load(cl, folder, true);
}

static bool load_system(struct opencl *cl)
{
    char folder[MAX_PATH] = "";
    if (!CHECK(GetSystemDirectoryA(folder, sizeof(folder)) != 0))
        return false;
    BOOL is_wow64 = FALSE;
    if (IsWow64Process(GetCurrentProcess(), &is_wow64) && is_wow64 &&
        !LoadLibraryA("C:\\windows\\system32\\opencl.dll")) {
        SKIP("Wine has no OpenCL for 32-bit programs here");
        return false;
    }
    return load(cl, folder, false);
}

/* ---- what an application sees ---- */

enum { UNSET = 4711 };

struct record {
    const struct opencl *cl;
    cl_int unset; /* stands for a code that nobody has set */
    char *text;
    size_t length, room;
};

static void note(struct record *r, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(line))
        length = sizeof(line) - 1;
    if (r->length + (size_t)length + 2 > r->room) {
        r->room = (r->room + sizeof(line)) * 2;
        r->text = realloc(r->text, r->room);
    }
    memcpy(r->text + r->length, line, (size_t)length);
    r->length += (size_t)length;
    r->text[r->length++] = '\n';
    r->text[r->length] = '\0';
}

static void note_bytes(struct record *r, const char *what, cl_int status, const void *data, size_t size)
{
    unsigned hash = 2166136261u;
    char start[64] = "";
    for (size_t i = 0; status == CL_SUCCESS && i < size; i++) {
        hash = (hash ^ ((const unsigned char *)data)[i]) * 16777619u;
        if (i < 16)
            sprintf(start + 3 * i, "%02x ", ((const unsigned char *)data)[i]);
    }
    note(r, "%s: %d, %zu bytes, %08x: %s", what, status, size, hash, start);
}

/* Calls a function and notes its result. */
#define DO(call) note(r, "%s: %d", #call, (int)(cl->call))

/* Makes an object and notes the status of that. */
#define MAKE(object, call)                                                                \
    do {                                                                                  \
        cl_int status = UNSET;                                                            \
        object = cl->call;                                                                \
        if (status == UNSET && r->unset != UNSET) { /* Wine's object is undefined then */ \
            status = r->unset;                                                            \
            object = NULL;                                                                \
        }                                                                                 \
        note(r, "%s: %d, %s", #call, status, object ? "made" : "NULL");                   \
    } while (0)

/* ---- the objects of most cases ---- */

struct base {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
};

static bool open_base(struct record *r, struct base *base)
{
    const struct opencl *cl = r->cl;
    cl_uint devices = 0;
    memset(base, 0, sizeof(*base));
    DO(clGetPlatformIDs(1, &base->platform, NULL));
    DO(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 1, &base->device, &devices));
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)base->platform, 0};
    MAKE(base->context, clCreateContext(properties, 1, &base->device, NULL, NULL, &status));
    MAKE(base->queue, clCreateCommandQueue(base->context, base->device, CL_QUEUE_PROFILING_ENABLE, &status));
    return base->queue != NULL;
}

static void close_base(struct record *r, struct base *base)
{
    const struct opencl *cl = r->cl;
    DO(clReleaseCommandQueue(base->queue));
    DO(clReleaseContext(base->context));
}

static unsigned char *pattern(size_t size, unsigned seed)
{
    unsigned char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    return bytes;
}

/* ---- queries ---- */

/* Handles differ from run to run, and the extensions are what cld3d adds. */
static bool plain_platform_info(cl_platform_info name)
{
    return name != CL_PLATFORM_EXTENSIONS && name != CL_PLATFORM_EXTENSIONS_WITH_VERSION &&
           name != CL_PLATFORM_HOST_TIMER_RESOLUTION;
}

/* What cld3d tells otherwise: what OpenCL 2.0 brought and Wine's opencl.dll has no functions for, and the LUID of the
 * adapter that the device belongs to. */
static bool told_otherwise(cl_device_info name)
{
    return (name >= 0x106C && name <= 0x106E) ||
           (name >= CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES && name <= CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE) ||
           name == CL_DEVICE_SVM_CAPABILITIES || name == CL_DEVICE_IL_VERSION || name == CL_DEVICE_ILS_WITH_VERSION ||
           name == CL_DEVICE_MAX_NUM_SUB_GROUPS || name == CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS ||
           (name >= CL_DEVICE_MAX_ON_DEVICE_QUEUES && name <= CL_DEVICE_PIPE_MAX_PACKET_SIZE);
}

static bool plain_device_info(cl_device_info name)
{
    return !told_otherwise(name) && name != CL_DEVICE_EXTENSIONS && name != CL_DEVICE_PLATFORM &&
           name != CL_DEVICE_EXTENSIONS_WITH_VERSION && name != CL_DEVICE_PARENT_DEVICE;
}

static void platforms_and_devices(struct record *r)
{
    const struct opencl *cl = r->cl;
    static unsigned char answer[16384];
    cl_platform_id platforms[8];
    cl_device_id devices[8];
    cl_uint platform_count = 0, device_count = 0;
    size_t size;
    DO(clGetPlatformIDs(8, platforms, &platform_count));
    for (cl_uint p = 0; p < platform_count; p++) {
        for (cl_platform_info name = 0x0900; name < 0x0910; name++) {
            const cl_int status = cl->clGetPlatformInfo(platforms[p], name, sizeof(answer), answer, &size);
            if (plain_platform_info(name))
                note_bytes(r, "platform", status, answer, status == CL_SUCCESS ? size : 0);
        }
        DO(clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 8, devices, &device_count));
        for (cl_uint d = 0; d < device_count; d++)
            for (cl_device_info name = 0x1000; name < 0x1070; name++) {
                size = 0;
                const cl_int status = cl->clGetDeviceInfo(devices[d], name, sizeof(answer), answer, &size);
                if (plain_device_info(name))
                    note_bytes(r, "device", status, answer, status == CL_SUCCESS ? size : 0);
            }
    }
}

/* A list without properties is not the same as none. */
static void empty_property_lists(struct record *r, const struct base *base)
{
    const struct opencl *cl = r->cl;
    const cl_context_properties none[] = {0};
    cl_context_properties found[4] = {4711, 4711, 4711, 4711};
    size_t size = 0;
    cl_context context = NULL;
    MAKE(context, clCreateContext(none, 1, &base->device, NULL, NULL, &status));
    DO(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof(found), found, &size));
    note(r, "%zu %d", size, (int)found[0]);
    DO(clReleaseContext(context));
    MAKE(context, clCreateContextFromType(none, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
    if (context)
        DO(clReleaseContext(context));
}

static void contexts_and_queues(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    cl_uint number = 0;
    size_t size = 0;
    cl_context_properties properties[8] = {0};
    cl_context typed = NULL;
    if (!open_base(r, &base))
        return;
    DO(clGetContextInfo(base.context, CL_CONTEXT_PROPERTIES, sizeof(properties), properties, &size));
    note(r, "%zu %d %d %d", size, (int)properties[0], properties[1] == (cl_context_properties)base.platform,
         (int)properties[2]);
    DO(clRetainContext(base.context));
    DO(clGetContextInfo(base.context, CL_CONTEXT_NUM_DEVICES, sizeof(number), &number, &size));
    note(r, "devices %u, %zu", number, size);
    DO(clReleaseContext(base.context));
    DO(clRetainCommandQueue(base.queue));
    DO(clGetCommandQueueInfo(base.queue, CL_QUEUE_REFERENCE_COUNT, sizeof(number), &number, &size));
    note(r, "queue references %u, %zu", number, size);
    DO(clReleaseCommandQueue(base.queue));
    DO(clGetCommandQueueInfo(base.queue, CL_QUEUE_PROPERTIES, 1, &number, &size));
    MAKE(typed, clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
    DO(clReleaseContext(typed));
    empty_property_lists(r, &base);
    close_base(r, &base);
}

static void refusals(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    cl_mem memory = NULL;
    cl_context context = NULL;
    cl_program program = NULL;
    char bytes[64] = "";
    cl_uint count;
    const cl_context_properties doubled[] = {CL_CONTEXT_PLATFORM, 0, 0x4711, 1, 0};
    const cl_image_format bad_format = {CL_RGBA, 0x4711};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    if (!open_base(r, &base))
        return;
    DO(clUnloadCompiler());
    DO(clGetPlatformIDs(0, NULL, NULL));
    DO(clGetDeviceIDs(base.platform, 0x1234560, 0, NULL, &count));
    MAKE(context, clCreateContext(doubled, 1, &base.device, NULL, NULL, &status));
    MAKE(context, clCreateContext(NULL, 0, NULL, NULL, NULL, &status));
    MAKE(memory, clCreateBuffer(base.context, CL_MEM_READ_WRITE, 0, NULL, &status));
    MAKE(memory, clCreateBuffer(base.context, CL_MEM_COPY_HOST_PTR, 16, NULL, &status));
    MAKE(memory, clCreateBuffer(NULL, CL_MEM_READ_WRITE, 16, NULL, &status));
    MAKE(memory, clCreateImage(base.context, CL_MEM_READ_WRITE, &bad_format, &desc, NULL, &status));
    MAKE(memory, clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &status));
    DO(clEnqueueReadBuffer(base.queue, memory, CL_TRUE, 60, 8, bytes, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(base.queue, memory, CL_TRUE, 0, 8, NULL, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(base.queue, memory, CL_TRUE, 0, 8, bytes, 1, NULL, NULL));
    DO(clEnqueueCopyBuffer(base.queue, memory, memory, 0, 4, 32, 0, NULL, NULL));
    DO(clGetMemObjectInfo(memory, 0x4711, sizeof(bytes), bytes, NULL));
    DO(clReleaseMemObject(memory));
    MAKE(program, clCreateProgramWithSource(base.context, 0, NULL, NULL, &status));
    DO(clWaitForEvents(0, NULL));
    close_base(r, &base);
}

static void CL_CALLBACK native_kernel(void *arguments)
{
    (void)arguments;
}

/* What few programs call, and what these drivers refuse. */
static void seldom(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    cl_program program = NULL;
    if (!open_base(r, &base))
        return;
    MAKE(program, clCreateProgramWithBuiltInKernels(base.context, 1, &base.device, "nobody has this", &status));
    MAKE(program, clCreateProgramWithBuiltInKernels(base.context, 0, NULL, "nobody has this", &status));
    DO(clUnloadPlatformCompiler(base.platform));
    DO(clEnqueueNativeKernel(base.queue, native_kernel, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    DO(clEnqueueNativeKernel(base.queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    close_base(r, &base);
}

/* ---- commands ---- */

static void buffers(struct record *r)
{
    enum { SIZE = 4096 };
    const struct opencl *cl = r->cl;
    static const size_t from[3] = {3, 2, 1}, to[3] = {5, 1, 0}, region[3] = {7, 4, 2};
    struct base base;
    cl_mem a = NULL, b = NULL, part = NULL;
    void *mapped = NULL;
    if (!open_base(r, &base))
        return;
    unsigned char *data = pattern(SIZE, 1), *back = calloc(1, SIZE);
    const cl_buffer_region piece = {1024, 512};
    MAKE(a, clCreateBuffer(base.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, data, &status));
    MAKE(b, clCreateBuffer(base.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
    MAKE(part, clCreateSubBuffer(b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &piece, &status));
    DO(clEnqueueFillBuffer(base.queue, b, "abcd", 4, 0, SIZE, 0, NULL, NULL));
    DO(clEnqueueCopyBuffer(base.queue, a, b, 100, 200, 300, 0, NULL, NULL));
    DO(clEnqueueCopyBufferRect(base.queue, a, b, from, to, region, 32, 512, 40, 600, 0, NULL, NULL));
    DO(clEnqueueWriteBufferRect(base.queue, b, CL_TRUE, to, from, region, 64, 1024, 32, 256, data, 0, NULL, NULL));
    DO(clEnqueueReadBufferRect(base.queue, b, CL_TRUE, from, to, region, 32, 256, 48, 320, back, 0, NULL, NULL));
    note_bytes(r, "rectangle", CL_SUCCESS, back, SIZE);
    DO(clEnqueueWriteBuffer(base.queue, part, CL_TRUE, 16, 64, data, 0, NULL, NULL));
    MAKE(mapped,
         clEnqueueMapBuffer(base.queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 2048, 1024, 0, NULL, NULL, &status));
    if (mapped)
        memset(mapped, 0x77, 99);
    DO(clEnqueueUnmapMemObject(base.queue, b, mapped, 0, NULL, NULL));
    DO(clEnqueueMigrateMemObjects(base.queue, 1, &b, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(base.queue, b, CL_FALSE, 0, SIZE, back, 0, NULL, NULL));
    DO(clFinish(base.queue));
    note_bytes(r, "buffer", CL_SUCCESS, back, SIZE);
    DO(clReleaseMemObject(part));
    DO(clReleaseMemObject(b));
    DO(clReleaseMemObject(a));
    free(back);
    free(data);
    close_base(r, &base);
}

static void note_image_infos(struct record *r, cl_mem image)
{
    const struct opencl *cl = r->cl;
    unsigned char answer[64];
    size_t size = 0;
    for (cl_image_info name = CL_IMAGE_FORMAT; name <= CL_IMAGE_NUM_SAMPLES; name++) {
        const cl_int status = cl->clGetImageInfo(image, name, sizeof(answer), answer, &size);
        if (name != CL_IMAGE_BUFFER)
            note_bytes(r, "image info", status, answer, status == CL_SUCCESS ? size : 0);
    }
}

static void formats(struct record *r)
{
    static const cl_mem_object_type types[] = {
        CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,       CL_MEM_OBJECT_IMAGE2D_ARRAY,
        CL_MEM_OBJECT_IMAGE3D, CL_MEM_OBJECT_BUFFER,        CL_MEM_OBJECT_IMAGE1D_BUFFER};
    const struct opencl *cl = r->cl;
    cl_image_format list[256];
    cl_uint count = 0;
    struct base base;
    if (!open_base(r, &base))
        return;
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        DO(clGetSupportedImageFormats(base.context, CL_MEM_READ_WRITE, types[i], 256, list, &count));
        note_bytes(r, "formats", CL_SUCCESS, list, count * sizeof(list[0]));
    }
    close_base(r, &base);
}

static void images(struct record *r)
{
    enum { WIDTH = 33, HEIGHT = 17, SIZE = WIDTH * HEIGHT * 4 };
    const struct opencl *cl = r->cl;
    static const size_t zero[3] = {0, 0, 0}, whole[3] = {WIDTH, HEIGHT, 1}, at[3] = {3, 5, 0}, some[3] = {9, 7, 1};
    static const cl_uint color[4] = {1, 2, 3, 4};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    struct base base;
    cl_mem a = NULL, b = NULL, buffer = NULL;
    size_t row_pitch = 0, slice_pitch = 0;
    void *mapped = NULL;
    if (!open_base(r, &base))
        return;
    unsigned char *data = pattern(SIZE, 2), *back = calloc(1, SIZE);
    MAKE(a, clCreateImage(base.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, data, &status));
    MAKE(b, clCreateImage2D(base.context, CL_MEM_READ_WRITE, &format, WIDTH, HEIGHT, 0, NULL, &status));
    MAKE(buffer, clCreateBuffer(base.context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
    note_image_infos(r, a);
    note_image_infos(r, b);
    DO(clEnqueueWriteImage(base.queue, b, CL_TRUE, zero, whole, 0, 0, data, 0, NULL, NULL));
    DO(clEnqueueFillImage(base.queue, b, color, at, some, 0, NULL, NULL));
    DO(clEnqueueCopyImage(base.queue, a, b, zero, at, some, 0, NULL, NULL));
    DO(clEnqueueCopyImageToBuffer(base.queue, b, buffer, zero, whole, 0, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(base.queue, buffer, CL_TRUE, 0, SIZE, back, 0, NULL, NULL));
    note_bytes(r, "image in a buffer", CL_SUCCESS, back, SIZE);
    DO(clEnqueueCopyBufferToImage(base.queue, buffer, a, 64, at, some, 0, NULL, NULL));
    MAKE(mapped, clEnqueueMapImage(base.queue, a, CL_TRUE, CL_MAP_WRITE, at, some, &row_pitch, &slice_pitch, 0, NULL,
                                   NULL, &status));
    for (size_t y = 0; mapped && y < some[1]; y++)
        memset((char *)mapped + y * row_pitch, (int)y, 12);
    DO(clEnqueueUnmapMemObject(base.queue, a, mapped, 0, NULL, NULL));
    DO(clEnqueueReadImage(base.queue, a, CL_TRUE, zero, whole, 0, 0, back, 0, NULL, NULL));
    note_bytes(r, "image", CL_SUCCESS, back, SIZE);
    DO(clReleaseMemObject(buffer));
    DO(clReleaseMemObject(b));
    DO(clReleaseMemObject(a));
    free(back);
    free(data);
    close_base(r, &base);
}

/* ---- programs ---- */

static const char source[] =
    "constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "kernel void blur(read_only image2d_t from, write_only image2d_t to, int step)\n"
    "{\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, read_imageui(from, texel, at) / 2u + read_imageui(from, texel, at + step) / 2u);\n"
    "}\n"
    "kernel void sum(global const uint *from, global uint *to, local uint *held, uint bias)\n"
    "{\n"
    "    const size_t i = get_global_id(0), l = get_local_id(0);\n"
    "    held[l] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[i] = held[get_local_size(0) - 1 - l] + bias;\n"
    "}\n";

static cl_program make_program(struct record *r, const struct base *base, const char *text, const char *options)
{
    const struct opencl *cl = r->cl;
    cl_program program = NULL;
    cl_build_status state = 4711;
    MAKE(program, clCreateProgramWithSource(base->context, 1, &text, NULL, &status));
    DO(clBuildProgram(program, 1, &base->device, options, NULL, NULL));
    DO(clGetProgramBuildInfo(program, base->device, CL_PROGRAM_BUILD_STATUS, sizeof(state), &state, NULL));
    note(r, "build %d", state);
    return program;
}

static void programs(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    cl_kernel kernels[4] = {NULL}, kernel = NULL;
    cl_uint count = 0;
    char text[4096] = "";
    size_t size = 0;
    if (!open_base(r, &base))
        return;
    cl_program wrong = make_program(r, &base, "kernel void f(global int *p) { p[0] = nothing; }", "");
    MAKE(kernel, clCreateKernel(wrong, "f", &status));
    DO(clReleaseProgram(wrong));
    cl_program program = make_program(r, &base, source, "-cl-kernel-arg-info -DSOMETHING=1");
    DO(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, &size));
    note_bytes(r, "source", CL_SUCCESS, text, size);
    DO(clCreateKernelsInProgram(program, 4, kernels, &count));
    note(r, "%u kernels", count);
    for (cl_uint k = 0; k < count; k++) {
        for (cl_kernel_info name = CL_KERNEL_FUNCTION_NAME; name <= CL_KERNEL_NUM_ARGS; name++) {
            const cl_int status = cl->clGetKernelInfo(kernels[k], name, sizeof(text), text, &size);
            note_bytes(r, "kernel", status, text, size);
        }
        for (cl_uint a = 0; a < 5; a++) {
            const cl_int status = cl->clGetKernelArgInfo(kernels[k], a, CL_KERNEL_ARG_NAME, sizeof(text), text, &size);
            note_bytes(r, "argument", status, text, status == CL_SUCCESS ? size : 0);
        }
        DO(clReleaseKernel(kernels[k]));
    }
    MAKE(kernel, clCreateKernel(program, "none such", &status));
    DO(clReleaseProgram(program));
    close_base(r, &base);
}

static void run_sum(struct record *r, const struct base *base, cl_program program)
{
    enum { COUNT = 1024, SIZE = COUNT * 4 };
    const struct opencl *cl = r->cl;
    const size_t count = COUNT, group = 64;
    const cl_uint bias = 4711;
    cl_kernel kernel = NULL;
    cl_mem from = NULL, to = NULL;
    cl_event event = NULL;
    unsigned char *data = pattern(SIZE, 3), *back = calloc(1, SIZE);
    MAKE(kernel, clCreateKernel(program, "sum", &status));
    MAKE(from, clCreateBuffer(base->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, SIZE, data, &status));
    MAKE(to, clCreateBuffer(base->context, CL_MEM_WRITE_ONLY, SIZE, NULL, &status));
    DO(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &count, &group, 0, NULL, NULL));
    DO(clSetKernelArg(kernel, 0, sizeof(from), &from));
    DO(clSetKernelArg(kernel, 1, sizeof(to), &to));
    DO(clSetKernelArg(kernel, 2, group * 4, NULL));
    DO(clSetKernelArg(kernel, 3, sizeof(bias), &bias));
    DO(clSetKernelArg(kernel, 3, 1, &bias));
    DO(clSetKernelArg(kernel, 4, sizeof(bias), &bias));
    DO(clEnqueueNDRangeKernel(base->queue, kernel, 1, NULL, &count, &group, 0, NULL, &event));
    DO(clEnqueueReadBuffer(base->queue, to, CL_TRUE, 0, SIZE, back, 1, &event, NULL));
    note_bytes(r, "sum", CL_SUCCESS, back, SIZE);
    DO(clReleaseEvent(event));
    DO(clReleaseMemObject(to));
    DO(clReleaseMemObject(from));
    DO(clReleaseKernel(kernel));
    free(back);
    free(data);
}

static void run_blur(struct record *r, const struct base *base, cl_program program)
{
    enum { WIDTH = 40, HEIGHT = 30, SIZE = WIDTH * HEIGHT * 4 };
    const struct opencl *cl = r->cl;
    static const size_t zero[3] = {0, 0, 0}, whole[3] = {WIDTH, HEIGHT, 1};
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    const cl_int step = 1;
    cl_kernel kernel = NULL;
    cl_mem from = NULL, to = NULL;
    unsigned char *data = pattern(SIZE, 4), *back = calloc(1, SIZE);
    MAKE(kernel, clCreateKernel(program, "blur", &status));
    MAKE(from, clCreateImage(base->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc, data, &status));
    MAKE(to, clCreateImage(base->context, CL_MEM_WRITE_ONLY, &format, &desc, NULL, &status));
    DO(clSetKernelArg(kernel, 0, sizeof(from), &from));
    DO(clSetKernelArg(kernel, 1, sizeof(to), &to));
    DO(clSetKernelArg(kernel, 2, sizeof(step), &step));
    DO(clEnqueueNDRangeKernel(base->queue, kernel, 2, NULL, whole, NULL, 0, NULL, NULL));
    DO(clEnqueueReadImage(base->queue, to, CL_TRUE, zero, whole, 0, 0, back, 0, NULL, NULL));
    note_bytes(r, "blur", CL_SUCCESS, back, SIZE);
    DO(clReleaseMemObject(to));
    DO(clReleaseMemObject(from));
    DO(clReleaseKernel(kernel));
    free(back);
    free(data);
}

static void kernels(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    if (!open_base(r, &base))
        return;
    cl_program program = make_program(r, &base, source, "");
    run_sum(r, &base, program);
    run_blur(r, &base, program);
    DO(clReleaseProgram(program));
    close_base(r, &base);
}

/* ---- events ---- */

static void note_event(struct record *r, const struct base *base, cl_event event)
{
    const struct opencl *cl = r->cl;
    cl_command_type type = 0;
    cl_int state = 4711;
    cl_uint refs = 0;
    cl_context context = NULL;
    cl_command_queue queue = NULL;
    DO(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    DO(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL));
    DO(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(refs), &refs, NULL));
    DO(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL));
    DO(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL));
    note(r, "type %x, state %d, references %u, %d %d", type, state, refs > 0, context == base->context,
         queue == base->queue);
}

static void events(struct record *r)
{
    const struct opencl *cl = r->cl;
    struct base base;
    cl_event user = NULL, fill = NULL, marker = NULL, barrier = NULL;
    cl_mem buffer = NULL;
    if (!open_base(r, &base))
        return;
    MAKE(buffer, clCreateBuffer(base.context, CL_MEM_READ_WRITE, 256, NULL, &status));
    MAKE(user, clCreateUserEvent(base.context, &status));
    note_event(r, &base, user);
    DO(clEnqueueFillBuffer(base.queue, buffer, "ab", 2, 0, 256, 1, &user, &fill));
    DO(clEnqueueMarkerWithWaitList(base.queue, 1, &fill, &marker));
    DO(clEnqueueBarrierWithWaitList(base.queue, 0, NULL, &barrier));
    DO(clFlush(base.queue));
    DO(clSetUserEventStatus(user, CL_COMPLETE));
    DO(clSetUserEventStatus(user, CL_COMPLETE));
    DO(clFinish(base.queue)); /* rusticl's may return before the last commands are over */
    DO(clWaitForEvents(1, &fill));
    DO(clWaitForEvents(1, &marker));
    DO(clWaitForEvents(1, &barrier));
    note_event(r, &base, user);
    note_event(r, &base, fill);
    note_event(r, &base, marker);
    note_event(r, &base, barrier);
    cl_ulong times[4] = {0};
    for (cl_uint i = 0; i < 4; i++)
        DO(clGetEventProfilingInfo(fill, CL_PROFILING_COMMAND_QUEUED + i, sizeof(times[i]), &times[i], NULL));
    note(r, "times in order: %d", times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3]);
    DO(clGetEventProfilingInfo(user, CL_PROFILING_COMMAND_START, sizeof(times[0]), times, NULL));
    DO(clReleaseEvent(barrier));
    DO(clReleaseEvent(marker));
    DO(clReleaseEvent(fill));
    DO(clReleaseEvent(user));
    DO(clReleaseMemObject(buffer));
    close_base(r, &base);
}

/* ---- the comparison ---- */

static void tell_difference(const char *mine, const char *plain)
{
    while (*mine && *plain) {
        const size_t a = strcspn(mine, "\n"), b = strcspn(plain, "\n");
        if (a != b || memcmp(mine, plain, a) != 0)
            break;
        mine += a + 1;
        plain += b + 1;
    }
    printf("# with cld3d: %.*s\n# without:    %.*s\n", (int)strcspn(mine, "\n"), mine, (int)strcspn(plain, "\n"),
           plain);
}

static void compare(void (*run)(struct record *))
{
    struct opencl ours, system;
    /* Wine sets none where it has nothing to call, or the driver crashes. */
    struct record with = {.cl = &ours, .unset = UNSET}, without = {.cl = &system, .unset = CL_OUT_OF_RESOURCES};
    if (!load_system(&system) || !load_ours(&ours))
        return;
    run(&without);
    run(&with);
    CHECK(with.length > 100);
    if (!CHECK(with.length == without.length && strcmp(with.text, without.text) == 0))
        tell_difference(with.text, without.text);
    free(with.text);
    free(without.text);
}

#define PLAIN_CASE(text, name) \
    CASE(text, plain_##name)   \
    {                          \
        compare(name);         \
    }

PLAIN_CASE("what platforms and devices say", platforms_and_devices)
PLAIN_CASE("contexts and queues", contexts_and_queues)
PLAIN_CASE("what is refused", refusals)
PLAIN_CASE("what few programs call", seldom)
PLAIN_CASE("buffers", buffers)
PLAIN_CASE("the formats of images", formats)
PLAIN_CASE("images", images)
PLAIN_CASE("programs that build and one that does not", programs)
PLAIN_CASE("kernels", kernels)
PLAIN_CASE("events", events)

TAP_MAIN
