/* Functions by name: cld3d returns those of its extensions, the OpenCL below everything else. */
#include "share/share.h"

#include "log.h"
#include "handles/kernel.h"

#include <string.h>

static next_function (*own_function)(const char *name);

static bool begins_with(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

/* Whether a function may cause writes that cld3d does not see: commands of other extensions, command buffers, and writes
 * to the objects that Intel's and AMD's functions create over another object's memory, or to a shared buffer's address.
 * Commands on shared virtual memory name no object. */
static bool may_write_unseen(const char *name)
{
    static const char *const beginnings[] = {"clEnqueue",
                                             "clCommand",
                                             "clUpdate",
                                             "clConvertImage",
                                             "clGetPlaneFromImage",
                                             "clCreateBufferFromImage",
                                             "clCreateImage",
                                             "clSetKernelArgDevicePointer"};
    if (begins_with(name, "clEnqueueSVM"))
        return false;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (begins_with(name, beginnings[i]))
            return true;
    return strstr(name, "CommandBuffer") != NULL;
}

/* The function for the program instead of the one that the OpenCL below returns by this name. */
static void *from_below(const char *name, void *address)
{
    if (!address || !name)
        return address;
    /* Some drivers return core functions by name, and loaders those that they do not export; the latter stay
     * unchanged. */
    const struct next_slot *slot = next_slot_find(name);
    next_function ours = slot ? next_slot_get(tier_share(), slot) : kernel_function(name, address);
    if (slot && ours == slot->missing)
        return address;
    if (ours)
        return next_address_of(ours);
    if (may_write_unseen(name))
        writes_hidden(name);
    return address;
}

static void *CL_API_CALL get_address_for_platform(cl_platform_id platform, const char *func_name)
{
    const next_function own = own_function(func_name);
    if (own && platform_valid(platform))
        return next_address_of(own);
    if (own) {
        log_refuse("clGetExtensionFunctionAddressForPlatform", CL_INVALID_PLATFORM, "%p is not a platform",
                   (void *)platform);
        return NULL;
    }
    return from_below(func_name, below()->clGetExtensionFunctionAddressForPlatform(platform, func_name));
}

static void *CL_API_CALL get_address(const char *func_name)
{
    const next_function own = own_function(func_name);
    return own ? next_address_of(own) : from_below(func_name, below()->clGetExtensionFunctionAddress(func_name));
}

void functions_install(cl_icd_dispatch *table, next_function (*own)(const char *name))
{
    own_function = own;
    table->clGetExtensionFunctionAddressForPlatform = get_address_for_platform;
    table->clGetExtensionFunctionAddress = get_address;
}
