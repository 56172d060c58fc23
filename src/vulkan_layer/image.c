/* Images: which may be shared, how they are created, and where they are bound. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

/* ---- formats ---- */

enum {
    A8_UNORM = 1000470000 + 1,  /* VK_FORMAT_A8_UNORM_KHR, newer than Debian 12's headers */
    HOST_TRANSFER = 0x00400000, /* VK_IMAGE_USAGE_HOST_TRANSFER_BIT, likewise */
};

/* The Vulkan formats of the Direct3D formats that can be shared: 1, 2 or 4 channels of 8, 16 or 32 bits, and video. */
/* clang-format off */
static const struct format {
    VkFormat first, last;
    uint32_t bytes;     /* of a texel of the first plane */
    VkFormat planes[2]; /* the formats of its planes, if it has planes */
} formats[] = {
    {VK_FORMAT_R8_UNORM,            VK_FORMAT_R8_SRGB,              1,  {0}},
    {VK_FORMAT_R8G8_UNORM,          VK_FORMAT_R8G8_SRGB,            2,  {0}},
    {VK_FORMAT_R8G8B8A8_UNORM,      VK_FORMAT_A8B8G8R8_SRGB_PACK32, 4,  {0}},
    {VK_FORMAT_R16_UNORM,           VK_FORMAT_R16_SFLOAT,           2,  {0}},
    {VK_FORMAT_R16G16_UNORM,        VK_FORMAT_R16G16_SFLOAT,        4,  {0}},
    {VK_FORMAT_R16G16B16A16_UNORM,  VK_FORMAT_R16G16B16A16_SFLOAT,  8,  {0}},
    {VK_FORMAT_R32_UINT,            VK_FORMAT_R32_SFLOAT,           4,  {0}},
    {VK_FORMAT_R32G32_UINT,         VK_FORMAT_R32G32_SFLOAT,        8,  {0}},
    {VK_FORMAT_R32G32B32A32_UINT,   VK_FORMAT_R32G32B32A32_SFLOAT,  16, {0}},
    {(VkFormat)A8_UNORM,            (VkFormat)A8_UNORM,             1,  {0}},
    {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 1,
     {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM}},
    {VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, 2,
     {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM}},
    {VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, 2,
     {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM}},
};
/* clang-format on */

static const struct format *find_format(VkFormat format)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (format >= formats[i].first && format <= formats[i].last)
            return &formats[i];
    return NULL;
}

VkFormat vulkan_subresource(const VkImageCreateInfo *info, uint64_t aspect, uint64_t level, uint64_t layer)
{
    const struct format *format = find_format(info->format);
    if (level >= info->mipLevels || layer >= info->arrayLayers)
        return VK_FORMAT_UNDEFINED;
    if (!format->planes[0])
        return aspect == VK_IMAGE_ASPECT_COLOR_BIT ? info->format : VK_FORMAT_UNDEFINED;
    return aspect == VK_IMAGE_ASPECT_PLANE_0_BIT   ? format->planes[0]
           : aspect == VK_IMAGE_ASPECT_PLANE_1_BIT ? format->planes[1]
                                                   : VK_FORMAT_UNDEFINED;
}

uint32_t vulkan_texel_bytes(VkFormat format)
{
    const struct format *found = find_format(format);
    return found ? found->bytes : 1;
}

VkExtent3D vulkan_extent(const VkImageCreateInfo *info, uint64_t aspect, uint64_t level)
{
    uint32_t size[3] = {info->extent.width, info->extent.height, info->extent.depth};
    for (int i = 0; i < 3; i++) {
        size[i] = size[i] >> level ? size[i] >> level : 1;
        if (aspect == VK_IMAGE_ASPECT_PLANE_1_BIT && i < 2)
            size[i] = (size[i] + 1) / 2;
    }
    return (VkExtent3D){size[0], size[1], size[2]};
}

/* ---- which images may be shared ---- */

static uint64_t bytes_of(const VkImageCreateInfo *info)
{
    return (uint64_t)info->extent.width * info->extent.height * info->extent.depth * info->arrayLayers *
           vulkan_texel_bytes(info->format);
}

