/* Copies of images that OpenCL cannot import (planes, levels and layers), and ownership transfers of those that it
 * can. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

/* Our copy of a subresource of an image of the program. Its handle is a number that is never used again. */
struct copy {
    struct vulkan_record record;
    VkImage source, image;
    uint64_t source_memory; /* the name: handles of images are used again */
    VkDeviceMemory memory;
    VkImageSubresourceLayers subresource; /* of the source */
    VkExtent3D extent;
    uint64_t used; /* the number of the layer's last commands that name it, or 0 */
};

/* ---- creation and destruction ---- */

static uint32_t shrink(uint32_t size, uint64_t level, bool chroma)
{
    const uint32_t at_level = size >> level ? size >> level : 1;
    return chroma ? (at_level + 1) / 2 : at_level;
}

static void destroy(struct vulkan_device *device, struct copy *copy)
{
    vulkan_copier_quiet(device, copy->used);
    if (copy->image)
        vulkan_DestroyImage(device->handle, copy->image, NULL);
    if (copy->memory)
        vulkan_FreeMemory(device->handle, copy->memory, NULL);
    free(copy);
}

/* Through the layer's own functions, which record it. */
static bool give_memory(const struct vulkan_device *device, struct copy *copy)
{
    VkMemoryRequirements needs;
    uint32_t type = 0;
    device->calls.GetImageMemoryRequirements(device->handle, copy->image, &needs);
    while (type < device->types.memoryTypeCount &&
           !((needs.memoryTypeBits >> type & 1) &&
             (device->types.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)))
        type++;
    const VkMemoryDedicatedAllocateInfo dedicated = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL,
                                                     copy->image, VK_NULL_HANDLE};
    const VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &dedicated, needs.size, type};
    return type < device->types.memoryTypeCount &&
           vulkan_AllocateMemory(device->handle, &info, NULL, &copy->memory) == VK_SUCCESS &&
           vulkan_BindImageMemory(device->handle, copy->image, copy->memory, 0) == VK_SUCCESS;
}

uint64_t vulkan_make_copy(uint64_t handle, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *name,
                          struct vulkan_image *made, char *why)
{
    static uint64_t last_name; /* guarded by the lock */
    const VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const bool chroma = aspect == VK_IMAGE_ASPECT_PLANE_1_BIT;
    struct vulkan_image_record image;
    struct vulkan_plan plan;
    if (!vulkan_look_up_image(handle, &image, why))
        return 0;
    struct vulkan_device *device = image.bound.record.device;
    if (device->method != VULKAN_EXPORT)
        return vulkan_refuse(why, "the image needs no copy: its planes, levels and layers are host-visible");
    const VkFormat format = vulkan_subresource(&image.info, aspect, level, layer);
    if (format == VK_FORMAT_UNDEFINED || (image.info.usage & both) != both)
        return vulkan_refuse(why, "the image has no such subresource, or was not created for copies");
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = image.info.imageType,
                                    .format = format,
                                    .extent = {shrink(image.info.extent.width, level, chroma),
                                               shrink(image.info.extent.height, level, chroma),
                                               shrink(image.info.extent.depth, level, false)},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = both | VK_IMAGE_USAGE_SAMPLED_BIT};
    struct copy *copy = vulkan_plan_image(device, &info, true, &plan) ? calloc(1, sizeof(*copy)) : NULL;
    if (!copy)
        return vulkan_refuse(why, "the driver cannot export an image for the copy");
    copy->source = (VkImage)(uintptr_t)handle;
    copy->source_memory = image.bound.memory;
    copy->subresource = (VkImageSubresourceLayers){(VkImageAspectFlags)aspect, (uint32_t)level, (uint32_t)layer, 1};
    copy->extent = info.extent;
    if (vulkan_make_image(device, &plan, NULL, &copy->image) != VK_SUCCESS || !give_memory(device, copy) ||
        !vulkan_find_image(VULKAN_NUMBER(copy->image), made, NULL)) {
        destroy(device, copy);
        return vulkan_refuse(why, "no memory for a copy");
    }
    os_lock(&vulkan_lock);
    *name = ++last_name;
    copy->record = (struct vulkan_record){VULKAN_COPY, device, *name, NULL};
    vulkan_record_add_locked(&copy->record);
    os_unlock(&vulkan_lock);
    return 1;
}

uint64_t vulkan_drop_copy(uint64_t name)
{
    os_lock(&vulkan_lock);
    struct copy *copy = vulkan_record_find_locked(VULKAN_COPY, NULL, name);
    if (copy)
        vulkan_record_remove_locked(&copy->record);
    os_unlock(&vulkan_lock);
    if (copy)
        destroy(copy->record.device, copy);
    return copy != NULL;
}

/* ---- commands ---- */

