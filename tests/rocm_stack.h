/* A question to rocm_stack.c, by clGetPlatformInfo. */
#ifndef CLD3D_TESTS_ROCM_STACK_H
#define CLD3D_TESTS_ROCM_STACK_H

/* *value, a cl_uint, becomes the number of threads that have called it and are on their stacks. */
#define ROCM_STACK_THREADS 0x7E78

#endif
