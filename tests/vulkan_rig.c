#define _GNU_SOURCE /* dl_iterate_phdr */
#include "vulkan_rig.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- instance and device ---- */

/* What else the machine has of layers must not matter, nor other drivers. By hand Vulkan's validation can be set below ours
 * (docs/testing.md). */
static void set_environment(bool layer)
{
    const char *folder = getenv("CLD3D_TEST_VULKAN_LAYER"), *below = getenv("CLD3D_TEST_VULKAN_BELOW");
    char layers[256];
    snprintf(layers, sizeof(layers), "%s:%s", layer ? "VK_LAYER_CLD3D_share" : "", below ? below : "");
    setenv("VK_LOADER_LAYERS_DISABLE", "~implicit~", 1);
    setenv("VK_ADD_LAYER_PATH", folder ? folder : "", 1);
    setenv("VK_INSTANCE_LAYERS", layers, 1);
    /* Its names in Debian 12, and since 13. */
    setenv("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json:/usr/share/vulkan/icd.d/lvp_icd.json", 0);
}

/* A driver stays loaded, so that the sanitizers know whose is what it leaves behind. */
static int keep_driver(struct dl_phdr_info *library, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (library->dlpi_name && strstr(library->dlpi_name, "libvulkan_"))
        dlopen(library->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

static bool make_instance(struct vulkan_rig *rig)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *get = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    memcpy(&rig->get, &get, sizeof(get));
    if (!get) {
        SKIP("there is no Vulkan loader (Debian: libvulkan1)");
        return false;
    }
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)rig->get(NULL, "vkCreateInstance");
    const VkResult result = create(&info, NULL, &rig->instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        SKIP("there is no Vulkan driver (Debian: mesa-vulkan-drivers)");
        return false;
    }
    if (!CHECK_INT(result, VK_SUCCESS))
        return false;
#define X(name) rig->name = (PFN_vk##name)rig->get(rig->instance, "vk" #name);
    VULKAN_INSTANCE_FUNCTIONS(X)
#undef X
    return true;
}

static bool find_physical(struct vulkan_rig *rig)
{
    uint32_t count = 1;
    const bool found = rig->EnumeratePhysicalDevices(rig->instance, &count, &rig->physical) >= 0 && count;
    if (!found)
        SKIP("the Vulkan driver has no device");
    return found;
}

bool vulkan_open_device(struct vulkan_rig *rig)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceSamplerYcbcrConversionFeatures planes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SAMPLER_YCBCR_CONVERSION_FEATURES, .pNext = &addresses};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &planes};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &planes,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = rig->extension != NULL,
                                     .ppEnabledExtensionNames = &rig->extension};
    rig->GetPhysicalDeviceFeatures2(rig->physical, &features); /* what there is of these two */
    addresses.bufferDeviceAddressCaptureReplay = addresses.bufferDeviceAddressMultiDevice = VK_FALSE;
    if (!CHECK_INT(rig->CreateDevice(rig->physical, &info, NULL, &rig->device), VK_SUCCESS))
        return false;
#define X(name) rig->name = (PFN_vk##name)rig->GetDeviceProcAddr(rig->device, "vk" #name);
    VULKAN_DEVICE_FUNCTIONS(X)
