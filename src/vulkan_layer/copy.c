/* Copies of images that OpenCL cannot import: planes, levels and layers. */
#include "vulkan_layer/copier.h"
#include "log.h"

#include <stdlib.h>

/* ---- what a copy is ---- */

/* The format that a plane has, or the image itself if it has none. */
static VkFormat format_of(const struct vulkan_image_record *image, uint64_t aspect)
{
    switch (image->info.format) {
    case VK_FORMAT_G8_B8R8_2PLANE_420_UNORM:
        return aspect == VK_IMAGE_ASPECT_PLANE_0_BIT ? VK_FORMAT_R8_UNORM : VK_FORMAT_R8G8_UNORM;
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G16_B16R16_2PLANE_420_UNORM:
        return aspect == VK_IMAGE_ASPECT_PLANE_0_BIT ? VK_FORMAT_R16_UNORM : VK_FORMAT_R16G16_UNORM;
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM: return VK_FORMAT_R8_UNORM;
    default: return image->info.format;
    }
}

static uint32_t shrink(uint32_t size, uint64_t level, bool chroma)
{
    const uint32_t at_level = size >> level ? size >> level : 1;
    return chroma ? (at_level + 1) / 2 : at_level;
}

static VkImageCreateInfo info_of(const struct vulkan_image_record *image, uint64_t aspect, uint64_t level)
{
    const VkExtent3D all = image->info.extent;
    const bool chroma = aspect == VK_IMAGE_ASPECT_PLANE_1_BIT || aspect == VK_IMAGE_ASPECT_PLANE_2_BIT;
    return (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = image->info.imageType,
        .format = format_of(image, aspect),
        .extent = {shrink(all.width, level, chroma), shrink(all.height, level, chroma),
                   shrink(all.depth, level, false)},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
    };
}

static bool can_be_copied(const struct vulkan_image_record *image, uint64_t aspect, uint64_t level, uint64_t layer,
                          char *why)
{
    const VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (image->method != VULKAN_EXPORT)
        return vulkan_refuse(why, "the image needs no copy: its planes, levels and layers are host-visible");
    if (!vulkan_image_has(image, aspect, level, layer))
        return vulkan_refuse(why, "the image has no such subresource");
    if ((image->info.usage & both) != both)
        return vulkan_refuse(why, "the image was not created for copies");
    return true;
}

/* ---- creation and destruction ---- */

static uint32_t local_type(const struct vulkan_device *device, uint32_t types)
{
    uint32_t best = 0, score = 0;
    for (uint32_t i = 0; i < device->types.memoryTypeCount; i++) {
        const bool local = device->types.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
        if ((types >> i & 1) && (local ? 2u : 1u) > score) {
            best = i;
            score = local ? 2 : 1;
        }
    }
    return best;
}

/* Through the layer's own functions, which record it. */
static bool give_memory(const struct vulkan_device *device, struct vulkan_copy_record *copy)
{
    VkMemoryRequirements needs;
    device->calls.image_needs(device->handle, copy->image, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL,
                                                     copy->image, VK_NULL_HANDLE};
    const VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &dedicated, needs.size,
                                       local_type(device, needs.memoryTypeBits)};
    return vulkan_allocate(device->handle, &info, NULL, &copy->memory) == VK_SUCCESS &&
           vulkan_bind_image(device->handle, copy->image, copy->memory, 0) == VK_SUCCESS;
}

static void destroy(const struct vulkan_device *device, struct vulkan_copy_record *copy)
{
    if (copy->image)
        vulkan_destroy_image(device->handle, copy->image, NULL);
    if (copy->memory)
        vulkan_free(device->handle, copy->memory, NULL);
    free(copy);
}

static void note(struct vulkan_device *device, struct vulkan_copy_record *copy)
{
    static uint64_t last_name; /* guarded by the lock */
    os_lock(&vulkan_lock);
    copy->record = (struct vulkan_record){VULKAN_COPY, device, ++last_name, NULL};
    vulkan_record_add_locked(&copy->record);
    os_unlock(&vulkan_lock);
}

uint64_t vulkan_copy_make(uint64_t handle, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *name,
                          struct vulkan_image *made, char *why)
{
    struct vulkan_image_record image;
    struct vulkan_plan plan;
    if (!vulkan_look_up_image(handle, &image, why) || !can_be_copied(&image, aspect, level, layer, why))
        return 0;
    struct vulkan_device *device = image.record.device;
    const VkImageCreateInfo info = info_of(&image, aspect, level);
    vulkan_plan_own(device, &info, &plan);
    if (!plan.method)
        return vulkan_refuse(why, "the driver cannot export an image for the copy");
    struct vulkan_copy_record *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return vulkan_refuse(why, "no memory for the record of a copy");
    copy->source = (VkImage)(uintptr_t)handle;
    copy->source_serial = image.serial;
    copy->subresource = (VkImageSubresourceLayers){(VkImageAspectFlags)aspect, (uint32_t)level, (uint32_t)layer, 1};
    copy->extent = info.extent;
    if (vulkan_make_image(device, &plan, NULL, &copy->image) != VK_SUCCESS || !give_memory(device, copy)) {
        destroy(device, copy);
        return vulkan_refuse(why, "no memory for a copy");
    }
    if (!vulkan_describe_image(VULKAN_NUMBER(copy->image), made, why)) {
        destroy(device, copy);
        return 0;
    }
    note(device, copy);
    *name = copy->record.handle;
    return 1;
}

