/* Host memory for OpenCL objects and transfers.
 *
 * A device with its own memory reads and writes pinned memory directly; other host memory is copied once more by the driver,
 * at a fraction of the speed. OpenCL provides it as a mapped buffer (CL_MEM_ALLOC_HOST_PTR), whose memory the host
 * uses for the source and destination of transfers and no command uses as a buffer. A driver may hold as much memory of
 * the device for such a buffer (NVIDIA's does), so a context has a limit. */
#ifndef CLD3D_TRANSPORT_PINNED_H
#define CLD3D_TRANSPORT_PINNED_H

#include "os/os.h"

#include <CL/cl.h>
#include <stddef.h>

struct aligned_memory {
    void *bytes;                         /* NULL: none */
    void *allocation;                    /* for `give_back` */
    void (*give_back)(void *allocation); /* NULL if there is none */
};

/* Memory of `size` bytes, aligned to a power of two, for aligned_memory_free; `bytes` is NULL if out of memory. */
struct aligned_memory aligned_memory_make(size_t size, size_t alignment);
/* Sets everything to NULL. */
void aligned_memory_free(struct aligned_memory *memory);

enum {
    PINNED_MOST = 256 << 20, /* bytes in a context */
    PINNED_SHARE = 16        /* and no more than this part of its device's memory */
};

/* The pinned memory of a context. */
struct pinning {
    cl_context context;
    os_mutex lock; /* guards what follows */
    /* owned; of the device that maps the buffers. NULL: no device has its own memory, the driver failed, or the context is
     * released */
    cl_command_queue queue;
    size_t bytes, most; /* of all memory that is not freed yet, and its limit */
};

/* Finds the device and the limit; nothing is pinned yet. `context` is not retained. */
void pinning_open(struct pinning *pinning, cl_context context);
/* Releases what would keep the context alive. Memory that is not freed yet remains valid; no more is created. */
void pinning_close(struct pinning *pinning);

/* Any thread may call. No lock may be held. `bytes` is NULL if there is no such memory: in a callback, too, where a map
 * may not be waited for. aligned_memory_free frees it, in callbacks too; `pinning` must still exist then. */
struct aligned_memory pinned_memory_make(struct pinning *pinning, size_t size);

#endif
