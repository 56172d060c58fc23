/* The headers of Direct3D and OpenCL, precompiled once for all files of a target: they are most of the compiler's
 * input. Only the build system names this file. Each file includes what it uses; natively only the tests are built this
 * way, and all of them include these headers indirectly. So no missing include goes unnoticed. */
#include "../d3d/d3d_types.h"

#include <CL/cl.h>
