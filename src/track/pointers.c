/* Functions of extensions that set a pointer as a kernel's argument: it takes the place of the memory object that the
 * argument named before. Programs ask for them by name, of each platform. */
#include "track/kernel.h"

#include "log.h"

#include <string.h>

enum { PLATFORMS = 16 };

typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);
typedef cl_int(CL_API_CALL *set_address_fn)(cl_kernel, cl_uint, cl_ulong);

/* Drivers' functions of one name. */
struct setter {
    const char *name;
    unsigned count; /* guarded by registry_lock, like what follows */
    void *of[PLATFORMS];
    cl_platform_id platforms[PLATFORMS];
};

static struct setter intel = {.name = "clSetKernelArgMemPointerINTEL"}, arm = {.name = "clSetKernelArgSVMPointerARM"},
                     ext = {.name = "clSetKernelArgDevicePointerEXT"};

static cl_platform_id platform_of(cl_kernel kernel)
{
    cl_context context = NULL;
    cl_device_id devices[64];
    cl_platform_id platform = NULL;
    if (below()->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS &&
        below()->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL) == CL_SUCCESS)
        below()->clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

/* The function of the kernel's driver: the only one there is, most often. */
static void *function_for(const struct setter *setter, cl_kernel kernel)
{
    os_lock(&registry_lock);
    const unsigned count = setter->count;
    void *function = setter->of[0];
    os_unlock(&registry_lock);
    if (count == 1)
        return function;
    cl_platform_id platform = platform_of(kernel);
    os_lock(&registry_lock);
    for (unsigned i = 0; i < setter->count; i++)
        if (setter->platforms[i] == platform)
            function = setter->of[i];
    os_unlock(&registry_lock);
    return function;
}

static cl_int set_pointer(const struct setter *setter, cl_kernel kernel, cl_uint index, const void *value)
{
    void *address = function_for(setter, kernel);
    set_pointer_fn function;
    memcpy(&function, &address, sizeof(function));
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
    void *address = function_for(&ext, kernel);
    set_address_fn function;
    memcpy(&function, &address, sizeof(function));
    const cl_int status = function(kernel, index, value);
    if (status == CL_SUCCESS)
        kernel_forget_argument(kernel, index);
    return status;
}

static const struct {
    struct setter *setter;
    next_function ours;
} setters[] = {{&intel, (next_function)set_intel}, {&arm, (next_function)set_arm}, {&ext, (next_function)set_ext}};

/* False: too many platforms. */
static bool remember(struct setter *setter, cl_platform_id platform, void *function)
{
    unsigned i = 0;
    os_lock(&registry_lock);
    while (i < setter->count && (setter->of[i] != function || setter->platforms[i] != platform))
        i++;
    const bool capacity = i < PLATFORMS;
    if (capacity) {
        setter->of[i] = function;
        setter->platforms[i] = platform;
    }
    if (capacity && i == setter->count)
        setter->count++;
    os_unlock(&registry_lock);
    return capacity;
}

next_function pointer_setter(cl_platform_id platform, const char *name, void *function)
{
    for (unsigned i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
        if (strcmp(setters[i].setter->name, name) != 0)
            continue;
        if (setters[i].setter == &ext)
            writes_hidden(name); /* it may be the address of a shared buffer */
        return remember(setters[i].setter, platform, function) ? setters[i].ours : NULL;
    }
    return NULL;
}
