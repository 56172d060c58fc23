#include "opencl.h"

#include "touch.cl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Both have the same name, so each is named with its folder. */
static HMODULE open_library(bool below)
{
    char path[MAX_PATH + 16];
    if (below)
        GetSystemDirectoryA(path, MAX_PATH);
    else if (GetModuleFileNameA(NULL, path, MAX_PATH))
        *strrchr(path, '\\') = '\0';
    strcat(path, "\\OpenCL.dll");
    HMODULE library = LoadLibraryA(path);
    if (!library)
        fail("%s can't be loaded (error %lu)", path, GetLastError());
    if ((GetProcAddress(library, "cld3d_report") != NULL) == below)
        fail("%s is %s: build again, and start this with scripts/bench", path, below ? "cld3d" : "not cld3d");
    return library;
}

static any_function find(HMODULE library, const char *name)
{
    FARPROC function = GetProcAddress(library, name);
    if (!function)
        fail("the OpenCL library has no %s", name);
    return (any_function)function;
}

void opencl_load(cl_icd_dispatch *call, bool below)
{
    HMODULE library = open_library(below);
#define LOAD(name) call->name = (cl_api_##name)find(library, #name)
    LOAD(clGetPlatformIDs);
    LOAD(clGetDeviceIDs);
    LOAD(clGetDeviceInfo);
    LOAD(clCreateContext);
    LOAD(clCreateCommandQueue);
    LOAD(clCreateProgramWithSource);
    LOAD(clBuildProgram);
    LOAD(clCreateKernel);
    LOAD(clSetKernelArg);
    LOAD(clCreateBuffer);
    LOAD(clCreateImage);
    LOAD(clRetainMemObject);
    LOAD(clReleaseMemObject);
    LOAD(clReleaseKernel);
    LOAD(clGetMemObjectInfo);
    LOAD(clEnqueueNDRangeKernel);
    LOAD(clEnqueueReadBuffer);
    LOAD(clEnqueueWriteBuffer);
    LOAD(clEnqueueReadBufferRect);
    LOAD(clEnqueueWriteBufferRect);
    LOAD(clEnqueueReadImage);
    LOAD(clEnqueueWriteImage);
    LOAD(clEnqueueMarkerWithWaitList);
    LOAD(clEnqueueBarrierWithWaitList);
    LOAD(clCreateUserEvent);
    LOAD(clSetUserEventStatus);
    LOAD(clFlush);
    LOAD(clWaitForEvents);
    LOAD(clGetEventInfo);
    LOAD(clRetainEvent);
    LOAD(clReleaseEvent);
    LOAD(clGetExtensionFunctionAddressForPlatform);
#undef LOAD
}

static void build(struct opencl *cl)
{
    const char *source = touch_cl;
    cl_int code;
    cl->program = cl->call.clCreateProgramWithSource(cl->context, 1, &source, NULL, &code);
    check_cl(code, "clCreateProgramWithSource", "this OpenCL driver is broken");
    check_cl(cl->call.clBuildProgram(cl->program, 1, &cl->device, "", NULL, NULL), "clBuildProgram",
             "this OpenCL can't compile the kernels");
}

struct opencl opencl_open(bool below, cl_context_properties property, void *value)
{
    struct opencl cl = {0};
    cl_int code;
    opencl_load(&cl.call, below);
    check_cl(cl.call.clGetPlatformIDs(1, &cl.platform, NULL), "clGetPlatformIDs", "install an OpenCL driver");
    check_cl(cl.call.clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL), "clGetDeviceIDs",
             "this OpenCL driver has no device");
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)cl.platform, property,
                                                (cl_context_properties)value, 0};
    cl.context = cl.call.clCreateContext(properties, 1, &cl.device, NULL, NULL, &code);
    check_cl(code, "clCreateContext", "this OpenCL device can't share with this Direct3D device");
    cl.queue = cl.call.clCreateCommandQueue(cl.context, cl.device, 0, &code);
    check_cl(code, "clCreateCommandQueue", "this OpenCL device is not usable now");
    build(&cl);
    return cl;
}

any_function opencl_function(const struct opencl *cl, const char *name)
{
    void *function = cl->call.clGetExtensionFunctionAddressForPlatform(cl->platform, name);
    if (!function)
        fail("clGetExtensionFunctionAddressForPlatform gave no %s", name);
    return (any_function)(intptr_t)function;
}

cl_kernel opencl_kernel(const struct opencl *cl, const char *name)
{
    cl_int code;
    cl_kernel kernel = cl->call.clCreateKernel(cl->program, name, &code);
    check_cl(code, "clCreateKernel", "this OpenCL compiled the program but lost a kernel");
    return kernel;
}

cl_mem opencl_buffer(const struct opencl *cl, size_t bytes)
{
    cl_int code;
    cl_mem buffer = cl->call.clCreateBuffer(cl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer", "the OpenCL device has too little memory");
    return buffer;
}

void opencl_wait(const struct opencl *cl)
{
    cl_event all;
    check_cl(cl->call.clEnqueueMarkerWithWaitList(cl->queue, 0, NULL, &all), "clEnqueueMarkerWithWaitList",
             "this OpenCL device is not usable now");
    check_cl(cl->call.clWaitForEvents(1, &all), "clWaitForEvents", "a command failed on the OpenCL device");
    cl->call.clReleaseEvent(all);
}
