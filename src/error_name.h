#ifndef CLD3D_ERROR_NAME_H
#define CLD3D_ERROR_NAME_H

#include <CL/cl.h>

/* The name of an OpenCL error code, also of the extensions', or "CL_?" for one that is unknown. Any thread may call. */
const char *cl_error_name(cl_int code);

#endif
