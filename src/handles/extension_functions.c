/* Each platform's extension functions that programs obtain by name and that cld3d replaces: functions that set a
 * pointer as a kernel's argument, which replaces the memory object that the argument named; and functions that create
 * queues, which must be tracked to be used in an acquire. */
#include "handles/extension_functions.h"

#include "emulate/fence.h"
#include "log.h"
#include "next/handle.h"
#include "handles/kernel.h"

#include <string.h>

enum { PLATFORMS = 16 };

typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);
typedef cl_int(CL_API_CALL *set_address_fn)(cl_kernel, cl_uint, cl_ulong);

/* Drivers' functions of one name. */
struct named {
    const char *name;
    unsigned count; /* guarded by registry_lock, like what follows */
    next_function of[PLATFORMS];
    cl_platform_id platforms[PLATFORMS];
};

static struct named intel = {.name = "clSetKernelArgMemPointerINTEL"}, arm = {.name = "clSetKernelArgSVMPointerARM"},
                    ext = {.name = "clSetKernelArgDevicePointerEXT"},
                    queues = {.name = "clCreateCommandQueueWithPropertiesKHR"},
                    counting = {.name = "clCreatePerfCountersCommandQueueINTEL"};

static cl_platform_id platform_of(cl_kernel kernel)
{
    cl_context context = NULL;
    if (below()->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS)
        return NULL;
    return platform_of_context(context);
}

/* The function of a platform, or the first one. */
static next_function function_of(const struct named *named, cl_platform_id platform)
{
    os_lock(&registry_lock);
    next_function function = named->of[0];
    for (unsigned i = 0; i < named->count; i++)
        if (named->platforms[i] == platform)
            function = named->of[i];
    os_unlock(&registry_lock);
    return function;
}

/* Whether there is only one function, the usual case. */
static bool is_only(const struct named *named)
{
    os_lock(&registry_lock);
    const bool only = named->count == 1;
    os_unlock(&registry_lock);
    return only;
}

static next_function function_for(const struct named *named, cl_kernel kernel)
{
    return function_of(named, is_only(named) ? NULL : platform_of(kernel));
}

static cl_int set_pointer(const struct named *named, cl_kernel kernel, cl_uint index, const void *value)
{
    const set_pointer_fn function = (set_pointer_fn)function_for(named, kernel);
    const cl_int status = function(kernel, index, value);
    if (status == CL_SUCCESS)
        kernel_forget_argument(kernel, index);
    return status;
}

static cl_int CL_API_CALL set_intel(cl_kernel kernel, cl_uint index, const void *value)
{
    return set_pointer(&intel, kernel, index, value);
}

static cl_int CL_API_CALL set_arm(cl_kernel kernel, cl_uint index, const void *value)
{
    return set_pointer(&arm, kernel, index, value);
}

static cl_int CL_API_CALL set_ext(cl_kernel kernel, cl_uint index, cl_ulong value)
{
    const set_address_fn function = (set_address_fn)function_for(&ext, kernel);
    const cl_int status = function(kernel, index, value);
    if (status == CL_SUCCESS)
        kernel_forget_argument(kernel, index);
    return status;
}

static next_function function_for_device(const struct named *named, cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (!is_only(named) && handle_may_be(device, clGetDeviceInfo))
        below()->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return function_of(named, platform);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 const cl_queue_properties *properties, cl_int *errcode_ret)
{
    typedef cl_command_queue(CL_API_CALL * create_fn)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *);
    const create_fn create = (create_fn)function_for_device(&queues, device);
    cl_command_queue queue = fence_follow(create(context, device, properties, errcode_ret), context, errcode_ret);
    return queue_followed(queues.name, context, queue, errcode_ret);
}

static cl_command_queue CL_API_CALL create_counting(cl_context context, cl_device_id device,
                                                    cl_command_queue_properties properties, cl_uint configuration,
                                                    cl_int *errcode_ret)
{
    typedef cl_command_queue(CL_API_CALL * create_fn)(cl_context, cl_device_id, cl_command_queue_properties, cl_uint,
                                                      cl_int *);
    const create_fn create = (create_fn)function_for_device(&counting, device);
    cl_command_queue queue =
        fence_follow(create(context, device, properties, configuration, errcode_ret), context, errcode_ret);
    return queue_followed(counting.name, context, queue, errcode_ret);
}

static const struct {
    struct named *named;
    next_function ours;
} replaced[] = {{&intel, (next_function)set_intel},
                {&arm, (next_function)set_arm},
                {&ext, (next_function)set_ext},
                {&queues, (next_function)create_queue},
                {&counting, (next_function)create_counting}};

/* False: too many platforms. */
static bool remember(struct named *named, cl_platform_id platform, next_function function)
{
    unsigned i = 0;
    os_lock(&registry_lock);
    while (i < named->count && (named->of[i] != function || named->platforms[i] != platform))
        i++;
    const bool capacity = i < PLATFORMS;
    if (capacity) {
        named->of[i] = function;
        named->platforms[i] = platform;
    }
    if (capacity && i == named->count)
        named->count++;
    os_unlock(&registry_lock);
    return capacity;
}

next_function extension_function(cl_platform_id platform, const char *name, void *function)
{
    for (unsigned i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++) {
        if (strcmp(replaced[i].named->name, name) != 0)
            continue;
        if (replaced[i].named == &queues && !platform_predates(platform, 2))
            return (next_function)tier_share()->clCreateCommandQueueWithProperties; /* equivalent, with more checks */
        if (replaced[i].named == &ext)
            writes_hidden(name); /* it may be the address of a shared buffer */
        return remember(replaced[i].named, platform, next_function_at(function)) ? replaced[i].ours : NULL;
    }
    return NULL;
}
