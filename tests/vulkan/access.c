/* The Vulkan side that the fake Direct3D plays, in the place of the library's. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "fake_d3d.h"
#include "bridge/vulkan_access.h"

#include <dlfcn.h>
#include <stdio.h>

const struct vulkan_side *__wrap_vulkan_access(char *why);

const struct vulkan_side *__wrap_vulkan_access(char *why)
{
    const struct fake_vulkan *fake = dlsym(RTLD_DEFAULT, "fake_vulkan");
    const struct vulkan_side *side = fake ? fake->side() : NULL;
    if (!side)
        snprintf(why, VULKAN_WHY, "the fake Direct3D stands on no Vulkan");
    return side;
}
