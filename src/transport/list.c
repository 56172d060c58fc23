/* In its own file, which is linked with the entry points, because tests build libraries with other transports. */
#include "transport/transport.h"

const struct transport *const transport_list[] = {
    &vulkan_transport,
    &rows_transport,
    &in_place_transport,
    &host_transport,
};

const unsigned transport_list_count = sizeof(transport_list) / sizeof(transport_list[0]);
