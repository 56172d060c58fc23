#include "opencl.h"

#include "touch.cl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void beside_program(char *path)
{
    if (GetModuleFileNameA(NULL, path, MAX_PATH))
        *strrchr(path, '\\') = '\0';
}

static void copy_file(const char *from, const char *to, const char *name)
{
    char original[MAX_PATH + 16];
    char copy[MAX_PATH + 16];
    snprintf(original, sizeof(original), "%s\\%s", from, name);
    snprintf(copy, sizeof(copy), "%s\\%s", to, name);
    if (!GetModuleHandleA(copy) && !CopyFileA(original, copy, FALSE))
        fail("%s cannot be made (error %lu)", copy, GetLastError());
}

/* A second file is a second library, with settings of its own: its folder's name, and what it reads with the first context. */
static const struct {
    const char *folder, *transport, *rows; /* NULL: not set */
} copies[] = {[OPENCL_BY_HOST] = {"\\host", "host", NULL},
              [OPENCL_BY_ROWS] = {"\\rows", "rows,host", NULL},
              [OPENCL_BY_HOST_ROWS] = {"\\host-rows", "rows,host", "host"}};

static void copy_library(char *path, enum opencl_library library)
{
    char original[MAX_PATH];
    strcpy(original, path);
    strcat(path, copies[library].folder);
    CreateDirectoryA(path, NULL);
    copy_file(original, path, "OpenCL.dll");
    copy_file(original, path, "libcld3d.dll");
}

/* All have the same name, so each is named with its folder. */
static HMODULE open_library(enum opencl_library from)
{
    const bool below = from == OPENCL_BELOW;
    char path[MAX_PATH + 16];
    if (below)
        GetSystemDirectoryA(path, MAX_PATH);
    else
        beside_program(path);
    if (from >= OPENCL_BY_HOST)
        copy_library(path, from);
    strcat(path, "\\OpenCL.dll");
    HMODULE library = LoadLibraryA(path);
    if (!library)
        fail("%s cannot be loaded (error %lu)", path, GetLastError());
    if ((GetProcAddress(library, "cld3d_report") != NULL) == below)
        fail("%s is %s: rebuild, and run this with scripts/bench", path, below ? "cld3d" : "not cld3d");
    return library;
}

static any_function find(HMODULE library, const char *name)
{
    FARPROC function = GetProcAddress(library, name);
    if (!function)
        fail("the OpenCL library has no %s", name);
    return (any_function)function;
}

void opencl_load(cl_icd_dispatch *call, enum opencl_library from)
{
    HMODULE library = open_library(from);
#define LOAD(name) call->name = (__typeof__(&name))find(library, #name)
    LOAD(clGetPlatformIDs);
    LOAD(clGetPlatformInfo);
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
    LOAD(clFinish);
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
             "this OpenCL cannot compile the kernels");
}

static void find_creators(struct opencl *cl)
{
    cl->from_buffer = (clCreateFromD3D11BufferKHR_fn)opencl_function(cl, "clCreateFromD3D11BufferKHR");
    cl->from_texture = (clCreateFromD3D11Texture2DKHR_fn)opencl_function(cl, "clCreateFromD3D11Texture2DKHR");
    cl->from_surface = (clCreateFromDX9MediaSurfaceKHR_fn)opencl_function(cl, "clCreateFromDX9MediaSurfaceKHR");
}

static bool is_rusticl(const struct opencl *cl)
{
    char name[64] = "";
    cl->call.clGetPlatformInfo(cl->platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    return strstr(name, "rusticl") != NULL;
}

struct opencl opencl_open(enum opencl_library from, cl_context_properties property, void *value)
{
    struct opencl cl = {0};
    cl_int code;
    opencl_load(&cl.call, from);
    if (from >= OPENCL_BY_HOST) {
        SetEnvironmentVariableA("CLD3D_TRANSPORT", copies[from].transport);
        SetEnvironmentVariableA("CLD3D_ROWS", copies[from].rows);
    }
    check_cl(cl.call.clGetPlatformIDs(1, &cl.platform, NULL), "clGetPlatformIDs", "install an OpenCL driver");
    check_cl(cl.call.clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL), "clGetDeviceIDs",
             "this OpenCL driver has no device");
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)cl.platform, property,
                                                (cl_context_properties)value, 0};
    cl.context = cl.call.clCreateContext(properties, 1, &cl.device, NULL, NULL, &code);
    check_cl(code, "clCreateContext", "this OpenCL device cannot share with this Direct3D device");
    cl.queue = cl.call.clCreateCommandQueue(cl.context, cl.device, 0, &code);
    check_cl(code, "clCreateCommandQueue", "this OpenCL device is not usable now");
    cl.finishes_early = is_rusticl(&cl);
    build(&cl);
    if (from != OPENCL_BELOW)
        find_creators(&cl);
    if (from >= OPENCL_BY_HOST) {
        SetEnvironmentVariableA("CLD3D_TRANSPORT", NULL);
        SetEnvironmentVariableA("CLD3D_ROWS", NULL);
    }
    return cl;
}

any_function opencl_function(const struct opencl *cl, const char *name)
{
    void *function = cl->call.clGetExtensionFunctionAddressForPlatform(cl->platform, name);
    if (!function)
        fail("clGetExtensionFunctionAddressForPlatform returned no %s", name);
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

static void wait_for_marker(const struct opencl *cl)
{
    cl_event all;
    check_cl(cl->call.clEnqueueMarkerWithWaitList(cl->queue, 0, NULL, &all), "clEnqueueMarkerWithWaitList",
             "this OpenCL device is not usable now");
    check_cl(cl->call.clWaitForEvents(1, &all), "clWaitForEvents", "a command failed on the OpenCL device");
    cl->call.clReleaseEvent(all);
}

void opencl_wait(const struct opencl *cl)
{
    if (cl->finishes_early)
        wait_for_marker(cl);
    else
        check_cl(cl->call.clFinish(cl->queue), "clFinish", "a command failed on the OpenCL device");
}
