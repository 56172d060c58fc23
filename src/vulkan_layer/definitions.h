/* Definitions newer than Debian 12's Vulkan headers (1.3.239): VK_KHR_map_memory2, VK_KHR_maintenance5 and
 * VK_EXT_host_image_copy, as in the registry. */
#ifndef CLD3D_VULKAN_LAYER_DEFINITIONS_H
#define CLD3D_VULKAN_LAYER_DEFINITIONS_H

#define VK_NO_PROTOTYPES
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#ifndef VK_KHR_map_memory2
typedef struct VkMemoryMapInfoKHR {
    VkStructureType sType;
    const void *pNext;
    VkMemoryMapFlags flags;
    VkDeviceMemory memory;
    VkDeviceSize offset;
    VkDeviceSize size;
} VkMemoryMapInfoKHR;

typedef struct VkMemoryUnmapInfoKHR {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    VkDeviceMemory memory;
} VkMemoryUnmapInfoKHR;

typedef VkResult(VKAPI_PTR *PFN_vkMapMemory2KHR)(VkDevice, const VkMemoryMapInfoKHR *, void **);
typedef VkResult(VKAPI_PTR *PFN_vkUnmapMemory2KHR)(VkDevice, const VkMemoryUnmapInfoKHR *);
#endif

#ifndef VK_KHR_maintenance5
typedef struct VkDeviceImageSubresourceInfoKHR {
    VkStructureType sType;
    const void *pNext;
    const VkImageCreateInfo *pCreateInfo;
    const void *pSubresource;
} VkDeviceImageSubresourceInfoKHR;

typedef struct VkSubresourceLayout2KHR VkSubresourceLayout2KHR; /* nothing here looks into it */

typedef void(VKAPI_PTR *PFN_vkGetDeviceImageSubresourceLayoutKHR)(VkDevice, const VkDeviceImageSubresourceInfoKHR *,
                                                                  VkSubresourceLayout2KHR *);
#endif

enum {
    VULKAN_FORMAT_A8_UNORM = 1000470000 + 1, /* VK_FORMAT_A8_UNORM_KHR */
    VULKAN_USAGE_HOST_TRANSFER = 0x00400000, /* VK_IMAGE_USAGE_HOST_TRANSFER_BIT */
};

#endif
