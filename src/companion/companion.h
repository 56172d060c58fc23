/* The companion: libcld3d.so in a Wine process. It is not a layer there (cld3d's OpenCL.dll above Wine is); it only
 * answers the channel and protects Wine's signal handlers. */
#ifndef CLD3D_COMPANION_COMPANION_H
#define CLD3D_COMPANION_COMPANION_H

#include "next/next.h"

#include <stdbool.h>

/* Whether this process runs under Wine, as seen from the host's side. */
bool companion_wanted(void);

/* Makes `table` answer the channel, and pass everything else on to `next`. */
void companion_install(cl_icd_dispatch *table);

#endif
