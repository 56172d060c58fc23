/* Memory: memory that may be exported or read by the host is recorded when it is allocated.
 *
 * If the device is the CPU, memory is mapped once as a whole, when the program or a transport first maps it, and stays
 * mapped until it is freed: a driver maps memory only once, and both need the mapping. */
#include "vulkan_layer/layer.h"
#include "log.h"

#include <stdlib.h>

/* Guards `base`, `shown` and `foreign_map`, and keeps mappings in turn. It is taken before vulkan_lock. */
static os_mutex map_lock = OS_MUTEX_INIT;

struct vulkan_memory_record *vulkan_memory_locked(uint64_t name)
{
    struct vulkan_record *found = name ? vulkan_record_find_locked(VULKAN_NAME, NULL, name, NULL) : NULL;
    return found ? (void *)((char *)found - offsetof(struct vulkan_memory_record, name)) : NULL;
}

void vulkan_note_place(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle, VkDeviceMemory place,
                       VkDeviceSize offset)
{
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory =
        vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(place), NULL);
    struct vulkan_bound_record *bound = vulkan_record_find_locked(kind, device, handle, NULL);
    if (bound)
        bound->where = (struct vulkan_where){memory ? memory->name.handle : 0, offset};
    os_unlock(&vulkan_lock);
}

/* ---- references ---- */

struct vulkan_memory_record *vulkan_memory_hold(uint64_t name)
{
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = vulkan_memory_locked(name);
    if (memory && !memory->owned)
        memory = NULL;
    if (memory)
        memory->holds++;
    os_unlock(&vulkan_lock);
    return memory;
}

static void forget_locked(struct vulkan_memory_record *memory)
{
    if (memory->record.device)
        vulkan_record_remove_locked(&memory->record);
    vulkan_record_remove_locked(&memory->name);
}

void vulkan_memory_put(struct vulkan_memory_record *memory)
{
    os_lock(&vulkan_lock);
    const bool last = --memory->holds == 0 && !memory->owned;
    struct vulkan_device *device = memory->record.device;
    if (last) {
        forget_locked(memory);
        if (device)
            device->busy++;
    }
    os_unlock(&vulkan_lock);
    if (!last)
        return;
    if (device) {
        vulkan_copier_quiet(device, memory->used);
        device->calls.free(device->handle, (VkDeviceMemory)(uintptr_t)memory->record.handle, NULL);
        vulkan_device_quiet(device);
    }
    free(memory);
}

/* Held memory is leaked: freeing it now would take the bytes from their users, and later there is no device to free it
 * with. */
bool vulkan_memory_abandon_locked(struct vulkan_memory_record *memory)
{
    memory->owned = false;
    memory->record.device = memory->name.device = NULL;
    if (memory->holds) {
        log_write(
            LOG_WARN,
            "the Vulkan layer: a device was destroyed while its memory was still held %u times; %llu bytes are leaked",
            memory->holds, (unsigned long long)memory->size);
        return false;
    }
    vulkan_record_remove_locked(&memory->name);
    free(memory);
    return true;
}

/* ---- allocation ---- */

/* Whether the chain has nothing else: any other structure means that the memory is imported or already exported. */
static bool is_plain(const VkMemoryAllocateInfo *info)
{
    for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext)
        if (each->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO &&
            each->sType != VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO &&
            each->sType != VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT)
            return false;
    return true;
}

static VkMemoryPropertyFlags properties_of(const struct vulkan_device *device, uint32_t type)
{
    return type < device->types.memoryTypeCount ? device->types.memoryTypes[type].propertyFlags : 0;
}

/* Whether memory is made exportable: the memory of an exportable image, and the blocks for buffers whose addresses are
 * queried. */
static bool exports(const struct vulkan_device *device, const VkMemoryAllocateInfo *info)
{
    const VkMemoryDedicatedAllocateInfo *dedicated =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    const VkMemoryAllocateFlagsInfo *flags = vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    if (device->method != VULKAN_EXPORT)
        return false;
    if (dedicated && dedicated->image) {
        os_lock(&vulkan_lock);
        const struct vulkan_image_record *image =
            vulkan_record_find_locked(VULKAN_IMAGE, device, VULKAN_NUMBER(dedicated->image), NULL);
        os_unlock(&vulkan_lock);
        return image != NULL;
    }
    return device->exports_buffers && flags && (flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) &&
           (device->chunk_types >> info->memoryTypeIndex & 1);
}

static bool host_sees(const struct vulkan_device *device, const VkMemoryAllocateInfo *info)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    return device->method == VULKAN_MAPPED && (properties_of(device, info->memoryTypeIndex) & wanted) == wanted;
}

