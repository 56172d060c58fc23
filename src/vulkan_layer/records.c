/* The lists of instances and devices, and the table of records. */
#include "vulkan_layer/layer.h"

#include <stdlib.h>

os_mutex vulkan_lock = OS_MUTEX_INIT;

static struct vulkan_listed *instances, *devices;

/* A chained hash table. A large game has some ten thousand images. */
enum { BUCKETS = 8192 };
static struct vulkan_record *buckets[BUCKETS];

/* ---- instances and devices ---- */

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

static void *find(struct vulkan_listed *const *list, const void *dispatchable)
{
    os_lock(&vulkan_lock);
    struct vulkan_listed *found = *list;
    while (found && found->key != key_of(dispatchable))
        found = found->chain;
    os_unlock(&vulkan_lock);
    return found;
}

static void add(struct vulkan_listed **list, struct vulkan_listed *one, const void *handle)
{
    one->key = key_of(handle);
    os_lock(&vulkan_lock);
    one->chain = *list;
    *list = one;
    os_unlock(&vulkan_lock);
}

static void remove_locked(struct vulkan_listed **list, const struct vulkan_listed *one)
{
    while (*list != one)
        list = &(*list)->chain;
    *list = one->chain;
}

struct vulkan_instance *vulkan_instance_of(const void *dispatchable)
{
    return find(&instances, dispatchable);
}

struct vulkan_device *vulkan_device_of(const void *dispatchable)
{
    return find(&devices, dispatchable);
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
    add(&instances, &instance->listed, instance->handle);
}

void vulkan_instance_remove(struct vulkan_instance *instance)
{
    os_lock(&vulkan_lock);
    remove_locked(&instances, &instance->listed);
    os_unlock(&vulkan_lock);
}

void vulkan_device_add(struct vulkan_device *device)
{
    add(&devices, &device->listed, device->handle);
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
    os_lock(&vulkan_lock);
    drop_records_locked(device);
    remove_locked(&devices, &device->listed);
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
