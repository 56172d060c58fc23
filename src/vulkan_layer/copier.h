/* The layer's own commands on the GPU: one list of them at a time for each device. Its copies (vulkan_copy.c) and
 * ownership transfers (vulkan_pass.c) are such lists. */
#ifndef CLD3D_VULKAN_LAYER_COPIER_H
#define CLD3D_VULKAN_LAYER_COPIER_H

#include "vulkan_layer/vulkan.h"
#include "vulkan_layer/layer.h"

enum { VULKAN_ANY_SERIAL = 0 };

/* A barrier for a part of an image, with a change of its layout or owner. */
struct vulkan_change {
    VkImage image;
    VkImageLayout from, to;
    VkAccessFlags before, after;
    uint32_t family_before, family_after;
    VkImageSubresourceRange range;
};

/* The program's queue of a family, or for VULKAN_ANY_FAMILY one that draws. NULL: there is none; `why` gives the
 * reason, as in the functions below. */
struct vulkan_queue *vulkan_copier_queue(struct vulkan_device *device, uint32_t family, char *why);
/* Whether the image of a move has contents. */
bool vulkan_has_contents(const struct vulkan_move *move, char *why);

/* Begins a list of commands. Waits until no other thread has the copier, and until the list before has ended.
 * vulkan_copier_end or vulkan_copier_abandon must follow, whatever the result is. */
VkResult vulkan_copier_begin(struct vulkan_device *device, uint32_t family);
/* Keeps the image with this `serial` (VULKAN_ANY_SERIAL: with any) and its memory until the list has ended. False: it
 * has already been destroyed. */
bool vulkan_copier_uses(const struct vulkan_device *device, VkImage used, uint64_t serial, char *why);
/* Adds the barrier to the list. */
void vulkan_copier_change(const struct vulkan_device *device, const struct vulkan_change *change);
/* Submits the list to the queue, without waiting. */
VkResult vulkan_copier_run(struct vulkan_device *device, struct vulkan_queue *queue);
/* Gives up the copier; first waits for the commands if requested and if `result` is VK_SUCCESS. Returns whether all
 * succeeded; `what` names the list in the message. */
uint64_t vulkan_copier_end(struct vulkan_device *device, VkResult result, bool wait, const char *what, char *why);
/* Gives up the copier without running the list. Returns 0. */
uint64_t vulkan_copier_abandon(struct vulkan_device *device);
/* Called before a device is destroyed: destroys the copier's objects. */
void vulkan_copier_close(struct vulkan_device *device);

#endif
