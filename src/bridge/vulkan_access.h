/* Access to the functions of vulkan.h in this process: natively in the same library, in a Windows process through the
 * bridge. */
#ifndef CLD3D_BRIDGE_VULKAN_ACCESS_H
#define CLD3D_BRIDGE_VULKAN_ACCESS_H

#include "vulkan_layer/vulkan.h"

/* The Vulkan side, or NULL and the reason in `why`, of VULKAN_WHY bytes. Any thread may call. */
const struct vulkan_side *vulkan_access(char *why);

#endif
