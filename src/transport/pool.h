/* Staging copies that no shared object uses at the moment. Programs that create an object for each frame and release it
 * (OpenCV does) get the staging copy of the previous frame, because Direct3D is slow to create new ones.
 *
 * A context has one pool. Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_POOL_H
#define CLD3D_TRANSPORT_POOL_H

#include "d3d/staging.h"
#include "os/os.h"
#include "transport/aligned.h"

enum { POOL_CAPACITY = 4 }; /* frames in flight of such a program; beyond that the oldest is evicted */

/* A staging copy with the other memory of an object of its shape. */
struct pooled {
    struct surface surface;       /* without its resource while it is in the pool */
    struct mapped_surface place;  /* where the staging copy was mapped; `data` NULL: unknown */
    struct aligned_memory memory; /* the object's rows, or none */
};

struct staging_pool {
    os_mutex lock;                     /* guards what follows */
    struct pooled kept[POOL_CAPACITY]; /* the oldest first */
    unsigned count;
    bool closed;
};

/* Fills everything except the surface's own part with what was created for the same device and shape. False: there is
 * none. */
bool pool_take(struct staging_pool *pool, struct pooled *wanted);
/* Takes over a staging copy, which is not mapped, and its other memory. */
void pool_give(struct staging_pool *pool, struct pooled *given);
/* Frees everything, for whoever finds memory short. False: there was nothing. */
bool pool_empty(struct staging_pool *pool);
/* Frees everything, and from now on anything that is added: staging copies hold their device. */
void pool_close(struct staging_pool *pool);

#endif
