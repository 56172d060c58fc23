#include "handles/registry.h"

#include <stdint.h>
#include <stdlib.h>

os_mutex registry_lock = OS_MUTEX_INIT;
atomic_uint registry_records;

/* The number of records of each kind: if there are none, lookups return without taking the lock. Written under it. */
static atomic_uint kinds[RECORD_KINDS];

static bool any_of(enum record_kind kind)
{
    return registry_hot() && atomic_load_explicit(&kinds[kind], memory_order_relaxed) != 0;
}

/* A chained hash table; its size doubles when there is more than one record per bucket. Guarded by registry_lock. */
static struct record **buckets;
static size_t bucket_count;

static size_t bucket_of(enum record_kind kind, const void *handle, size_t count)
{
    uint64_t x = (uint64_t)(uintptr_t)handle / 8 * RECORD_KINDS + (uint64_t)kind;
    x *= 0x9E3779B97F4A7C15u; /* Fibonacci hashing: handles are addresses, whose low bits hardly differ */
    return (size_t)(x >> 32) & (count - 1);
}

/* For handles that may have, or have had, a record: then there are buckets. */
static struct record **place_locked(enum record_kind kind, const void *handle)
{
    struct record **place = &buckets[bucket_of(kind, handle, bucket_count)];
    while (*place && ((*place)->kind != kind || (*place)->handle != handle))
        place = &(*place)->chain;
    return place;
}

static bool grow_locked(void)
{
    const size_t count = bucket_count ? bucket_count * 2 : 64;
    struct record **wider = calloc(count, sizeof(*wider));
    if (!wider)
        return bucket_count != 0; /* a full table is slower, but correct */
    for (size_t i = 0; i < bucket_count; i++) {
        for (struct record *record = buckets[i], *after; record; record = after) {
            after = record->chain;
            struct record **head = &wider[bucket_of(record->kind, record->handle, count)];
            record->chain = *head;
            *head = record;
        }
    }
    free(buckets);
    buckets = wider;
    bucket_count = count;
    return true;
}

/* The caller takes over the registry's reference, and puts it without the lock. */
static struct record *remove_locked(enum record_kind kind, const void *handle)
{
    struct record **place = place_locked(kind, handle);
    struct record *record = *place;
    if (record) {
        *place = record->chain;
        atomic_fetch_sub_explicit(&registry_records, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&kinds[kind], 1, memory_order_relaxed);
    }
    return record;
}

bool registry_add_locked(struct record *record, struct record **stale)
{
    *stale = NULL;
    if (atomic_load_explicit(&registry_records, memory_order_relaxed) >= bucket_count && !grow_locked())
        return false;
    *stale = remove_locked(record->kind, record->handle);
    if (*stale && (*stale)->weak)
        *stale = NULL; /* the registry does not hold the record */
    record->app_refs = 1;
    record_retain(record);
    struct record **head = &buckets[bucket_of(record->kind, record->handle, bucket_count)];
    record->chain = *head;
    *head = record;
    atomic_fetch_add_explicit(&registry_records, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&kinds[record->kind], 1, memory_order_relaxed);
    return true;
}

bool registry_add(struct record *record)
{
    struct record *stale;
    os_lock(&registry_lock);
    const bool added = registry_add_locked(record, &stale);
    os_unlock(&registry_lock);
    record_release(stale);
    return added;
}

void *registry_find_locked(enum record_kind kind, const void *handle)
{
    return any_of(kind) ? *place_locked(kind, handle) : NULL;
}

/* Only its destructor uses a record without references. */
static bool hold_locked(struct record *record)
{
    unsigned references = atomic_load_explicit(&record->references, memory_order_relaxed);
    while (references)
        if (atomic_compare_exchange_weak_explicit(&record->references, &references, references + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

void *registry_get_locked(enum record_kind kind, const void *handle)
{
    struct record *record = registry_find_locked(kind, handle);
    return record && hold_locked(record) ? record : NULL;
}

void *registry_get(enum record_kind kind, const void *handle)
{
    if (!any_of(kind))
        return NULL;
    os_lock(&registry_lock);
    struct record *record = registry_get_locked(kind, handle);
    os_unlock(&registry_lock);
    return record;
}

bool registry_has(enum record_kind kind, const void *handle)
{
    void *record = registry_get(kind, handle);
    record_release(record);
    return record != NULL;
}

void record_retain(void *record)
{
    if (record)
        atomic_fetch_add_explicit(&((struct record *)record)->references, 1, memory_order_relaxed);
}

void record_release(void *record)
{
    struct record *head = record;
    if (head && atomic_fetch_sub_explicit(&head->references, 1, memory_order_acq_rel) == 1)
        head->destroy(head);
}

bool registry_app_retain(enum record_kind kind, const void *handle)
{
    if (!any_of(kind))
        return false;
    os_lock(&registry_lock);
    struct record *record = registry_find_locked(kind, handle);
    const bool revived = record && record->weak && hold_locked(record);
    if (revived)
        record->weak = false;
    if (record)
        record->app_refs++;
    os_unlock(&registry_lock);
    return revived;
}

void registry_app_release(enum record_kind kind, const void *handle)
{
    if (!any_of(kind))
        return;
    os_lock(&registry_lock);
    struct record *record = registry_find_locked(kind, handle);
    const bool last = record && --record->app_refs == 0;
    if (last)
        remove_locked(kind, handle);
    os_unlock(&registry_lock);
    if (last)
        record_release(record);
}

bool registry_app_weaken(enum record_kind kind, const void *handle)
{
    os_lock(&registry_lock);
    struct record *record = registry_find_locked(kind, handle);
    const bool last = record && !record->weak && --record->app_refs == 0;
    if (last)
        record->weak = true;
    os_unlock(&registry_lock);
    if (last)
        record_release(record);
    return last;
}

bool registry_is_weak(const struct record *record)
{
    os_lock(&registry_lock);
    const bool weak = record->weak;
    os_unlock(&registry_lock);
    return weak;
}

void registry_leave(struct record *record)
{
    os_lock(&registry_lock);
    if (record->weak && registry_find_locked(record->kind, record->handle) == record)
        remove_locked(record->kind, record->handle);
    os_unlock(&registry_lock);
}

void registry_forget(enum record_kind kind, const void *handle)
{
    os_lock(&registry_lock);
    struct record *record = remove_locked(kind, handle);
    os_unlock(&registry_lock);
    record_release(record);
}