/* Whether an image can be copied to rows and back as it is: nothing is changed, so nothing can break. Smaller ones are copied
 * through the host as fast. */
static bool may_be_copied(const struct vulkan_device *device, const VkImageCreateInfo *info)
{
    const VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const VkImageCreateFlags other = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT |
                                     VK_IMAGE_CREATE_PROTECTED_BIT | VK_IMAGE_CREATE_SUBSAMPLED_BIT_EXT;
    return (info->imageType == VK_IMAGE_TYPE_2D || info->imageType == VK_IMAGE_TYPE_3D) &&
           info->samples == VK_SAMPLE_COUNT_1_BIT && find_format(info->format) && !(info->flags & other) &&
           (info->usage & both) == both && bytes_of(info) >= device->smallest;
}

/* Any other flag, usage or structure may mean that the image has a purpose that sharing would break. One that the program itself
 * shares is taken as it is. */
static bool may_be_shared(const VkImageCreateInfo *info)
{
    const VkImageCreateFlags flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT |
                                     VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT |
                                     VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT;
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                    VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                                    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT |
                                    VK_IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT | HOST_TRANSFER;
    const VkBaseInStructure *chain = info->pNext;
    while (chain && (chain->sType == VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO ||
                     chain->sType == VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO))
        chain = chain->pNext;
    return (info->imageType == VK_IMAGE_TYPE_2D || info->imageType == VK_IMAGE_TYPE_3D) &&
           (info->tiling == VK_IMAGE_TILING_OPTIMAL || info->tiling == VK_IMAGE_TILING_LINEAR) &&
           info->samples == VK_SAMPLE_COUNT_1_BIT && find_format(info->format) && !(info->flags & ~flags) &&
           !(info->usage & ~usage) && !chain;
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

/* Whether a linear image can replace the requested one: its format must support the same features. */
static bool as_good_linear(const struct vulkan_device *device, VkFormat format)
{
    VkFormatProperties can;
    device->instance->GetPhysicalDeviceFormatProperties(device->physical, format, &can);
    return (can.optimalTilingFeatures & ~can.linearTilingFeatures) == 0;
}

bool vulkan_supports_image(const struct vulkan_device *device, const VkImageCreateInfo *info, bool *again)
{
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, NULL,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkPhysicalDeviceImageFormatInfo2 question = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                                       again ? &external : NULL,
                                                       info->format,
                                                       info->imageType,
                                                       info->tiling,
                                                       info->usage,
                                                       info->flags};
    VkExternalImageFormatProperties exported = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 found = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                      .pNext = again ? &exported : NULL};
    const VkImageFormatProperties *most = &found.imageFormatProperties;
    const VkExternalMemoryProperties *can = &exported.externalMemoryProperties;
    if (device->instance->GetPhysicalDeviceImageFormatProperties2(device->physical, &question, &found) != VK_SUCCESS)
        return false;
    if (again)
        *again = (can->exportFromImportedHandleTypes & external.handleType) != 0;
    return (!again || (can->externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)) &&
           info->extent.width <= most->maxExtent.width && info->extent.height <= most->maxExtent.height &&
           info->extent.depth <= most->maxExtent.depth && info->mipLevels <= most->maxMipLevels &&
           info->arrayLayers <= most->maxArrayLayers;
}

