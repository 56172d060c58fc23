/* Images: created as planned and recorded, with the memory to which they are bound. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

VkResult vulkan_make_image(struct vulkan_device *device, const struct vulkan_plan *plan,
                           const VkAllocationCallbacks *allocator, VkImage *made)
{
    static uint64_t last_serial; /* guarded by the lock */
    struct vulkan_image_record *image = calloc(1, sizeof(*image));
    const VkResult result =
        image ? device->calls.create_image(device->handle, &plan->info, allocator, made) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result != VK_SUCCESS) {
        free(image);
        return result;
    }
    image->record = (struct vulkan_record){VULKAN_IMAGE, device, VULKAN_NUMBER(*made), NULL};
    image->method = plan->method;
    image->planes = plan->planes;
    image->info = plan->info;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    os_lock(&vulkan_lock);
    image->serial = ++last_serial;
    vulkan_record_add_locked(&image->record);
    os_unlock(&vulkan_lock);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_create_image(VkDevice handle, const VkImageCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkImage *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_plan plan;
    vulkan_plan_image(device, info, &plan);
    if (plan.method && vulkan_make_image(device, &plan, allocator, made) == VK_SUCCESS)
        return VK_SUCCESS;
    return device->calls.create_image(handle, info, allocator, made);
}

VKAPI_ATTR void VKAPI_CALL vulkan_destroy_image(VkDevice handle, VkImage destroyed,
                                                const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    struct vulkan_image_record *image = vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(destroyed), NULL);
    if (image)
        vulkan_record_remove_locked(&image->record);
    os_unlock(&vulkan_lock);
    if (image)
        vulkan_copier_quiet(device, image->used);
    free(image);
    device->calls.destroy_image(handle, destroyed, allocator);
}

/* ---- what memory it needs ---- */

static enum vulkan_method method_of(const struct vulkan_device *device, VkImage handle)
{
    os_lock(&vulkan_lock);
    const struct vulkan_image_record *image =
        vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(handle), NULL);
    const enum vulkan_method method = image ? image->method : VULKAN_NONE;
    os_unlock(&vulkan_lock);
    return method;
}

/* Whether the memory requirements that the driver reports may have to be changed. Usually they are not, and then the
 * image need not be looked up. */
static bool may_change(const struct vulkan_device *device, const VkMemoryRequirements *needs)
{
    return device->method == VULKAN_MAPPED &&
           (needs->alignment < device->granularity || needs->size % device->granularity);
}

/* Where it matters, the program keeps linear images apart from others; but it does not know that this image is
 * linear. */
static void keep_apart(const struct vulkan_device *device, enum vulkan_method method, VkMemoryRequirements *needs)
{
    if (method != VULKAN_MAPPED)
        return;
    if (needs->alignment < device->granularity)
        needs->alignment = device->granularity;
    needs->size = (needs->size + device->granularity - 1) / device->granularity * device->granularity;
}

/* An exported image should have dedicated memory, because the transport imports it. A driver may even require dedicated
 * memory for an exportable image (RADV). That requirement is hidden, because the program did not request export and may
 * have placed all its images in larger allocations. */
static void want_alone(enum vulkan_method method, VkMemoryRequirements2 *needs)
{
    if (method != VULKAN_EXPORT)
        return;
    for (VkBaseOutStructure *each = needs->pNext; each; each = each->pNext) {
        if (each->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) {
            VkMemoryDedicatedRequirements *dedicated = (void *)each;
            dedicated->prefersDedicatedAllocation = VK_TRUE;
            dedicated->requiresDedicatedAllocation = VK_FALSE;
        }
    }
}

VKAPI_ATTR void VKAPI_CALL vulkan_image_needs(VkDevice handle, VkImage image, VkMemoryRequirements *needs)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    device->calls.image_needs(handle, image, needs);
    if (may_change(device, needs))
        keep_apart(device, method_of(device, image), needs);
}

VKAPI_ATTR void VKAPI_CALL vulkan_image_needs2(VkDevice handle, const VkImageMemoryRequirementsInfo2 *info,
                                               VkMemoryRequirements2 *needs)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    device->calls.image_needs2(handle, info, needs);
    if (device->method != VULKAN_EXPORT && !may_change(device, &needs->memoryRequirements))
        return;
    const enum vulkan_method method = method_of(device, info->image);
    keep_apart(device, method, &needs->memoryRequirements);
    want_alone(method, needs);
}

VKAPI_ATTR void VKAPI_CALL vulkan_future_image_needs(VkDevice handle, const VkDeviceImageMemoryRequirements *info,
                                                     VkMemoryRequirements2 *needs)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_plan plan;
    VkDeviceImageMemoryRequirements changed = *info;
    vulkan_plan_image(device, info->pCreateInfo, &plan);
    if (plan.method)
        changed.pCreateInfo = &plan.info;
    device->calls.future_image_needs(handle, &changed, needs);
    keep_apart(device, plan.method, &needs->memoryRequirements);
    want_alone(plan.method, needs);
}

/* Only a program that requested a linear image uses its layout. The query is changed like the image, so that both
 * agree. */
VKAPI_ATTR void VKAPI_CALL vulkan_future_layout(VkDevice handle, const VkDeviceImageSubresourceInfoKHR *info,
                                                VkSubresourceLayout2KHR *layout)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_plan plan;
    VkDeviceImageSubresourceInfoKHR changed = *info;
    vulkan_plan_image(device, info->pCreateInfo, &plan);
    if (plan.method)
        changed.pCreateInfo = &plan.info;
    device->calls.future_layout(handle, &changed, layout);
}

/* ---- its memory ---- */

VKAPI_ATTR VkResult VKAPI_CALL vulkan_bind_image(VkDevice handle, VkImage image, VkDeviceMemory memory,
                                                 VkDeviceSize offset)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.bind_image(handle, image, memory, offset);
    if (result == VK_SUCCESS)
        vulkan_note_place(VULKAN_IMAGE, device, VULKAN_NUMBER(image), memory, offset);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_bind_image2(VkDevice handle, uint32_t count, const VkBindImageMemoryInfo *infos)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.bind_image2(handle, count, infos);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        vulkan_note_place(VULKAN_IMAGE, device, VULKAN_NUMBER(infos[i].image), infos[i].memory, infos[i].memoryOffset);
    return result;
}
