/* Memory aligned to a power of two, for OpenCL objects and transfers. */
#ifndef CLD3D_TRANSPORT_ALIGNED_H
#define CLD3D_TRANSPORT_ALIGNED_H

#include <stddef.h>

struct aligned_memory {
    void *bytes;                         /* NULL: none */
    void *allocation;                    /* for `give_back` */
    void (*give_back)(void *allocation); /* NULL if there is none */
};

/* Memory of `size` bytes, for aligned_memory_free; `bytes` is NULL if out of memory. */
struct aligned_memory aligned_memory_make(size_t size, size_t alignment);
/* Sets everything to NULL. */
void aligned_memory_free(struct aligned_memory *memory);

#endif
