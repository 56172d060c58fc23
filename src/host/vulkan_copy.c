/* Copies of images that OpenCL cannot import (planes, levels and layers), and ownership transfers of those that it can.
 * Both run on the GPU, in the program's queue. */
#include "host/vulkan.h"
#include "host/vulkan_layer.h"
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
    if (image->way != VULKAN_EXPORT)
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
    if (!plan.way)
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

/* An ownership transfer usually takes microseconds, too short for a thread to sleep. */
static VkResult wait_for_fence(const struct vulkan_device *device, VkFence fence)
{
    enum { SPIN_NANOSECONDS = 200000 };
    const unsigned long long began = os_nanoseconds();
    VkResult result = device->calls.fence_status(device->handle, fence);
    while (result == VK_NOT_READY && os_nanoseconds() - began < SPIN_NANOSECONDS)
        result = device->calls.fence_status(device->handle, fence);
    return result == VK_NOT_READY ? device->calls.wait_fences(device->handle, 1, &fence, VK_TRUE, UINT64_MAX) : result;
}

/* A wait that fails for lack of memory says nothing about the commands. Whatever they use must be kept until they have
 * ended, so the driver is asked again without a limit. After any other error the driver cannot be asked; the commands
 * count as ended, as for a lost device. */
static VkResult wait_until_over(const struct vulkan_device *device, VkFence fence)
{
    VkResult result = wait_for_fence(device, fence);
    if (result != VK_SUCCESS)
        log_write(LOG_WARN, "the Vulkan layer: a wait for the GPU failed: VkResult %d", (int)result);
    while (result > VK_SUCCESS || result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        os_sleep_shortly();
        result = wait_for_fence(device, fence);
    }
    return result == VK_SUCCESS ? VK_SUCCESS : VK_ERROR_DEVICE_LOST;
}

/* Only one thread at a time uses the copier. It holds no lock meanwhile, because it may wait for the program's next
 * action. */
static os_condition changed = OS_CONDITION_INIT;

static void take_copier(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    while (device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    device->copying = true;
    os_unlock(&vulkan_lock);
}

static void give_copier(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    device->copying = false;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
}

/* Waits until the commands have ended: VK_SUCCESS, or VK_ERROR_DEVICE_LOST. The caller has the copier. */
static VkResult wait_for_commands(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    const VkResult result = copier->runs ? wait_until_over(device, copier->fence) : VK_SUCCESS;
    copier->runs = false;
    os_lock(&vulkan_lock);
    device->commands_over = device->commands_begun;
    os_wake_all(&changed);
    os_unlock(&vulkan_lock);
    return result;
}

static void close_copier(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    wait_for_commands(device);
    if (copier->pool)
        device->calls.destroy_pool(device->handle, copier->pool, NULL);
    if (copier->fence)
        device->calls.destroy_fence(device->handle, copier->fence, NULL);
    *copier = (struct vulkan_copier){0};
}

/* Command buffers that the loader has not seen created must be announced to it. */
static VkResult make_commands(struct vulkan_device *device)
{
    struct vulkan_copier *copier = &device->copier;
    const VkCommandBufferAllocateInfo commands = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, copier->pool,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    const VkResult result = device->calls.allocate_commands(device->handle, &commands, &copier->commands);
    if (result != VK_SUCCESS)
        return result;
    return device->set_loader_data ? device->set_loader_data(device->handle, copier->commands)
                                   : VK_ERROR_INITIALIZATION_FAILED;
}

static VkResult make_copier(struct vulkan_device *device, uint32_t family)
{
    struct vulkan_copier *copier = &device->copier;
    const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                          VK_COMMAND_POOL_CREATE_TRANSIENT_BIT, family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    copier->family = family;
    VkResult result = device->calls.create_pool(device->handle, &pool, NULL, &copier->pool);
    if (result == VK_SUCCESS)
        result = make_commands(device);
    if (result == VK_SUCCESS)
        result = device->calls.create_fence(device->handle, &fence, NULL, &copier->fence);
    return result;
}

/* The caller has the copier. */
static VkResult open_copier(struct vulkan_device *device, uint32_t family)
{
    const struct vulkan_copier *copier = &device->copier;
    VkResult result = wait_for_commands(device);
    if (result != VK_SUCCESS)
        return result;
    if (copier->pool && copier->family == family)
        return device->calls.reset_pool(device->handle, copier->pool, 0);
    close_copier(device);
    result = make_copier(device, family);
    if (result != VK_SUCCESS)
        close_copier(device);
    return result;
}

enum { ANY_SERIAL = 0 };

/* Keeps the image and its memory until the commands that are being recorded have ended. False: the image has already
 * been destroyed. */
static bool note_use(const struct vulkan_device *device, VkImage used, uint64_t serial, char *why)
{
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(used), NULL);
    const bool there = image && (serial == ANY_SERIAL || image->serial == serial);
    struct vulkan_memory_record *memory = there ? vulkan_memory_locked(image->where.memory) : NULL;
    if (there)
        image->used = device->commands_begun;
    if (memory)
        memory->used = device->commands_begun;
    os_unlock(&vulkan_lock);
    return there || vulkan_refuse(why, "the image has been destroyed");
}

