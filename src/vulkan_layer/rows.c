/* Rows: memory to which images are copied, and from which they are copied back, on the GPU. Nothing about the images is
 * changed. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>
#include <string.h>

struct rows {
    struct vulkan_record record;
    VkBuffer buffer; /* one of these two */
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize size; /* of the buffer */
    VkExtent3D extent; /* of the image ... */
    uint32_t texel;    /* ... and the bytes of its texels */
    bool outside;      /* the memory is the device's, and another API owns it between moves */
    uint64_t used;     /* the number of the layer's last commands that name them, or 0 */
};

static const VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

/* ---- creation and destruction ---- */

static VkExternalMemoryHandleTypeFlagBits handle_type(uint32_t kind)
{
    return kind == VULKAN_ROWS_HOST      ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
           : kind == VULKAN_ROWS_DMA_BUF ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                                         : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
}

static VkResult make_buffer(const struct vulkan_device *device, const struct vulkan_rows *wanted, struct rows *made)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const VkPhysicalDeviceExternalBufferInfo question = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, NULL,
                                                         0, usage, handle_type(wanted->kind)};
    VkExternalBufferProperties can = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    const VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
                                                       handle_type(wanted->kind)};
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = wanted->size, .usage = usage};
    device->instance->GetPhysicalDeviceExternalBufferProperties(device->physical, &question, &can);
    made->size = wanted->size;
    return can.externalMemoryProperties.externalMemoryFeatures &
                   (wanted->kind == VULKAN_ROWS_HOST ? VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT
                                                     : VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)
               ? device->calls.CreateBuffer(device->handle, &info, NULL, &made->buffer)
               : VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

/* An image as large as the subresource; for a trial a small one. */
static VkResult make_image(struct vulkan_device *device, const VkImageCreateInfo *of, const struct vulkan_rows *wanted,
                           struct rows *made)
{
    const bool trial = wanted->kind == VULKAN_ROWS_TRIAL;
    const VkExternalMemoryImageCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                      handle_type(wanted->kind)};
    const VkFormat format = vulkan_subresource(of, wanted->aspect, wanted->level, wanted->layer);
    struct vulkan_plan plan = {.info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                        .imageType = trial ? VK_IMAGE_TYPE_2D : of->imageType,
                                        .format = format,
                                        .extent = trial
                                                      ? (VkExtent3D){VULKAN_ROWS_TRIAL_SIDE, VULKAN_ROWS_TRIAL_SIDE, 1}
                                                      : vulkan_extent(of, wanted->aspect, wanted->level),
                                        .mipLevels = 1,
                                        .arrayLayers = 1,
                                        .samples = VK_SAMPLE_COUNT_1_BIT,
                                        .tiling = VK_IMAGE_TILING_OPTIMAL,
                                        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                                 VK_IMAGE_USAGE_SAMPLED_BIT}};
    if (!format || !vulkan_supports_image(device, &plan.info, trial ? NULL : &plan.again))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    plan.info.pNext = trial ? NULL : &external;
    made->extent = plan.info.extent;
    made->texel = vulkan_texel_bytes(format);
    return vulkan_make_image(device, &plan, false, NULL, &made->image);
}

/* The first memory type among `types` that has all of `wanted`, or else `least`; VK_MAX_MEMORY_TYPES: there is none. */
static uint32_t choose_type(const struct vulkan_device *device, uint32_t types, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags least)
{
    const VkMemoryPropertyFlags steps[] = {wanted, least};
    for (int step = 0; step < 2; step++)
        for (uint32_t i = 0; i < device->types.memoryTypeCount; i++)
            if ((types >> i & 1) && (device->types.memoryTypes[i].propertyFlags & steps[step]) == steps[step])
                return i;
    return VK_MAX_MEMORY_TYPES;
}

/* The caller's memory, or memory that is exported; for a trial the device's own. */
static VkResult give_memory(const struct vulkan_device *device, struct rows *made, struct vulkan_rows *wanted)
{
    const VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkExternalMemoryHandleTypeFlagBits type = handle_type(wanted->kind);
    const VkMemoryDedicatedAllocateInfo alone = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL, made->image,
                                                 made->buffer};
    const VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, &alone, type};
    const VkImportMemoryHostPointerInfoEXT import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, NULL, type,
                                                     (void *)(uintptr_t)wanted->address};
    VkMemoryHostPointerPropertiesEXT host = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT,
                                             .memoryTypeBits = UINT32_MAX};
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    const bool ours = wanted->kind == VULKAN_ROWS_HOST;
    if (made->image)
        device->calls.GetImageMemoryRequirements(device->handle, made->image, &needs);
    else
        device->calls.GetBufferMemoryRequirements(device->handle, made->buffer, &needs);
    if (ours) {
        const VkResult result =
            device->calls.GetMemoryHostPointerPropertiesEXT(device->handle, type, import.pHostPointer, &host);
        if (result != VK_SUCCESS)
            return result;
    }
    info.pNext = ours ? (const void *)&import : wanted->kind == VULKAN_ROWS_TRIAL ? NULL : &export;
    info.allocationSize = ours ? wanted->size : needs.size;
    info.memoryTypeIndex =
        choose_type(device, needs.memoryTypeBits & host.memoryTypeBits,
                    ours ? coherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                    ours ? coherent : 0);
    if (needs.size > info.allocationSize || info.memoryTypeIndex == VK_MAX_MEMORY_TYPES)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    wanted->size = info.allocationSize;
    const VkResult result = device->calls.AllocateMemory(device->handle, &info, NULL, &made->memory);
    if (result != VK_SUCCESS)
        return result;
    return made->image ? device->calls.BindImageMemory(device->handle, made->image, made->memory, 0)
                       : device->calls.BindBufferMemory(device->handle, made->buffer, made->memory, 0);
}