#undef X
    rig->GetDeviceQueue(rig->device, 0, 0, &rig->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    CHECK_INT(rig->CreateCommandPool(rig->device, &pool, NULL, &rig->pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = rig->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    return CHECK_INT(rig->AllocateCommandBuffers(rig->device, &commands, &rig->commands), VK_SUCCESS) &&
           vulkan_make_buffer(rig, VULKAN_MOST, 0, &rig->staging);
}

bool vulkan_has_extension(struct vulkan_rig *rig, const char *name)
{
    enum { MOST = 512 };
    static VkExtensionProperties all[MOST];
    uint32_t count = MOST;
    bool found = false;
    CHECK_INT(rig->EnumerateDeviceExtensionProperties(rig->physical, NULL, &count, all), VK_SUCCESS);
    for (uint32_t i = 0; i < count && !found; i++)
        found = strcmp(all[i].extensionName, name) == 0;
    return found;
}

void vulkan_close_device(struct vulkan_rig *rig)
{
    vulkan_drop(rig, &rig->staging);
    rig->DestroyCommandPool(rig->device, rig->pool, NULL);
    rig->DestroyDevice(rig->device, NULL);
}

bool vulkan_open(struct vulkan_rig *rig, bool layer)
{
    memset(rig, 0, sizeof(*rig));
    set_environment(layer);
    if (!make_instance(rig))
        return false;
    if (find_physical(rig) && vulkan_open_device(rig)) {
        dl_iterate_phdr(keep_driver, NULL);
        return true;
    }
    rig->DestroyInstance(rig->instance, NULL);
    return false;
}

void vulkan_close(struct vulkan_rig *rig)
{
    vulkan_close_device(rig);
    rig->DestroyInstance(rig->instance, NULL);
}

/* ---- images and buffers ---- */

VkImageCreateInfo vulkan_image_info(VkFormat format, uint32_t width, uint32_t height)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = format,
                               .extent = {width, height, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_DST_BIT};
}

bool vulkan_has_format(struct vulkan_rig *rig, VkFormat format, VkImageTiling tiling)
{
    VkImageFormatProperties can;
    const VkImageCreateInfo info = vulkan_image_info(format, 16, 16);
    return rig->GetPhysicalDeviceImageFormatProperties(rig->physical, format, info.imageType, tiling, info.usage, 0,
                                                       &can) == VK_SUCCESS;
}

uint32_t vulkan_memory_type(struct vulkan_rig *rig, uint32_t types, VkMemoryPropertyFlags wanted)
{
    VkPhysicalDeviceMemoryProperties memory;
    rig->GetPhysicalDeviceMemoryProperties(rig->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((types >> i & 1) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if (types >> i & 1)
            return i;
    return 0;
}

/* Allocates memory with this chain, and binds it. */
static bool give_memory(struct vulkan_rig *rig, const VkMemoryRequirements *needs, VkMemoryPropertyFlags wanted,
                        const void *chain, struct vulkan_thing *made)
{
    made->size = needs->size;
    CHECK_INT(made->offset % needs->alignment, 0);
    const VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, chain, made->size + made->offset,
                                           vulkan_memory_type(rig, needs->memoryTypeBits, wanted)};
    if (CHECK_INT(rig->AllocateMemory(rig->device, &allocate, NULL, &made->memory), VK_SUCCESS) &&
        CHECK_INT(made->image ? rig->BindImageMemory(rig->device, made->image, made->memory, made->offset)
                              : rig->BindBufferMemory(rig->device, made->buffer, made->memory, made->offset),
                  VK_SUCCESS))
        return true;
    vulkan_drop(rig, made);
    return false;
}

bool vulkan_make_image(struct vulkan_rig *rig, const VkImageCreateInfo *info, VkDeviceSize offset,
                       struct vulkan_thing *made)
{
    VkMemoryDedicatedRequirements alone = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &alone};
    memset(made, 0, sizeof(*made));
    if (!CHECK_INT(rig->CreateImage(rig->device, info, NULL, &made->image), VK_SUCCESS))
        return false;
    const VkImageMemoryRequirementsInfo2 which = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, NULL,
                                                  made->image};
    rig->GetImageMemoryRequirements2(rig->device, &which, &needs);
    const bool dedicates = alone.prefersDedicatedAllocation && !rig->never_dedicates;
    const VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                     .image = made->image};
    const void *chain = dedicates ? &dedicated : NULL;
    const VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, chain, rig->exports};
    const VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, chain,
                                            VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, rig->import};
    made->offset = dedicates ? 0 : offset;
    if (rig->exports || rig->import)
        chain = rig->import ? (const void *)&import : &export;
    return give_memory(rig, &needs.memoryRequirements, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, chain, made);
}