struct change {
    VkImage image;
    VkImageLayout from, to;
    VkAccessFlags before, after;
    uint32_t family_before, family_after;
    VkImageSubresourceRange range;
};

static VkImageSubresourceRange one_of(uint32_t level, uint32_t layer)
{
    return (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, level, 1, layer, 1};
}

static void change(const struct vulkan_device *device, const struct change *c)
{
    const VkImageMemoryBarrier barrier = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          NULL,
                                          c->before,
                                          c->after,
                                          c->from,
                                          c->to,
                                          c->family_before,
                                          c->family_after,
                                          c->image,
                                          c->range};
    device->calls.barrier(device->copier.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static const struct vulkan_copy_record *find(uint64_t name)
{
    os_lock(&vulkan_lock);
    const struct vulkan_copy_record *copy = vulkan_record_find_locked(VULKAN_COPY, NULL, name, NULL);
    os_unlock(&vulkan_lock);
    return copy;
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
    const struct change before[] = {{copy->source, layout, during, all, access, ignored, ignored, one_of(level, layer)},
                                    back ? (struct change){copy->image, general, general, 0,
                                                           VK_ACCESS_TRANSFER_READ_BIT, outside, family, one_of(0, 0)}
                                         : (struct change){copy->image, VK_IMAGE_LAYOUT_UNDEFINED, general, 0,
                                                           VK_ACCESS_TRANSFER_WRITE_BIT, ignored, ignored,
                                                           one_of(0, 0)}};
    const struct change after[] = {
        {copy->source, during, layout, access, all, ignored, ignored, one_of(level, layer)},
        {copy->image, general, general, VK_ACCESS_TRANSFER_WRITE_BIT, 0, family, outside, one_of(0, 0)}};
    change(device, &before[0]);
    change(device, &before[1]);
    device->calls.copy_image(device->copier.commands, back ? copy->image : copy->source, back ? general : during,
                             back ? copy->source : copy->image, back ? during : general, 1, &region);
    change(device, &after[0]);
    if (!back)
        change(device, &after[1]);
}

/* False: the image or its copy no longer exists. */
static bool record_move(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    const struct vulkan_copy_record *copy = find(move->copy);
    if (!copy)
        return vulkan_refuse(why, "no such copy");
    if (!note_use(device, copy->source, copy->source_serial, why) || !note_use(device, copy->image, ANY_SERIAL, why))
        return false;
    record(device, copy, move, back);
    return true;
}

/* The caller has the copier. */
static VkResult run(struct vulkan_device *device, struct vulkan_queue *queue)
{
    struct vulkan_copier *copier = &device->copier;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &copier->commands};
    VkResult result = device->calls.end(copier->commands);
    if (result == VK_SUCCESS)
        result = device->calls.reset_fences(device->handle, 1, &copier->fence);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&queue->lock);
    result = device->calls.submit(queue->handle, 1, &submit, copier->fence);
    os_unlock(&queue->lock);
    copier->runs = result == VK_SUCCESS;
    return result;
}

/* ---- a list ---- */

/* NULL, with the reason in `why`, if there is none. */
static struct vulkan_queue *find_queue(struct vulkan_device *device, uint32_t family, char *why)
{
    struct vulkan_queue *found = NULL;
    os_lock(&vulkan_lock);
    for (unsigned i = 0; i < device->queue_count && !found; i++)
        if (family == VULKAN_ANY_FAMILY ? device->queues[i].draws : device->queues[i].family == family)
            found = &device->queues[i];
    os_unlock(&vulkan_lock);
    if (!found)
        vulkan_refuse(why, "the program has no queue of family %u", family);
    return found;
}

