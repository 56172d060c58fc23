/* A question to amd.c, by clGetPlatformInfo. */
#ifndef CLD3D_TESTS_AMD_H
#define CLD3D_TESTS_AMD_H

/* *value, a cl_uint, becomes the number of threads that have called it and are on their stacks. */
#define AMD_THREADS 0x7E78

#endif
