/* Whether what a program calls a handle can be one of the OpenCL below. */
#ifndef CLD3D_NEXT_HANDLE_H
#define CLD3D_NEXT_HANDLE_H

#include "next/next.h"

#include <stdbool.h>

/* Handles of OpenCL begin with a pointer to their driver's dispatch table, through which a loader calls. So the function
 * that is to be called with the handle, `slot`, must be there: others may be missing, as AMD's first. Under Wine every
 * address but NULL can be a handle: the host's memory is not to be seen at once, and the host survives bad ones. Not so in programs
 * of 32 bits, which Wine lets end there: for them Wine's server looks. */
bool handle_plausible(const void *handle, size_t slot);

/* For a handle of the kind that a query asks. */
#define handle_may_be(handle, query) handle_plausible(handle, offsetof(cl_icd_dispatch, query))

#endif
