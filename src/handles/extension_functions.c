/* Functions of drivers' extensions that programs obtain by name and that cld3d replaces. */
#include "handles/extension_functions.h"

#include "handles/kernel.h"

#include <string.h>

typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);

/* The function of the first driver from which a program has obtained it. */
static _Atomic(set_pointer_fn) set_below;

/* OpenVINO's: the pointer replaces the memory object that the argument named. */
static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint index, const void *value)
{
    const cl_int status = atomic_load(&set_below)(kernel, index, value);
    if (status == CL_SUCCESS)
        kernel_forget_argument(kernel, index);
    return status;
}

next_function extension_function(cl_platform_id platform, const char *name, void *function)
{
    if (strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0 && !platform_predates(platform, 2))
        return (next_function)tier_share()->clCreateCommandQueueWithProperties;
    if (strcmp(name, "clSetKernelArgMemPointerINTEL") != 0)
        return NULL;
    const set_pointer_fn driver = (set_pointer_fn)next_function_at(function);
    set_pointer_fn first = NULL;
    return atomic_compare_exchange_strong(&set_below, &first, driver) || first == driver ? (next_function)set_pointer
                                                                                         : NULL;
}
