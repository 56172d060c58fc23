/* The DXGI objects behind a device, for tests that name them to OpenCL. */
#ifndef CLD3D_TESTS_ADAPTERS_H
#define CLD3D_TESTS_ADAPTERS_H

#include "sharing.h"

enum { MOST_DEVICES = 32 };

static inline IDXGIAdapter *adapter_of(const struct rig *rig)
{
    static const GUID iid = {0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    IDXGIDevice *dxgi = NULL; /* another face of the device, at another address than the one that is named to OpenCL */
    IDXGIAdapter *adapter = NULL;
    if (CHECK_INT(IUnknown_QueryInterface((IUnknown *)rig->device, &iid, (void **)&dxgi), S_OK))
        CHECK_INT(IDXGIDevice_GetAdapter(dxgi, &adapter), S_OK);
    rig_release(dxgi);
    return adapter;
}

#endif
