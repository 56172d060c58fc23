/* Binaries of the conversion programs that this process has built. Another context of the same device takes the binary: PoCL
 * needs 30 ms or more to compile such a program, even one that its cache holds, and 2 ms to load it.
 *
 * All functions may be called from any thread. */
#ifndef CLD3D_FORMATS_BINARY_H
#define CLD3D_FORMATS_BINARY_H

#include "next/next.h"

/* A program that is built with these options, for a context of this device alone. Owned by the caller. NULL: there is no binary, or the
 * driver does not take it. */
cl_program binary_load(cl_context context, cl_device_id device, const char *options);

/* Notes that a program was compiled with these options for this device alone. Of the second one the binary is kept: most processes have
 * one context, and PoCL compiles the kernels once more for a binary. Want of memory is no failure. */
void binary_keep(cl_device_id device, const char *options, cl_program program);

#endif
