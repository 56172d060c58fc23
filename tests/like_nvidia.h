/* An order to like_nvidia.c, by clGetCommandQueueInfo. */
#ifndef CLD3D_TESTS_LIKE_NVIDIA_H
#define CLD3D_TESTS_LIKE_NVIDIA_H

#include <CL/cl.h>
#include <stdbool.h>

/* *value, a cl_int, is what each marker fails with that waits for its queue alone; CL_SUCCESS: none does. CL_OUT_OF_HOST_MEMORY: no
 * queue is retained either. */
#define LIKE_NVIDIA_NO_MARKERS 0x7E70

/* For tests; false where the layer is not below. */
static inline bool like_nvidia_refuse(cl_command_queue queue, cl_int code)
{
    return clGetCommandQueueInfo(queue, LIKE_NVIDIA_NO_MARKERS, sizeof(code), &code, NULL) == CL_SUCCESS;
}

#endif
