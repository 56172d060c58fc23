/* The Vulkan side natively: in the same library. */
#include "bridge/vulkan_access.h"

#include <stdio.h>

const struct vulkan_side *vulkan_access(char *why)
{
    const struct vulkan_side *side = vulkan_side_here();
    if (!side)
        snprintf(why, VULKAN_WHY, "cld3d's Vulkan layer is not active (VK_INSTANCE_LAYERS, docs/vulkan-layer.md)");
    return side;
}
