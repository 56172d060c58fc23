/* Devices: how they can share memory, and what the layer adds to them for that. */
#include "settings.h"
#include "vulkan_layer/layer.h"

#include <stdlib.h>
#include <string.h>

/* What shared memory needs, each for a kind of rows. They are enabled where the device has them: they change nothing. */
static const struct {
    const char *name;
    uint32_t kinds;
} extensions[] = {
    {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, 1u << VULKAN_ROWS_HOST},
    {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, 1u << VULKAN_ROWS_IMAGE},
    {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, 1u << VULKAN_ROWS_DMA_BUF},
};
enum { EXTENSIONS = sizeof(extensions) / sizeof(extensions[0]) };

const void *vulkan_chained(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *each = chain;
    while (each && each->sType != type)
        each = each->pNext;
    return each;
}

void *vulkan_link(const void *chain, VkStructureType type, VkLayerFunction function)
{
    static_assert(offsetof(VkLayerDeviceCreateInfo, function) == offsetof(VkLayerInstanceCreateInfo, function),
                  "the loader's two structures begin in the same way");
    const VkLayerDeviceCreateInfo *link = vulkan_chained(chain, type);
    while (link && link->function != function)
        link = vulkan_chained(link->pNext, type);
    return (void *)(uintptr_t)link;
}

static bool is_enabled(const VkDeviceCreateInfo *info, const char *extension)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0)
            return true;
    return false;
}

/* ---- before a device is created ---- */

/* Which of the extensions the device has, by the kinds of rows that they are for. */
static uint32_t find_kinds(const struct vulkan_device *device, bool *pci)
{
    uint32_t count = 0, kinds = 0;
    *pci = false;
    if (device->instance->EnumerateDeviceExtensionProperties(device->physical, NULL, &count, NULL) != VK_SUCCESS)
        return 0;
    VkExtensionProperties *list = calloc(count + 1, sizeof(*list));
    if (!list || device->instance->EnumerateDeviceExtensionProperties(device->physical, NULL, &count, list) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < EXTENSIONS; k++)
            kinds |= strcmp(list[i].extensionName, extensions[k].name) == 0 ? extensions[k].kinds : 0;
        *pci = *pci || strcmp(list[i].extensionName, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME) == 0;
    }
    free(list);
    /* A dma-buf is got by the functions for file descriptors. */
    return kinds >> VULKAN_ROWS_IMAGE & 1 ? kinds : kinds & ~(1u << VULKAN_ROWS_DMA_BUF);
}

/* The memory types in which buffers are made exportable. Direct3D reports the addresses of its buffers, which is the
 * only way to find them, with one extension (d3d/dxvk.h). Device memory that is visible to the host is used for data
 * that the host writes, so it is exported only if there is no other. */
