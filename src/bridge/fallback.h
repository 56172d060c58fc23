/* Without the bridge: Wine's own opencl.dll. It has OpenCL 1.2 without callbacks; the rest is missing, and says so. */
#ifndef CLD3D_BRIDGE_FALLBACK_H
#define CLD3D_BRIDGE_FALLBACK_H

#include <stdbool.h>

/* Whether a library is Wine's own. */
bool fallback_is_wines(const void *library);

/* Sets `next` to the functions of Wine's opencl.dll, repaired: callbacks of events and builds are called, and a query that
 * crashes is answered. `why`: why there is no bridge, for the log. Called once, by an entry point, before anything else
 * runs. */
void fallback_load(void *library, const char *why);

#endif
