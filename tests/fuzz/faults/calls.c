/* The functions of OpenCL that cld3d and the fuzzer call, each of which can fail with the code that stands with it. */
#include "layer.h"

#include "drivers/layer.h"

/* ---- their code ---- */

/* Changes no references. */
#define CALL(name, code)                                 \
    REPLACES(name)                                       \
    {                                                    \
        const cl_int fault = fault_call(#name, code);    \
        return fault == CL_SUCCESS ? PASS(name) : fault; \
    }
/* A release does its work even if it fails. */
#define HANDLE(word, kind)                                                        \
    REPLACES(clRetain##word)                                                      \
    {                                                                             \
        const cl_int fault = fault_call("clRetain" #word, CL_OUT_OF_RESOURCES);   \
        const cl_int status = fault == CL_SUCCESS ? PASS(clRetain##word) : fault; \
        fault_count(LIVE_##kind, status == CL_SUCCESS ? 1 : 0);                   \
        return status;                                                            \
    }                                                                             \
    REPLACES(clRelease##word)                                                     \
    {                                                                             \
        const cl_int fault = fault_call("clRelease" #word, CL_OUT_OF_RESOURCES);  \
        const cl_int status = PASS(clRelease##word);                              \
        fault_count(LIVE_##kind, status == CL_SUCCESS ? -1 : 0);                  \
        return fault == CL_SUCCESS ? status : fault;                              \
    }
#define MAKE(name, code, kind)                                                              \
    REPLACES(name)                                                                          \
    {                                                                                       \
        const cl_int fault = fault_call(#name, code);                                       \
        RESULT_##name made = fault == CL_SUCCESS ? PASS(name) : refuse(errcode_ret, fault); \
        fault_count(LIVE_##kind, made ? 1 : 0);                                             \
        return made;                                                                        \
    }
#define COMMAND(name, code, type, blocks)                                                                            \
    REPLACES(name)                                                                                                   \
    {                                                                                                                \
        struct fault_enqueue e = {                                                                                   \
            #name, command_queue, CL_COMMAND_##type, blocks, num_events_in_wait_list, event_wait_list, false, NULL}; \
        cl_int status = fault_enqueue_begin(&e, code);                                                               \
        if (status != CL_SUCCESS)                                                                                    \
            return status;                                                                                           \
        num_events_in_wait_list = e.wait_count;                                                                      \
        event_wait_list = e.wait;                                                                                    \
        status = e.doomed ? fault_enqueue_doomed(&e, event) : PASS(name);                                            \
        fault_enqueue_end(&e, status, event);                                                                        \
        return status;                                                                                               \
    }
#define MAP(name, type)                                                                                            \
    REPLACES(name)                                                                                                 \
    {                                                                                                              \
        struct fault_enqueue e = {                                                                                 \
            #name, command_queue, CL_COMMAND_##type, true, num_events_in_wait_list, event_wait_list, false, NULL}; \
        void *mapped = NULL;                                                                                       \
        cl_int status = fault_enqueue_begin(&e, CL_MAP_FAILURE), *wanted = errcode_ret;                            \
        if (status == CL_SUCCESS) {                                                                                \
            num_events_in_wait_list = e.wait_count;                                                                \
            event_wait_list = e.wait;                                                                              \
            errcode_ret = &status;                                                                                 \
            mapped = PASS(name);                                                                                   \
            fault_enqueue_end(&e, status, event);                                                                  \
        }                                                                                                          \
        if (wanted)                                                                                                \
            *wanted = status;                                                                                      \
        return mapped;                                                                                             \
    }

/* ---- the functions ---- */

CALL(clGetPlatformIDs, CL_OUT_OF_HOST_MEMORY)
CALL(clGetDeviceIDs, CL_OUT_OF_RESOURCES)
CALL(clGetSupportedImageFormats, CL_OUT_OF_RESOURCES)
CALL(clBuildProgram, CL_BUILD_PROGRAM_FAILURE)
CALL(clSetKernelArg, CL_OUT_OF_RESOURCES)
CALL(clGetKernelArgInfo, CL_OUT_OF_RESOURCES)
CALL(clSetUserEventStatus, CL_OUT_OF_RESOURCES)
CALL(clSetEventCallback, CL_OUT_OF_RESOURCES)
CALL(clSetMemObjectDestructorCallback, CL_OUT_OF_RESOURCES)
CALL(clFlush, CL_OUT_OF_RESOURCES)
CALL(clGetPlatformInfo, CL_OUT_OF_RESOURCES)
CALL(clGetContextInfo, CL_OUT_OF_RESOURCES)
CALL(clGetCommandQueueInfo, CL_OUT_OF_RESOURCES)
CALL(clGetMemObjectInfo, CL_OUT_OF_RESOURCES)
CALL(clGetImageInfo, CL_OUT_OF_RESOURCES)
CALL(clGetProgramInfo, CL_OUT_OF_RESOURCES)
CALL(clGetKernelInfo, CL_OUT_OF_RESOURCES)
HANDLE(Context, CONTEXTS)
HANDLE(CommandQueue, QUEUES)
HANDLE(MemObject, MEMORIES)
HANDLE(Program, PROGRAMS)
HANDLE(Kernel, KERNELS)
HANDLE(Event, EVENTS)
MAKE(clCreateContext, CL_DEVICE_NOT_AVAILABLE, CONTEXTS)
MAKE(clCreateCommandQueue, CL_OUT_OF_RESOURCES, QUEUES)
MAKE(clCreateCommandQueueWithProperties, CL_OUT_OF_RESOURCES, QUEUES)
MAKE(clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, MEMORIES)
MAKE(clCreateBufferWithProperties, CL_OUT_OF_RESOURCES, MEMORIES)
MAKE(clCreateSubBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, MEMORIES)
MAKE(clCreateImage, CL_MEM_OBJECT_ALLOCATION_FAILURE, MEMORIES)
MAKE(clCreateImageWithProperties, CL_OUT_OF_RESOURCES, MEMORIES)
MAKE(clCreateProgramWithSource, CL_OUT_OF_RESOURCES, PROGRAMS)
MAKE(clCreateKernel, CL_OUT_OF_RESOURCES, KERNELS)
MAKE(clCreateUserEvent, CL_OUT_OF_RESOURCES, EVENTS)
COMMAND(clEnqueueReadBuffer, CL_OUT_OF_RESOURCES, READ_BUFFER, blocking_read)
COMMAND(clEnqueueWriteBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, WRITE_BUFFER, blocking_write)
COMMAND(clEnqueueReadBufferRect, CL_OUT_OF_RESOURCES, READ_BUFFER_RECT, blocking_read)
COMMAND(clEnqueueWriteBufferRect, CL_OUT_OF_RESOURCES, WRITE_BUFFER_RECT, blocking_read) /* so the headers name it */
COMMAND(clEnqueueFillBuffer, CL_OUT_OF_RESOURCES, FILL_BUFFER, false)
COMMAND(clEnqueueCopyBuffer, CL_OUT_OF_RESOURCES, COPY_BUFFER, false)
COMMAND(clEnqueueReadImage, CL_OUT_OF_RESOURCES, READ_IMAGE, blocking_read)
COMMAND(clEnqueueWriteImage, CL_MEM_OBJECT_ALLOCATION_FAILURE, WRITE_IMAGE, blocking_write)
COMMAND(clEnqueueFillImage, CL_OUT_OF_RESOURCES, FILL_IMAGE, false)
COMMAND(clEnqueueCopyImage, CL_OUT_OF_RESOURCES, COPY_IMAGE, false)
COMMAND(clEnqueueCopyImageToBuffer, CL_OUT_OF_RESOURCES, COPY_IMAGE_TO_BUFFER, false)
COMMAND(clEnqueueCopyBufferToImage, CL_OUT_OF_RESOURCES, COPY_BUFFER_TO_IMAGE, false)
COMMAND(clEnqueueNDRangeKernel, CL_OUT_OF_RESOURCES, NDRANGE_KERNEL, false)
COMMAND(clEnqueueMigrateMemObjects, CL_OUT_OF_RESOURCES, MIGRATE_MEM_OBJECTS, false)
MAP(clEnqueueMapBuffer, MAP_BUFFER)
MAP(clEnqueueMapImage, MAP_IMAGE)
COMMAND(clEnqueueMarkerWithWaitList, CL_OUT_OF_RESOURCES, MARKER, false)
COMMAND(clEnqueueBarrierWithWaitList, CL_OUT_OF_RESOURCES, BARRIER, false)

/* ---- those that see the events of such commands ---- */

CALL(clWaitForEvents, (layer_settle(), CL_OUT_OF_RESOURCES))
CALL(clFinish, (layer_settle(), CL_OUT_OF_RESOURCES))

REPLACES(clGetEventInfo)
{
    cl_int status = fault_call("clGetEventInfo", CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS || fault_event_info(ARGUMENTS_clGetEventInfo))
        return status;
    status = PASS(clGetEventInfo);
    if (param_name == CL_EVENT_COMMAND_EXECUTION_STATUS)
        layer_settle();
    return status;
}

/* While the variable is set, devices have memory of their own. */
REPLACES(clGetDeviceInfo)
{
    static const cl_bool no = CL_FALSE;
    const cl_int status = fault_call("clGetDeviceInfo", CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS)
        return status;
    return param_name == CL_DEVICE_HOST_UNIFIED_MEMORY && getenv("CLD3D_TEST_FAULTS_OWN_MEMORY")
               ? ANSWER(no)
               : PASS(clGetDeviceInfo);
}

REPLACES(clGetEventProfilingInfo)
{
    const cl_int status = fault_call("clGetEventProfilingInfo", CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS)
        return status;
    return fault_is_doomed(event) ? CL_PROFILING_INFO_NOT_AVAILABLE : PASS(clGetEventProfilingInfo);
}

/* A doomed unmap is done: the driver would keep what is mapped for ever. */
REPLACES(clEnqueueUnmapMemObject)
{
    struct fault_enqueue e = {"clEnqueueUnmapMemObject",
                              command_queue,
                              CL_COMMAND_UNMAP_MEM_OBJECT,
                              false,
                              num_events_in_wait_list,
                              event_wait_list,
                              false,
                              NULL};
    cl_int status = fault_enqueue_begin(&e, CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS)
        return status;
    status = below->clEnqueueUnmapMemObject(command_queue, memobj, mapped_ptr, e.doomed ? 0 : e.wait_count,
                                            e.doomed ? NULL : e.wait, e.doomed ? NULL : event);
    if (e.doomed)
        status = fault_enqueue_doomed(&e, event);
    fault_enqueue_end(&e, status, event);
    return status;
}
