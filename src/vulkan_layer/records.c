/* The lists of instances and devices, and the table of records. */
#include "vulkan_layer/layer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

os_mutex vulkan_lock = OS_MUTEX_INIT;

static os_condition quiet = OS_CONDITION_INIT; /* a device's `busy` went down */
static struct vulkan_instance *instances;
static struct vulkan_device *devices;

/* The first devices, for lookups without the lock: a caller that looks up a device knows that it exists. Entries with
 * another key are not accessed. */
enum { QUICK_DEVICES = 8 };
static _Atomic(void *) quick_keys[QUICK_DEVICES];
static _Atomic(struct vulkan_device *) quick_devices[QUICK_DEVICES];

/* A chained hash table; its size doubles when there is more than one record per bucket. */
enum { FIRST_BUCKETS = 64 };
static struct vulkan_record *first_buckets[FIRST_BUCKETS];
static struct vulkan_record **buckets = first_buckets;
static size_t bucket_count = FIRST_BUCKETS, record_count;

static struct vulkan_buffer_record *with_addresses;

/* ---- instances and devices ---- */

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

struct vulkan_instance *vulkan_instance_of(const void *dispatchable)
{
    os_lock(&vulkan_lock);
    struct vulkan_instance *found = dispatchable ? instances : NULL;
    while (found && found->key != key_of(dispatchable))
        found = found->chain;
    os_unlock(&vulkan_lock);
    return found;
}

struct vulkan_device *vulkan_device_of(const void *dispatchable)
{
    for (int i = 0; dispatchable && i < QUICK_DEVICES; i++)
        if (atomic_load_explicit(&quick_keys[i], memory_order_acquire) == key_of(dispatchable))
            return atomic_load_explicit(&quick_devices[i], memory_order_relaxed);
    os_lock(&vulkan_lock);
    struct vulkan_device *found = dispatchable ? devices : NULL;
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

/* Gives the entry with the key `from` (NULL: a free one) to the device `to`; with NULL the entry becomes free. Does
 * nothing if there is no such entry. */
static void replace_quick_locked(void *from, struct vulkan_device *to)
{
    int i = 0;
    while (i < QUICK_DEVICES && atomic_load_explicit(&quick_keys[i], memory_order_relaxed) != from)
        i++;
    if (i == QUICK_DEVICES)
        return;
    atomic_store_explicit(&quick_devices[i], to, memory_order_relaxed);
    atomic_store_explicit(&quick_keys[i], to ? to->key : NULL, memory_order_release);
}

void vulkan_device_add(struct vulkan_device *device)
{
    device->key = key_of(device->handle);
    os_lock(&vulkan_lock);
    device->chain = devices;
    devices = device;
    replace_quick_locked(NULL, device);
    os_unlock(&vulkan_lock);
}

static void lose_address_locked(struct vulkan_buffer_record *buffer)
{
    if (!buffer->place)
        return;
    *buffer->place = buffer->after;
    if (buffer->after)
        buffer->after->place = buffer->place;
    buffer->place = NULL;
}

/* `place` is the link to the record in its bucket. */
static void take_out_locked(struct vulkan_record **place)
{
    struct vulkan_record *record = *place;
    *place = record->chain;
    record_count--;
    if (record->kind == VULKAN_BUFFER)
        lose_address_locked((struct vulkan_buffer_record *)record);
}

static void drop_records_locked(const struct vulkan_device *device)
{
    for (size_t i = 0; i < bucket_count; i++) {
        struct vulkan_record **place = &buckets[i];
        while (*place) {
            struct vulkan_record *record = *place;
            if (record->device != device || record->kind == VULKAN_NAME) {
                place = &record->chain;
                continue;
            }
            take_out_locked(place);
            if (record->kind != VULKAN_MEMORY)
                free(record);
            else if (vulkan_memory_abandon_locked((struct vulkan_memory_record *)record))
                place = &buckets[i]; /* its name's record may have preceded it in this bucket */
        }
    }
}

void vulkan_device_remove(struct vulkan_device *device)
{
    struct vulkan_device **place = &devices;
    os_lock(&vulkan_lock);
    while (device->busy)
        os_wait(&quiet, &vulkan_lock, 1000);
    drop_records_locked(device);
    replace_quick_locked(device->key, NULL);
    while (*place != device)
        place = &(*place)->chain;
    *place = device->chain;
    os_unlock(&vulkan_lock);
}

void vulkan_device_quiet(struct vulkan_device *device)
{
    os_lock(&vulkan_lock);
    device->busy--;
    os_wake_all(&quiet);
    os_unlock(&vulkan_lock);
}

/* ---- records ---- */

static size_t bucket_of(enum vulkan_kind kind, uint64_t handle, size_t count)
{
    const uint64_t x = (handle / 8 * 4 + (uint64_t)kind + handle % 8) * 0x9E3779B97F4A7C15u; /* Fibonacci hashing */
    return (size_t)(x >> 32) & (count - 1);
}

static struct vulkan_record **head_of(enum vulkan_kind kind, uint64_t handle)
{
    return &buckets[bucket_of(kind, handle, bucket_count)];
}

/* If out of memory, the table keeps its size: lookups become slower, but stay correct. */
static void grow_locked(void)
{
    const size_t count = bucket_count * 2;
    struct vulkan_record **wider = calloc(count, sizeof(*wider));
    if (!wider)
        return;
    for (size_t i = 0; i < bucket_count; i++) {
        for (struct vulkan_record *record = buckets[i], *after; record; record = after) {
            after = record->chain;
            struct vulkan_record **head = &wider[bucket_of(record->kind, record->handle, count)];
            record->chain = *head;
            *head = record;
        }
    }
    if (buckets != first_buckets)
        free(buckets);
    buckets = wider;
    bucket_count = count;
}

void vulkan_record_add_locked(struct vulkan_record *record)
{
    if (record_count >= bucket_count)
        grow_locked();
    struct vulkan_record **head = head_of(record->kind, record->handle);
    record->chain = *head;
    *head = record;
    record_count++;
}

void vulkan_record_remove_locked(struct vulkan_record *record)
{
    struct vulkan_record **place = head_of(record->kind, record->handle);
    while (*place != record)
        place = &(*place)->chain;
    take_out_locked(place);
}

void *vulkan_record_find_locked(enum vulkan_kind kind, const struct vulkan_device *device, uint64_t handle,
                                bool *several)
{
    struct vulkan_record *found = NULL;
    if (several)
        *several = false;
    for (struct vulkan_record *each = *head_of(kind, handle); each; each = each->chain) {
        if (each->kind != kind || each->handle != handle || (device && each->device != device))
            continue;
        if (found && several)
            *several = true;
        found = each;
    }
    return found;
}

uint64_t vulkan_record_any_locked(enum vulkan_kind kind, const struct vulkan_device *device)
{
    for (size_t i = 0; i < bucket_count; i++)
        for (const struct vulkan_record *record = buckets[i]; record; record = record->chain)
            if (record->kind == kind && record->device == device)
                return record->handle;
    return 0;
}

void vulkan_address_locked(struct vulkan_buffer_record *buffer, VkDeviceAddress address)
{
    lose_address_locked(buffer);
    buffer->address = address;
    if (!address)
        return;
    buffer->after = with_addresses;
    buffer->place = &with_addresses;
    if (buffer->after)
        buffer->after->place = &buffer->after;
    with_addresses = buffer;
}

void vulkan_address_each_locked(void (*visit)(const struct vulkan_buffer_record *, void *), void *data)
{
    for (const struct vulkan_buffer_record *buffer = with_addresses; buffer; buffer = buffer->after)
        visit(buffer, data);
}
