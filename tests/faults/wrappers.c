/* The functions of the layer, each of which can fail. */
#include "layer.h"

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
        fault_reference(FAULT_##kind, status == CL_SUCCESS ? 1 : 0);                             \
        return status;                                                                           \
    }                                                                                            \
    static cl_int CL_API_CALL faulty_clRelease##word(type handle)                                \
    {                                                                                            \
        const cl_int fault = fault_call("clRelease" #word, CL_OUT_OF_RESOURCES);                 \
        const cl_int status = fault_below->clRelease##word(handle);                              \
        fault_reference(FAULT_##kind, status == CL_SUCCESS ? -1 : 0);                            \
        return fault == CL_SUCCESS ? status : fault;                                             \
    }
#define MAKE(name, code, type, kind, parameters, arguments)                                 \
    static type CL_API_CALL faulty_##name(parameters, cl_int *errcode_ret)                  \
    {                                                                                       \
        const cl_int fault = fault_call(#name, code);                                       \
        if (fault != CL_SUCCESS && errcode_ret)                                             \
            *errcode_ret = fault;                                                           \
        type made = fault == CL_SUCCESS ? fault_below->name(arguments, errcode_ret) : NULL; \
        fault_reference(FAULT_##kind, made ? 1 : 0);                                        \
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
#include "functions.inc"
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
#include "functions.inc"
}
