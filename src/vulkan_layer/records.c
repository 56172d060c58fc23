/* The lists of instances and devices, and the table of records. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

os_mutex vulkan_lock = OS_MUTEX_INIT;

static struct vulkan_instance *instances;
static struct vulkan_device *devices;

/* A chained hash table. A large game has some ten thousand images. */
enum { BUCKETS = 8192 };
static struct vulkan_record *buckets[BUCKETS];

/* ---- instances and devices ---- */

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

struct vulkan_instance *vulkan_instance_of(const void *dispatchable)
{
    os_lock(&vulkan_lock);
    struct vulkan_instance *found = instances;
    while (found && found->key != key_of(dispatchable))
        found = found->chain;
    os_unlock(&vulkan_lock);
    return found;
}

struct vulkan_device *vulkan_device_of(const void *dispatchable)
{
    os_lock(&vulkan_lock);
    struct vulkan_device *found = devices;
    while (found && found->key != key_of(dispatchable))
        found = found->chain;
    os_unlock(&vulkan_lock);
    return found;
}

bool vulkan_layer_active(void)
{
    os_lock(&vulkan_lock);
    const bool active = instances != NULL;
    os_unlock(&vulkan_lock);
    return active;
}

void vulkan_instance_add(struct vulkan_instance *instance)
{
    instance->key = key_of(instance->handle);
    os_lock(&vulkan_lock);
    instance->chain = instances;
    instances = instance;
    os_unlock(&vulkan_lock);
}

void vulkan_instance_remove(struct vulkan_instance *instance)
{
    struct vulkan_instance **place = &instances;
    os_lock(&vulkan_lock);
    while (*place != instance)
        place = &(*place)->chain;
    *place = instance->chain;
    os_unlock(&vulkan_lock);
}

void vulkan_device_add(struct vulkan_device *device)
{
    device->key = key_of(device->handle);
    os_lock(&vulkan_lock);
    device->chain = devices;
    devices = device;
    os_unlock(&vulkan_lock);
}

/* Memory that transports hold is leaked with its bytes: without the device it cannot be freed. */
static void drop_records_locked(const struct vulkan_device *device)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct vulkan_record **place = &buckets[i];
        while (*place) {
            struct vulkan_record *record = *place;
            if (record->device != device || record->kind == VULKAN_NAME) {
                place = &record->chain;
                continue;
            }
            *place = record->chain;
            if (record->kind == VULKAN_BUFFER)
                vulkan_address_forget_locked((struct vulkan_buffer_record *)record);
            if (record->kind == VULKAN_MEMORY) {
                vulkan_record_remove_locked(&((struct vulkan_memory_record *)record)->name);
                place = &buckets[i]; /* its name may have preceded it in this bucket */
            }
            free(record);
        }
    }
}

void vulkan_device_remove(struct vulkan_device *device)
{
    struct vulkan_device **place = &devices;
    os_lock(&vulkan_lock);
    drop_records_locked(device);
    while (*place != device)
        place = &(*place)->chain;
    *place = device->chain;
    os_unlock(&vulkan_lock);
}

/* ---- records ---- */

static struct vulkan_record **bucket_of(enum vulkan_kind kind, uint64_t handle)
{
    const uint64_t x = (handle / 8 * 4 + (uint64_t)kind + handle % 8) * 0x9E3779B97F4A7C15u; /* Fibonacci hashing */
    return &buckets[(x >> 32) % BUCKETS];
}

void vulkan_record_add_locked(struct vulkan_record *record)
{
    struct vulkan_record **bucket = bucket_of(record->kind, record->handle);
    record->chain = *bucket;
    *bucket = record;
}

void vulkan_record_remove_locked(struct vulkan_record *record)
{
    struct vulkan_record **place = bucket_of(record->kind, record->handle);
    while (*place != record)
        place = &(*place)->chain;
    *place = record->chain;
}

void *vulkan_record_find_locked(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle)
{
    struct vulkan_record *found = NULL;
    for (struct vulkan_record *each = *bucket_of(kind, handle); each; each = each->chain) {
        if (each->kind != kind || each->handle != handle || (device && each->device != device))
            continue;
        if (found)
            return NULL;
        found = each;
    }
    return found;
}

void *vulkan_record_any_locked(enum vulkan_kind kind, const struct vulkan_device *device)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct vulkan_record *each = buckets[i]; each; each = each->chain)
            if (each->kind == kind && each->device == device)
                return each;
    return NULL;
}
