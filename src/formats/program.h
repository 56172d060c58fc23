/* The program that converts between two formats on a device (convert.cl).
 *
 * Compilers are slow: PoCL 3.1 takes 60 ms for it even when its cache has the result, and 4 ms for the binary. So a process that builds a
 * conversion for one device in a second context keeps the binary, for the contexts that follow. */
#ifndef CLD3D_FORMATS_PROGRAM_H
#define CLD3D_FORMATS_PROGRAM_H

#include <CL/cl.h>

/* Builds the program of a pair of formats in a context. *program belongs to the caller. On failure, *call is the function
 * that failed. Any thread may call. */
cl_int program_build(cl_context context, cl_image_format declared, cl_image_format stored, cl_program *program,
                     const char **call);

#endif
