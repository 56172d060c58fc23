/* Whether a device computes in the memory of the host itself: an object that is made over memory of the host
 * (CL_MEM_USE_HOST_PTR) is that memory, and nothing is copied. No property of a device tells this, so it is tried, once
 * per device and process. */
#ifndef CLD3D_TRANSPORT_HOST_MEMORY_H
#define CLD3D_TRANSPORT_HOST_MEMORY_H

#include <CL/cl.h>
#include <stdbool.h>

struct host_memory {
    bool in_place;    /* buffers and images, in any mixture of commands and stores of the host */
    bool known;       /* false: a lack of memory kept it from being found out; a later call may */
    size_t alignment; /* bytes, of the memory of buffers: kernels may use their widest types in them */
    const char *why;  /* in words, for people; lives as long as the process */
};

/* Tries it with a context and a queue of its own. May be called from any thread; the caller must be allowed to wait for
 * commands, and holds no lock. */
struct host_memory host_memory_of_device(cl_device_id device);

/* What is true for all devices of a context. */
struct host_memory host_memory_of_context(cl_context context);

#endif
