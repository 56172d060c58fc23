/* The parts of a Direct3D 10 device. */
#ifndef FAKE_DEVICE10_H
#define FAKE_DEVICE10_H

#include "fake_internal.h"

struct fake_device10 {
    struct fake_device base;
    FAKE_IFACE(ID3D10Device1) face;
    struct fake_dxgi_device dxgi;
    struct fake_multithread multithread;
    struct fake_iface interop_queue; /* vulkan.c */
    UINT flags;
};

/* By enum fake_kind. */
extern const struct fake_resource_type fake_types10[];
extern const struct fake_class fake_query10_class, fake_predicate10_class;
extern const ID3D10QueryVtbl fake_query10_vtbl;

/* D3D10_RESOURCE_MISC_* and D3D11_RESOURCE_MISC_* agree only in part. */
unsigned fake_misc_from10(unsigned misc);
unsigned fake_misc_to10(unsigned misc);

#endif
