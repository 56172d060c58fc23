/* Memory: what may be exported, or is read by the host, is recorded when it is allocated. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>
#include <string.h>

static_assert(VK_UUID_SIZE == sizeof(((struct gpu *)0)->uuid), "UUIDs are Vulkan's");

/* ---- allocation ---- */

/* Whether the chain has nothing else: any other structure means that the memory is of another kind. */
static bool is_known(const VkMemoryAllocateInfo *info)
{
    for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext)
        if (each->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO &&
            each->sType != VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO &&
            each->sType != VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT &&
            each->sType != VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO &&
            each->sType != VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR)
            return false;
    return true;
}

/* Whether memory is exportable or made so: that of an exportable image, and that of buffers with addresses. */
static bool is_exported(const struct vulkan_device *device, const VkMemoryAllocateInfo *info)
{
    const VkExternalMemoryHandleTypeFlags file = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkExportMemoryAllocateInfo *exports =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkImportMemoryFdInfoKHR *import = vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    const VkMemoryAllocateFlagsInfo *flags = vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    if (device->method != VULKAN_EXPORT || (exports && !(exports->handleTypes & file)) ||
        (import && import->handleType != file))
        return false;
    if (dedicated && dedicated->image) {
        os_lock(&vulkan_lock);
        const struct vulkan_image_record *image =
            vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(dedicated->image));
        const bool may = image && image->changed && (image->again || !import);
        os_unlock(&vulkan_lock);
        return may;
    }
    return !import && flags && (flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) &&
           (device->buffer_types >> info->memoryTypeIndex & 1);
}

/* Whether the host sees the memory as it is. */
static bool is_mapped(const struct vulkan_device *device, const VkMemoryAllocateInfo *info)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    return device->method == VULKAN_MAPPED && info->memoryTypeIndex < device->types.memoryTypeCount &&
           (device->types.memoryTypes[info->memoryTypeIndex].propertyFlags & wanted) == wanted;
}

static void add_record(struct vulkan_memory_record *memory, struct vulkan_device *device,
                       const VkMemoryAllocateInfo *info, VkDeviceMemory handle)
{
    static uint64_t last_name; /* guarded by the lock */
    const VkMemoryDedicatedAllocateInfo *dedicated =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    memory->record = (struct vulkan_record){VULKAN_MEMORY, device, VULKAN_NUMBER(handle), NULL};
    memory->size = info->allocationSize;
    memory->dedicated = dedicated && (dedicated->image || dedicated->buffer);
    os_lock(&vulkan_lock);
    memory->name = (struct vulkan_record){VULKAN_NAME, device, ++last_name, NULL};
    vulkan_record_add_locked(&memory->record);
    vulkan_record_add_locked(&memory->name);
    os_unlock(&vulkan_lock);
}

/* Memory with the program's own allocator is not recorded: transports may hold it for longer than the allocator lives.
 * Memory that the host sees is mapped as a whole until it is freed, because Vulkan maps memory only once, and both the
 * program and transports need the mapping. */
VKAPI_ATTR VkResult VKAPI_CALL vulkan_AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_memory_record *memory = !allocator && is_known(info) ? calloc(1, sizeof(*memory)) : NULL;
    if (memory && is_exported(device, info)) {
        const VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, info->pNext,
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        VkMemoryAllocateInfo changed = *info;
        if (!vulkan_chained(info->pNext, export.sType))
            changed.pNext = &export;
        memory->exportable = device->calls.AllocateMemory(handle, &changed, NULL, made) == VK_SUCCESS;
    }
    const VkResult result =
        memory && memory->exportable ? VK_SUCCESS : device->calls.AllocateMemory(handle, info, allocator, made);
    if (memory && result == VK_SUCCESS && is_mapped(device, info) &&
        device->calls.MapMemory(handle, *made, 0, VK_WHOLE_SIZE, 0, &memory->base) != VK_SUCCESS)
        memory->base = NULL;
    if (memory && (memory->exportable || memory->base))
        add_record(memory, device, info, *made);
    else
        free(memory);
    return result;
}

static void remove_record_locked(struct vulkan_memory_record *memory)
{
    vulkan_record_remove_locked(&memory->record);
    vulkan_record_remove_locked(&memory->name);
}

