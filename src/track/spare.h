/* A cache of memory blocks of one size that are freed and allocated again with every frame, so that a program in its
 * steady state allocates nothing here. Any thread may call. */
#ifndef CLD3D_TRACK_SPARE_H
#define CLD3D_TRACK_SPARE_H

#include "os/os.h"

#include <stddef.h>

enum { SPARE_ROOM = 64 }; /* more are freed */

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

/* Zeroed, or NULL if out of memory. */
void *spare_take(struct spares *spares);
/* NULL is allowed. */
void spare_give(struct spares *spares, void *memory);

#endif
