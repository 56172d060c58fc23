/* The entry of the Vulkan layer: the functions that the Vulkan loader calls, instances, and the table of the layer's
 * functions. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>
#include <string.h>

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance, const char *);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice, const char *);

/* ---- instances ---- */

static VkLayerInstanceCreateInfo *link_of(const VkInstanceCreateInfo *info)
{
    for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext) {
        const VkLayerInstanceCreateInfo *link = (const void *)each;
        if (each->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)
            return (VkLayerInstanceCreateInfo *)(uintptr_t)link;
    }
    return NULL;
}

static void load(struct vulkan_instance *instance, const VkApplicationInfo *application)
{
#define LOAD(member, type, name) instance->member = (type)instance->get(instance->handle, name)
    LOAD(destroy, PFN_vkDestroyInstance, "vkDestroyInstance");
    LOAD(extensions, PFN_vkEnumerateDeviceExtensionProperties, "vkEnumerateDeviceExtensionProperties");
    LOAD(properties, PFN_vkGetPhysicalDeviceProperties2, "vkGetPhysicalDeviceProperties2");
    LOAD(memory_properties, PFN_vkGetPhysicalDeviceMemoryProperties, "vkGetPhysicalDeviceMemoryProperties");
    LOAD(queue_families, PFN_vkGetPhysicalDeviceQueueFamilyProperties, "vkGetPhysicalDeviceQueueFamilyProperties");
    LOAD(format_properties, PFN_vkGetPhysicalDeviceFormatProperties, "vkGetPhysicalDeviceFormatProperties");
    LOAD(image_properties, PFN_vkGetPhysicalDeviceImageFormatProperties2, "vkGetPhysicalDeviceImageFormatProperties2");
    LOAD(buffer_properties, PFN_vkGetPhysicalDeviceExternalBufferProperties,
         "vkGetPhysicalDeviceExternalBufferProperties");
#undef LOAD
    instance->usable = application && application->apiVersion >= VK_API_VERSION_1_1 && instance->extensions &&
                       instance->properties && instance->memory_properties && instance->queue_families &&
                       instance->format_properties && instance->image_properties && instance->buffer_properties;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *made)
{
    VkLayerInstanceCreateInfo *link = link_of(info);
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
    load(instance, info->pApplicationInfo);
    vulkan_instance_add(instance);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator)
{
    struct vulkan_instance *instance = handle ? vulkan_instance_of(handle) : NULL;
    if (!instance)
        return;
    const PFN_vkDestroyInstance destroy = instance->destroy;
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
    ENTRY("vkCreateInstance", create_instance),
    ENTRY("vkDestroyInstance", destroy_instance),
    ENTRY("vkCreateDevice", vulkan_create_device),
};

/* Functions for every device. */
static const struct entry device_entries[] = {
    ENTRY("vkGetDeviceProcAddr", get_device_function),
    ENTRY("vkDestroyDevice", vulkan_destroy_device),
};

/* Functions for devices that share. The fourth parameter is the function's second name, or NULL. */
static const struct entry shared_entries[] = {
#define X(member, type, name, alias) ENTRY(name, vulkan_##member), ENTRY(alias, vulkan_##member),
    VULKAN_OURS(X)
#undef X
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static PFN_vkVoidFunction look_up(const struct entry *entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].name && strcmp(entries[i].name, name) == 0)
            return entries[i].function;
    return NULL;
}

/* Whether the function belongs to an extension that cld3d enabled and the program did not request. */
static bool is_hidden(const struct vulkan_device *device, const char *name)
{
    return device->adds_export &&
           (strcmp(name, "vkGetMemoryFdKHR") == 0 || strcmp(name, "vkGetMemoryFdPropertiesKHR") == 0);
}

/* If the device lacks a function, cld3d does not provide it either. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char *name)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    PFN_vkVoidFunction ours = look_up(device_entries, COUNT(device_entries), name);
    if (!device || ours)
        return ours;
    const PFN_vkVoidFunction below = is_hidden(device, name) ? NULL : device->get(handle, name);
    if (below && device->method != VULKAN_NONE)
        ours = look_up(shared_entries, COUNT(shared_entries), name);
    return ours ? ours : below;
}

/* cld3d's functions for devices serve all devices, including those that share nothing. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance handle, const char *name)
{
    PFN_vkVoidFunction ours = look_up(instance_entries, COUNT(instance_entries), name);
    const struct vulkan_instance *instance = ours || !handle ? NULL : vulkan_instance_of(handle);
    if (!instance)
        return ours;
    ours = look_up(device_entries, COUNT(device_entries), name);
    const PFN_vkVoidFunction below = ours ? NULL : instance->get(handle, name);
    if (below)
        ours = look_up(shared_entries, COUNT(shared_entries), name);
    return ours ? ours : below;
}

/* ---- the entry ---- */

VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
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
