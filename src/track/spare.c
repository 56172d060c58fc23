#include "track/spare.h"

#include <stdlib.h>
#include <string.h>

void *spare_take(struct spares *spares)
{
    void *memory = NULL;
    os_lock(&spares->lock);
    if (spares->count)
        memory = spares->kept[--spares->count];
    os_unlock(&spares->lock);
    return memory ? memset(memory, 0, spares->size) : calloc(1, spares->size);
}

void spare_give(struct spares *spares, void *memory)
{
    os_lock(&spares->lock);
    if (memory && spares->count < SPARE_ROOM) {
        spares->kept[spares->count++] = memory;
        memory = NULL;
    }
    os_unlock(&spares->lock);
    free(memory);
}