static bool has_contents(const struct vulkan_move *move, char *why)
{
    if (move->layout == VK_IMAGE_LAYOUT_UNDEFINED || move->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return vulkan_refuse(why, "the image has no contents: its layout is undefined");
    return true;
}

static bool fits_first(const struct vulkan_move *move, const struct vulkan_move *first,
                       const struct vulkan_device *device, char *why)
{
    const struct vulkan_copy_record *copy = find(move->copy);
    if (!copy || copy->record.device != device || move->family != first->family)
        return vulkan_refuse(why, copy ? "the copies belong to several devices or queues" : "no such copy");
    return has_contents(move, why);
}

/* Begins the commands for the device's queue. The caller has the copier. */
static VkResult begin(struct vulkan_device *device, uint32_t family)
{
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const VkResult result = open_copier(device, family);
    if (result != VK_SUCCESS)
        return result;
    os_lock(&vulkan_lock);
    device->commands_begun++;
    os_unlock(&vulkan_lock);
    return device->calls.begin(device->copier.commands, &once);
}

/* Gives up the copier; first waits for the commands if requested. */
static uint64_t end(struct vulkan_device *device, VkResult result, bool wait, const char *what, char *why)
{
    if (result == VK_SUCCESS && wait)
        result = wait_for_commands(device);
    give_copier(device);
    return result == VK_SUCCESS ? 1 : vulkan_refuse(why, "%s on the GPU failed: VkResult %d", what, (int)result);
}

/* Gives up the copier. The recorded commands are reset before the next ones. */
static uint64_t abandon(struct vulkan_device *device)
{
    give_copier(device);
    return 0;
}

uint64_t vulkan_copy_move(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why)
{
    const struct vulkan_copy_record *first = count ? find(moves[0].copy) : NULL;
    if (!count)
        return 1;
    if (!first)
        return vulkan_refuse(why, "no such copy");
    struct vulkan_device *device = first->record.device;
    struct vulkan_queue *queue = find_queue(device, moves[0].family, why);
    if (!queue)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!fits_first(&moves[i], &moves[0], device, why))
            return 0;
    take_copier(device);
    VkResult result = begin(device, queue->family);
    for (uint64_t i = 0; i < count && result == VK_SUCCESS; i++)
        if (!record_move(device, &moves[i], back != 0, why))
            return abandon(device);
    if (result == VK_SUCCESS)
        result = run(device, queue);
    return end(device, result, !back, "the copy", why);
}

/* ---- passing ---- */

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
    const struct change pass = {
        .image = (VkImage)(uintptr_t)image->record.handle,
        .from = back ? general : layout,
        .to = back ? layout : general,
        .before = back ? 0 : all,
        .after = back ? all : 0,
        .family_before = back ? outside : ours,
        .family_after = back ? ours : outside,
        .range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}}; /* the part that OpenCL imports: the rest stays Direct3D's */
    if (!note_use(device, pass.image, image->serial, why))
        return false;
    if (image->outside <= (back ? 1 : 0))
        change(device, &pass);
    return true;
}

static bool can_be_passed(const struct vulkan_move *move, const struct vulkan_move *first,
                          struct vulkan_image_record *image, const struct vulkan_device *device, char *why)
{
    if (!vulkan_look_up_image(move->copy, image, why))
        return false;
    if (image->way != VULKAN_EXPORT)
        return vulkan_refuse(why, "the image is not exported");
    if ((device && image->record.device != device) || move->family != first->family)
        return vulkan_refuse(why, "the images belong to several devices or queues");
    return has_contents(move, why);
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
    struct vulkan_queue *queue = find_queue(device, moves[0].family, why);
    if (!queue)
        return 0;
    take_copier(device);
    VkResult result = begin(device, queue->family);
    for (uint64_t i = 0; i < count && result == VK_SUCCESS; i++)
        if (!record_pass_of(device, moves, i, back != 0, why))
            return abandon(device);
    if (result == VK_SUCCESS)
        result = run(device, queue);
    if (result == VK_SUCCESS)
        count_passes(device, moves, count, back != 0);
    return end(device, result, !back, "the ownership transfer of the image", why);
}

/* ---- the end ---- */

/* The thread that has the copier may be waiting for later commands: then it has already seen that these have ended. */
void vulkan_copy_quiet(struct vulkan_device *device, uint64_t used)
{
    os_lock(&vulkan_lock);
    while (device->commands_over < used && device->copying)
        os_wait(&changed, &vulkan_lock, 1000);
    const bool over = device->commands_over >= used;
    if (!over)
        device->copying = true;
    os_unlock(&vulkan_lock);
    if (over)
        return;
    wait_for_commands(device);
    give_copier(device);
}

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
    take_copier(device);
    close_copier(device);
    give_copier(device);
}
