/* The parts of a Direct3D 11 device. */
#ifndef FAKE_DEVICE11_H
#define FAKE_DEVICE11_H

#include "fake_internal.h"

/* Part of the device; has references of its own, of which the first holds one on the device. */
struct fake_context11 {
    struct fake_object object;
    FAKE_IFACE(ID3D11DeviceContext) face;
    struct fake_multithread multithread;
};

struct fake_device11 {
    struct fake_device base;
    FAKE_IFACE(ID3D11Device) face;
    FAKE_IFACE(ID3D11Device1) face1; /* only for what it has more */
    struct fake_dxgi_device dxgi;
    struct fake_multithread multithread;
    struct fake_context11 context;
    struct fake_iface interop, interop_queue; /* vulkan.c */
    UINT flags;
};

void fake_context11_init(struct fake_context11 *context, struct fake_device11 *device);

/* By enum fake_kind. */
extern const struct fake_resource_type fake_types11[];
extern const struct fake_class fake_query11_class, fake_predicate11_class;
extern const ID3D11QueryVtbl fake_query11_vtbl;

#endif
