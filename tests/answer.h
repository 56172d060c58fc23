/* How layers of the tests answer a query of OpenCL. */
#ifndef ANSWER_H
#define ANSWER_H

#include <CL/cl.h>
#include <string.h>

static inline cl_int give_answer(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to && capacity < size)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, value, size);
    if (size_ret)
        *size_ret = size;
    return CL_SUCCESS;
}

#endif
