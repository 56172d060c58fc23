#include "handles/block_cache.h"

#include <stdlib.h>
#include <string.h>

void *block_cache_take(struct block_cache *cache)
{
    void *memory = NULL;
    os_lock(&cache->lock);
    if (cache->count)
        memory = cache->kept[--cache->count];
    os_unlock(&cache->lock);
    return memory ? memset(memory, 0, cache->size) : calloc(1, cache->size);
}

void block_cache_give(struct block_cache *cache, void *memory)
{
    os_lock(&cache->lock);
    if (memory && cache->count < BLOCK_CACHE_CAPACITY) {
        cache->kept[cache->count++] = memory;
        memory = NULL;
    }
    os_unlock(&cache->lock);
    free(memory);
}
