/* What the layers of this folder have in common: each makes the driver below it behave as another one, in what its first lines name.
 *
 *     REPLACES(clCreateBuffer)
 *     {
 *         flags &= ~(cl_mem_flags)CL_MEM_USE_HOST_PTR;
 *         return PASS(clCreateBuffer);
 *     }
 *
 * The parameters have the names of the Khronos headers. What is not replaced goes through. One file of a layer includes this. */
#ifndef CLD3D_TESTS_LAYER_H
#define CLD3D_TESTS_LAYER_H

#include "answer.h"
#include "calls_generated.h"

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* some answers need no arguments */

/* The functions of the driver, for all files of the layer; and those that the layer has in their place. */
extern const cl_icd_dispatch *below __attribute__((visibility("hidden")));
const cl_icd_dispatch *below;
static cl_icd_dispatch own;

#define REPLACES(name)                                              \
    static RESULT_##name CL_API_CALL own_##name(PARAMETERS_##name); \
    __attribute__((constructor)) static void replace_##name(void)   \
    {                                                               \
        own.name = own_##name;                                      \
    }                                                               \
    static RESULT_##name CL_API_CALL own_##name(PARAMETERS_##name)

/* Calls the driver's function with the parameters, as they are by then. */
#define PASS(name) below->name(ARGUMENTS_##name)

/* ---- the loader's side ---- */

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    return name == CL_LAYER_API_VERSION ? give_answer(&version, sizeof(version), room, to, size_ret) : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                            const cl_icd_dispatch **table_ret)
{
    static void *table[sizeof(own) / sizeof(void *)], *owns[sizeof(own) / sizeof(void *)];
    below = target;
    memcpy(table, target, sizeof(table));
    memcpy(owns, &own, sizeof(owns));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (owns[i])
            table[i] = owns[i];
    *entries_ret = sizeof(table) / sizeof(void *);
    *table_ret = (const cl_icd_dispatch *)table;
    return CL_SUCCESS;
}

/* ---- for what the layers do ---- */

/* Answers a query, in a function with the parameters of one. */
#define ANSWER(value) give_answer(&(value), sizeof(value), param_value_size, param_value, param_value_size_ret)
#define ANSWER_TEXT(text) give_answer((text), strlen(text) + 1, param_value_size, param_value, param_value_size_ret)

/* Refuses to make an object. */
static inline void *refuse(cl_int *status, cl_int code)
{
    if (status)
        *status = code;
    return NULL;
}

/* Whether a variable of the environment has a value. */
static inline bool is_set(const char *variable, const char *value)
{
    const char *text = getenv(variable);
    return text && strcmp(text, value) == 0;
}

static inline cl_event make_user_event(cl_command_queue queue)
{
    cl_context context = NULL;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    return below->clCreateUserEvent(context, NULL);
}

static inline cl_mem_object_type type_of_memory(cl_mem memory)
{
    cl_mem_object_type type = 0;
    below->clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof(type), &type, NULL);
    return type;
}

#endif
