/* Lists of commands for transports: ownership transfers of images that OpenCL has imported, and copies to rows and back. */
#include "vulkan_layer/layer.h"

void vulkan_change(const struct vulkan_device *device, VkImage image, const VkImageSubresourceLayers *part,
                   VkImageLayout from, VkImageLayout to, VkAccessFlags before, VkAccessFlags after,
                   uint32_t family_before, uint32_t family_after)
{
    const VkImageMemoryBarrier barrier = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          NULL,
                                          before,
                                          after,
                                          from,
                                          to,
                                          family_before,
                                          family_after,
                                          image,
                                          {VK_IMAGE_ASPECT_COLOR_BIT, part->mipLevel, 1, part->baseArrayLayer, 1}};
    device->calls.CmdPipelineBarrier(device->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static const VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
static const VkAccessFlags any_access = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

/* Direct3D loses the image to the first user, and has it again after the last. An image that several queue families may
 * use concurrently belongs to none of them. Only the part that OpenCL imports is passed. */
static bool add_pass(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    const VkImage handle = (VkImage)(uintptr_t)move->name;
    const VkImageLayout layout = (VkImageLayout)move->layout, general = VK_IMAGE_LAYOUT_GENERAL;
    const uint32_t outside = VK_QUEUE_FAMILY_EXTERNAL;
    uint32_t family = device->family;
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, move->name);
    const bool there = image && (!back || image->outside);
    const bool changes = there && image->outside == (back ? 1 : 0);
    if (there) {
        image->outside += back ? -1u : 1u;
        image->used = device->begun;
        if (image->info.sharingMode == VK_SHARING_MODE_CONCURRENT)
            family = VK_QUEUE_FAMILY_IGNORED;
    }
    os_unlock(&vulkan_lock);
    if (changes && back)
        vulkan_change(device, handle, &whole, general, layout, 0, any_access, outside, family);
    else if (changes)
        vulkan_change(device, handle, &whole, layout, general, any_access, 0, family, outside);
    return there || vulkan_refuse(why, "no such image on the device, or it was not passed");
}

/* After a failure, the images are where they were before. */
static void undo_passes(const struct vulkan_device *device, const struct vulkan_move *moves, uint64_t count, bool back)
{
    os_lock(&vulkan_lock);
    for (uint64_t i = 0; i < count; i++) {
        struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, moves[i].name);
        if (image)
            image->outside += back ? 1u : -1u;
    }
    os_unlock(&vulkan_lock);
}

/* One list of commands for all moves, which name rows or images (`kind`). */
static uint64_t run(enum vulkan_kind kind, const struct vulkan_move *moves, uint64_t count, bool back, char *why)
{
    uint64_t added = 0;
    bool good = true;
    if (!count)
        return 1;
    os_lock(&vulkan_lock);
    const struct vulkan_record *first = vulkan_record_find_locked(kind, NULL, moves[0].name);
    struct vulkan_device *device = first ? first->device : NULL;
    os_unlock(&vulkan_lock);
    if (!device || !device->queue)
        return vulkan_refuse(why, "no such image or rows, or the program has no queue for graphics");
    VkResult result = vulkan_copier_begin(device);
    while (result == VK_SUCCESS && good && added < count) {
        const struct vulkan_move *move = &moves[added];
        if (move->family != VULKAN_ANY_FAMILY && move->family != device->family)
            good = vulkan_refuse(why, "the program has no queue of family %u for copies", move->family);
        else if (move->layout == VK_IMAGE_LAYOUT_UNDEFINED || move->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
            good = vulkan_refuse(why, "the image has no contents: its layout is undefined");
        else
            good = kind == VULKAN_IMAGE ? add_pass(device, move, back, why) : vulkan_add_rows(device, move, back, why);
        added += good;
    }
    if (result == VK_SUCCESS && good)
        result = vulkan_copier_submit(device);
    if (result == VK_SUCCESS && good && !back)
        result = vulkan_copier_wait(device);
    vulkan_copier_end(device);
    if (result == VK_SUCCESS && good)
        return 1;
    if (kind == VULKAN_IMAGE)
        undo_passes(device, moves, added, back);
    return good ? vulkan_refuse(why, "%s on the GPU failed: VkResult %d",
                                kind == VULKAN_IMAGE ? "the ownership transfer of the image" : "the copy", (int)result)
                : 0;
}

uint64_t vulkan_pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return run(VULKAN_IMAGE, moves, count, back != 0, why);
}

uint64_t vulkan_move_rows(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return run(VULKAN_ROWS, moves, count, back != 0, why);
}
