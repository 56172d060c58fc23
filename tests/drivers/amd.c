/* AMD's driver (ROCm). Its handles' dispatch table begins with NULL, since nobody calls clGetPlatformIDs through it. In each thread's
 * first call it asks the C library for the thread's stack, and ends the process if it is not in it: Wine's threads run the host's code
 * on stacks that the library need not know. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "amd.h"

#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the thread: not NULL if it has looked. (The leak checker crashes at variables of threads in libraries like this one.) */
static pthread_key_t looked;
static atomic_uint threads;

__attribute__((constructor)) static void make_key(void)
{
    pthread_key_create(&looked, NULL);
}

static void look(const char *function)
{
    pthread_attr_t attributes;
    char *lowest = NULL, *here = __builtin_frame_address(0);
    size_t size = 0;
    if (pthread_getspecific(looked))
        return;
    pthread_setspecific(looked, here);
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, (void **)&lowest, &size);
        pthread_attr_destroy(&attributes);
    }
    if (here >= lowest && here < lowest + size) {
        atomic_fetch_add(&threads, 1);
        return;
    }
    fprintf(stderr, "amd: %s in a thread whose stack is said to be [%p, %p), but is at %p\n", function, (void *)lowest,
            (void *)(lowest + size), (void *)here);
    _exit(66);
}

/* Functions that programs call first in a thread. */
#define LOOKS(name)        \
    REPLACES(name)         \
    {                      \
        look(#name);       \
        return PASS(name); \
    }

LOOKS(clGetDeviceIDs)
LOOKS(clGetDeviceInfo)
LOOKS(clCreateContext)
LOOKS(clCreateCommandQueue)
LOOKS(clCreateCommandQueueWithProperties)
LOOKS(clCreateBuffer)
LOOKS(clCreateUserEvent)
LOOKS(clBuildProgram)
LOOKS(clEnqueueReadBuffer)
LOOKS(clGetEventInfo)
LOOKS(clSetEventCallback)
LOOKS(clWaitForEvents)
LOOKS(clSetUserEventStatus)
LOOKS(clReleaseMemObject)
LOOKS(clFlush)
LOOKS(clFinish)

REPLACES(clGetPlatformInfo)
{
    const cl_uint seen = atomic_load(&threads);
    look("clGetPlatformInfo");
    return param_name == AMD_THREADS ? ANSWER(seen) : PASS(clGetPlatformInfo);
}

/* The driver's own table is changed, wherever it lies: all its handles point there. */
REPLACES(clGetPlatformIDs)
{
    look("clGetPlatformIDs");
    const cl_int status = PASS(clGetPlatformIDs);
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (cl_uint i = 0; status == CL_SUCCESS && platforms && i < num_entries && (!num_platforms || i < *num_platforms);
         i++) {
        void **dispatch = *(void ***)platforms[i];
        if (mprotect((void *)((uintptr_t)dispatch / page * page), (size_t)page, PROT_READ | PROT_WRITE) == 0)
            dispatch[0] = NULL;
    }
    return status;
}
