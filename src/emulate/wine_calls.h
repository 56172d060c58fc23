/* Calls of Wine's opencl.dll in which the driver crashes. Wine ends the call and returns the exception's code as the
 * OpenCL error; a function that creates an object returns an undefined handle and sets no error. The program gets
 * CL_OUT_OF_RESOURCES and no handle; from a query, a retain or a release it gets the code of an invalid handle, which
 * is the most likely cause. */
#ifndef CLD3D_EMULATE_WINE_CALLS_H
#define CLD3D_EMULATE_WINE_CALLS_H

#include "emulate/emulate.h"

/* STATUS_ACCESS_VIOLATION: the cause of most crashes. This value also represents a code that was never set. */
#define WINE_CRASHED ((cl_int)0xC0000005)

/* Wine's own functions. */
extern cl_icd_dispatch wine_below;

/* The error code for the program: `crash` replaces the code of an exception. OpenCL's own codes are small. */
cl_int wine_code(const char *call, cl_int crash, cl_int status);

void wine_calls_install_generated(cl_icd_dispatch *table);

#endif
