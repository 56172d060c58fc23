/* The program that converts between two formats on a device (convert.cl).
 *
 * With QUIRK_POCL_BUILDS a process that builds a conversion for one device in a second context keeps its binary, for the contexts
 * that follow. */
#ifndef CLD3D_FORMATS_PROGRAM_H
#define CLD3D_FORMATS_PROGRAM_H

#include "track/track.h"

/* Builds the program of a pair of formats in a context. *program belongs to the caller, also on failure; it may be NULL then,
 * and *call is the function that failed. Any thread may call. */
cl_int program_build(const struct context_record *context, cl_image_format declared, cl_image_format stored,
                     cl_program *program, const char **call);

#endif
