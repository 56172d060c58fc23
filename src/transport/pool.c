#include "transport/pool.h"

#include <stdlib.h>
#include <string.h>

static bool serves(const struct pooled *kept, const struct surface *surface)
{
    const struct surface_desc *a = &kept->surface.desc, *b = &surface->desc;
    return kept->surface.device == surface->device && a->kind == b->kind && a->format == b->format &&
           a->width == b->width && a->height == b->height && a->depth == b->depth && a->staging_kind == b->staging_kind;
}

/* Removes entry `at`; later entries move up by one. */
static struct pooled remove_locked(struct staging_pool *pool, unsigned at)
{
    const struct pooled found = pool->kept[at];
    pool->count--;
    memmove(&pool->kept[at], &pool->kept[at + 1], (pool->count - at) * sizeof(found));
    return found;
}

static void drop(struct pooled *pooled)
{
    if (pooled->surface.staging)
        pooled->surface.api->staging->unstage(&pooled->surface);
    aligned_memory_free(&pooled->memory);
}

void pool_enter(struct staging_pool *pool)
{
    os_lock(&pool->lock);
    pool->objects++;
    os_unlock(&pool->lock);
}

/* Drops the oldest copies that are more than may be kept. */
void pool_leave(struct staging_pool *pool)
{
    os_lock(&pool->lock);
    pool->objects--;
    while (pool->count > POOL_SPARE + pool->objects) {
        struct pooled oldest = remove_locked(pool, 0);
        os_unlock(&pool->lock);
        drop(&oldest);
        os_lock(&pool->lock);
    }
    os_unlock(&pool->lock);
}

/* The one that was given last: those that are not needed any more become the oldest. */
bool pool_take(struct staging_pool *pool, const struct surface *wanted, struct pooled *found)
{
    found->surface.staging = NULL;
    os_lock(&pool->lock);
    for (unsigned i = pool->count; i > 0 && !found->surface.staging; i--)
        if (serves(&pool->kept[i - 1], wanted))
            *found = remove_locked(pool, i - 1);
    os_unlock(&pool->lock);
    return found->surface.staging != NULL;
}

/* Only grows, so that nothing is allocated for a frame like the one before. */
static bool make_room_locked(struct staging_pool *pool)
{
    enum { STEP = 8 };
    if (pool->count < pool->room)
        return true;
    struct pooled *grown = realloc(pool->kept, (pool->room + STEP) * sizeof(*grown));
    if (!grown)
        return false;
    pool->kept = grown;
    pool->room += STEP;
    return true;
}

bool pool_give(struct staging_pool *pool, const struct pooled *given)
{
    os_lock(&pool->lock);
    const bool taken = !pool->closed && make_room_locked(pool);
    if (taken) {
        pool->kept[pool->count] = *given;
        pool->kept[pool->count++].surface.resource = NULL;
    }
    os_unlock(&pool->lock);
    return taken;
}

bool pool_empty(struct staging_pool *pool, bool close)
{
    os_lock(&pool->lock);
    struct pooled *taken = pool->kept;
    const unsigned count = pool->count;
    pool->kept = NULL;
    pool->count = pool->room = 0;
    pool->closed = pool->closed || close;
    os_unlock(&pool->lock);
    for (unsigned i = 0; i < count; i++)
        drop(&taken[i]);
    free(taken);
    return count != 0;
}
