/* Access to the Vulkan side without a channel: in the same library. A 32-bit Windows library has no Vulkan side. */
#include "companion/vulkan_access.h"

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