VKAPI_ATTR void VKAPI_CALL vulkan_FreeMemory(VkDevice handle, VkDeviceMemory freed,
                                             const VkAllocationCallbacks *allocator)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(freed));
    const bool held = memory && memory->holds;
    if (held)
        memory->freed = true;
    else if (memory)
        remove_record_locked(memory);
    os_unlock(&vulkan_lock);
    if (held)
        return;
    free(memory);
    device->calls.FreeMemory(handle, freed, allocator);
}

static char *base_of(const struct vulkan_device *device, VkDeviceMemory handle)
{
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory = vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(handle));
    char *base = memory ? memory->base : NULL;
    os_unlock(&vulkan_lock);
    return base;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_MapMemory(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset,
                                                VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    char *base = base_of(device, memory);
    if (!base)
        return device->calls.MapMemory(handle, memory, offset, size, flags, data);
    *data = base + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vulkan_UnmapMemory(VkDevice handle, VkDeviceMemory memory)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    if (!base_of(device, memory))
        device->calls.UnmapMemory(handle, memory);
}

/* ---- what is bound to it ---- */

void vulkan_note_place(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle, VkDeviceMemory place,
                       VkDeviceSize offset)
{
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory = vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(place));
    struct vulkan_bound_record *bound = vulkan_record_find_locked(kind, device, handle);
    if (bound) {
        bound->memory = memory ? memory->name.handle : 0;
        bound->offset = offset;
    }
    os_unlock(&vulkan_lock);
}

/* ---- for transports ---- */

/* NULL: there is no memory with that name. */
static struct vulkan_memory_record *find_locked(uint64_t name)
{
    struct vulkan_record *found = vulkan_record_find_locked(VULKAN_NAME, NULL, name);
    return found ? (void *)((char *)found - offsetof(struct vulkan_memory_record, name)) : NULL;
}

uint64_t vulkan_describe(uint64_t name, uint64_t offset, uint64_t size, struct vulkan_memory *found, char *why)
{
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory = find_locked(name);
    if (memory) {
        *found = (struct vulkan_memory){.gpu = memory->record.device->gpu,
                                        .memory = name,
                                        .memory_size = memory->size,
                                        .offset = offset,
                                        .size = size,
                                        .mapped = memory->base ? (uint64_t)(uintptr_t)memory->base + offset : 0,
                                        .exportable = memory->exportable,
                                        .dedicated = memory->dedicated};
    }
    os_unlock(&vulkan_lock);
    return memory ? 1 : vulkan_refuse(why, "its memory can't be exported and is not host-visible, or there is none");
}

uint64_t vulkan_export(uint64_t name, int32_t *file, char *why)
{
    VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                 .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const struct vulkan_device *device = NULL;
    int got = -1;
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory = find_locked(name);
    if (memory && memory->exportable && !memory->freed) {
        device = memory->record.device;
        info.memory = (VkDeviceMemory)(uintptr_t)memory->record.handle;
    }
    os_unlock(&vulkan_lock);
    if (!device)
        return vulkan_refuse(why, "the memory cannot be exported, or was freed");
    const VkResult result = device->calls.GetMemoryFdKHR(device->handle, &info, &got);
    if (result != VK_SUCCESS || got < 0) /* a driver may succeed without a file descriptor */
        return vulkan_refuse(why, "vkGetMemoryFdKHR returned no file descriptor: VkResult %d", (int)result);
    *file = got;
    return 1;
}

uint64_t vulkan_hold(uint64_t name, char *why)
{
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = find_locked(name);
    const bool there = memory && !memory->freed;
    if (there)
        memory->holds++;
    os_unlock(&vulkan_lock);
    return there ? 1 : vulkan_refuse(why, "no such memory, or it was freed");
}

uint64_t vulkan_give_back(uint64_t name)
{
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = find_locked(name);
    const bool held = memory && memory->holds;
    const bool last = held && --memory->holds == 0 && memory->freed;
    if (last)
        remove_record_locked(memory);
    os_unlock(&vulkan_lock);
    if (last) {
        const struct vulkan_device *device = memory->record.device;
        device->calls.FreeMemory(device->handle, (VkDeviceMemory)(uintptr_t)memory->record.handle, NULL);
        free(memory);
    }
    return held;
}
