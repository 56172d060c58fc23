/* What the Vulkan layer remembers, without Vulkan: devices and records that no driver here would give so. */
#include "vulkan_layer/layer.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4 };

/* What handles of devices point to begins with the loader's table, of which the address alone counts. */
static char tables[DEVICES];
static void *dispatchable[DEVICES];
static struct vulkan_device devices[DEVICES];
static struct vulkan_instance instance;
static VkDeviceAddress next_address;

static VKAPI_ATTR void VKAPI_CALL image_needs(VkDevice device, VkImage image, VkMemoryRequirements *needs)
{
    (void)device, (void)image;
    *needs = (VkMemoryRequirements){.size = 64};
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL buffer_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    (void)device, (void)info;
    return next_address;
}

static void open_devices(void)
{
    memset(devices, 0, sizeof(devices));
    instance.handle = (VkInstance)(void *)&dispatchable[0];
    for (int i = 0; i < DEVICES; i++) {
        dispatchable[i] = &tables[i];
        devices[i].handle = (VkDevice)(void *)&dispatchable[i];
        devices[i].calls.GetImageMemoryRequirements = image_needs;
        devices[i].calls.GetBufferDeviceAddress = buffer_address;
        vulkan_device_add(&devices[i]);
    }
    vulkan_instance_add(&instance);
}

static void close_devices(void)
{
    for (int i = 0; i < DEVICES; i++)
        vulkan_device_remove(&devices[i]);
    vulkan_instance_remove(&instance);
}

static void *add(enum vulkan_kind kind, struct vulkan_device *device, uint64_t handle, size_t size)
{
    struct vulkan_record *record = calloc(1, size);
    *record = (struct vulkan_record){kind, device, handle, NULL};
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(record);
    os_unlock(&vulkan_lock);
    return record;
}

CASE("a handle that two devices have is ambiguous", ambiguous_images)
{
    char why[VULKAN_WHY] = "";
    struct vulkan_image_record found;
    open_devices();
    add(VULKAN_IMAGE, &devices[0], 0x7000, sizeof(found));
    add(VULKAN_IMAGE, &devices[1], 0x7000, sizeof(found));
    add(VULKAN_BUFFER, &devices[2], 0x7000, sizeof(struct vulkan_buffer_record));
    CHECK(!vulkan_look_up_image(0x7000, &found, why));
    CHECK(why[0]);
    vulkan_device_remove(&devices[0]);
    if (CHECK(vulkan_look_up_image(0x7000, &found, why)))
        CHECK(found.bound.record.device == &devices[1]);
    vulkan_device_remove(&devices[1]);
    CHECK(!vulkan_look_up_image(0x7000, &found, why));
    vulkan_device_add(&devices[0]);
    vulkan_device_add(&devices[1]);
    close_devices();
}

static void add_memory(struct vulkan_device *device, uint64_t name)
{
    struct vulkan_memory_record *memory =
        add(VULKAN_MEMORY, device, 0x1000 + name, sizeof(struct vulkan_memory_record));
    memory->name = (struct vulkan_record){VULKAN_NAME, device, name, NULL};
    memory->exportable = true;
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(&memory->name);
    os_unlock(&vulkan_lock);
}

static void add_buffer(struct vulkan_device *device, uint64_t handle, uint64_t address, uint64_t memory,
                       uint64_t offset)
{
    struct vulkan_buffer_record *buffer = add(VULKAN_BUFFER, device, handle, sizeof(*buffer));
    const VkBufferDeviceAddressInfo info = {.buffer = (VkBuffer)(uintptr_t)handle};
    buffer->size = 0x1000;
    buffer->bound.memory = memory;
    buffer->bound.offset = offset;
    next_address = address;
    CHECK(vulkan_GetBufferDeviceAddress(device->handle, &info) == address);
    CHECK(vulkan_GetBufferDeviceAddress(device->handle, &info) == address);
}

/* Whether there are such addresses, in which memory and where. */
static void check_buffer(uint64_t address, uint64_t in_memory, uint64_t memory, uint64_t offset)
{
    char why[VULKAN_WHY] = "";
    struct vulkan_memory found = {.memory = in_memory};
    CHECK_INT(vulkan_find_buffer(address, 16, &found, why), memory != 0);
    CHECK_INT(why[0] == '\0', memory != 0);
    if (memory) {
        CHECK_INT(found.memory, memory);
        CHECK_INT(found.offset, offset);
        CHECK_INT(found.size, 16);
    }
}

