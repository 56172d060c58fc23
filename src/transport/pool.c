#include "transport/pool.h"

#include "d3d/staging.h"

static bool same_shape(const struct surface_desc *a, const struct surface_desc *b)
{
    return a->kind == b->kind && a->format == b->format && a->width == b->width && a->height == b->height &&
           a->depth == b->depth && a->staging_kind == b->staging_kind && a->whole_level == b->whole_level;
}

/* Takes one out, in whose place the later ones move up. */
static struct surface remove_locked(struct staging_pool *pool, unsigned at)
{
    const struct surface found = pool->kept[at];
    pool->count--;
    for (; at < pool->count; at++)
        pool->kept[at] = pool->kept[at + 1];
    return found;
}

bool pool_take(struct staging_pool *pool, struct surface *surface)
{
    os_lock(&pool->lock);
    for (unsigned i = 0; i < pool->count && !surface->staging; i++) {
        const struct surface *kept = &pool->kept[i];
        if (kept->api == surface->api && kept->device == surface->device && same_shape(&kept->desc, &surface->desc))
            surface->staging = remove_locked(pool, i).staging;
    }
    os_unlock(&pool->lock);
    return surface->staging != NULL;
}

void pool_give(struct staging_pool *pool, struct surface *surface)
{
    struct surface leaves = {.staging = NULL}, given = *surface;
    given.resource = NULL;
    given.change = NULL;
    surface->staging = NULL;
    os_lock(&pool->lock);
    if (pool->closed)
        leaves = given;
    else if (pool->count == POOL_ROOM)
        leaves = remove_locked(pool, 0);
    if (!pool->closed)
        pool->kept[pool->count++] = given;
    os_unlock(&pool->lock);
    if (leaves.staging)
        leaves.api->staging->unstage(&leaves);
}

void pool_close(struct staging_pool *pool)
{
    os_lock(&pool->lock);
    const unsigned count = pool->count;
    pool->count = 0;
    pool->closed = true;
    os_unlock(&pool->lock);
    /* Nobody else comes to what was kept. */
    for (unsigned i = 0; i < count; i++)
        pool->kept[i].api->staging->unstage(&pool->kept[i]);
}