static uint32_t exported_buffer_types(const struct vulkan_device *device, const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceExternalBufferInfo question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties can = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    uint32_t local = 0, hidden = 0;
    if (!is_enabled(info, VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME) &&
        strcmp(setting_text(SETTING_VULKAN), "export") != 0)
        return 0;
    device->instance->GetPhysicalDeviceExternalBufferProperties(device->physical, &question, &can);
    const VkExternalMemoryFeatureFlags features = can.externalMemoryProperties.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) ||
        (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT))
        return 0;
    for (uint32_t i = 0; i < device->types.memoryTypeCount; i++) {
        const VkMemoryPropertyFlags flags = device->types.memoryTypes[i].propertyFlags;
        if (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            local |= 1u << i;
        if ((flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) && !(flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
            hidden |= 1u << i;
    }
    return hidden ? hidden : local;
}

/* The family of the queue in which Direct3D draws: the first one with graphics. */
static bool find_family(struct vulkan_device *device, const VkDeviceCreateInfo *info)
{
    enum { MOST = 32 };
    VkQueueFamilyProperties families[MOST];
    uint32_t count = MOST;
    device->instance->GetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        const VkDeviceQueueCreateInfo *queues = &info->pQueueCreateInfos[i];
        device->family = queues->queueFamilyIndex;
        if (!queues->flags && device->family < count && (families[device->family].queueFlags & VK_QUEUE_GRAPHICS_BIT))
            return true;
    }
    return false;
}

/* Chooses the method: the one that CLD3D_VULKAN names, otherwise the best for the kind of device. Returns why it cannot
 * be used, or NULL. Exportable images lose their compression with some drivers, and no OpenCL but NVIDIA's imports them. */
static const char *choose_method(struct vulkan_device *device, const VkDeviceCreateInfo *info,
                                 const VkPhysicalDeviceProperties *properties, VkDriverId driver)
{
    const VkDeviceGroupDeviceCreateInfo *group =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    const bool is_cpu = properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    const char *named = setting_text(SETTING_VULKAN);
    if (strcmp(named, "none") == 0)
        return "CLD3D_VULKAN is set to none";
    if (properties->apiVersion < VK_API_VERSION_1_1)
        return "it does not support Vulkan 1.1";
    if (group && group->physicalDeviceCount > 1)
        return "it is a group of several devices";
    const bool records = strcmp(named, "record") == 0, exports = strcmp(named, "export") == 0;
    /* As Wine does for 32-bit programs: then the layer does not see the mappings. */
    const bool maps = is_enabled(info, "VK_KHR_map_memory2") || is_enabled(info, "VK_EXT_map_memory_placed");
    if (strcmp(named, "mapped") == 0 || (is_cpu && !exports && !records && !maps)) {
        device->method = VULKAN_MAPPED;
        return maps ? "the program maps memory in another way" : is_cpu ? NULL : "its memory is not the host's";
    }
    device->method = exports || (driver == VK_DRIVER_ID_NVIDIA_PROPRIETARY && !records) ? VULKAN_EXPORT : VULKAN_RECORD;
    if (device->method == VULKAN_EXPORT && !(device->shares >> VULKAN_ROWS_IMAGE & 1))
        return "it cannot export memory (VK_KHR_external_memory_fd)";
    if (device->method == VULKAN_RECORD && !device->shares)
        return "it shares no memory (VK_EXT_external_memory_host, VK_KHR_external_memory_fd)";
    return device->can_copy ? NULL : "the program has no queue for graphics";
}

static void inspect(struct vulkan_device *device, const VkDeviceCreateInfo *info)
{
    static const char *const methods[] = {"not shared", "copied to shared memory", "shared through mapped memory",
                                          "shared through exported memory"};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                                               .pNext = &id};
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT, .pNext = &driver};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    bool has_pci;
    if (!device->instance->usable) {
        log_write(LOG_INFO, "the Vulkan layer: the program requests Vulkan 1.0: nothing is shared; use a Direct3D that "
                            "requests 1.1 or later");
        return;
    }
    device->shares = find_kinds(device, &has_pci);
    properties.pNext = has_pci ? (void *)&pci : (void *)&driver;
    device->instance->GetPhysicalDeviceProperties2(device->physical, &properties);
    device->instance->GetPhysicalDeviceMemoryProperties(device->physical, &device->types);
    memcpy(device->gpu.uuid, id.deviceUUID, sizeof(device->gpu.uuid));
    memcpy(device->gpu.pci, &pci.pciDomain, sizeof(device->gpu.pci));
    device->smallest = strtoull(setting_text(SETTING_VULKAN_SMALLEST), NULL, 10);
    device->can_copy = find_family(device, info);
    const char *reason = choose_method(device, info, &properties.properties, driver.driverID);
    if (reason)
        device->method = VULKAN_NONE;
    if (device->method == VULKAN_EXPORT)
        device->buffer_types = exported_buffer_types(device, info);
    log_write(LOG_INFO, "the Vulkan layer: images of %s are %s%s%s", properties.properties.deviceName,
              methods[device->method], reason ? ": " : "", reason ? reason : "");
}

/* ---- creation and destruction ---- */

