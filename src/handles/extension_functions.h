/* Extension functions that programs obtain by name, and whose calls cld3d tracks. Any thread may call. */
#ifndef CLD3D_HANDLES_EXTENSION_FUNCTIONS_H
#define CLD3D_HANDLES_EXTENSION_FUNCTIONS_H

#include "handles/handles.h"

/* cld3d's replacement for `function`, which the driver of `platform` (NULL: unknown) has by this name: it sets a
 * pointer as a kernel's argument, or creates a queue. NULL: the program gets the driver's. This is so for other names,
 * for queues of drivers older than OpenCL 2.0, and for a second driver's function that sets pointers. */
next_function extension_function(cl_platform_id platform, const char *name, void *function);

#endif
