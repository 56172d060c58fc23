/* A cache of memory blocks of one size that are freed and allocated again with every frame, so that a program in its
 * steady state allocates nothing here. Any thread may call. */
#ifndef CLD3D_HANDLES_BLOCK_CACHE_H
#define CLD3D_HANDLES_BLOCK_CACHE_H

#include "os/os.h"

#include <stddef.h>

enum { BLOCK_CACHE_CAPACITY = 64 }; /* more are freed */

struct block_cache {
    size_t size;
    os_mutex lock;
    unsigned count;
    void *kept[BLOCK_CACHE_CAPACITY];
};

#define BLOCK_CACHE_INIT(type)                      \
    {                                               \
        .size = sizeof(type), .lock = OS_MUTEX_INIT \
    }

/* A zeroed block for the caller; NULL if out of memory. */
void *block_cache_take(struct block_cache *cache);
/* Takes over a block, and frees it if the cache is full. NULL is allowed. */
void block_cache_give(struct block_cache *cache, void *memory);

#endif