bool vulkan_plan_image(const struct vulkan_device *device, const VkImageCreateInfo *wanted, struct vulkan_plan *plan)
{
    const VkExternalMemoryHandleTypeFlags file = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExternalMemoryImageCreateInfo *external =
        vulkan_chained(wanted->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    plan->info = *wanted;
    plan->again = false;
    if (device->method == VULKAN_RECORD || !may_be_shared(wanted))
        return false;
    if (device->method == VULKAN_MAPPED) {
        plan->info.tiling = VK_IMAGE_TILING_LINEAR;
        return (!external || wanted->tiling == VK_IMAGE_TILING_LINEAR) && as_good_linear(device, wanted->format) &&
               vulkan_supports_image(device, &plan->info, NULL);
    }
    plan->external =
        (VkExternalMemoryImageCreateInfo){VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, wanted->pNext, file};
    if (!external)
        plan->info.pNext = &plan->external;
    return (!external || (external->handleTypes & file)) && worth_export(device, wanted) &&
           vulkan_supports_image(device, wanted, &plan->again);
}

/* ---- their life ---- */

VkResult vulkan_make_image(struct vulkan_device *device, const struct vulkan_plan *plan, bool changed,
                           const VkAllocationCallbacks *allocator, VkImage *made)
{
    struct vulkan_image_record *image = calloc(1, sizeof(*image));
    const VkResult result =
        image ? device->calls.CreateImage(device->handle, &plan->info, allocator, made) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result != VK_SUCCESS) {
        free(image);
        return result;
    }
    image->bound.record = (struct vulkan_record){VULKAN_IMAGE, device, VULKAN_NUMBER(*made), NULL};
    image->info = plan->info;
    image->changed = changed;
    image->again = plan->again;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(&image->bound.record);
    os_unlock(&vulkan_lock);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_plan plan;
    if (vulkan_plan_image(device, info, &plan) && vulkan_make_image(device, &plan, true, allocator, made) == VK_SUCCESS)
        return VK_SUCCESS;
    plan.info = *info;
    if (may_be_copied(device, info))
        return vulkan_make_image(device, &plan, false, allocator, made);
    return device->calls.CreateImage(handle, info, allocator, made);
}

VKAPI_ATTR void VKAPI_CALL vulkan_DestroyImage(VkDevice handle, VkImage destroyed,
                                               const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(destroyed));
    if (image)
        vulkan_record_remove_locked(&image->bound.record);
    os_unlock(&vulkan_lock);
    if (image)
        vulkan_copier_quiet(device, image->used);
    free(image);
    device->calls.DestroyImage(handle, destroyed, allocator);
}

/* The transport imports the memory of an exported image, so the image should be alone there. */
static void prefer_dedicated(VkMemoryRequirements2 *needs)
{
    VkMemoryDedicatedRequirements *dedicated =
        (void *)(uintptr_t)vulkan_chained(needs->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    if (dedicated)
        dedicated->prefersDedicatedAllocation = VK_TRUE;
}

VKAPI_ATTR void VKAPI_CALL vulkan_GetImageMemoryRequirements2(VkDevice handle,
                                                              const VkImageMemoryRequirementsInfo2 *info,
                                                              VkMemoryRequirements2 *needs)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    device->calls.GetImageMemoryRequirements2(handle, info, needs);
    os_lock(&vulkan_lock);
    const struct vulkan_image_record *image =
        vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(info->image));
    const bool exported = device->method == VULKAN_EXPORT && image && image->changed;
    os_unlock(&vulkan_lock);
    if (exported)
        prefer_dedicated(needs);
}

/* The requirements of an image that does not exist yet are those of the image that would be created. */
VKAPI_ATTR void VKAPI_CALL vulkan_GetDeviceImageMemoryRequirements(VkDevice handle,
                                                                   const VkDeviceImageMemoryRequirements *info,
                                                                   VkMemoryRequirements2 *needs)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_plan plan;
    VkDeviceImageMemoryRequirements changed = *info;
    const bool planned = vulkan_plan_image(device, info->pCreateInfo, &plan);
    if (planned)
        changed.pCreateInfo = &plan.info;
    device->calls.GetDeviceImageMemoryRequirements(handle, &changed, needs);
    if (planned && device->method == VULKAN_EXPORT)
        prefer_dedicated(needs);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_BindImageMemory(VkDevice handle, VkImage image, VkDeviceMemory memory,
                                                      VkDeviceSize offset)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.BindImageMemory(handle, image, memory, offset);
    if (result == VK_SUCCESS)
        vulkan_note_place(VULKAN_IMAGE, device, VULKAN_NUMBER(image), memory, offset);
    return result;
}

bool vulkan_look_up_image(uint64_t handle, struct vulkan_image_record *image, char *why)
{
    os_lock(&vulkan_lock);
    const struct vulkan_image_record *found = vulkan_record_find_locked(VULKAN_IMAGE, NULL, handle);
    if (found)
        *image = *found;
    os_unlock(&vulkan_lock);
    return found ||
           vulkan_refuse(why,
                         "unknown to the Vulkan layer: too small, not a sharable kind, or created without the layer");
}
