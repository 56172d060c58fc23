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

/* The argument no longer names a memory object: a pointer replaced it. */
void kernel_forget_argument(cl_kernel kernel, cl_uint index);

#endif
