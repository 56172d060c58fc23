/* The functions of the layer, each of which can fail. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

#define PARTS(...) __VA_ARGS__

/* ---- their code ---- */

#define CALL(name, code, parameters, arguments)                           \
    static cl_int CL_API_CALL faulty_##name parameters                    \
    {                                                                     \
        const cl_int fault = fault_call(#name, code);                     \
        return fault == CL_SUCCESS ? fault_below->name arguments : fault; \
    }
#define QUERY(name, handle, key)                                                                \
    CALL(name, CL_OUT_OF_RESOURCES, (handle of, key what, size_t room, void *to, size_t *size), \
         (of, what, room, to, size))
/* A release does its work even if it fails. */
#define HANDLE(word, type, kind)                                                                 \
    static cl_int CL_API_CALL faulty_clRetain##word(type handle)                                 \
    {                                                                                            \
        const cl_int fault = fault_call("clRetain" #word, CL_OUT_OF_RESOURCES);                  \
        const cl_int status = fault == CL_SUCCESS ? fault_below->clRetain##word(handle) : fault; \
        fault_count(LIVE_##kind, status == CL_SUCCESS ? 1 : 0);                                  \
        return status;                                                                           \
    }                                                                                            \
    static cl_int CL_API_CALL faulty_clRelease##word(type handle)                                \
    {                                                                                            \
        const cl_int fault = fault_call("clRelease" #word, CL_OUT_OF_RESOURCES);                 \
        const cl_int status = fault_below->clRelease##word(handle);                              \
        fault_count(LIVE_##kind, status == CL_SUCCESS ? -1 : 0);                                 \
        return fault == CL_SUCCESS ? status : fault;                                             \
    }
#define MAKE(name, code, type, kind, parameters, arguments)                                 \
    static type CL_API_CALL faulty_##name(parameters, cl_int *errcode_ret)                  \
    {                                                                                       \
        const cl_int fault = fault_call(#name, code);                                       \
        if (fault != CL_SUCCESS && errcode_ret)                                             \
            *errcode_ret = fault;                                                           \
        type made = fault == CL_SUCCESS ? fault_below->name(arguments, errcode_ret) : NULL; \
        fault_count(LIVE_##kind, made ? 1 : 0);                                             \
        return made;                                                                        \
    }
#define COMMAND(name, code, type, blocks, parameters, arguments)                                                    \
    static cl_int CL_API_CALL faulty_##name(parameters, cl_uint count, const cl_event *wait, cl_event *event)       \
    {                                                                                                               \
        struct fault_enqueue e = {#name, queue, CL_COMMAND_##type, blocks, count, wait, false, NULL};               \
        cl_int status = fault_enqueue_begin(&e, code);                                                              \
        if (status != CL_SUCCESS)                                                                                   \
            return status;                                                                                          \
        status =                                                                                                    \
            e.doomed ? fault_enqueue_doomed(&e, event) : fault_below->name(arguments, e.wait_count, e.wait, event); \
        fault_enqueue_end(&e, status, event);                                                                       \
        return status;                                                                                              \
    }
#define MAP(name, code, type, parameters, arguments)                                                         \
    static void *CL_API_CALL faulty_##name(parameters, cl_uint count, const cl_event *wait, cl_event *event, \
                                           cl_int *errcode_ret)                                              \
    {                                                                                                        \
        struct fault_enqueue e = {#name, queue, CL_COMMAND_##type, true, count, wait, false, NULL};          \
        void *mapped = NULL;                                                                                 \
        cl_int status = fault_enqueue_begin(&e, code);                                                       \
        if (status == CL_SUCCESS) {                                                                          \
            mapped = fault_below->name(arguments, e.wait_count, e.wait, event, &status);                     \
            fault_enqueue_end(&e, status, event);                                                            \
        }                                                                                                    \
        if (errcode_ret)                                                                                     \
            *errcode_ret = status;                                                                           \
        return mapped;                                                                                       \
    }
#include "calls.inc"

/* ---- those that see the events of such commands ---- */

CALL(clWaitForEvents, (layer_settle(), CL_OUT_OF_RESOURCES), (cl_uint n, const cl_event *events), (n, events))
CALL(clFinish, (layer_settle(), CL_OUT_OF_RESOURCES), (cl_command_queue queue), (queue))

static cl_int CL_API_CALL faulty_clGetEventInfo(cl_event event, cl_event_info name, size_t room, void *to, size_t *size)
{
    cl_int status = fault_call("clGetEventInfo", CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS || fault_event_info(event, name, room, to, size))
        return status;
    status = fault_below->clGetEventInfo(event, name, room, to, size);
    if (name == CL_EVENT_COMMAND_EXECUTION_STATUS)
        layer_settle();
    return status;
}

/* While the variable is set, devices have memory of their own. */
static cl_int CL_API_CALL faulty_clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t room, void *to,
                                                 size_t *size)
{
    static const cl_bool no = CL_FALSE;
    cl_int status = fault_call("clGetDeviceInfo", CL_OUT_OF_RESOURCES);
    if (status == CL_SUCCESS)
        status = fault_below->clGetDeviceInfo(device, name, room, to, size);
    if (status == CL_SUCCESS && name == CL_DEVICE_HOST_UNIFIED_MEMORY && to && getenv("CLD3D_TEST_FAULTS_OWN_MEMORY"))
        memcpy(to, &no, sizeof(no));
    return status;
}

static cl_int CL_API_CALL faulty_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t room, void *to,
                                                         size_t *size)
{
    const cl_int status = fault_call("clGetEventProfilingInfo", CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS)
        return status;
    return fault_is_doomed(event) ? CL_PROFILING_INFO_NOT_AVAILABLE
                                  : fault_below->clGetEventProfilingInfo(event, name, room, to, size);
}

/* A doomed unmap is done: the driver would keep what is mapped for ever. */
static cl_int CL_API_CALL faulty_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *at, cl_uint count,
                                                         const cl_event *wait, cl_event *event)
{
    struct fault_enqueue e = {
        "clEnqueueUnmapMemObject", queue, CL_COMMAND_UNMAP_MEM_OBJECT, false, count, wait, false, NULL};
    cl_int status = fault_enqueue_begin(&e, CL_OUT_OF_RESOURCES);
    if (status != CL_SUCCESS)
        return status;
    status = fault_below->clEnqueueUnmapMemObject(queue, memory, at, e.doomed ? 0 : e.wait_count,
                                                  e.doomed ? NULL : e.wait, e.doomed ? NULL : event);
    if (e.doomed)
        status = fault_enqueue_doomed(&e, event);
    fault_enqueue_end(&e, status, event);
    return status;
}
#undef CALL
#undef QUERY
#undef HANDLE
#undef MAKE
#undef COMMAND
#undef MAP

/* ---- the table ---- */

#define SET(name)    \
    if (table->name) \
        table->name = faulty_##name;
#define CALL(name, ...) SET(name)
#define QUERY(name, ...) SET(name)
#define HANDLE(word, ...) SET(clRetain##word) SET(clRelease##word)
#define MAKE(name, ...) SET(name)
#define COMMAND(name, ...) SET(name)
#define MAP(name, ...) SET(name)

void fault_install(cl_icd_dispatch *table)
{
#include "calls.inc"
    SET(clWaitForEvents)
    SET(clFinish)
    SET(clGetDeviceInfo)
    SET(clGetEventInfo)
    SET(clGetEventProfilingInfo)
    SET(clEnqueueUnmapMemObject)
}
