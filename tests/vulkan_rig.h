/* Vulkan for the tests of the layer: a software driver, by the Vulkan loader, with our layer or without it. Nothing of Vulkan is
 * linked: what is not there skips the case. */
#ifndef CLD3D_TESTS_VULKAN_RIG_H
#define CLD3D_TESTS_VULKAN_RIG_H

#include "tap.h"

#define VK_NO_PROTOTYPES
#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* clang-format off */
#define VULKAN_INSTANCE_FUNCTIONS(X)                                                                                     \
    X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties)    \
    X(GetPhysicalDeviceImageFormatProperties) X(EnumerateDeviceExtensionProperties) X(CreateDevice) X(GetDeviceProcAddr)
#define VULKAN_DEVICE_FUNCTIONS(X)                                                                                       \
    X(DestroyDevice) X(GetDeviceQueue) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers)              \
    X(BeginCommandBuffer) X(EndCommandBuffer) X(QueueSubmit) X(QueueWaitIdle) X(ResetCommandPool) X(CmdPipelineBarrier)  \
    X(CmdCopyImageToBuffer) X(CmdCopyBufferToImage) X(CreateImage) X(DestroyImage) X(GetImageMemoryRequirements)         \
    X(GetImageMemoryRequirements2) X(GetDeviceImageMemoryRequirements) X(BindImageMemory) X(CreateBuffer)                \
    X(DestroyBuffer) X(GetBufferMemoryRequirements) X(BindBufferMemory) X(GetBufferDeviceAddress) X(AllocateMemory)      \
    X(FreeMemory) X(MapMemory) X(UnmapMemory) X(GetMemoryFdKHR)
/* clang-format on */

/* A resource with its memory. */
struct vulkan_thing {
    VkImage image;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size, offset;
};

/* An instance and a device of it. */
struct vulkan_rig {
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    const char *extension;                   /* one that devices are created with */
    bool never_dedicates;                    /* images do not get dedicated memory, even if it is preferred */
    VkExternalMemoryHandleTypeFlags exports; /* the handle types as which the memory of images is exported */
    int32_t import;                          /* the file that images have their memory from; 0: none */
    struct vulkan_thing staging;             /* a buffer of VULKAN_MOST bytes that the host sees */
#define X(name) PFN_vk##name name;
    VULKAN_INSTANCE_FUNCTIONS(X)
    VULKAN_DEVICE_FUNCTIONS(X)
#undef X
};

/* False, and the case is skipped, if Vulkan or a software driver is missing. With `layer` the loader is told of ours, in the
 * folder CLD3D_TEST_VULKAN_LAYER. */
bool vulkan_open(struct vulkan_rig *rig, bool layer);
void vulkan_close(struct vulkan_rig *rig);
/* Another device of the same instance, with the extension `rig->extension` unless it is NULL. */
bool vulkan_open_device(struct vulkan_rig *rig);
/* Whether the physical device has an extension. */
bool vulkan_has_extension(struct vulkan_rig *rig, const char *name);
void vulkan_close_device(struct vulkan_rig *rig);

/* One of `types` that is as wanted, or any of them. */
uint32_t vulkan_memory_type(struct vulkan_rig *rig, uint32_t types, VkMemoryPropertyFlags wanted);

/* Whether the device has images as vulkan_image_info describes them. */
bool vulkan_has_format(struct vulkan_rig *rig, VkFormat format, VkImageTiling tiling);
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

/* A subresource of an image; `texel` in bytes. */
struct vulkan_part {
    VkImageAspectFlags aspect;
    uint32_t level, layer, width, height, depth, texel;
};

size_t vulkan_part_size(const struct vulkan_part *part);
/* Writes to a subresource, or reads it, by commands in the queue, and waits. The bytes have no gaps: at most VULKAN_MOST. */
enum { VULKAN_MOST = 1 << 20 };
void vulkan_put(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, const void *bytes, unsigned how);
void vulkan_get(struct vulkan_rig *rig, VkImage image, const struct vulkan_part *part, void *bytes, unsigned how);

/* A case that gets what `open` opens. */
#define VULKAN_CASE(text, name, open)         \
    static void name(struct vulkan_rig *rig); \
    CASE(text, name##_opened)                 \
    {                                         \
        struct vulkan_rig rig;                \
        if (!open(&rig))                      \
            return;                           \
        name(&rig);                           \
        vulkan_close(&rig);                   \
    }                                         \
    static void name(struct vulkan_rig *rig)

#endif