bool vulkan_make_buffer(struct vulkan_rig *rig, VkDeviceSize size, VkBufferUsageFlags usage, struct vulkan_thing *made)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = size,
                                     .usage =
                                         usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryRequirements needs;
    memset(made, 0, sizeof(*made));
    if (!CHECK_INT(rig->CreateBuffer(rig->device, &info, NULL, &made->buffer), VK_SUCCESS))
        return false;
    rig->GetBufferMemoryRequirements(rig->device, made->buffer, &needs);
    if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)
        return give_memory(rig, &needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &flags, made);
    return give_memory(rig, &needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, NULL,
                       made);
}

void vulkan_drop(struct vulkan_rig *rig, struct vulkan_thing *thing)
{
    rig->DestroyImage(rig->device, thing->image, NULL);
    rig->DestroyBuffer(rig->device, thing->buffer, NULL);
    rig->FreeMemory(rig->device, thing->memory, NULL);
    memset(thing, 0, sizeof(*thing));
}

/* ---- commands ---- */

static void barrier(struct vulkan_rig *rig, VkImage image, unsigned how)
{
    const VkImageMemoryBarrier all = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = how & VULKAN_DISCARD ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = how & VULKAN_FROM_OUTSIDE ? VK_QUEUE_FAMILY_EXTERNAL
                               : how & VULKAN_TO_OUTSIDE ? 0
                                                         : VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = how & VULKAN_TO_OUTSIDE     ? VK_QUEUE_FAMILY_EXTERNAL
                               : how & VULKAN_FROM_OUTSIDE ? 0
                                                           : VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS}};
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_MEMORY_WRITE_BIT,
                                    VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_HOST_READ_BIT};
    rig->CmdPipelineBarrier(rig->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, NULL, 1,
                            &all);
}

size_t vulkan_part_size(const struct vulkan_part *part)
{
    return (size_t)part->width * part->height * part->depth * part->texel;
}

static void copy(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, bool to_image, unsigned how)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &rig->commands};
    const VkBufferImageCopy region = {.imageSubresource = {part->aspect, part->level, part->layer, 1},
                                      .imageExtent = {part->width, part->height, part->depth}};
    CHECK_INT(rig->ResetCommandPool(rig->device, rig->pool, 0), VK_SUCCESS);
    CHECK_INT(rig->BeginCommandBuffer(rig->commands, &begin), VK_SUCCESS);
    barrier(rig, image, how & ~(unsigned)VULKAN_TO_OUTSIDE);
    if (to_image)
        rig->CmdCopyBufferToImage(rig->commands, rig->staging.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    else
        rig->CmdCopyImageToBuffer(rig->commands, image, VK_IMAGE_LAYOUT_GENERAL, rig->staging.buffer, 1, &region);
    barrier(rig, image, how & VULKAN_TO_OUTSIDE);
    CHECK_INT(rig->EndCommandBuffer(rig->commands), VK_SUCCESS);
    CHECK_INT(rig->QueueSubmit(rig->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    CHECK_INT(rig->QueueWaitIdle(rig->queue), VK_SUCCESS);
}

void vulkan_put(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, const void *bytes, unsigned how)
{
    void *data = NULL;
    if (!CHECK_INT(rig->MapMemory(rig->device, rig->staging.memory, 0, VK_WHOLE_SIZE, 0, &data), VK_SUCCESS))
        return;
    memcpy(data, bytes, vulkan_part_size(part));
    rig->UnmapMemory(rig->device, rig->staging.memory);
    copy(rig, image, part, true, how);
}

void vulkan_get(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, void *bytes, unsigned how)
{
    void *data = NULL;
    copy(rig, image, part, false, how);
    if (!CHECK_INT(rig->MapMemory(rig->device, rig->staging.memory, 0, VK_WHOLE_SIZE, 0, &data), VK_SUCCESS))
        return;
    memcpy(bytes, data, vulkan_part_size(part));
    rig->UnmapMemory(rig->device, rig->staging.memory);
}
