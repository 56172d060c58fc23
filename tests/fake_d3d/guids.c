/* The interface identifiers that are otherwise in libdxguid and libuuid.  They are weak, so that
 * whoever defines some of them too is not in the way. */

#include <windows.h>
#include <unknwn.h>

#include <guiddef.h>
#undef DEFINE_GUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) \
    extern const GUID name __attribute__((weak));                    \
    const GUID name = {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}

DEFINE_GUID(IID_IUnknown, 0x00000000, 0x0000, 0x0000, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x46);

DEFINE_GUID(fake_iid_stays, 0x3e1ff30b, 0xc951, 0x48c3, 0xb0, 0x10, 0x0f, 0xb4, 0x9f, 0x3d, 0xca, 0x71);

DEFINE_GUID(fake_iid_interop, 0x5546cf8c, 0x77e7, 0x4341, 0xb0, 0x5d, 0x8d, 0x4d, 0x50, 0x00, 0xe7, 0x7d);
DEFINE_GUID(fake_iid_interop9, 0xd56344f5, 0x8d35, 0x46fd, 0x80, 0x6d, 0x94, 0xc3, 0x51, 0xb4, 0x72, 0xc1);
DEFINE_GUID(fake_iid_interop_device, 0xcfcf64ef, 0x9586, 0x46d0, 0xbc, 0xa4, 0x97, 0xcf, 0x2c, 0xa6, 0x1b, 0x06);

#include <d3d11.h>
#include <d3d11_4.h>
#include <d3d10_1.h>
#include <d3d9.h>

#include "dxvahd.h"
