/* The drop-in OpenCL.dll: every export is one call through a table.
 *
 * Until the first call the table is `opencl_dll_boot_table`, whose entries open the door: they load the OpenCL below and
 * build the tiers. That can't be done while the DLL is being loaded, since it loads another. Afterwards an export costs
 * one load and one jump. */
#ifndef CLD3D_DOORS_OPENCL_DLL_H
#define CLD3D_DOORS_OPENCL_DLL_H

#include "next/next.h"

#include <stdatomic.h>

extern const cl_icd_dispatch opencl_dll_boot_table;
extern _Atomic(const cl_icd_dispatch *) opencl_dll_current;

static inline const cl_icd_dispatch *opencl_dll_table(void)
{
    return atomic_load_explicit(&opencl_dll_current, memory_order_acquire);
}

/* Loads the OpenCL below and switches to the real table; does nothing if that has been done. */
void opencl_dll_open(void);

/* Exported for cld3dinfo: what only the library knows, by topic ("version", "next", "transport"). The text lives as long
 * as the process; NULL for an unknown topic. */
const char *CL_API_CALL cld3d_report(const char *topic);

#endif
