/* Staging copies that no shared object has at the moment. Programs that make an object for each frame and release it (OpenCV
 * does) get the staging copy of the frame before, since Direct3D makes new ones slowly.
 *
 * A context has one pool. Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_POOL_H
#define CLD3D_TRANSPORT_POOL_H

#include "d3d/d3d.h"
#include "os/os.h"

enum { POOL_ROOM = 4 }; /* frames in flight of such a program; what comes beside them makes the oldest go */

struct staging_pool {
    os_mutex lock; /* guards what follows */
    struct surface kept[POOL_ROOM]; /* the oldest first, without resources */
    unsigned count;
    bool closed;
};

/* Gives `surface` a staging copy made for the same device and shape. False: there is none. */
bool pool_take(struct staging_pool *pool, struct surface *surface);
/* Takes the staging copy of `surface`, which is not mapped. */
void pool_give(struct staging_pool *pool, struct surface *surface);
/* Frees all, and from now on what is given: staging copies hold their device. */
void pool_close(struct staging_pool *pool);

#endif
