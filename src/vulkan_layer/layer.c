/* The entry of the Vulkan layer: the functions that the Vulkan loader calls, instances, and the table of the layer's
 * functions. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>
#include <string.h>

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance, const char *);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice, const char *);

/* ---- instances ---- */

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *made)
{
    const VkApplicationInfo *application = info->pApplicationInfo;
    VkLayerInstanceCreateInfo *link =
        vulkan_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VK_LAYER_LINK_INFO);
    struct vulkan_instance *instance = link ? calloc(1, sizeof(*instance)) : NULL;
    if (!instance)
        return VK_ERROR_INITIALIZATION_FAILED;
    instance->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    /* The contents of `made` are passed down unchanged: the loader has stored its own data there. */
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)instance->get(NULL, "vkCreateInstance");
    const VkResult result = create ? create(info, allocator, made) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(instance);
        return result;
    }
    instance->handle = *made;
    instance->usable = application && application->apiVersion >= VK_API_VERSION_1_1;
#define X(name)                                                                 \
    instance->name = (PFN_vk##name)instance->get(instance->handle, "vk" #name); \
    instance->usable = instance->usable && instance->name;
    VULKAN_INSTANCE_CALLS(X)
#undef X
    vulkan_instance_add(instance);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator)
{
    struct vulkan_instance *instance = vulkan_instance_of(handle);
    const PFN_vkDestroyInstance destroy = instance->DestroyInstance;
    vulkan_instance_remove(instance);
    free(instance);
    destroy(handle, allocator);
}

/* ---- the functions of the layer ---- */

struct entry {
    const char *name;
    PFN_vkVoidFunction function;
};

#define ENTRY(name, function)                \
    {                                        \
        name, (PFN_vkVoidFunction)(function) \
    }

static const struct entry instance_entries[] = {
    ENTRY("vkGetInstanceProcAddr", get_instance_function),
    ENTRY("vkGetDeviceProcAddr", get_device_function),
    ENTRY("vkCreateInstance", create_instance),
    ENTRY("vkDestroyInstance", destroy_instance),
    ENTRY("vkCreateDevice", vulkan_CreateDevice),
    {NULL, NULL},
};

/* Functions for every device. */
static const struct entry device_entries[] = {
    ENTRY("vkGetDeviceProcAddr", get_device_function),
    ENTRY("vkDestroyDevice", vulkan_DestroyDevice),
    {NULL, NULL},
};

/* Functions for devices that share, and the names that some of them had in an extension. */
static const struct entry shared_entries[] = {
#define X(name) ENTRY("vk" #name, vulkan_##name), ENTRY("vk" #name "KHR", vulkan_##name),
    VULKAN_OURS(X)
#undef X
        {NULL, NULL},
};

static PFN_vkVoidFunction look_up(const struct entry *entries, const char *name)
{
    while (entries->name && strcmp(entries->name, name) != 0)
        entries++;
    return entries->function;
}

/* If the device lacks a function, the layer does not provide it either. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char *name)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const PFN_vkVoidFunction ours = look_up(device_entries, name);
    if (ours)
        return ours;
    const PFN_vkVoidFunction below = device->get(handle, name);
    const PFN_vkVoidFunction shared = below && device->method != VULKAN_NONE ? look_up(shared_entries, name) : NULL;
    return shared ? shared : below;
}

/* The loader gets functions of devices through vkGetDeviceProcAddr. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance handle, const char *name)
{
    const PFN_vkVoidFunction ours = look_up(instance_entries, name);
    const struct vulkan_instance *instance = ours || !handle ? NULL : vulkan_instance_of(handle);
    return instance ? instance->get(handle, name) : ours;
}

/* ---- the entry ---- */

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
    enum { OURS = 2 };
    if (!interface || interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        interface->loaderLayerInterfaceVersion < OURS)
        return VK_ERROR_INITIALIZATION_FAILED;
    interface->loaderLayerInterfaceVersion = OURS;
    interface->pfnGetInstanceProcAddr = get_instance_function;
    interface->pfnGetDeviceProcAddr = get_device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
