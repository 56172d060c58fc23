/* Which memory objects with a record a kernel's arguments name. */
#ifndef CLD3D_TRACK_KERNEL_H
#define CLD3D_TRACK_KERNEL_H

#include "track/track.h"

/* Writes the records of `kind` that the arguments of `kernel` name to `records`, retained, and the arguments' indexes to
 * `indexes` (may be NULL); returns their number, at most `room`. */
cl_uint kernel_records(cl_kernel kernel, enum record_kind kind, struct record **records, cl_uint *indexes,
                       cl_uint capacity);

/* The argument names no memory object any more: a pointer took its place. */
void kernel_forget_argument(cl_kernel kernel, cl_uint index);

/* Our function in the place of a driver's that sets a pointer as an argument, by its name (pointers.c); NULL for others. */
next_function pointer_setter(cl_platform_id platform, const char *name, void *function);

#endif
