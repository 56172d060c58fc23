/* Staging copies that no shared object uses at the moment, for the next object of the same device and shape, because
 * Direct3D is slow to create new ones. Objects lend theirs from a release to the next acquire, so that those that are not
 * acquired at the same time share one. Programs that create an object for each frame and release it (OpenCV does) get that of
 * the previous frame.
 *
 * A context has one pool. Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_POOL_H
#define CLD3D_TRANSPORT_POOL_H

#include "d3d/staging.h"
#include "os/os.h"
#include "transport/aligned.h"

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
    unsigned loans; /* objects that have lent theirs. One copy for each and the spare ones are kept, not more */
    bool closed;
};

/* Fills everything except the surface's own part with what was created for the same device and shape. False: there is
 * none. */
bool pool_take(struct staging_pool *pool, struct pooled *wanted);
/* Takes over a staging copy, which is not mapped, and its other memory. `lent`: by an object that will need one again, until
 * pool_end_loan. False: the pool is closed, or memory is short, and the caller keeps them. */
bool pool_give(struct staging_pool *pool, const struct pooled *given, bool lent);
/* An object that has lent its staging copy has one again, or is gone. */
void pool_end_loan(struct staging_pool *pool);
/* Frees everything; called when memory is short. False: there was nothing. */
bool pool_empty(struct staging_pool *pool);
/* Frees everything, and from now on anything that is added: staging copies hold their device. */
void pool_close(struct staging_pool *pool);

#endif
