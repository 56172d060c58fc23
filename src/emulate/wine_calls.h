/* Wine's own functions, where the driver crashes in one: Wine ends the call, and gives the exception's code as OpenCL's; of a function
 * that makes something, whatever stood in the place of the handle, and no code. The program gets CL_OUT_OF_RESOURCES and no handle;
 * or, from a query, a retain or a release, what most likely is the reason: the code of a handle that is none. */
#ifndef CLD3D_EMULATE_WINE_CALLS_H
#define CLD3D_EMULATE_WINE_CALLS_H

#include "emulate/emulate.h"

/* STATUS_ACCESS_VIOLATION: what most crashes are. What stands for a code that nobody has set is this, too. */
#define WINE_CRASHED ((cl_int)0xC0000005)

/* The functions as Wine has them. */
extern cl_icd_dispatch wine_below;

/* The code for the program: `crash` in place of an exception's. OpenCL's own are small. */
cl_int wine_code(const char *call, cl_int crash, cl_int status);

void wine_calls_install_generated(cl_icd_dispatch *table);

#endif
