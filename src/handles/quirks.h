/* Driver deviations from the specification, and what cld3d does about them in that driver's contexts: one table.
 *
 * A workaround is active for its driver, in the versions that need it. CLD3D_NO_QUIRKS turns it off by name, so that a
 * fixed driver can be tested. A measure that is correct with any driver and costs nothing is not a quirk;
 * docs/quirks.md lists both. */
#ifndef CLD3D_HANDLES_QUIRKS_H
#define CLD3D_HANDLES_QUIRKS_H

#include <CL/cl.h>
#include <stdbool.h>

enum quirk {
    QUIRK_POCL_EVENTS,
    QUIRK_POCL_ORDER,
    QUIRK_POCL_FAILURE_RACE,
    QUIRK_POCL_HALF_FLOATS,
    QUIRK_POCL_CALLBACK_STATUS,
    QUIRK_POCL_ROW_PITCH,
    QUIRK_POCL_SERVER_LOST,
    QUIRK_POCL_WAKES,
    QUIRK_NVIDIA_UNSET_EVENTS,
    QUIRK_NVIDIA_ARGUMENT_INFO,
    QUIRK_NVIDIA_DESTRUCTOR_CALLBACKS,
    QUIRK_NVIDIA_1D_ARRAYS,
    QUIRK_NVIDIA_QUEUE_ORDER,
    QUIRK_RUSTICL_FLUSH_WAITS,
    QUIRK_RUSTICL_QUEUE_ORDER,
    QUIRKS
};

/* The active quirks of a platform, one bit each: 1u << quirk. Logs them at level debug. NULL, or a platform that does
 * not report its name, is treated as any of those in the table: a needless workaround ends no program, but a missing
 * one does. */
unsigned quirks_of(cl_platform_id platform);
/* The platform of a context's devices, or NULL. */
cl_platform_id platform_of_context(cl_context context);
/* Whether a platform reports a version of OpenCL before this one. A loader may have functions that an older driver lacks: calling them
 * ends the process. False if it reports none. */
bool platform_predates(cl_platform_id platform, int major);

#endif
