/* Ownership transfers of the images that OpenCL can import. */
#include "vulkan_layer/copier.h"
#include "log.h"

/* Counts how often images have been passed. The caller has the copier, and has submitted the commands. */
static void count_passes(const struct vulkan_device *device, const struct vulkan_move *moves, uint64_t count, bool back)
{
    os_lock(&vulkan_lock);
    for (uint64_t i = 0; i < count; i++) {
        struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, moves[i].copy, NULL);
        if (image && (!back || image->outside))
            image->outside += back ? -1u : 1u;
    }
    os_unlock(&vulkan_lock);
}

/* How often the image of move `i` has been passed out when its turn comes: a list may name an image several times, for
 * several objects. */
static unsigned outside_before(const struct vulkan_move *moves, uint64_t i, unsigned outside, bool back)
{
    for (uint64_t k = 0; k < i; k++)
        if (moves[k].copy == moves[i].copy && (!back || outside))
            outside += back ? -1u : 1u;
    return outside;
}

/* An image that several queue families may use concurrently belongs to none of them. An image that someone else still
 * has stays unchanged. False: it has been destroyed. */
static bool record_pass(const struct vulkan_device *device, const struct vulkan_image_record *image,
                        VkImageLayout layout, bool back, char *why)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const uint32_t ours =
        image->info.sharingMode == VK_SHARING_MODE_CONCURRENT ? VK_QUEUE_FAMILY_IGNORED : device->copier.family;
    const uint32_t outside = VK_QUEUE_FAMILY_EXTERNAL;
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
    const struct vulkan_change pass = {
        .image = (VkImage)(uintptr_t)image->record.handle,
        .from = back ? general : layout,
        .to = back ? layout : general,
        .before = back ? 0 : all,
        .after = back ? all : 0,
        .family_before = back ? outside : ours,
        .family_after = back ? ours : outside,
        .range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}}; /* the part that OpenCL imports: the rest stays Direct3D's */
    if (!vulkan_copier_uses(device, pass.image, image->serial, why))
        return false;
    if (image->outside <= (back ? 1 : 0))
        vulkan_copier_change(device, &pass);
    return true;
}

static bool can_be_passed(const struct vulkan_move *move, const struct vulkan_move *first,
                          struct vulkan_image_record *image, const struct vulkan_device *device, char *why)
{
    if (!vulkan_look_up_image(move->copy, image, why))
        return false;
    if (image->method != VULKAN_EXPORT)
        return vulkan_refuse(why, "the image is not exported");
    if ((device && image->record.device != device) || move->family != first->family)
        return vulkan_refuse(why, "the images belong to several devices or queues");
    return vulkan_has_contents(move, why);
}

/* The moves recorded before are not yet counted in the image's record. */
static bool record_pass_of(const struct vulkan_device *device, const struct vulkan_move *moves, uint64_t i, bool back,
                           char *why)
{
    struct vulkan_image_record image;
    if (!can_be_passed(&moves[i], &moves[0], &image, device, why))
        return false;
    image.outside = outside_before(moves, i, image.outside, back);
    return record_pass(device, &image, (VkImageLayout)moves[i].layout, back, why);
}

uint64_t vulkan_copy_pass(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    struct vulkan_image_record image;
    struct vulkan_device *device = NULL;
    for (uint64_t i = 0; i < count; i++) {
        if (!can_be_passed(&moves[i], &moves[0], &image, device, why))
            return 0;
        device = image.record.device;
    }
    if (!device)
        return 1;
    struct vulkan_queue *queue = vulkan_copier_queue(device, moves[0].family, why);
    if (!queue)
        return 0;
    VkResult result = vulkan_copier_begin(device, queue->family);
    for (uint64_t i = 0; i < count && result == VK_SUCCESS; i++)
        if (!record_pass_of(device, moves, i, back != 0, why))
            return vulkan_copier_abandon(device);
    if (result == VK_SUCCESS)
        result = vulkan_copier_run(device, queue);
    if (result == VK_SUCCESS)
        count_passes(device, moves, count, back != 0);
    return vulkan_copier_end(device, result, !back, "the ownership transfer of the image", why);
}
