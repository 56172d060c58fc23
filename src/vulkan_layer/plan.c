/* Which images may be shared, and how they are created. */
#include "vulkan_layer/layer.h"

#include <string.h>

/* ---- formats ---- */

/* The Vulkan formats of the Direct3D formats that can be shared: 1, 2 or 4 channels of 8, 16 or 32 bits, and video. */
static const struct {
    VkFormat first, last;
    unsigned bytes; /* of a texel of the first plane */
    unsigned planes;
} formats[] = {
    {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_SRGB, 1, 1},
    {VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8_SRGB, 2, 1},
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A8B8G8R8_SRGB_PACK32, 4, 1},
    {VK_FORMAT_R16_UNORM, VK_FORMAT_R16_SFLOAT, 2, 1},
    {VK_FORMAT_R16G16_UNORM, VK_FORMAT_R16G16_SFLOAT, 4, 1},
    {VK_FORMAT_R16G16B16A16_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, 8, 1},
    {VK_FORMAT_R32_UINT, VK_FORMAT_R32_SFLOAT, 4, 1},
    {VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32_SFLOAT, 8, 1},
    {VK_FORMAT_R32G32B32A32_UINT, VK_FORMAT_R32G32B32A32_SFLOAT, 16, 1},
    {VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, 1, 3},
    {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 1, 2},
    {VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, 2, 2},
    {VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, 2, 2},
    {(VkFormat)VULKAN_FORMAT_A8_UNORM, (VkFormat)VULKAN_FORMAT_A8_UNORM, 1, 1},
};

static size_t find_format(VkFormat format)
{
    size_t i = 0;
    while (i < sizeof(formats) / sizeof(formats[0]) && (format < formats[i].first || format > formats[i].last))
        i++;
    return i;
}

/* The number of planes of a format that OpenCL supports (1 if it is not planar), or 0. */
static unsigned planes_of(VkFormat format)
{
    const size_t i = find_format(format);
    return i < sizeof(formats) / sizeof(formats[0]) ? formats[i].planes : 0;
}

/* ---- what the device can do ---- */

/* Whether a linear image can replace the requested one: its format must support the same features. */
static bool as_good_linear(const struct vulkan_device *device, VkFormat format)
{
    VkFormatProperties can;
    device->instance->format_properties(device->physical, format, &can);
    return (can.optimalTilingFeatures & ~can.linearTilingFeatures) == 0;
}

