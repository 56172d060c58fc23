/* A layer below the bridge that does what AMD's ROCm does in each thread's first call: it asks the C library for the thread's stack and
 * ends the process if it is not in it. Wine's threads run the host's code on stacks that the library need not know. */
#define _GNU_SOURCE
#include "rocm_stack.h"

#include "layer_entry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local int looked;
static atomic_uint threads;

static void look(const char *function)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    const char here = 0;
    if (looked)
        return;
    looked = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &lowest, &size);
        pthread_attr_destroy(&attributes);
    }
    if (&here >= (char *)lowest && &here < (char *)lowest + size) {
        atomic_fetch_add(&threads, 1);
        return;
    }
    fprintf(stderr, "rocm_stack: %s in a thread whose stack is said to be [%p, %p), but is at %p\n", function, lowest,
            (void *)((char *)lowest + size), (const void *)&here);
    _exit(66);
}

/* Functions that programs call first in a thread. */
/* clang-format off */
#define FUNCTIONS(F) \
    F(cl_int, clGetPlatformIDs, (cl_uint a, cl_platform_id *b, cl_uint *c), (a, b, c)) \
    F(cl_int, clGetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    F(cl_int, clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id *d, cl_uint *e), (a, b, c, d, e)) \
    F(cl_int, clGetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    F(cl_context, clCreateContext, (const cl_context_properties *a, cl_uint b, const cl_device_id *c, \
        void(CL_CALLBACK *d)(const char *, const void *, size_t, void *), void *e, cl_int *f), (a, b, c, d, e, f)) \
    F(cl_command_queue, clCreateCommandQueue, (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int *d), (a, b, c, d)) \
    F(cl_command_queue, clCreateCommandQueueWithProperties, (cl_context a, cl_device_id b, const cl_queue_properties *c, cl_int *d), \
        (a, b, c, d)) \
    F(cl_mem, clCreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *e), (a, b, c, d, e)) \
    F(cl_event, clCreateUserEvent, (cl_context a, cl_int *b), (a, b)) \
    F(cl_int, clBuildProgram, (cl_program a, cl_uint b, const cl_device_id *c, const char *d, void(CL_CALLBACK *e)(cl_program, void *), \
        void *f), (a, b, c, d, e, f)) \
    F(cl_int, clEnqueueReadBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g, const cl_event *h, \
        cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    F(cl_int, clGetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    F(cl_int, clSetEventCallback, (cl_event a, cl_int b, void(CL_CALLBACK *c)(cl_event, cl_int, void *), void *d), (a, b, c, d)) \
    F(cl_int, clWaitForEvents, (cl_uint a, const cl_event *b), (a, b)) \
    F(cl_int, clSetUserEventStatus, (cl_event a, cl_int b), (a, b)) \
    F(cl_int, clReleaseMemObject, (cl_mem a), (a)) \
    F(cl_int, clFlush, (cl_command_queue a), (a)) \
    F(cl_int, clFinish, (cl_command_queue a), (a))
/* clang-format on */

#define CHECKED(type, name, parameters, arguments)    \
    static type CL_API_CALL checked_##name parameters \
    {                                                 \
        look(#name);                                  \
        return below->name arguments;                 \
    }
FUNCTIONS(CHECKED)

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t room, void *to,
                                            size_t *size_ret)
{
    const cl_uint seen = atomic_load(&threads);
    return name == ROCM_STACK_THREADS ? give_answer(&seen, sizeof(seen), room, to, size_ret)
                                      : checked_clGetPlatformInfo(platform, name, room, to, size_ret);
}

static void replace(void)
{
#define REPLACE(type, name, parameters, arguments) table.name = checked_##name;
    FUNCTIONS(REPLACE)
    table.clGetPlatformInfo = get_platform_info;
}
