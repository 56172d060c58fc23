/* Buffers with device addresses, because Direct3D reports only a buffer's address. Their memory is exportable, although
 * the buffers are not declared so: with that declaration a driver allows fewer memory types. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

/* Those whose addresses the program has queried; guarded by the lock. Each acquire of a buffer searches them, and a game
 * has many thousand other records. */
static struct vulkan_buffer_record *addressed;

void vulkan_address_forget_locked(struct vulkan_buffer_record *buffer)
{
    struct vulkan_buffer_record **place = &addressed;
    while (*place && *place != buffer)
        place = &(*place)->after;
    if (*place)
        *place = buffer->after;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkBuffer *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.CreateBuffer(handle, info, allocator, made);
    const bool followed = result == VK_SUCCESS && device->buffer_types && info->flags == 0 &&
                          (info->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    struct vulkan_buffer_record *buffer = followed ? calloc(1, sizeof(*buffer)) : NULL;
    if (!buffer)
        return result;
    buffer->bound.record = (struct vulkan_record){VULKAN_BUFFER, device, VULKAN_NUMBER(*made), NULL};
    buffer->size = info->size;
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(&buffer->bound.record);
    os_unlock(&vulkan_lock);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vulkan_DestroyBuffer(VkDevice handle, VkBuffer destroyed,
                                                const VkAllocationCallbacks *allocator)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    struct vulkan_buffer_record *buffer = vulkan_record_find_locked(VULKAN_BUFFER, device, VULKAN_NUMBER(destroyed));
    if (buffer) {
        vulkan_record_remove_locked(&buffer->bound.record);
        if (buffer->address)
            vulkan_address_forget_locked(buffer);
    }
    os_unlock(&vulkan_lock);
    free(buffer);
    device->calls.DestroyBuffer(handle, destroyed, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_BindBufferMemory(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                                       VkDeviceSize offset)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkResult result = device->calls.BindBufferMemory(handle, buffer, memory, offset);
    if (result == VK_SUCCESS)
        vulkan_note_place(VULKAN_BUFFER, device, VULKAN_NUMBER(buffer), memory, offset);
    return result;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL vulkan_GetBufferDeviceAddress(VkDevice handle,
                                                                    const VkBufferDeviceAddressInfo *info)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    const VkDeviceAddress address = device->calls.GetBufferDeviceAddress(handle, info);
    os_lock(&vulkan_lock);
    struct vulkan_buffer_record *buffer = vulkan_record_find_locked(VULKAN_BUFFER, device, VULKAN_NUMBER(info->buffer));
    if (buffer && address && !buffer->address) {
        buffer->address = address;
        buffer->after = addressed;
        addressed = buffer;
    }
    os_unlock(&vulkan_lock);
    return address;
}

/* Direct3D's buffer may be a part of a buffer of Vulkan's, and buffers may overlap in the same memory. */
uint64_t vulkan_find_buffer(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why)
{
    const uint64_t wanted = found->memory;
    uint64_t memory = 0, offset = 0;
    bool any = false, several = false;
    os_lock(&vulkan_lock);
    for (const struct vulkan_buffer_record *each = addressed; each; each = each->after) {
        if ((wanted && each->bound.memory != wanted) || address < each->address ||
            address - each->address >= each->size || each->size - (address - each->address) < size)
            continue;
        several = several || (any && each->bound.memory != memory);
        any = true;
        memory = each->bound.memory;
        offset = each->bound.offset + (address - each->address);
    }
    os_unlock(&vulkan_lock);
    if (!any || several)
        return vulkan_refuse(why, any ? "ambiguous: several devices have buffers with these addresses"
                                      : "the Vulkan layer knows no buffer with these addresses");
    return vulkan_describe(memory, offset, size, found, why);
}
