/* The Vulkan side where there is no channel to it. */
#include "host/vulkan_access.h"

#include <stdio.h>

const struct vulkan_side *vulkan_access(char *why)
{
    snprintf(why, VULKAN_WHY, "this library has no Vulkan layer");
    return NULL;
}
