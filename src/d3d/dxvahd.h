/* DXVA-HD devices. Only mingw-w64 has their header, dxvahd.h, so the functions used are declared here. */
#ifndef CLD3D_D3D_DXVAHD_H
#define CLD3D_D3D_DXVAHD_H

#include "d3d/d3d_types.h"

/* A DXVA-HD device from any of its interfaces: the device with one reference, or NULL. */
void *dxvahd_open(void *object);

/* The Direct3D 9 device on which a DXVA-HD device works, with one reference. NULL if `object` is not a DXVA-HD device,
 * or if it cannot create a surface to query. */
IDirect3DDevice9 *dxvahd_d3d_device(void *object);

#endif
