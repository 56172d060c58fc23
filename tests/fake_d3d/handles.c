/* Memory that several devices share, and its handles. */
#include "fake_internal.h"

/* Guards the contents of shared memory and the handles. Taken after a device's lock. */
pthread_mutex_t fake_shared_lock = PTHREAD_MUTEX_INITIALIZER;

#define MAX_HANDLES 64
static struct fake_store *handles[MAX_HANDLES];

/* Not kernel handles: nothing to close, and even, as the real ones are. */
static HANDLE handle_of_index(unsigned index)
{
    return (HANDLE)(uintptr_t)(0x40000002 + 0x40 * index);
}

HANDLE fake_handle_of(struct fake_store *store)
{
    HANDLE handle = NULL;
    unsigned i, free_index = MAX_HANDLES;

    pthread_mutex_lock(&fake_shared_lock);
    for (i = 0; i < MAX_HANDLES && handles[i] != store; i++)
        if (!handles[i] && free_index == MAX_HANDLES)
            free_index = i;
    if (i == MAX_HANDLES)
        i = free_index;
    if (i < MAX_HANDLES) {
        handles[i] = store;
        handle = handle_of_index(i);
    }
    pthread_mutex_unlock(&fake_shared_lock);
    return handle;
}

struct fake_store *fake_handle_open(HANDLE handle)
{
    struct fake_store *store = NULL;
    unsigned i, refs;

    pthread_mutex_lock(&fake_shared_lock);
    for (i = 0; i < MAX_HANDLES; i++)
        if (handles[i] && handle_of_index(i) == handle)
            store = handles[i];
    /* One that is on its way out does not come back. */
    refs = store ? atomic_load(&store->refs) : 0;
    while (refs && !atomic_compare_exchange_weak(&store->refs, &refs, refs + 1))
        continue;
    pthread_mutex_unlock(&fake_shared_lock);
    return refs ? store : NULL;
}

bool fake_keyed_allows(struct fake_store *store, const struct fake_device *device)
{
    bool allows;

    pthread_mutex_lock(&fake_shared_lock);
    allows = !fake_desc_keyed(&store->desc) || store->keyed_owner == device;
    pthread_mutex_unlock(&fake_shared_lock);
    return allows;
}

bool fake_keyed_pass(struct fake_store *store, const struct fake_device *from, const struct fake_device *to,
                     uint64_t key)
{
    bool passes;

    pthread_mutex_lock(&fake_shared_lock);
    passes = store->keyed_owner == from && (from || store->keyed_key == key);
    if (passes) {
        store->keyed_owner = to;
        store->keyed_key = key;
    }
    pthread_mutex_unlock(&fake_shared_lock);
    return passes;
}

void fake_handle_forget(struct fake_store *store)
{
    unsigned i;

    pthread_mutex_lock(&fake_shared_lock);
    for (i = 0; i < MAX_HANDLES; i++)
        if (handles[i] == store)
            handles[i] = NULL;
    pthread_mutex_unlock(&fake_shared_lock);
}
