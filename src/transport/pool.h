/* Staging copies that no shared object uses at the moment, for the next object of the same device and shape, because
 * Direct3D is slow to create new ones. Objects give theirs back at each release, so that those that are not acquired at the
 * same time share one. Programs that create an object for each frame and release it (OpenCV does) get that of the
 * previous frame.
 *
 * A context has one pool. Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_POOL_H
#define CLD3D_TRANSPORT_POOL_H

#include "d3d/staging.h"
#include "os/os.h"
#include "transport/pinned.h"

enum { POOL_SPARE = 4 }; /* copies kept for objects to come: the frames in flight of such a program */

/* A staging copy with the other memory of an object of its shape. */
struct pooled {
    struct surface surface;       /* without its resource while it is in the pool */
    struct mapped_surface place;  /* where the staging copy was mapped; `data` NULL: unknown */
    struct aligned_memory memory; /* the object's rows, or none */
};

struct staging_pool {
    os_mutex lock;       /* guards what follows */
    struct pooled *kept; /* owned; oldest first */
    unsigned count, room;
    unsigned objects; /* that use the pool: one copy for each and the spare ones are kept, not more */
    bool closed;
};

/* An object uses the pool from now on, or no longer. */
void pool_enter(struct staging_pool *pool);
void pool_leave(struct staging_pool *pool);
/* What was created for a surface of the same device and shape. False: there is none. */
bool pool_take(struct staging_pool *pool, const struct surface *wanted, struct pooled *found);
/* Takes over a staging copy, which is not mapped, and its other memory. False: the pool is closed, or memory is short, and
 * the caller keeps them. */
bool pool_give(struct staging_pool *pool, const struct pooled *given);
/* Frees everything, because memory is short or the context is released. With `close` also anything that is added from now
 * on: staging copies hold their device. False: there was nothing. */
bool pool_empty(struct staging_pool *pool, bool close);

#endif