/* An image for trials has a layout, as a program's image; it stands for one. */
static VkResult begin_trial(struct vulkan_device *device, const struct rows *made)
{
    const uint32_t ignored = VK_QUEUE_FAMILY_IGNORED;
    VkResult result = vulkan_copier_begin(device);
    if (result == VK_SUCCESS) {
        vulkan_change(device, made->image, &whole, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL, 0,
                      VK_ACCESS_MEMORY_READ_BIT, ignored, ignored);
        result = vulkan_copier_submit(device);
    }
    vulkan_copier_end(device);
    return result;
}

/* Gives the caller what names the memory in another API. */
static VkResult export(struct vulkan_device *device, const struct rows *made, struct vulkan_rows *wanted)
{
    const VkMemoryGetFdInfoKHR info = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, made->memory,
                                       handle_type(wanted->kind)};
    if (wanted->kind == VULKAN_ROWS_TRIAL) {
        wanted->address = VULKAN_NUMBER(made->image);
        return begin_trial(device, made);
    }
    return wanted->kind == VULKAN_ROWS_HOST ? VK_SUCCESS
                                            : device->calls.GetMemoryFdKHR(device->handle, &info, &wanted->file);
}

static void destroy(struct vulkan_device *device, struct rows *rows)
{
    vulkan_copier_quiet(device, rows->used);
    vulkan_DestroyImage(device->handle, rows->image, NULL);
    device->calls.DestroyBuffer(device->handle, rows->buffer, NULL);
    device->calls.FreeMemory(device->handle, rows->memory, NULL);
    free(rows);
}

uint64_t vulkan_make_rows(uint64_t image_handle, struct vulkan_rows *wanted, char *why)
{
    static uint64_t last_name; /* guarded by the lock */
    const bool trial = wanted->kind == VULKAN_ROWS_TRIAL, is_image = trial || wanted->kind == VULKAN_ROWS_IMAGE;
    struct vulkan_image_record image;
    wanted->file = -1;
    if (!vulkan_look_up_image(image_handle, &image, why))
        return 0;
    struct vulkan_device *device = image.bound.record.device;
    if (!device->queue || wanted->size % VULKAN_ROWS_PAGE || wanted->address % VULKAN_ROWS_PAGE ||
        wanted->kind > VULKAN_ROWS_TRIAL || !(trial || device->shares >> wanted->kind & 1))
        return vulkan_refuse(why, "the Vulkan driver does not share such memory");
    struct rows *made = calloc(1, sizeof(*made));
    if (!made)
        return vulkan_refuse(why, "no memory for a record");
    made->outside = wanted->kind != VULKAN_ROWS_HOST;
    VkResult result = is_image ? make_image(device, &image.info, wanted, made) : make_buffer(device, wanted, made);
    if (result == VK_SUCCESS)
        result = give_memory(device, made, wanted);
    if (result == VK_SUCCESS)
        result = export(device, made, wanted);
    if (result != VK_SUCCESS) {
        destroy(device, made);
        return vulkan_refuse(why, "Vulkan does not share memory of %llu bytes: VkResult %d",
                             (unsigned long long)wanted->size, (int)result);
    }
    os_lock(&vulkan_lock);
    wanted->rows = ++last_name;
    made->record = (struct vulkan_record){VULKAN_ROWS, device, wanted->rows, NULL};
    vulkan_record_add_locked(&made->record);
    os_unlock(&vulkan_lock);
    return 1;
}

static struct rows *take(uint64_t name, const struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    struct rows *rows =
        name ? vulkan_record_find_locked(VULKAN_ROWS, device, name) : vulkan_record_any_locked(VULKAN_ROWS, device);
    if (rows)
        vulkan_record_remove_locked(&rows->record);
    os_unlock(&vulkan_lock);
    return rows;
}

uint64_t vulkan_drop_rows(uint64_t name)
{
    struct rows *rows = name ? take(name, NULL) : NULL;
    if (rows)
        destroy(rows->record.device, rows);
    return rows != NULL;
}

void vulkan_drop_all_rows(struct vulkan_device *device)
{
    for (struct rows *rows; (rows = take(0, device));)
        destroy(device, rows);
}

