/* Memory aligned to a power of two, for OpenCL objects. */
#ifndef CLD3D_TRANSPORT_ALIGNED_H
#define CLD3D_TRANSPORT_ALIGNED_H

#include <stddef.h>

struct aligned_memory {
    void *bytes;      /* NULL: none */
    void *allocation; /* the pointer to free */
};

struct aligned_memory aligned_memory_make(size_t size, size_t alignment);
/* Sets both to NULL. */
void aligned_memory_free(struct aligned_memory *memory);

#endif
