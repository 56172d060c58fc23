/* Whether a value that a program passes as a handle can be one of the OpenCL below. */
#ifndef CLD3D_NEXT_HANDLE_H
#define CLD3D_NEXT_HANDLE_H

#include "next/next.h"

#include <stdbool.h>

/* OpenCL handles begin with a pointer to their driver's dispatch table, through which a loader calls. So the function
 * to be called with the handle, `slot`, must exist there; others may be missing, such as the first of AMD's. Drivers with
 * cl_khr_icd 2.0 may have a mark instead of all of them. Under Wine every address except NULL can be a handle: the host's
 * memory cannot be inspected directly, and the host survives invalid ones. A 32-bit Wine does not,
 * so there its server checks the memory. */
bool handle_plausible(const void *handle, size_t slot);

/* Set under Wine by whoever sets `next`: invalid handles do no harm. */
extern bool handles_are_checked;

/* For a handle of the kind that a query takes. */
#define handle_may_be(handle, query) handle_plausible(handle, offsetof(cl_icd_dispatch, query))

#endif
