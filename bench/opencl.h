/* OpenCL through one of several libraries: cld3d's OpenCL.dll; the one below it, of which cld3d knows nothing then; or a second
 * cld3d, a copy of the file with settings of its own. */
#ifndef BENCH_OPENCL_H
#define BENCH_OPENCL_H

#include "../examples/report.h"

#include <d3d11.h>
#include <d3d9.h>
#include <CL/cl_d3d11.h>
#include <CL/cl_dx9_media_sharing.h>
#include <CL/cl_icd.h>
#include <stdbool.h>

struct opencl {
    cl_icd_dispatch call;                      /* the library's functions, as far as they are used here */
    clCreateFromD3D11BufferKHR_fn from_buffer; /* those of the extensions are cld3d's */
    clCreateFromD3D11Texture2DKHR_fn from_texture;
    clCreateFromDX9MediaSurfaceKHR_fn from_surface;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;  /* touch.cl */
    bool finishes_early; /* the driver's clFinish may return before the last command has ended */
};

typedef void (*any_function)(void);

enum opencl_library {
    OPENCL_CLD3D,
    OPENCL_BELOW,        /* the system's own */
    OPENCL_BY_HOST,      /* cld3d, with objects that go through the host's memory alone */
    OPENCL_BY_ROWS,      /* ... by rows, if they can ... */
    OPENCL_BY_HOST_ROWS, /* ... and by rows in the host's memory */
};

void opencl_load(cl_icd_dispatch *call, enum opencl_library from);
/* A context with one more property, or with none for 0; the first device of the first platform. Lives to the end of the
 * program. */
struct opencl opencl_open(enum opencl_library from, cl_context_properties property, void *value);
/* A function of an extension. */
any_function opencl_function(const struct opencl *cl, const char *name);
cl_kernel opencl_kernel(const struct opencl *cl, const char *name);
cl_mem opencl_buffer(const struct opencl *cl, size_t bytes);
/* Waits for all commands of the queue. */
void opencl_wait(const struct opencl *cl);

#endif
