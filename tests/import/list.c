/* The transports of the library under test: an import before the way through the host. */
#include "transport/transport.h"

extern const struct transport import_transport;

const struct transport *const transport_list[] = {
    &import_transport,
    &host_transport,
};

const unsigned transport_list_count = sizeof(transport_list) / sizeof(transport_list[0]);
