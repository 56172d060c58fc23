/* The transport through the host's memory: a staging copy, mapped from acquire to release. It can share every surface with
 * every OpenCL, so it is the last in the list. */
#ifndef CLD3D_TRANSPORT_HOST_H
#define CLD3D_TRANSPORT_HOST_H

#include "transport/transport.h"

extern const struct transport host_transport;

#endif
