/* Which transport an object goes by, and what a context keeps for its transports.
 *
 * Any thread may call; no lock of ours may be held. */
#ifndef CLD3D_TRANSPORT_TRANSPORTS_H
#define CLD3D_TRANSPORT_TRANSPORTS_H

#include "transport/transport.h"

struct transports;

/* Opens the transports that may be used for a context. NULL if memory is short. */
struct transports *transports_open(cl_context context);
/* The devices of the context go: what is kept for later objects and holds them is given back. The objects that there are
 * still live and move. May be called again; NULL is allowed. */
void transports_close(struct transports *transports);
/* Nothing uses the context any longer: the log tells what its objects have cost since the last time. NULL is allowed. */
void transports_tell(struct transports *transports);
/* After the last transfer of the context was destroyed; closes. NULL is allowed. */
void transports_free(struct transports *transports);

/* Makes a transfer by the first transport that can share the surface. `state` of the request is set here. An OpenCL error
 * code, logged, if none can: that of the last one. */
cl_int transports_create(struct transports *transports, const struct transfer_request *request, struct transfer **made);

/* The answer to CL_CONTEXT_D3D11_PREFER_SHARED_RESOURCES_KHR and its like: whether a transport of the context does better
 * with resources that were made shareable. */
bool transports_prefer_shared(const struct transports *transports, const struct d3d_api *api);

/* For people: the transports that may be used, in the order in which they are asked. */
const char *transports_report(void);
/* The way of the object that the calling thread made last, how, and why no earlier transport has it; empty: it made none. */
const char *transports_last_way(void);

#endif
