/* The Vulkan side where there is no channel to it: that of the same library. A Windows library of 32 bits has none. */
#include "host/vulkan_access.h"

#include <stdio.h>

const struct vulkan_side *vulkan_access(char *why)
{
#ifdef _WIN32
    snprintf(why, VULKAN_WHY, "the host's side cannot be reached from a 32-bit library");
    return NULL;
#else
    const struct vulkan_side *side = vulkan_side_here();
    if (!side)
        snprintf(why, VULKAN_WHY, "cld3d's Vulkan layer is not active (VK_INSTANCE_LAYERS, docs/vulkan-layer.md)");
    return side;
#endif
}
