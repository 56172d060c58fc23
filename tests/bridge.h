/* What the tests of the bridge have in common: a context and a queue of the first device, programs, bytes, and what the device
 * promises. They are written against OpenCL alone, so that they hold for any way to the host's OpenCL, in 64 and in 32 bits. */
#ifndef CLD3D_TESTS_BRIDGE_H
#define CLD3D_TESTS_BRIDGE_H

#include "driver_bugs.h"
#include "tap.h"

#include <windows.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A code that no function gives. */
enum { UNSET = 4711 };

/* ---- what this process is ---- */

/* Whether it is of 32 bits and the host's libraries are of 64: Wine's "new WoW64". A Wine of 32 bits alone has those of the host in 32. */
static inline bool in_wow64(void)
{
    BOOL is = FALSE;
    return IsWow64Process(GetCurrentProcess(), &is) && is;
}

typedef const char *(CL_API_CALL *report_function)(const char *topic);

static inline const char *report(const char *topic)
{
    const FARPROC address = GetProcAddress(GetModuleHandleA("OpenCL.dll"), "cld3d_report");
    const report_function ask = (report_function)(void (*)(void))address;
    return CHECK(ask != NULL) ? ask(topic) : NULL;
}

/* Whether a layer is between the bridge and the driver (host_layers in tests/meson.build). Else the case is skipped. */
static inline bool has_layer(const char *name)
{
    const char *layers = getenv("OPENCL_LAYERS");
    if (layers && strstr(layers, name))
        return true;
    SKIP("without its layer of the host's loader");
    return false;
}

/* ---- a device, its context and queue ---- */

struct base {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* in order */
};

static inline bool open_base(struct base *base)
{
    cl_int status = UNSET;
    memset(base, 0, sizeof(*base));
    CHECK_INT(clGetPlatformIDs(1, &base->platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 1, &base->device, NULL), CL_SUCCESS);
    base->context = clCreateContext(NULL, 1, &base->device, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    base->queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    return CHECK_INT(status, CL_SUCCESS);
}

static inline void close_base(struct base *base)
{
    CHECK_INT(clReleaseCommandQueue(base->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base->context), CL_SUCCESS);
}

/* A case that gets a context and a queue. */
static inline void with_base(void (*body)(const struct base *))
{
    struct base base;
    if (!open_base(&base))
        return;
    body(&base);
    close_base(&base);
}

#define BASE_CASE(text, name)                  \
    static void name(const struct base *base); \
    CASE(text, name##_alone)                   \
    {                                          \
        with_base(name);                       \
    }                                          \
    static void name(const struct base *base)

static inline bool is_rusticl(const struct base *base)
{
    return is_named(base->platform, "rusticl");
}

/* Whether kernels can have images. Those of rusticl 22.3 can't where the driver itself is of 32 bits. */
static inline bool has_image_kernels(const struct base *base)
{
    return sizeof(void *) == 8 || in_wow64() || !is_rusticl(base);
}

/* A number of 4 or 8 bytes; 0 for what the device does not know. */
static inline cl_ulong device_number(const struct base *base, cl_device_info name)
{
    cl_ulong value = 0;
    return clGetDeviceInfo(base->device, name, sizeof(value), &value, NULL) == CL_SUCCESS ? value : 0;
}

static inline bool has_svm(const struct base *base)
{
    return device_number(base, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
}

static inline bool has_extension(const struct base *base, const char *name)
{
    static char text[32768];
    CHECK_INT(clGetDeviceInfo(base->device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    return strstr(text, name) != NULL;
}

/* ---- programs ---- */

static inline cl_program program_of(const struct base *base, const char *source)
{
    cl_int status = UNSET;
    cl_program program = clCreateProgramWithSource(base->context, 1, &source, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return program;
}

static inline cl_program built_program(const struct base *base, const char *source, const char *options)
{
    cl_program program = program_of(base, source);
    CHECK_INT(clBuildProgram(program, 1, &base->device, options, NULL, NULL), CL_SUCCESS);
    return program;
}

static inline cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int status = UNSET;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    CHECK_INT(status, CL_SUCCESS);
    return kernel;
}

/* The only reference to the program is the kernel's. */
static inline cl_kernel built_kernel(const struct base *base, const char *source, const char *name)
{
    cl_program program = built_program(base, source, "");
    cl_kernel kernel = kernel_of(program, name);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    return kernel;
}

static inline void set_memory(cl_kernel kernel, cl_uint index, cl_mem memory)
{
    CHECK_INT(clSetKernelArg(kernel, index, sizeof(memory), &memory), CL_SUCCESS);
}

/* ---- memory ---- */

static inline void make_pattern(void *to, size_t size, unsigned seed)
{
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static inline cl_mem make_buffer(const struct base *base, size_t size, const void *bytes)
{
    cl_int status = UNSET;
    const cl_mem_flags copy = bytes ? CL_MEM_COPY_HOST_PTR : 0;
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_READ_WRITE | copy, size, (void *)bytes, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static inline void read_all(const struct base *base, cl_mem buffer, void *to, size_t size)
{
    memset(to, 0xEE, size);
    CHECK_INT(clEnqueueReadBuffer(base->queue, buffer, CL_TRUE, 0, size, to, 0, NULL, NULL), CL_SUCCESS);
}

/* Checks the first bytes of a buffer. */
static inline void buffer_has(const struct base *base, cl_mem buffer, const void *expected, size_t size)
{
    unsigned char *found = malloc(size);
    read_all(base, buffer, found, size);
    CHECK_MEM(found, expected, size);
    free(found);
}

static inline void release_memory(cl_mem memory)
{
    CHECK_INT(clReleaseMemObject(memory), CL_SUCCESS);
}

/* Copies a box of `region` bytes between rows of several pitches. */
static inline void copy_box(unsigned char *to, const size_t *to_at, size_t to_row, size_t to_slice,
                            const unsigned char *from, const size_t *from_at, size_t row, size_t slice,
                            const size_t *region)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            memcpy(to + (to_at[2] + z) * to_slice + (to_at[1] + y) * to_row + to_at[0],
                   from + (from_at[2] + z) * slice + (from_at[1] + y) * row + from_at[0], region[0]);
}

/* ---- events ---- */

static inline cl_event user_event(const struct base *base)
{
    cl_int status = UNSET;
    cl_event event = clCreateUserEvent(base->context, &status);
    CHECK_INT(status, CL_SUCCESS);
    return event;
}

static inline void set_event(cl_event event, cl_int status)
{
    CHECK_INT(clSetUserEventStatus(event, status), CL_SUCCESS);
}

static inline cl_int event_status(cl_event event)
{
    cl_int status = UNSET;
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    return status;
}

/* Waits, and gives the reference back. */
static inline void finish_event(cl_event event)
{
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(event_status(event), CL_COMPLETE);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

/* Until something has been counted; a hang ends half a minute after the last one. */
static inline bool wait_until(atomic_uint *counter, unsigned count)
{
    enum { MOST_MS = 30000 };
    for (unsigned i = 0, was = 0, now; i < MOST_MS && (now = atomic_load(counter)) < count; i++) {
        i = now == was ? i : 0;
        was = now;
        Sleep(1);
    }
    return CHECK_INT(atomic_load(counter), count);
}

#endif
