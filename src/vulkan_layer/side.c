/* The functions through which the Vulkan layer informs transports (vulkan.h). */
#include "vulkan_layer/layer.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

uint64_t vulkan_refuse(char *why, const char *format, ...)
{
    va_list arguments;
    if (!why)
        return 0;
    va_start(arguments, format);
    vsnprintf(why, VULKAN_WHY, format, arguments);
    va_end(arguments);
    return 0;
}

uint64_t vulkan_find_image(uint64_t handle, struct vulkan_image *found, char *why)
{
    struct vulkan_image_record image;
    VkMemoryRequirements needs;
    if (!vulkan_look_up_image(handle, &image, why))
        return 0;
    const struct vulkan_device *device = image.bound.record.device;
    device->calls.GetImageMemoryRequirements(device->handle, (VkImage)(uintptr_t)handle, &needs);
    *found = (struct vulkan_image){.type = (uint32_t)image.info.imageType,
                                   .format = (uint32_t)image.info.format,
                                   .width = image.info.extent.width,
                                   .height = image.info.extent.height,
                                   .depth = image.info.extent.depth,
                                   .levels = image.info.mipLevels,
                                   .layers = image.info.arrayLayers,
                                   .samples = (uint32_t)image.info.samples,
                                   .tiling = (uint32_t)image.info.tiling,
                                   .usage = image.info.usage,
                                   .flags = image.info.flags,
                                   .outside = image.outside};
    if (!vulkan_describe(image.bound.memory, image.bound.offset, needs.size, &found->memory, why))
        found->memory.gpu = device->gpu; /* the memory is not followed */
    return 1;
}

static uint64_t find_place(uint64_t handle, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why)
{
    struct vulkan_image_record image;
    VkSubresourceLayout layout;
    if (!vulkan_look_up_image(handle, &image, why))
        return 0;
    if (image.info.tiling != VK_IMAGE_TILING_LINEAR)
        return vulkan_refuse(why, "the image is not linear");
    if (vulkan_subresource(&image.info, aspect, level, layer) == VK_FORMAT_UNDEFINED)
        return vulkan_refuse(why, "the image has no such subresource");
    const VkImageSubresource subresource = {(VkImageAspectFlags)aspect, (uint32_t)level, (uint32_t)layer};
    const struct vulkan_device *device = image.bound.record.device;
    device->calls.GetImageSubresourceLayout(device->handle, (VkImage)(uintptr_t)handle, &subresource, &layout);
    *found = (struct vulkan_place){layout.offset, layout.size, layout.rowPitch,
                                   image.info.imageType == VK_IMAGE_TYPE_3D ? layout.depthPitch : layout.arrayPitch};
    return 1;
}

static uint64_t close_file(uint64_t file)
{
    return file <= INT32_MAX && close((int)file) == 0;
}

const struct vulkan_side *vulkan_side_here(void)
{
    static const struct vulkan_side side = {
        .find_image = vulkan_find_image,
        .find_place = find_place,
        .find_buffer = vulkan_find_buffer,
        .export = vulkan_export,
        .close = close_file,
        .hold = vulkan_hold,
        .give_back = vulkan_give_back,
        .pass = vulkan_pass,
        .make_rows = vulkan_make_rows,
        .drop_rows = vulkan_drop_rows,
        .fit_rows = vulkan_fit_rows,
        .move_rows = vulkan_move_rows,
    };
    return vulkan_layer_active() ? &side : NULL;
}
