/* Whether a device computes in host memory: an object created over host memory (CL_MEM_USE_HOST_PTR) is that memory,
 * and nothing is copied. No device property reports this, so it is probed, once per device and process. */
#ifndef CLD3D_TRANSPORT_HOST_MEMORY_H
#define CLD3D_TRANSPORT_HOST_MEMORY_H

#include <CL/cl.h>
#include <stdbool.h>

struct host_memory {
    bool in_place;    /* buffers and images, with any mix of commands and host stores */
    bool known;       /* false: could not be determined for lack of memory; a later call may */
    size_t alignment; /* in bytes, for the memory of buffers: kernels may use their widest types in it */
    const char *why;  /* the reason, for display; lives as long as the process */
};

/* The result that holds for all devices of a context. Probes each with a context and queue of its own, but not in a
 * callback, where nothing may wait. Any thread may call; no lock may be held. */
struct host_memory host_memory_of_context(cl_context context);

#endif
