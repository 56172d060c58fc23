/* Devices: their capabilities, and what they need so that their memory can be shared. */
#include "vulkan_layer/layer.h"
#include "log.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char fd_extension[] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
/* With this extension Direct3D reports the addresses of its buffers, the only way to find them (d3d/dxvk.h). */
static const char address_extension[] = VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME;

/* Each exportable image has its own memory, so a device must allow this many allocations. */
enum { FEW_ALLOCATIONS = 65536 };

const void *vulkan_chained(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *each = chain;
    while (each && each->sType != type)
        each = each->pNext;
    return each;
}

static bool is_asked_for(const VkDeviceCreateInfo *info, const char *extension)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0)
            return true;
    return false;
}

/* ---- capabilities ---- */

static uint64_t smallest_image(void)
{
    const char *text = setting_text(SETTING_VULKAN_SMALLEST);
    if (!text[0] || text[strspn(text, "0123456789")]) {
        log_write(LOG_WARN, "%s is '%s', which is not a number of bytes; using the default, %s",
                  setting_variable(SETTING_VULKAN_SMALLEST), text, setting_default(SETTING_VULKAN_SMALLEST));
        text = setting_default(SETTING_VULKAN_SMALLEST);
    }
    return strtoull(text, NULL, 10);
}

static bool has_fd_extension(const struct vulkan_instance *instance, VkPhysicalDevice physical)
{
    uint32_t count = 0;
    bool found = false;
    if (instance->extensions(physical, NULL, &count, NULL) != VK_SUCCESS || !count)
        return false;
    VkExtensionProperties *list = calloc(count, sizeof(*list));
    if (list && instance->extensions(physical, NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count && !found; i++)
            found = strcmp(list[i].extensionName, fd_extension) == 0;
    free(list);
    return found;
}

bool vulkan_exports_buffers(const struct vulkan_device *device, VkBufferCreateFlags flags, VkBufferUsageFlags usage)
{
    const VkPhysicalDeviceExternalBufferInfo question = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, NULL,
                                                         flags, usage, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties can = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    device->instance->buffer_properties(device->physical, &question, &can);
    const VkExternalMemoryFeatureFlags features = can.externalMemoryProperties.externalMemoryFeatures;
    return (features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) &&
           !(features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
}

/* Whether memory that buffers share can be exported; and for each memory type, whether it is exported. Device memory
 * that is visible to the host (a window into the GPU's memory) is used for data that the host writes, so it is exported
 * only if there is no other. */
static bool exports_buffers(struct vulkan_device *device)
{
    const VkMemoryPropertyFlags both = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    uint32_t local = 0, hidden = 0;
    for (uint32_t i = 0; i < device->types.memoryTypeCount; i++) {
        const VkMemoryPropertyFlags flags = device->types.memoryTypes[i].propertyFlags & both;
        local |= (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? 1u : 0u) << i;
        hidden |= (flags == VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? 1u : 0u) << i;
    }
    device->chunk_types = hidden ? hidden : local;
    return vulkan_exports_buffers(device, 0,
                                  VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
}

/* Whether Direct3D may report addresses of buffers, or the user requests export. Otherwise buffer memory stays
 * unchanged. */
static bool may_tell_addresses(const VkDeviceCreateInfo *info)
{
    return is_asked_for(info, address_extension) || strcmp(setting_text(SETTING_VULKAN), "export") == 0;
}

/* The method that CLD3D_VULKAN names, otherwise the best for the kind of device. */
static enum vulkan_method wanted_method(const VkPhysicalDeviceProperties *properties)
{
    const char *named = setting_text(SETTING_VULKAN);
    if (strcmp(named, "none") == 0)
        return VULKAN_NONE;
    if (strcmp(named, "mapped") == 0 || strcmp(named, "export") == 0)
        return named[0] == 'm' ? VULKAN_MAPPED : VULKAN_EXPORT;
    return properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? VULKAN_MAPPED : VULKAN_EXPORT;
}

static const char *why_not(const struct vulkan_device *device, const VkPhysicalDeviceProperties *properties,
                           const VkDeviceCreateInfo *info)
{
    const VkDeviceGroupDeviceCreateInfo *group =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    if (device->method == VULKAN_NONE)
        return "CLD3D_VULKAN is set to none";
    if (group && group->physicalDeviceCount > 1)
        return "it is a group of several devices";
    if (properties->apiVersion < VK_API_VERSION_1_1)
        return "it does not support Vulkan 1.1";
    if (device->method == VULKAN_EXPORT && !has_fd_extension(device->instance, device->physical))
        return "it cannot export memory (VK_KHR_external_memory_fd)";
    if (device->method == VULKAN_EXPORT && properties->limits.maxMemoryAllocationCount < FEW_ALLOCATIONS)
        return "it allows too few memory allocations";
    return NULL;
}

/* Before the device is created: determines its capabilities and how it can share memory. */
static void look(struct vulkan_device *device, const VkDeviceCreateInfo *info)
{
    static const char *const methods[] = {"not shared", "shared through mapped memory",
                                          "shared through exported memory"};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    if (!device->instance->usable) {
        log_write(LOG_INFO, "the Vulkan layer: the program requests Vulkan 1.0: nothing is shared; use a Direct3D that "
                            "requests 1.1 or later");
        return;
    }
    device->instance->properties(device->physical, &properties);
    device->instance->memory_properties(device->physical, &device->types);
    memcpy(device->uuid, id.deviceUUID, sizeof(device->uuid));
    device->granularity = properties.properties.limits.bufferImageGranularity;
    device->smallest = smallest_image();
    device->method = wanted_method(&properties.properties);
    const char *reason = why_not(device, &properties.properties, info);
    if (reason)
        device->method = VULKAN_NONE;
    device->exports_buffers = device->method == VULKAN_EXPORT && may_tell_addresses(info) && exports_buffers(device);
    log_write(LOG_INFO, "the Vulkan layer: images of %s are %s%s%s", properties.properties.deviceName,
              methods[device->method], reason ? ": " : "", reason ? reason : "");
}

/* ---- creation and destruction ---- */

static VkLayerDeviceCreateInfo *link_of(const VkDeviceCreateInfo *info, VkLayerFunction function)
{
    for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext) {
        const VkLayerDeviceCreateInfo *link = (const void *)each;
        if (each->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == function)
            return (VkLayerDeviceCreateInfo *)(uintptr_t)link;
    }
    return NULL;
}

/* With the extension that export needs. */
static VkResult create_with_extension(PFN_vkCreateDevice create, VkPhysicalDevice physical,
                                      const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                      VkDevice *made)
{
    VkDeviceCreateInfo changed = *info;
    const uint32_t count = info->enabledExtensionCount;
    const char **names = malloc((count + 1) * sizeof(*names));
    if (!names)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        names[i] = info->ppEnabledExtensionNames[i];
    names[count] = fd_extension;
    changed.ppEnabledExtensionNames = names;
    changed.enabledExtensionCount = count + 1;
    const VkResult result = create(physical, &changed, allocator, made);
    free(names);
    return result;
}

/* The layers below remove their links from the chain and do not restore them, so the chain must be restored before a
 * second try. */
static VkResult create(struct vulkan_device *device, PFN_vkCreateDevice create_next, VkLayerDeviceCreateInfo *link,
                       const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *made)
{
    VkLayerDeviceLink *below = link->u.pLayerInfo;
    if (device->method == VULKAN_EXPORT && !is_asked_for(info, fd_extension)) {
        device->adds_export = create_with_extension(create_next, device->physical, info, allocator, made) == VK_SUCCESS;
        if (device->adds_export)
            return VK_SUCCESS;
        link->u.pLayerInfo = below;
        device->method = VULKAN_NONE;
        device->exports_buffers = false;
    }
    return create_next(device->physical, info, allocator, made);
}

static PFN_vkVoidFunction find(const struct vulkan_device *device, const char *name, const char *alias)
{
    PFN_vkVoidFunction found = device->get(device->handle, name);
    return found || !alias ? found : device->get(device->handle, alias);
}

static void load(struct vulkan_device *device)
{
#define X(member, type, name, alias) device->calls.member = (type)find(device, name, alias);
    VULKAN_CALLS(X)
#undef X
}

static uint32_t types_of_buffer(const struct vulkan_device *device, const VkBufferCreateInfo *info)
{
    VkBuffer buffer = VK_NULL_HANDLE;
    VkMemoryRequirements needs;
    if (device->calls.create_buffer(device->handle, info, NULL, &buffer) != VK_SUCCESS)
        return 0;
    device->calls.buffer_needs(device->handle, buffer, &needs);
    device->calls.destroy_buffer(device->handle, buffer, NULL);
    return needs.memoryTypeBits;
}

/* Whether buffers that may be bound to exportable memory are declared as such, as Vulkan requires. NVIDIA's driver does
 * not need the declaration, and with it does not allow host-visible memory for them. */
static bool marks_buffers(const struct vulkan_device *device)
{
    const VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
                                                       VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 65536,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    const uint32_t plain = types_of_buffer(device, &info);
    info.pNext = &external;
    return plain == types_of_buffer(device, &info);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *made)
{
    VkLayerDeviceCreateInfo *link = link_of(info, VK_LAYER_LINK_INFO), *data = link_of(info, VK_LOADER_DATA_CALLBACK);
    const struct vulkan_instance *instance = vulkan_instance_of(physical);
    struct vulkan_device *device = link && instance ? calloc(1, sizeof(*device)) : NULL;
    if (!device)
        return VK_ERROR_INITIALIZATION_FAILED;
    const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    device->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    device->instance = instance;
    device->physical = physical;
    device->set_loader_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    look(device, info);
    const PFN_vkCreateDevice create_next = (PFN_vkCreateDevice)get_instance(instance->handle, "vkCreateDevice");
    const VkResult result =
        create_next ? create(device, create_next, link, info, allocator, made) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(device);
        return result;
    }
    device->handle = *made;
    load(device);
    device->marks_buffers = device->exports_buffers && marks_buffers(device);
    vulkan_device_add(device);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vulkan_destroy_device(VkDevice handle, const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = handle ? vulkan_device_of(handle) : NULL;
    if (!device)
        return;
    const PFN_vkDestroyDevice destroy = device->calls.destroy_device;
    vulkan_copy_close(device);
    vulkan_device_remove(device);
    free(device);
    destroy(handle, allocator);
}