/* Queries the driver about images with the parameters of `answer`, and fills in the rest. */
static void ask(const struct vulkan_device *device, struct vulkan_answer *answer)
{
    const bool export = device->method == VULKAN_EXPORT;
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, NULL,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkPhysicalDeviceImageFormatInfo2 info = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                                   export ? &external : NULL,
                                                   answer->format,
                                                   answer->type,
                                                   answer->tiling,
                                                   answer->usage,
                                                   answer->flags};
    VkExternalImageFormatProperties exported = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 found = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                      .pNext = export ? &exported : NULL};
    answer->possible = device->instance->image_properties(device->physical, &info, &found) == VK_SUCCESS;
    if (export &&
        !(exported.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        answer->possible = false;
    if (!export && !as_good_linear(device, answer->format))
        answer->possible = false;
    answer->largest = found.imageFormatProperties.maxExtent;
    answer->levels = found.imageFormatProperties.maxMipLevels;
    answer->layers = found.imageFormatProperties.maxArrayLayers;
}

static bool same_question(const struct vulkan_answer *a, const struct vulkan_answer *b)
{
    return a->known && a->format == b->format && a->type == b->type && a->tiling == b->tiling && a->usage == b->usage &&
           a->flags == b->flags;
}

/* The driver's answer, from the cache if possible: two threads may query at the same time, and get the same answer. */
static struct vulkan_answer answer_of(struct vulkan_device *device, const VkImageCreateInfo *info)
{
    struct vulkan_answer question = {
        true, info->format, info->imageType, info->tiling, info->usage, info->flags, false, {0, 0, 0}, 0, 0};
    const uint32_t mixed =
        ((uint32_t)info->format * 31 + info->usage) * 31 + info->flags * 7 + (uint32_t)info->imageType;
    struct vulkan_answer *place = &device->answers[mixed % VULKAN_ANSWERS];
    os_lock(&vulkan_lock);
    const bool known = same_question(place, &question);
    if (known)
        question = *place;
    os_unlock(&vulkan_lock);
    if (known)
        return question;
    ask(device, &question);
    os_lock(&vulkan_lock);
    *place = question;
    os_unlock(&vulkan_lock);
    return question;
}

/* ---- the rule ---- */

/* Any other flag may mean that the image has a purpose that sharing would break. */
static const VkImageCreateFlags known_flags =
    VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT | VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT |
    VK_IMAGE_CREATE_EXTENDED_USAGE_BIT | VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT;
static const VkImageUsageFlags known_usage =
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT |
    VK_IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT | VULKAN_USAGE_HOST_TRANSFER;

static bool known_chain(const VkBaseInStructure *chain)
{
    while (chain && chain->sType == VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO)
        chain = chain->pNext;
    return !chain;
}

static bool may_be_shared(const VkImageCreateInfo *info)
{
    return (info->imageType == VK_IMAGE_TYPE_2D || info->imageType == VK_IMAGE_TYPE_3D) &&
           info->samples == VK_SAMPLE_COUNT_1_BIT && planes_of(info->format) && (info->flags & ~known_flags) == 0 &&
           (info->usage & ~known_usage) == 0 && known_chain(info->pNext);
}

static uint64_t bytes_of(const VkImageCreateInfo *info)
{
    return (uint64_t)info->extent.width * info->extent.height * info->extent.depth * info->arrayLayers *
           formats[find_format(info->format)].bytes;
}

/* Whether an image is worth exporting. Exportable memory is dedicated to the image, and allocating it takes a hundred
 * microseconds or more, so the image must be large enough. Linear images are for the host. Images with several levels
 * that are only sampled are textures of models or sprites: there may be thousands, and they are not shared. */
static bool worth_export(const struct vulkan_device *device, const VkImageCreateInfo *info)
{
    const VkImageUsageFlags drawn = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    return (info->mipLevels == 1 || (info->usage & drawn)) && info->tiling == VK_IMAGE_TILING_OPTIMAL &&
           info->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED && bytes_of(info) >= device->smallest;
}

static bool fits(const VkImageCreateInfo *info, const struct vulkan_answer *answer)
{
    return answer->possible && info->extent.width <= answer->largest.width &&
           info->extent.height <= answer->largest.height && info->extent.depth <= answer->largest.depth &&
           info->mipLevels <= answer->levels && info->arrayLayers <= answer->layers;
}

static void plan_image(struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan)
{
    const bool export = device->method == VULKAN_EXPORT;
    plan->info = *wanted;
    if (!export)
        plan->info.tiling = VK_IMAGE_TILING_LINEAR;
    const struct vulkan_answer answer = answer_of(device, &plan->info);
    if (!fits(wanted, &answer))
        return;
    if (export) {
        plan->external = (VkExternalMemoryImageCreateInfo){VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                           wanted->pNext, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        plan->info.pNext = &plan->external;
    }
    plan->planes = planes_of(wanted->format);
    plan->method = device->method;
}

void vulkan_plan_image(struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan)
{
    plan->method = VULKAN_NONE;
    if (device->method == VULKAN_NONE || !may_be_shared(wanted))
        return;
    if (device->method == VULKAN_EXPORT
            ? worth_export(device, wanted)
            : wanted->tiling == VK_IMAGE_TILING_OPTIMAL || wanted->tiling == VK_IMAGE_TILING_LINEAR)
        plan_image(device, wanted, plan);
}

void vulkan_plan_own(struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan)
{
    plan->method = VULKAN_NONE;
    if (device->method == VULKAN_EXPORT)
        plan_image(device, wanted, plan);
}
