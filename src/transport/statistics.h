/* What the objects of a context cost: how many go each way, and how many bytes the CPU has moved for them between Direct3D and
 * OpenCL. The log tells it when nothing uses the context any longer (CLD3D_LOG=stats). Any thread may call; nothing is locked. */
#ifndef CLD3D_TRANSPORT_STATISTICS_H
#define CLD3D_TRANSPORT_STATISTICS_H

#include "transport/transport.h"

#include <stdatomic.h>

enum { WAYS_MAX = 12 }; /* of all transports together; more are counted with the last one */

/* The objects of one way. */
struct way_count {
    const char *_Atomic way; /* the transport's name, or its way's */
    atomic_ullong objects, bytes;
};

struct statistics {
    struct way_count ways[WAYS_MAX];
};

/* Counts an object, and lets the transfer's further costs be counted with it, for as long as the context's transports live. */
void statistics_object(struct statistics *statistics, const struct transport *transport, struct transfer *transfer);
/* The CPU has copied or converted so many bytes for an object, or OpenCL has from or to memory of the host. */
void statistics_bytes(const struct transfer *transfer, size_t bytes);
/* Tells the log, if it wants to know, and begins to count again. */
void statistics_tell(struct statistics *statistics);

#endif