uint64_t vulkan_fit_rows(uint64_t name, uint64_t image_handle)
{
    struct vulkan_image_record image;
    if (!vulkan_look_up_image(image_handle, &image, NULL))
        return 0;
    os_lock(&vulkan_lock);
    const bool fit = vulkan_record_find_locked(VULKAN_ROWS, image.bound.record.device, name) != NULL;
    os_unlock(&vulkan_lock);
    return fit;
}

/* ---- commands ---- */

/* A barrier for the rows: between the device's commands and `outside`, the other API's or the host's. */
static void pass_rows(const struct vulkan_device *device, const struct rows *rows, VkAccessFlags access,
                      bool to_outside)
{
    const VkAccessFlags host = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT, other = rows->outside ? 0 : host;
    const uint32_t here = rows->outside ? device->family : VK_QUEUE_FAMILY_IGNORED,
                   there = rows->outside ? VK_QUEUE_FAMILY_EXTERNAL : VK_QUEUE_FAMILY_IGNORED;
    const VkPipelineStageFlags stage = rows->outside ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_HOST_BIT,
                               copies = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkBufferMemoryBarrier barrier = {VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           NULL,
                                           to_outside ? access : other,
                                           to_outside ? other : access,
                                           to_outside ? here : there,
                                           to_outside ? there : here,
                                           rows->buffer,
                                           0,
                                           VK_WHOLE_SIZE};
    device->calls.CmdPipelineBarrier(device->commands, to_outside ? copies : stage, to_outside ? stage : copies, 0, 0,
                                     NULL, 1, &barrier, 0, NULL);
}

/* The image is changed from its layout and back to it. What the rows held before a copy to them does not matter. */
static void record_copy(const struct vulkan_device *device, const struct rows *rows, const struct vulkan_move *move,
                        VkExtent3D extent, bool back)
{
    const VkAccessFlags any = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                        access = back ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT,
                        others = back ? VK_ACCESS_TRANSFER_READ_BIT : VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkImageLayout layout = (VkImageLayout)move->layout, general = VK_IMAGE_LAYOUT_GENERAL,
                        during = back ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImage image = (VkImage)(uintptr_t)move->image;
    const uint32_t ignored = VK_QUEUE_FAMILY_IGNORED, outside = VK_QUEUE_FAMILY_EXTERNAL;
    const VkImageSubresourceLayers part = {move->aspect, move->level, move->layer, 1};
    const VkBufferImageCopy region = {
        .bufferRowLength = move->row_texels, .imageSubresource = part, .imageExtent = extent};
    const VkImageCopy between = {back ? whole : part, {0, 0, 0}, back ? part : whole, {0, 0, 0}, extent};
    vulkan_change(device, image, &part, layout, during, any, access, ignored, ignored);
    if (rows->image) {
        vulkan_change(device, rows->image, &whole, back ? general : VK_IMAGE_LAYOUT_UNDEFINED, general, 0, others,
                      back ? outside : ignored, back ? device->family : ignored);
        device->calls.CmdCopyImage(device->commands, back ? rows->image : image, back ? general : during,
                                   back ? image : rows->image, back ? during : general, 1, &between);
        if (!back)
            vulkan_change(device, rows->image, &whole, general, general, others, 0, device->family, outside);
    } else if (back) {
        pass_rows(device, rows, others, false);
        device->calls.CmdCopyBufferToImage(device->commands, rows->buffer, image, during, 1, &region);
    } else {
        device->calls.CmdCopyImageToBuffer(device->commands, image, during, rows->buffer, 1, &region);
        pass_rows(device, rows, others, true);
    }
    vulkan_change(device, image, &part, during, layout, access, any, ignored, ignored);
}

/* Whether the copy stays inside the rows. */
static bool is_inside(const struct rows *rows, const VkExtent3D *extent, uint32_t row_texels, VkFormat format)
{
    const uint64_t texels = ((uint64_t)extent->depth * extent->height - 1) * row_texels + extent->width;
    if (rows->image)
        return memcmp(extent, &rows->extent, sizeof(*extent)) == 0 && vulkan_texel_bytes(format) == rows->texel;
    return row_texels >= extent->width && texels <= rows->size / vulkan_texel_bytes(format);
}

bool vulkan_add_rows(const struct vulkan_device *device, const struct vulkan_move *move, bool back, char *why)
{
    struct rows used;
    VkExtent3D extent = {0};
    VkFormat format = VK_FORMAT_UNDEFINED;
    os_lock(&vulkan_lock);
    struct rows *rows = vulkan_record_find_locked(VULKAN_ROWS, device, move->name);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, move->image);
    if (rows && image)
        format = vulkan_subresource(&image->info, move->aspect, move->level, move->layer);
    if (format) {
        rows->used = image->used = device->begun;
        extent = vulkan_extent(&image->info, move->aspect, move->level);
        used = *rows;
    }
    os_unlock(&vulkan_lock);
    if (!format || !is_inside(&used, &extent, move->row_texels, format))
        return vulkan_refuse(why, "no such rows on the image's device, or they are too small, or the image is gone");
    record_copy(device, &used, move, extent, back);
    return true;
}
