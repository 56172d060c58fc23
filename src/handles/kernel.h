/* The tracked memory objects that a kernel's arguments name. */
#ifndef CLD3D_HANDLES_KERNEL_H
#define CLD3D_HANDLES_KERNEL_H

#include "handles/handles.h"

/* So many of a kernel's arguments are tracked. Hardly any kernel has more. */
enum { KERNEL_ARGUMENTS = 256 };

/* Writes to `records` the records of `kind` that the arguments of `kernel` name, retained, and the argument indexes to
 * `indexes` (may be NULL); returns their number, at most `capacity`. */
cl_uint kernel_records(cl_kernel kernel, enum record_kind kind, struct record **records, cl_uint *indexes,
                       cl_uint capacity);

/* cld3d's replacement for `function`, which a driver has by this name: it sets a pointer as a kernel's argument. NULL: the
 * program gets the driver's. This is so for other names, and for a second driver's function that sets pointers. */
next_function kernel_function(const char *name, void *function);

#endif
