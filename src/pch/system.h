/* The headers of Direct3D and OpenCL, which the compiler reads once for all files of a target: they are most of what it would read.
 * Only the build system names this file. Each file includes what it uses, and natively only the tests are built so, all of which
 * include these headers by others of theirs. So no file lacks a header unseen. */
#include "../d3d/d3d_types.h"

#include <CL/cl.h>
