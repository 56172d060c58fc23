/* Staging copies that no shared object has at the moment. Programs that make an object for each frame and release it (OpenCV
 * does) get the staging copy of the frame before, since Direct3D makes new ones slowly.
 *
 * A context has one pool. Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_POOL_H
#define CLD3D_TRANSPORT_POOL_H

#include "d3d/staging.h"
#include "os/os.h"
#include "transport/aligned.h"

enum { POOL_ROOM = 4 }; /* frames in flight of such a program; what comes beside them makes the oldest go */

/* A staging copy with what an object of its shape has beside it. */
struct pooled {
    struct surface surface;       /* without its resource while it is in the pool */
    struct mapped_surface place;  /* where the staging copy was mapped; `data` NULL: nobody looked */
    struct aligned_memory memory; /* of the object's rows, or none */
};

struct staging_pool {
    os_mutex lock;                 /* guards what follows */
    struct pooled kept[POOL_ROOM]; /* the oldest first */
    unsigned count;
    bool closed;
};

/* Fills all but the surface's own part with what was made for the same device and shape. False: there is nothing. */
bool pool_take(struct staging_pool *pool, struct pooled *wanted);
/* Takes over a staging copy, which is not mapped, and what is beside it. */
void pool_give(struct staging_pool *pool, struct pooled *given);
/* Frees all, and from now on what is given: staging copies hold their device. */
void pool_close(struct staging_pool *pool);

#endif