/* A barrier for a subresource of an image, with a change of its layout or owner. */
static void change(const struct vulkan_device *device, VkImage image, const VkImageSubresourceLayers *part,
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

/* The program's image is changed from its layout and back to it. Between the copies to and from it, the copy belongs to
 * OpenCL; its contents before a copy to it do not matter. */
static void record_copy(const struct vulkan_device *device, const struct copy *copy, VkImageLayout layout, bool back)
{
    const VkAccessFlags read = VK_ACCESS_TRANSFER_READ_BIT, write = VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkImageLayout during = back ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
    const uint32_t ignored = VK_QUEUE_FAMILY_IGNORED, outside = VK_QUEUE_FAMILY_EXTERNAL;
    const VkImageSubresourceLayers *part = &copy->subresource;
    const VkImageCopy region = {back ? whole : *part, {0, 0, 0}, back ? *part : whole, {0, 0, 0}, copy->extent};
    change(device, copy->source, part, layout, during, any_access, back ? write : read, ignored, ignored);
    if (back)
        change(device, copy->image, &whole, general, general, 0, read, outside, device->family);
    else
        change(device, copy->image, &whole, VK_IMAGE_LAYOUT_UNDEFINED, general, 0, write, ignored, ignored);
    device->calls.CmdCopyImage(device->commands, back ? copy->image : copy->source, back ? general : during,
                               back ? copy->source : copy->image, back ? during : general, 1, &region);
    change(device, copy->source, part, during, layout, back ? write : read, any_access, ignored, ignored);
    if (!back)
        change(device, copy->image, &whole, general, general, write, 0, device->family, outside);
}

static bool add_copy(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    struct copy used;
    os_lock(&vulkan_lock);
    struct copy *copy = vulkan_record_find_locked(VULKAN_COPY, device, move->copy);
    struct vulkan_image_record *source =
        copy ? vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(copy->source)) : NULL;
    const bool there = source && source->bound.memory == copy->source_memory;
    if (there) {
        copy->used = source->used = device->begun;
        used = *copy;
    }
    os_unlock(&vulkan_lock);
    if (there)
        record_copy(device, &used, (VkImageLayout)move->layout, back);
    return there || vulkan_refuse(why, "no such copy on the device, or its image has been destroyed");
}

/* Direct3D loses the image to the first user, and has it again after the last. An image that several queue families may
 * use concurrently belongs to none of them. Only the part that OpenCL imports is passed. */
static bool add_pass(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    const VkImage handle = (VkImage)(uintptr_t)move->copy;
    const VkImageLayout layout = (VkImageLayout)move->layout, general = VK_IMAGE_LAYOUT_GENERAL;
    const uint32_t outside = VK_QUEUE_FAMILY_EXTERNAL;
    uint32_t family = device->family;
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, move->copy);
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
        change(device, handle, &whole, general, layout, 0, any_access, outside, family);
    else if (changes)
        change(device, handle, &whole, layout, general, any_access, 0, family, outside);
    return there || vulkan_refuse(why, "no such image on the device, or it was not passed");
}

/* After a failure, the images are where they were before. */
static void undo_passes(const struct vulkan_device *device, const struct vulkan_move *moves, uint64_t count, bool back)
{
    os_lock(&vulkan_lock);
    for (uint64_t i = 0; i < count; i++) {
        struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, moves[i].copy);
        if (image)
            image->outside += back ? 1u : -1u;
    }
    os_unlock(&vulkan_lock);
}

/* One list of commands for all moves, which name copies or images (`kind`). */
static uint64_t run(enum vulkan_kind kind, const struct vulkan_move *moves, uint64_t count, bool back, char *why)
{
    uint64_t added = 0;
    bool good = true;
    if (!count)
        return 1;
    os_lock(&vulkan_lock);
    const struct vulkan_record *first = vulkan_record_find_locked(kind, NULL, moves[0].copy);
    struct vulkan_device *device = first ? first->device : NULL;
    os_unlock(&vulkan_lock);
    if (!device || !device->queue)
        return vulkan_refuse(why, "no such image or copy, or its device does not export");
    VkResult result = vulkan_copier_begin(device);
    while (result == VK_SUCCESS && good && added < count) {
        const struct vulkan_move *move = &moves[added];
        if (move->family != VULKAN_ANY_FAMILY && move->family != device->family)
            good = vulkan_refuse(why, "the program has no queue of family %u for copies", move->family);
        else if (move->layout == VK_IMAGE_LAYOUT_UNDEFINED || move->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
            good = vulkan_refuse(why, "the image has no contents: its layout is undefined");
        else
            good = kind == VULKAN_COPY ? add_copy(device, move, back, why) : add_pass(device, move, back, why);
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
                                kind == VULKAN_COPY ? "the copy" : "the ownership transfer of the image", (int)result)
                : 0;
}

uint64_t vulkan_move(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return run(VULKAN_COPY, moves, count, back != 0, why);
}

uint64_t vulkan_pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    return run(VULKAN_IMAGE, moves, count, back != 0, why);
}