uint64_t vulkan_copy_drop(uint64_t name)
{
    os_lock(&vulkan_lock);
    struct vulkan_copy_record *copy = vulkan_record_find_locked(VULKAN_COPY, NULL, name, NULL);
    struct vulkan_device *device = copy ? copy->record.device : NULL;
    if (copy) {
        vulkan_record_remove_locked(&copy->record);
        device->busy++;
    }
    os_unlock(&vulkan_lock);
    if (!copy)
        return 0;
    destroy(device, copy);
    vulkan_device_quiet(device);
    return 1;
}

/* ---- commands ---- */

static const struct vulkan_copy_record *find(uint64_t name)
{
    os_lock(&vulkan_lock);
    const struct vulkan_copy_record *copy = vulkan_record_find_locked(VULKAN_COPY, NULL, name, NULL);
    os_unlock(&vulkan_lock);
    return copy;
}

static VkImageSubresourceRange one_of(uint32_t level, uint32_t layer)
{
    return (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, level, 1, layer, 1};
}

/* The program's image is changed from its layout and back to it. Between the copies to and from it, the copy belongs to
 * OpenCL; its contents before a copy to it do not matter. */
static void record(const struct vulkan_device *device, const struct vulkan_copy_record *copy,
                   const struct vulkan_move *move, bool back)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkAccessFlags access = back ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT;
    const VkImageLayout during = back ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImageLayout layout = (VkImageLayout)move->layout, general = VK_IMAGE_LAYOUT_GENERAL;
    const uint32_t ignored = VK_QUEUE_FAMILY_IGNORED, outside = VK_QUEUE_FAMILY_EXTERNAL,
                   family = device->copier.family;
    const uint32_t level = copy->subresource.mipLevel, layer = copy->subresource.baseArrayLayer;
    const VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageCopy region = {
        back ? whole : copy->subresource, {0, 0, 0}, back ? copy->subresource : whole, {0, 0, 0}, copy->extent};
    const struct vulkan_change before[] = {
        {copy->source, layout, during, all, access, ignored, ignored, one_of(level, layer)},
        back ? (struct vulkan_change){copy->image, general, general, 0, VK_ACCESS_TRANSFER_READ_BIT, outside, family,
                                      one_of(0, 0)}
             : (struct vulkan_change){copy->image, VK_IMAGE_LAYOUT_UNDEFINED, general, 0, VK_ACCESS_TRANSFER_WRITE_BIT,
                                      ignored, ignored, one_of(0, 0)}};
    const struct vulkan_change after[] = {
        {copy->source, during, layout, access, all, ignored, ignored, one_of(level, layer)},
        {copy->image, general, general, VK_ACCESS_TRANSFER_WRITE_BIT, 0, family, outside, one_of(0, 0)}};
    vulkan_copier_change(device, &before[0]);
    vulkan_copier_change(device, &before[1]);
    device->calls.copy_image(device->copier.commands, back ? copy->image : copy->source, back ? general : during,
                             back ? copy->source : copy->image, back ? during : general, 1, &region);
    vulkan_copier_change(device, &after[0]);
    if (!back)
        vulkan_copier_change(device, &after[1]);
}

/* False: the image or its copy no longer exists. */
static bool record_move(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    const struct vulkan_copy_record *copy = find(move->copy);
    if (!copy)
        return vulkan_refuse(why, "no such copy");
    if (!vulkan_copier_uses(device, copy->source, copy->source_serial, why) ||
        !vulkan_copier_uses(device, copy->image, VULKAN_ANY_SERIAL, why))
        return false;
    record(device, copy, move, back);
    return true;
}

static bool fits_first(const struct vulkan_move *move, const struct vulkan_move *first,
                       const struct vulkan_device *device, char *why)
{
    const struct vulkan_copy_record *copy = find(move->copy);
    if (!copy || copy->record.device != device || move->family != first->family)
        return vulkan_refuse(why, copy ? "the copies belong to several devices or queues" : "no such copy");
    return vulkan_has_contents(move, why);
}

uint64_t vulkan_copy_move(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    const struct vulkan_copy_record *first = count ? find(moves[0].copy) : NULL;
    if (!count)
        return 1;
    if (!first)
        return vulkan_refuse(why, "no such copy");
    struct vulkan_device *device = first->record.device;
    struct vulkan_queue *queue = vulkan_copier_queue(device, moves[0].family, why);
    if (!queue)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!fits_first(&moves[i], &moves[0], device, why))
            return 0;
    VkResult result = vulkan_copier_begin(device, queue->family);
    for (uint64_t i = 0; i < count && result == VK_SUCCESS; i++)
        if (!record_move(device, &moves[i], back != 0, why))
            return vulkan_copier_abandon(device);
    if (result == VK_SUCCESS)
        result = vulkan_copier_run(device, queue);
    return vulkan_copier_end(device, result, !back, "the copy", why);
}

/* ---- the end ---- */

/* The name of one of the device's copies, which may be gone when the lock is. 0: it has none. */
static uint64_t pick_copy(const struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    const uint64_t name = vulkan_record_any_locked(VULKAN_COPY, device);
    os_unlock(&vulkan_lock);
    return name;
}

void vulkan_copy_close(struct vulkan_device *device)
{
    uint64_t name;
    while ((name = pick_copy(device)) != 0)
        vulkan_copy_drop(name); /* unless another thread has dropped it */
    vulkan_copier_close(device);
}
