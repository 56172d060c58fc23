/* Memory of one size that is given back and taken again with every frame: kept, so that a program in its steady state
 * allocates nothing here. Any thread may call. */
#ifndef CLD3D_TRACK_SPARE_H
#define CLD3D_TRACK_SPARE_H

#include "os/os.h"

#include <stddef.h>

enum { SPARE_ROOM = 64 }; /* more are given back to the system */

struct spares {
    size_t size;
    os_mutex lock;
    unsigned count;
    void *kept[SPARE_ROOM];
};

#define SPARES_INIT(type)                           \
    {                                               \
        .size = sizeof(type), .lock = OS_MUTEX_INIT \
    }

/* Zeroed, or NULL if memory is short. */
void *spare_take(struct spares *spares);
/* NULL is allowed. */
void spare_give(struct spares *spares, void *memory);

#endif