/* With the extensions for shared memory. */
static VkResult create(const struct vulkan_device *device, PFN_vkCreateDevice create_next,
                       const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *made)
{
    const uint32_t count = info->enabledExtensionCount;
    VkDeviceCreateInfo changed = *info;
    if (device->method == VULKAN_NONE)
        return create_next(device->physical, info, allocator, made);
    const char **names = malloc((count + EXTENSIONS) * sizeof(*names));
    if (!names)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        names[i] = info->ppEnabledExtensionNames[i];
    changed.ppEnabledExtensionNames = names;
    for (size_t i = 0; i < EXTENSIONS; i++)
        if ((device->shares & extensions[i].kinds) && !is_enabled(info, extensions[i].name))
            names[changed.enabledExtensionCount++] = extensions[i].name;
    const VkResult result = create_next(device->physical, &changed, allocator, made);
    free(names);
    return result;
}

/* What the layer's own commands need. The loader must be told of objects that it has not seen created. */
static bool open_copier(struct vulkan_device *device)
{
    const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                          VK_COMMAND_POOL_CREATE_TRANSIENT_BIT, device->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    device->calls.GetDeviceQueue(device->handle, device->family, 0, &device->queue);
    if (!device->set_loader_data || device->set_loader_data(device->handle, device->queue) != VK_SUCCESS ||
        device->calls.CreateFence(device->handle, &fence, NULL, &device->fence) != VK_SUCCESS ||
        device->calls.CreateCommandPool(device->handle, &pool, NULL, &device->pool) != VK_SUCCESS)
        return false;
    commands.commandPool = device->pool;
    return device->calls.AllocateCommandBuffers(device->handle, &commands, &device->commands) == VK_SUCCESS &&
           device->set_loader_data(device->handle, device->commands) == VK_SUCCESS;
}

static void close_copier(struct vulkan_device *device)
{
    vulkan_copier_wait(device);
    if (device->pool)
        device->calls.DestroyCommandPool(device->handle, device->pool, NULL);
    if (device->fence)
        device->calls.DestroyFence(device->handle, device->fence, NULL);
    device->pool = VK_NULL_HANDLE;
    device->fence = VK_NULL_HANDLE;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkDevice *made)
{
    const VkStructureType type = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO;
    VkLayerDeviceCreateInfo *link = vulkan_link(info->pNext, type, VK_LAYER_LINK_INFO),
                            *data = vulkan_link(info->pNext, type, VK_LOADER_DATA_CALLBACK);
    const struct vulkan_instance *instance = vulkan_instance_of(physical);
    struct vulkan_device *device = link && instance ? calloc(1, sizeof(*device)) : NULL;
    if (!device)
        return VK_ERROR_INITIALIZATION_FAILED;
    const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    device->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    device->instance = instance;
    device->physical = physical;
    device->queue_lock = (os_mutex)OS_MUTEX_INIT;
    device->set_loader_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    inspect(device, info);
    const PFN_vkCreateDevice create_next = (PFN_vkCreateDevice)get_instance(instance->handle, "vkCreateDevice");
    const VkResult result =
        create_next ? create(device, create_next, info, allocator, made) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(device);
        return result;
    }
    device->handle = *made;
#define X(name)                                                                 \
    device->calls.name = (PFN_vk##name)device->get(device->handle, "vk" #name); \
    if (!device->calls.name)                                                    \
        device->calls.name = (PFN_vk##name)device->get(device->handle, "vk" #name "KHR");
    VULKAN_CALLS(X)
#undef X
    if (device->method != VULKAN_NONE && device->can_copy && !open_copier(device)) {
        log_write(LOG_WARN, "the Vulkan layer: no memory for its commands: nothing is shared");
        close_copier(device);
        device->method = VULKAN_NONE;
    }
    vulkan_device_add(device);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vulkan_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    const PFN_vkDestroyDevice destroy = device->calls.DestroyDevice;
    vulkan_drop_all_rows(device);
    close_copier(device);
    vulkan_device_remove(device);
    free(device);
    destroy(handle, allocator);
}
