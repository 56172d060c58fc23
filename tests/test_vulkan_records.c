/* What the Vulkan layer remembers, without Vulkan: devices and records that no driver here would give so. */
#include "vulkan_layer/vulkan.h"
#include "vulkan_layer/layer.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 12, MANY = 5000 };

/* What handles of devices point to begins with the loader's table, of which the address alone counts. */
static char tables[DEVICES];
static void *dispatchable[DEVICES];
static struct vulkan_device devices[DEVICES];
static struct vulkan_instance instance;
static void *instance_dispatchable = tables;

static void open_devices(void)
{
    memset(devices, 0, sizeof(devices));
    memset(&instance, 0, sizeof(instance));
    instance.handle = (VkInstance)(void *)&instance_dispatchable;
    vulkan_instance_add(&instance);
    for (int i = 0; i < DEVICES; i++) {
        dispatchable[i] = &tables[i];
        devices[i].handle = (VkDevice)(void *)&dispatchable[i];
        devices[i].method = VULKAN_EXPORT;
        vulkan_device_add(&devices[i]);
    }
}

static void close_devices(void)
{
    for (int i = 0; i < DEVICES; i++)
        vulkan_device_remove(&devices[i]);
    vulkan_instance_remove(&instance);
}

static void add(enum vulkan_kind kind, struct vulkan_device *device, uint64_t handle, size_t size,
                struct vulkan_record **made)
{
    struct vulkan_record *record = calloc(1, size);
    *record = (struct vulkan_record){kind, device, handle, NULL};
    os_lock(&vulkan_lock);
    vulkan_record_add_locked(record);
    os_unlock(&vulkan_lock);
    *made = record;
}

static void take_out(struct vulkan_record *record)
{
    os_lock(&vulkan_lock);
    vulkan_record_remove_locked(record);
    os_unlock(&vulkan_lock);
    free(record);
}

static void devices_by_handle(void)
{
    void *other = &other;
    open_devices();
    for (int i = 0; i < DEVICES; i++)
        CHECK(vulkan_device_of(&dispatchable[i]) == &devices[i]);
    CHECK(vulkan_device_of(&other) == NULL);
    CHECK(vulkan_device_of(NULL) == NULL);
    for (int i = 0; i < DEVICES; i += 2)
        vulkan_device_remove(&devices[i]);
    for (int i = 0; i < DEVICES; i++)
        CHECK(vulkan_device_of(&dispatchable[i]) == (i % 2 ? &devices[i] : NULL));
    for (int i = 0; i < DEVICES; i += 2)
        vulkan_device_add(&devices[i]);
    for (int i = 0; i < DEVICES; i++)
        CHECK(vulkan_device_of(&dispatchable[i]) == &devices[i]);
    close_devices();
    CHECK(!vulkan_layer_active());
    CHECK(vulkan_side_here() == NULL);
}

static void ambiguous_images(void)
{
    char why[VULKAN_WHY] = "";
    struct vulkan_image_record found;
    struct vulkan_record *first, *second, *other;
    open_devices();
    add(VULKAN_IMAGE, &devices[0], 0x7000, sizeof(found), &first);
    add(VULKAN_IMAGE, &devices[1], 0x7000, sizeof(found), &second);
    add(VULKAN_BUFFER, &devices[2], 0x7000, sizeof(struct vulkan_buffer_record), &other);
    CHECK(!vulkan_look_up_image(0x7000, &found, why));
    CHECK(strstr(why, "ambiguous") != NULL);
    take_out(first);
    if (CHECK(vulkan_look_up_image(0x7000, &found, why)))
        CHECK(found.record.device == &devices[1]);
    take_out(second);
    CHECK(!vulkan_look_up_image(0x7000, &found, why));
    CHECK(strstr(why, "ambiguous") == NULL);
    close_devices(); /* `other` goes with its device */
}

static void add_buffer(struct vulkan_device *device, uint64_t handle, uint64_t address, uint64_t size, uint64_t memory,
                       uint64_t offset)
{
    struct vulkan_record *record;
    add(VULKAN_BUFFER, device, handle, sizeof(struct vulkan_buffer_record), &record);
    struct vulkan_buffer_record *buffer = (void *)record;
    buffer->size = size;
    buffer->where.memory = memory;
    buffer->where.offset = offset;
    os_lock(&vulkan_lock);
    vulkan_address_locked(buffer, address);
    os_unlock(&vulkan_lock);
}

struct seen {
    unsigned count;
    uint64_t handles; /* their sum */
};

static void count_one(const struct vulkan_buffer_record *buffer, void *data)
{
    struct seen *seen = data;
    seen->count++;
    seen->handles += buffer->record.handle;
}

