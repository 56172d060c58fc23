/* Which memory objects with a record a kernel's arguments name. */
#ifndef CLD3D_SHARE_KERNEL_H
#define CLD3D_SHARE_KERNEL_H

#include "share/share.h"

/* Writes the records of `kind` that the arguments of `kernel` name to `records`, held, and the arguments' indexes to
 * `indexes` (may be NULL); returns their number, at most `room`. */
cl_uint kernel_records(cl_kernel kernel, enum record_kind kind, struct record **records, cl_uint *indexes, cl_uint room);

#endif