CASE("buffers by their addresses; those that two devices have are ambiguous", addresses)
{
    open_devices();
    add_memory(&devices[0], 100);
    add_memory(&devices[1], 200);
    add_memory(&devices[2], 300);
    add_buffer(&devices[0], 1, 0x10000, 100, 0);
    add_buffer(&devices[0], 2, 0x10800, 100, 0x800); /* over the other, in the same memory */
    add_buffer(&devices[1], 3, 0x20000, 200, 0x40);
    add_buffer(&devices[2], 4, 0x20000, 300, 0);
    add_buffer(&devices[2], 5, 0, 300, 0);
    check_buffer(0x10900, 0, 100, 0x900);
    check_buffer(0x11000, 0, 100, 0x1000);
    check_buffer(0x117f8, 0, 0, 0);
    check_buffer(0x20000, 0, 0, 0);
    check_buffer(0x20000, 200, 200, 0x40); /* known before there was a second one */
    check_buffer(0x20000, 100, 0, 0);
    check_buffer(0, 0, 0, 0);
    vulkan_device_remove(&devices[1]);
    check_buffer(0x20010, 0, 300, 0x10);
    vulkan_device_add(&devices[1]);
    close_devices();
    check_buffer(0x10900, 0, 0, 0);
}

/* ---- how memory is allocated ---- */

enum { MOST_TRIES = 4 };

/* How often the driver below was asked, and for each time: how many structures of each kind, and the handle types to export. */
static struct {
    unsigned count, exports[MOST_TRIES], imports[MOST_TRIES], refused;
    VkExternalMemoryHandleTypeFlags types[MOST_TRIES];
} asked;

static VKAPI_ATTR VkResult VKAPI_CALL allocate_below(VkDevice device, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *made)
{
    (void)device, (void)allocator;
    if (asked.count == MOST_TRIES)
        return VK_ERROR_UNKNOWN;
    const unsigned n = asked.count++;
    for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext) {
        asked.imports[n] += each->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
        if (each->sType == VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO) {
            asked.exports[n]++;
            asked.types[n] = ((const VkExportMemoryAllocateInfo *)(const void *)each)->handleTypes;
        }
    }
    *made = (VkDeviceMemory)(uintptr_t)0x5000;
    return n < asked.refused ? VK_ERROR_INVALID_EXTERNAL_HANDLE : VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_below(VkDevice device, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    (void)device, (void)memory, (void)allocator;
}

/* Allocates memory for an image that may be shared. Whether it can be exported. */
static bool allocate(bool again, const void *chain, unsigned refused)
{
    const VkMemoryDedicatedAllocateInfo dedicated = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, chain,
                                                     (VkImage)(uintptr_t)0x7000, VK_NULL_HANDLE};
    const VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &dedicated, 4096, 0};
    VkDeviceMemory made = VK_NULL_HANDLE;
    open_devices();
    memset(&asked, 0, sizeof(asked));
    asked.refused = refused;
    devices[0].method = VULKAN_EXPORT;
    devices[0].calls.AllocateMemory = allocate_below;
    devices[0].calls.FreeMemory = free_below;
    struct vulkan_image_record *image = add(VULKAN_IMAGE, &devices[0], 0x7000, sizeof(*image));
    image->changed = true;
    image->again = again;
    CHECK_INT(vulkan_AllocateMemory(devices[0].handle, &info, NULL, &made), VK_SUCCESS);
    os_lock(&vulkan_lock);
    const struct vulkan_memory_record *memory = vulkan_record_find_locked(VULKAN_MEMORY, &devices[0], 0x5000);
    const bool exportable = memory && memory->exportable;
    os_unlock(&vulkan_lock);
    vulkan_FreeMemory(devices[0].handle, made, NULL);
    close_devices();
    return exportable;
}

CASE("memory of images: what the program exports and imports itself", memory_of_images)
{
    const VkExternalMemoryHandleTypeFlags file = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                          dma_buf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    VkExportMemoryAllocateInfo exports = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, file | dma_buf};
    VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL, file, 77};
    const VkBaseInStructure unknown = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, NULL};
    CHECK(allocate(false, NULL, 0));
    CHECK(asked.count == 1 && asked.exports[0] == 1 && asked.types[0] == file);
    CHECK(!allocate(false, NULL, 1)); /* as requested then */
    CHECK(asked.count == 2 && asked.exports[1] == 0);
    CHECK(allocate(false, &exports, 0)); /* the program's own export */
    CHECK(asked.count == 1 && asked.exports[0] == 1 && asked.types[0] == (file | dma_buf));
    exports.handleTypes = dma_buf;
    CHECK(!allocate(false, &exports, 0));
    CHECK(asked.count == 1 && asked.exports[0] == 1 && asked.types[0] == dma_buf);
    CHECK(allocate(true, &import, 0));
    CHECK(asked.count == 1 && asked.exports[0] == 1 && asked.imports[0] == 1);
    CHECK(!allocate(true, &import, 1));
    CHECK(asked.count == 2 && asked.exports[1] == 0 && asked.imports[1] == 1);
    CHECK(!allocate(false, &import, 0)); /* the driver does not export what it has imported */
    CHECK(asked.count == 1 && asked.exports[0] == 0 && asked.imports[0] == 1);
    import.handleType = dma_buf;
    CHECK(!allocate(true, &import, 0));
    CHECK(asked.count == 1 && asked.exports[0] == 0);
    CHECK(!allocate(true, &unknown, 0));
    CHECK(asked.count == 1 && asked.exports[0] == 0);
}

TAP_MAIN
