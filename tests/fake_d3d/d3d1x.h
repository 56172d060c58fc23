/* The devices of Direct3D 10 and 11. Their methods are the same functions (FORWARDS of gen_stubs.py): descriptions have the same layout in
 * both, but for the end of that of a buffer and for some flags. Direct3D 10's device does what is the context's in Direct3D 11. */
#ifndef FAKE_D3D1X_H
#define FAKE_D3D1X_H

#include "forwards.h"

/* Part of the device; has references of its own, of which the first holds one on the device. */
struct fake_context11 {
    struct fake_object object;
    struct fake_iface face;
    struct fake_iface multithread;
};

struct fake_device1x {
    struct fake_device base;
    unsigned version; /* 10 or 11 */
    struct fake_iface face;
    struct fake_iface face1; /* of Direct3D 11, only for what it has more */
    struct fake_iface dxgi, multithread;
    struct fake_context11 context;            /* of Direct3D 11 */
    struct fake_iface interop, interop_queue; /* vulkan.c */
};

/* Of a device, or of one of its objects. */
struct fake_device1x *fake_device1x_of(struct fake_object *object);

/* By enum fake_kind, of a version. */
const struct fake_resource_type *fake_types(unsigned version);
HRESULT fake_query_make(struct fake_device1x *device, bool predicate, const D3D11_QUERY_DESC *desc, void **out);
/* D3D10_RESOURCE_MISC_* and D3D11_RESOURCE_MISC_* agree only in part. */
unsigned fake_misc_from10(unsigned misc);

#endif