static void note(struct vulkan_memory_record *memory, struct vulkan_device *device, const VkMemoryAllocateInfo *info,
                 VkDeviceMemory handle)
{
    static uint64_t last_name; /* guarded by the lock */
    const VkMemoryDedicatedAllocateInfo *dedicated =
        vulkan_chained(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    memory->record = (struct vulkan_record){VULKAN_MEMORY, device, VULKAN_NUMBER(handle), NULL};
    memory->size = info->allocationSize;
    memory->dedicated = dedicated && (dedicated->image || dedicated->buffer);
    memory->owned = true;
    os_lock(&vulkan_lock);
    memory->name = (struct vulkan_record){VULKAN_NAME, device, ++last_name, NULL};
    vulkan_record_add_locked(&memory->record);
    vulkan_record_add_locked(&memory->name);
    os_unlock(&vulkan_lock);
}

/* Memory with the program's own allocator is not recorded: the allocator would have to be called later than the program
 * expects. */
VKAPI_ATTR VkResult VKAPI_CALL vulkan_allocate(VkDevice handle, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *made)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    const bool plain = !allocator && is_plain(info), exportable = plain && exports(device, info);
    struct vulkan_memory_record *memory = NULL;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (exportable || (plain && host_sees(device, info)))
        memory = calloc(1, sizeof(*memory));
    if (memory && exportable) {
        const VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, info->pNext,
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        VkMemoryAllocateInfo changed = *info;
        changed.pNext = &export;
        result = device->calls.allocate(handle, &changed, NULL, made);
        memory->exportable = result == VK_SUCCESS;
    }
    if (result != VK_SUCCESS)
        result = device->calls.allocate(handle, info, allocator, made);
    if (memory && result == VK_SUCCESS && (memory->exportable || !exportable))
        note(memory, device, info, *made);
    else
        free(memory);
    return result;
}

VKAPI_ATTR void VKAPI_CALL vulkan_free(VkDevice handle, VkDeviceMemory freed, const VkAllocationCallbacks *allocator)
{
    struct vulkan_device *device = vulkan_device_of(handle);
    bool held = false;
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *memory = vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(freed), NULL);
    if (memory) {
        memory->owned = false;
        held = memory->holds != 0;
        if (!held)
            forget_locked(memory);
    }
    os_unlock(&vulkan_lock);
    if (held)
        return;
    if (memory)
        vulkan_copier_quiet(device, memory->used);
    free(memory);
    device->calls.free(handle, freed, allocator);
}

/* ---- mapping ---- */

/* The mapping of the whole memory, created if necessary. NULL if that fails, or if the program has a mapping of its
 * own. Called with map_lock held. */
static void *base_of(struct vulkan_memory_record *memory)
{
    const struct vulkan_device *device = memory->record.device;
    if (!memory->base && !memory->foreign_map &&
        device->calls.map(device->handle, (VkDeviceMemory)(uintptr_t)memory->record.handle, 0, VK_WHOLE_SIZE, 0,
                          &memory->base))
        memory->base = NULL;
    return memory->base;
}

void *vulkan_memory_base(struct vulkan_memory_record *memory)
{
    if (!memory->record.device || memory->record.device->method != VULKAN_MAPPED)
        return NULL;
    os_lock(&map_lock);
    void *base = base_of(memory);
    memory->shown = memory->shown || base;
    os_unlock(&map_lock);
    return base;
}

/* The record of memory that the program maps or unmaps; NULL if cld3d does not manage its mapping. */
static struct vulkan_memory_record *mapped(const struct vulkan_device *device, VkDeviceMemory memory)
{
    if (device->method != VULKAN_MAPPED)
        return NULL;
    os_lock(&vulkan_lock);
    struct vulkan_memory_record *found = vulkan_record_find_locked(VULKAN_MEMORY, device, VULKAN_NUMBER(memory), NULL);
    os_unlock(&vulkan_lock);
    return found;
}

static VkResult map(struct vulkan_device *device, const VkMemoryMapInfoKHR *info, bool newer, void **data)
{
    struct vulkan_memory_record *memory = mapped(device, info->memory);
    os_lock(&map_lock);
    const bool simple = memory && !info->flags && !info->pNext;
    char *base = simple ? base_of(memory) : NULL;
    VkResult result = VK_SUCCESS;
    if (memory && memory->base && !simple && !memory->shown) {
        device->calls.unmap(device->handle, info->memory);
        memory->base = NULL;
    }
    if (base)
        *data = base + info->offset;
    else if (memory && memory->base)
        result = VK_ERROR_MEMORY_MAP_FAILED; /* the program wants an address, but another one is in use */
    else if (newer)
        result = device->calls.map2(device->handle, info, data);
    else
        result = device->calls.map(device->handle, info->memory, info->offset, info->size, info->flags, data);
    if (memory && !memory->base && result == VK_SUCCESS)
        memory->foreign_map = true;
    os_unlock(&map_lock);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_map(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
    const VkMemoryMapInfoKHR info = {.flags = flags, .memory = memory, .offset = offset, .size = size};
    return map(vulkan_device_of(handle), &info, false, data);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_map2(VkDevice handle, const VkMemoryMapInfoKHR *info, void **data)
{
    return map(vulkan_device_of(handle), info, true, data);
}

/* Whether the driver must unmap the memory: cld3d does not manage its mapping, or the mapping was made at the program's
 * request. */
static bool ends(const struct vulkan_device *device, VkDeviceMemory handle)
{
    struct vulkan_memory_record *memory = mapped(device, handle);
    if (!memory)
        return true;
    const bool foreign = memory->foreign_map;
    memory->foreign_map = false;
    return foreign;
}

VKAPI_ATTR void VKAPI_CALL vulkan_unmap(VkDevice handle, VkDeviceMemory memory)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    os_lock(&map_lock);
    if (ends(device, memory))
        device->calls.unmap(handle, memory);
    os_unlock(&map_lock);
}

VKAPI_ATTR VkResult VKAPI_CALL vulkan_unmap2(VkDevice handle, const VkMemoryUnmapInfoKHR *info)
{
    const struct vulkan_device *device = vulkan_device_of(handle);
    VkResult result = VK_SUCCESS;
    os_lock(&map_lock);
    if (ends(device, info->memory))
        result = device->calls.unmap2(handle, info);
    os_unlock(&map_lock);
    return result;
}
