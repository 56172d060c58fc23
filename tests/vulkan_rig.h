/* Vulkan for the tests of the layer: a software driver, by the Vulkan loader, with our layer or without it. Nothing of Vulkan is
 * linked: what is not there skips the case. */
#ifndef CLD3D_TESTS_VULKAN_RIG_H
#define CLD3D_TESTS_VULKAN_RIG_H

#include "tap.h"

#define VK_NO_PROTOTYPES
#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* clang-format off */
#define VULKAN_INSTANCE_FUNCTIONS(X)                                                                                   \
    X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceFeatures2)X(GetPhysicalDeviceMemoryProperties) \
    X(GetPhysicalDeviceFormatProperties) X(GetPhysicalDeviceImageFormatProperties) X(CreateDevice) X(GetDeviceProcAddr) \
    X(EnumerateDeviceExtensionProperties)
/* clang-format on */

/* clang-format off */
#define VULKAN_DEVICE_FUNCTIONS(X)                                                                                     \
    X(DestroyDevice) X(GetDeviceQueue) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers)            \
    X(BeginCommandBuffer) X(EndCommandBuffer) X(QueueSubmit) X(QueueWaitIdle) X(ResetCommandPool) X(CmdPipelineBarrier) \
    X(CmdCopyImageToBuffer) X(CmdCopyBufferToImage) X(CmdCopyBuffer) X(CreateImage) X(DestroyImage)                    \
    X(GetImageMemoryRequirements) X(GetImageMemoryRequirements2) X(GetDeviceImageMemoryRequirements) X(BindImageMemory) \
    X(BindImageMemory2) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(BindBufferMemory)            \
    X(BindBufferMemory2) X(GetBufferDeviceAddress) X(AllocateMemory) X(FreeMemory) X(MapMemory) X(UnmapMemory)
/* clang-format on */

/* An instance and a device of it. */
struct vulkan_rig {
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
#define X(name) PFN_vk##name name;
    VULKAN_INSTANCE_FUNCTIONS(X)
    VULKAN_DEVICE_FUNCTIONS(X)
#undef X
};

/* False, and the case is skipped, if Vulkan or a software driver is missing. With `layer` the loader is told of ours, in the
 * folder CLD3D_TEST_VULKAN_LAYER. */
bool vulkan_open(struct vulkan_rig *rig, bool layer);
void vulkan_close(struct vulkan_rig *rig);
/* Another device of the same instance. */
bool vulkan_open_device(struct vulkan_rig *rig);
void vulkan_close_device(struct vulkan_rig *rig);

/* A resource with its memory. */
struct vulkan_thing {
    VkImage image;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size, offset;
};

/* One of `types` that is as wanted, or any of them. */
uint32_t vulkan_memory_type(struct vulkan_rig *rig, uint32_t types, VkMemoryPropertyFlags wanted);

VkImageCreateInfo vulkan_image_info(VkFormat format, uint32_t width, uint32_t height);
/* Bound `offset` bytes behind the beginning of memory of its own. False if that fails; then nothing is left. */
bool vulkan_make_image(struct vulkan_rig *rig, const VkImageCreateInfo *info, VkDeviceSize offset,
                       struct vulkan_thing *made);
bool vulkan_make_buffer(struct vulkan_rig *rig, VkDeviceSize size, VkBufferUsageFlags usage, struct vulkan_thing *made);
void vulkan_drop(struct vulkan_rig *rig, struct vulkan_thing *thing);

enum {
    VULKAN_DISCARD = 1,      /* what is in the image does not matter */
    VULKAN_FROM_OUTSIDE = 2, /* another device has used it */
    VULKAN_TO_OUTSIDE = 4,   /* ... and uses it next */
};

/* Copies a subresource of an image to a buffer or back, and waits. */
void vulkan_copy(struct vulkan_rig *rig, VkImage image, VkBuffer buffer, const VkBufferImageCopy *region, bool to_image,
                 unsigned how);

/* The memory of a buffer as the program sees it: mapped, and unmapped again. */
void vulkan_read(struct vulkan_rig *rig, const struct vulkan_thing *buffer, void *bytes, size_t size);
void vulkan_write(struct vulkan_rig *rig, const struct vulkan_thing *buffer, const void *bytes, size_t size);

#endif
