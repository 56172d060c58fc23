/* The transport without a copy of OpenCL's own: objects are made over memory of the host in which the device computes, the
 * mapped staging copy itself or, where that can't be, rows of ours beside it. For contexts all of whose devices do so
 * (host_memory.h). */
#ifndef CLD3D_TRANSPORT_IN_PLACE_H
#define CLD3D_TRANSPORT_IN_PLACE_H

#include "transport/transport.h"

extern const struct transport in_place_transport;

#endif
