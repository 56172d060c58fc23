#include "transport/pool.h"

#include <string.h>

static bool same_shape(const struct surface_desc *a, const struct surface_desc *b)
{
    return a->kind == b->kind && a->format == b->format && a->width == b->width && a->height == b->height &&
           a->depth == b->depth && a->staging_kind == b->staging_kind;
}

static bool serves(const struct pooled *kept, const struct surface *surface)
{
    return kept->surface.device == surface->device && same_shape(&kept->surface.desc, &surface->desc);
}

/* Takes one out, in whose place the later ones move up. */
static struct pooled remove_locked(struct staging_pool *pool, unsigned at)
{
    const struct pooled found = pool->kept[at];
    pool->count--;
    for (; at < pool->count; at++)
        pool->kept[at] = pool->kept[at + 1];
    return found;
}

static void drop(struct pooled *pooled)
{
    if (pooled->surface.staging)
        pooled->surface.api->staging->unstage(&pooled->surface);
    aligned_memory_free(&pooled->memory);
}

bool pool_take(struct staging_pool *pool, struct pooled *wanted)
{
    struct pooled found = {.surface = {.staging = NULL}};
    os_lock(&pool->lock);
    for (unsigned i = 0; i < pool->count && !found.surface.staging; i++)
        if (serves(&pool->kept[i], &wanted->surface))
            found = remove_locked(pool, i);
    os_unlock(&pool->lock);
    wanted->surface.staging = found.surface.staging;
    wanted->surface.staging_padding = found.surface.staging_padding;
    wanted->surface.staging_offset = found.surface.staging_offset;
    wanted->place = found.place;
    wanted->memory = found.memory;
    return found.surface.staging != NULL;
}

void pool_give(struct staging_pool *pool, struct pooled *given)
{
    struct pooled leaves = {.surface = {.staging = NULL}};
    given->surface.resource = NULL;
    os_lock(&pool->lock);
    if (pool->closed)
        leaves = *given;
    else if (pool->count == POOL_CAPACITY)
        leaves = remove_locked(pool, 0);
    if (!pool->closed)
        pool->kept[pool->count++] = *given;
    os_unlock(&pool->lock);
    drop(&leaves);
}

static unsigned take_all(struct staging_pool *pool, bool closes, struct pooled taken[POOL_CAPACITY])
{
    os_lock(&pool->lock);
    const unsigned count = pool->count;
    memcpy(taken, pool->kept, count * sizeof(taken[0]));
    pool->count = 0;
    pool->closed = pool->closed || closes;
    os_unlock(&pool->lock);
    return count;
}

static bool drop_all(struct staging_pool *pool, bool closes)
{
    struct pooled taken[POOL_CAPACITY];
    const unsigned count = take_all(pool, closes, taken);
    for (unsigned i = 0; i < count; i++)
        drop(&taken[i]);
    return count != 0;
}

bool pool_empty(struct staging_pool *pool)
{
    return drop_all(pool, false);
}

void pool_close(struct staging_pool *pool)
{
    drop_all(pool, true);
}