/* Buffers without addresses are not searched, nor those that have gone, alone or with their device. */
static void search_addresses(unsigned count, uint64_t handles)
{
    struct seen seen = {0, 0};
    os_lock(&vulkan_lock);
    vulkan_address_each_locked(count_one, &seen);
    os_unlock(&vulkan_lock);
    CHECK_INT(seen.count, count);
    CHECK_INT(seen.handles, handles);
}

static void searched_buffers(void)
{
    struct vulkan_record *second;
    open_devices();
    for (uint64_t i = 0; i < 4; i++)
        add_buffer(&devices[i / 3], 1u << i, 0x10000 * (i + 1), 0x1000, 100, 0);
    for (uint64_t i = 0; i < 100; i++)
        add_buffer(&devices[0], 0x1000 + i, 0, 0x1000, 100, 0);
    search_addresses(4, 15);
    os_lock(&vulkan_lock);
    second = vulkan_record_find_locked(VULKAN_BUFFER, NULL, 2, NULL);
    vulkan_address_locked(vulkan_record_find_locked(VULKAN_BUFFER, NULL, 4, NULL), 0x70000); /* asked again */
    os_unlock(&vulkan_lock);
    search_addresses(4, 15);
    take_out(second);
    search_addresses(3, 13);
    vulkan_device_remove(&devices[0]);
    search_addresses(1, 8);
    vulkan_device_add(&devices[0]);
    close_devices();
    search_addresses(0, 0);
}

/* No memory has these names, so all are refused; but not for the same reason. */
static void ambiguous_buffers(void)
{
    char why[VULKAN_WHY];
    struct vulkan_memory found = {0};
    open_devices();
    const struct vulkan_side *side = vulkan_side_here();
    if (CHECK(side != NULL)) {
        add_buffer(&devices[0], 1, 0x10000, 0x1000, 100, 0);
        add_buffer(&devices[0], 2, 0x10800, 0x1000, 100, 0x800); /* over the other, in the same memory */
        add_buffer(&devices[1], 3, 0x20000, 0x1000, 200, 0);
        add_buffer(&devices[2], 4, 0x20000, 0x1000, 300, 0);
        CHECK_INT(side->find_buffer(0x10900, 16, &found, why), 0);
        CHECK(strstr(why, "ambiguous") == NULL && strstr(why, "exported") != NULL);
        CHECK_INT(side->find_buffer(0x20000, 16, &found, why), 0);
        CHECK(strstr(why, "ambiguous") != NULL);
        found.memory = 200; /* known before there was a second one */
        CHECK_INT(side->find_buffer(0x20000, 16, &found, why), 0);
        CHECK(strstr(why, "ambiguous") == NULL && strstr(why, "exported") != NULL);
        found.memory = 400;
        CHECK_INT(side->find_buffer(0x20000, 16, &found, why), 0);
        CHECK(strstr(why, "ambiguous") == NULL && strstr(why, "exported") == NULL);
        found.memory = 0;
        CHECK_INT(side->find_buffer(0x30000, 16, &found, why), 0);
        CHECK(strstr(why, "ambiguous") == NULL && strstr(why, "exported") == NULL);
    }
    close_devices();
}

static void many(void)
{
    static struct vulkan_record *records[MANY];
    bool several;
    unsigned lost = 0;
    open_devices();
    for (unsigned i = 0; i < MANY; i++)
        add(VULKAN_IMAGE, &devices[i % DEVICES], 0x10000 + 64 * i, sizeof(struct vulkan_image_record), &records[i]);
    os_lock(&vulkan_lock);
    for (unsigned i = 0; i < MANY; i++)
        lost += vulkan_record_find_locked(VULKAN_IMAGE, NULL, 0x10000 + 64 * i, &several) != records[i] || several ||
                vulkan_record_find_locked(VULKAN_IMAGE, &devices[(i + 1) % DEVICES], 0x10000 + 64 * i, NULL) != NULL;
    os_unlock(&vulkan_lock);
    CHECK_INT(lost, 0);
    for (unsigned i = 0; i < MANY; i += 2)
        take_out(records[i]);
    os_lock(&vulkan_lock);
    for (unsigned i = 0; i < MANY; i++)
        lost +=
            vulkan_record_find_locked(VULKAN_IMAGE, NULL, 0x10000 + 64 * i, &several) != (i % 2 ? records[i] : NULL);
    os_unlock(&vulkan_lock);
    CHECK_INT(lost, 0);
    close_devices();
}

static const struct tap_test tests[] = {
    {"devices by their handles", devices_by_handle},
    {"a handle that two devices have is ambiguous", ambiguous_images},
    {"addresses that two devices have are ambiguous", ambiguous_buffers},
    {"only buffers with addresses are searched", searched_buffers},
    {"many records", many},
};

TAP_MAIN(tests)
