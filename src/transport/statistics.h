/* What the objects of a context cost: how many use each transport and method, and how many bytes the CPU has moved for
 * them between Direct3D and OpenCL. It is logged when nothing uses the context any longer (CLD3D_LOG=stats). Any thread
 * may call; nothing is locked. */
#ifndef CLD3D_TRANSPORT_STATISTICS_H
#define CLD3D_TRANSPORT_STATISTICS_H

#include "transport/transport.h"

#include <stdatomic.h>

enum { METHODS_MAX = 12 }; /* of all transports together; further ones are counted with the last */

/* The objects of one method. */
struct method_count {
    const char *_Atomic method; /* the name of the transport, or of its method */
    atomic_ullong objects, bytes;
};

struct statistics {
    struct method_count methods[METHODS_MAX];
};

/* Counts an object, and attributes the transfer's further costs to it, for as long as the context's transports live. */
void statistics_object(struct statistics *statistics, const struct transport *transport, struct transfer *transfer);
/* The CPU has copied or converted this many bytes for an object, or OpenCL has copied them from or to host memory. */
void statistics_bytes(const struct transfer *transfer, size_t bytes);
/* Logs the counts if requested, and resets them. */
void statistics_log(struct statistics *statistics);

#endif
