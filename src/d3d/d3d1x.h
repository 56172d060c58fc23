/* What d3d10.c and d3d11.c have in common: the same resources and rules behind two sets of interfaces. Each has the calls that
 * differ in more than their names, and then includes d3d1x.inc, which has everything else. Values of Direct3D 11 are used
 * for both (d3d10.c asserts that they are equal). */
#ifndef CLD3D_D3D_D3D1X_H
#define CLD3D_D3D_D3D1X_H

#include "d3d/d3d_types.h"
#include "d3d/dxgi.h"
#include "d3d/dxvk.h"
#include "d3d/formats.h"
#include "d3d/native.h"
#include "d3d/staging.h"

/* A mapped subresource. A buffer is one row. */
struct d3d1x_level {
    void *data;
    UINT row_pitch, depth_pitch;
};

#endif
