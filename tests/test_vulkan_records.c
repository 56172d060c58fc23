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

static void devices_by_handle(void)
{
    void *other = &other;
    open_devices();
    for (int i = 0; i < DEVICES; i++)
        CHECK(vulkan_device_of(&dispatchable[i]) == &devices[i]);
    CHECK(vulkan_device_of(&other) == NULL);
    vulkan_device_remove(&devices[1]);
    for (int i = 0; i < DEVICES; i++)
        CHECK(vulkan_device_of(&dispatchable[i]) == (i == 1 ? NULL : &devices[i]));
    vulkan_device_add(&devices[1]);
    CHECK(vulkan_side_here() != NULL);
    close_devices();
    CHECK(vulkan_side_here() == NULL);
}

static void ambiguous_images(void)
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

static void addresses(void)
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

static const struct tap_test tests[] = {
    {"devices by their handles", devices_by_handle},
    {"a handle that two devices have is ambiguous", ambiguous_images},
    {"buffers by their addresses; those that two devices have are ambiguous", addresses},
};

TAP_MAIN(tests)
