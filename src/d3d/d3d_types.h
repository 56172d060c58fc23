/* The Direct3D and DXGI headers, in the only order that they and the Khronos headers accept, on Windows (mingw-w64) and
 * natively (Wine's). Only files of src/d3d/ and the entry points need them. */
#ifndef CLD3D_D3D_D3D_TYPES_H
#define CLD3D_D3D_D3D_TYPES_H

#include <windows.h>

#include <d3d9.h>
#include <d3d10.h>
#include <d3d10_1.h>
#include <d3d10misc.h>
#include <d3d11.h>
#include <dxgi.h>

#endif
