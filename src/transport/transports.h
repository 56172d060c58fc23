/* The choice of an object's transport, and a context's state for its transports.
 *
 * Any thread may call; the caller must hold no lock of cld3d. */
#ifndef CLD3D_TRANSPORT_TRANSPORTS_H
#define CLD3D_TRANSPORT_TRANSPORTS_H

#include "transport/transport.h"

struct transports;

/* Opens the transports that may be used for a context. NULL if out of memory. */
struct transports *transports_open(cl_context context);
/* The devices of the context are released: frees what is kept for later objects and holds them. Existing objects still
 * live and are still transferred. May be called again; NULL is allowed. */
void transports_close(struct transports *transports);
/* Nothing uses the context any longer: logs the costs of its objects since the last time. NULL is allowed. */
void transports_log_costs(struct transports *transports);
/* Call this after the last transfer of the context was destroyed; also closes. NULL is allowed. */
void transports_free(struct transports *transports);

/* Creates a transfer with the first transport that can share the surface. The request's `state` is ignored: each
 * transport gets its own. If none can share it, an OpenCL error code, logged: that of the last one. */
cl_int transports_create(struct transports *transports, const struct transfer_request *request, struct transfer **made);

/* For display: the transports that may be used, in the order in which they are tried. The text lives as long as the
 * process. */
const char *transports_report(void);
/* The transport and method of the object that the calling thread created last, and why no earlier transport accepted
 * it; empty: it has created none. The text lives until the thread creates another object or ends. */
const char *transports_last_method(void);

#endif
