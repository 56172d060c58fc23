/* Buffers: those whose addresses may be queried, because Direct3D reports only a buffer's address. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

static bool is_followed(const struct vulkan_device *device, const VkBufferCreateInfo *info)
{
    const VkBufferCreateFlags known = VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return device->method != VULKAN_NONE && (info->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) &&
           (info->flags & ~known) == 0;
}

/* How to create a buffer that may be bound to exportable memory, which must be declared. `info` points into it. */
struct plan {
    VkBufferCreateInfo info;
    VkExternalMemoryBufferCreateInfo external;
};

static bool plan_buffer(const struct vulkan_device *device, const VkBufferCreateInfo *wanted, struct plan *plan)
{
    if (!device->marks_buffers || !is_followed(device, wanted) || wanted->pNext ||
        !vulkan_exports_buffers(device, wanted->flags, wanted->usage))
        return false;
    plan->external = (VkExternalMemoryBufferCreateInfo){VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
                                                        VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    plan->info = *wanted;
    plan->info.pNext = &plan->external;
    return true;
}

static void note(struct vulkan_device *device, const VkBufferCreateInfo *info, VkBuffer made)
{
    struct vulkan_buffer_record *buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        return;
    buffer->record = (struct vulkan_record){VULKAN_BUFFER, device, VULKAN_NUMBER(made), NULL};
    buffer->size = info->size;
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(&buffer->record);
    os_unlock(&vulkan_lock);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_create_buffer(VkDevice handle, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkBuffer *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct plan plan;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (plan_buffer(device, info, &plan))
        result = device->calls.create_buffer(handle, &plan.info, allocator, made);
    if (result != VK_SUCCESS)
        result = device->calls.create_buffer(handle, info, allocator, made);
    if (result == VK_SUCCESS && is_followed(device, info))
        note(device, info, *made);
    return result;
}

VKAPI_ATTR void VKAPI_CALL vulkan_destroy_buffer(VkDevice handle, VkBuffer destroyed,
                                                 const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    struct vulkan_record *buffer = vulkan_record_find_locked(VULKAN_BUFFER, device, VULKAN_NUMBER(destroyed), NULL);
    if (buffer)
        vulkan_record_remove_locked(buffer);
    os_unlock(&vulkan_lock);
    free(buffer);
    device->calls.destroy_buffer(handle, destroyed, allocator);
}

VKAPI_ATTR void VKAPI_CALL vulkan_future_buffer_needs(VkDevice handle, const VkDeviceBufferMemoryRequirements *info,
                                                      VkMemoryRequirements2 *needs)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    struct plan plan;
    VkDeviceBufferMemoryRequirements changed = *info;
    if (plan_buffer(device, info->pCreateInfo, &plan))
        changed.pCreateInfo = &plan.info;
    device->calls.future_buffer_needs(handle, &changed, needs);
}

/* ---- its memory ---- */

VKAPI_ATTR VkResult VKAPI_CALL vulkan_bind_buffer(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.bind_buffer(handle, buffer, memory, offset);
    if (result == VK_SUCCESS)
        vulkan_note_place(VULKAN_BUFFER, device, VULKAN_NUMBER(buffer), memory, offset);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_bind_buffer2(VkDevice handle, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.bind_buffer2(handle, count, infos);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        vulkan_note_place(VULKAN_BUFFER, device, VULKAN_NUMBER(infos[i].buffer), infos[i].memory,
                          infos[i].memoryOffset);
    return result;
}

/* ---- its address ---- */

static VkDeviceAddress note_address(const struct vulkan_device *device, VkBuffer handle, VkDeviceAddress address)
{
    os_lock(&vulkan_lock);
    struct vulkan_buffer_record *buffer = vulkan_record_find_locked(VULKAN_BUFFER, device, VULKAN_NUMBER(handle), NULL);
    if (buffer)
        vulkan_address_locked(buffer, address);
    os_unlock(&vulkan_lock);
    return address;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL vulkan_buffer_address(VkDevice handle, const VkBufferDeviceAddressInfo *info)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    return note_address(device, info->buffer, device->calls.buffer_address(handle, info));
}

/* The function of VK_EXT_buffer_device_address, a different extension whose function has the same parameters. */
VKAPI_ATTR VkDeviceAddress VKAPI_CALL vulkan_buffer_address_ext(VkDevice handle, const VkBufferDeviceAddressInfo *info)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    return note_address(device, info->buffer, device->calls.buffer_address_ext(handle, info));
}
