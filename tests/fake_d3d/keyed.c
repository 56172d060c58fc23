/* Memory that several devices share: handles and keyed mutexes. */
#include "fake_internal.h"

#include <errno.h>
#include <time.h>

/* Guards the contents of shared memory, the keyed mutexes and the handles. Taken after a device's
 * lock. */
pthread_mutex_t fake_shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;

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

void fake_handle_forget(struct fake_store *store)
{
    unsigned i;

    pthread_mutex_lock(&fake_shared_lock);
    for (i = 0; i < MAX_HANDLES; i++)
        if (handles[i] == store)
            handles[i] = NULL;
    pthread_mutex_unlock(&fake_shared_lock);
}

HRESULT fake_keyed_acquire(struct fake_store *store, void *owner, uint64_t key, DWORD timeout)
{
    struct timespec until;
    int error = 0;
    HRESULT hr;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout / 1000;
    until.tv_nsec += (long)(timeout % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&fake_shared_lock);
    while ((store->keyed_owner || store->keyed_key != key) && error != ETIMEDOUT) {
        if (timeout == INFINITE)
            pthread_cond_wait(&released, &fake_shared_lock);
        else
            error = pthread_cond_timedwait(&released, &fake_shared_lock, &until);
    }
    hr = !store->keyed_owner && store->keyed_key == key ? S_OK : WAIT_TIMEOUT;
    if (hr == S_OK)
        store->keyed_owner = owner;
    pthread_mutex_unlock(&fake_shared_lock);
    return hr;
}

HRESULT fake_keyed_release(struct fake_store *store, void *owner, uint64_t key)
{
    HRESULT hr = E_FAIL;

    pthread_mutex_lock(&fake_shared_lock);
    if (store->keyed_owner == owner) {
        store->keyed_owner = NULL;
        store->keyed_key = key;
        pthread_cond_broadcast(&released);
        hr = S_OK;
    }
    pthread_mutex_unlock(&fake_shared_lock);
    return hr;
}

bool fake_keyed_allows(struct fake_store *store, const void *owner)
{
    bool allows;

    if (!fake_desc_keyed(&store->desc))
        return true;
    pthread_mutex_lock(&fake_shared_lock);
    allows = store->keyed_owner == owner;
    pthread_mutex_unlock(&fake_shared_lock);
    return allows;
}
