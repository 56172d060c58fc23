/* DXVA-HD devices. Their header, dxvahd.h, is in mingw-w64's headers only, so what is called stands here. */
#ifndef CLD3D_D3D_DXVAHD_H
#define CLD3D_D3D_DXVAHD_H

#include "d3d/d3d_types.h"

/* A DXVA-HD device by any of its interfaces: itself with one reference, or NULL. */
void *dxvahd_open(void *object);

/* The Direct3D 9 device on which a DXVA-HD device works, with one reference. NULL if `object` is no DXVA-HD device, or
 * makes no surface that would tell. */
IDirect3DDevice9 *dxvahd_d3d_device(void *object);

#endif
