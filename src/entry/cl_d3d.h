/* What the files with the extensions' functions include: the Direct3D types of their signatures and the core. */
#ifndef CLD3D_ENTRY_CL_D3D_H
#define CLD3D_ENTRY_CL_D3D_H

#include "d3d/d3d_types.h"
#include "entry/entry.h"
#include "share/share.h"

#include <CL/cl_d3d10.h>
#include <CL/cl_d3d11.h>

#endif
