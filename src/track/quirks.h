/* What drivers do against the specification, and what cld3d does about it in contexts of theirs: one table.
 *
 * A workaround is on where its driver is, in the versions that need it. CLD3D_NO_QUIRKS turns it off by its name, so that a
 * mended driver can be seen. What is right with any driver and costs nothing is no quirk; docs/quirks.md lists both. */
#ifndef CLD3D_TRACK_QUIRKS_H
#define CLD3D_TRACK_QUIRKS_H

#include <CL/cl.h>

enum quirk {
    QUIRK_POCL_EVENTS,
    QUIRK_POCL_ORDER,
    QUIRK_POCL_ENDS,
    QUIRK_POCL_HALF,
    QUIRK_POCL_TELLS,
    QUIRK_POCL_GAPS,
    QUIRK_POCL_GONE,
    QUIRK_NVIDIA_UNSET,
    QUIRK_NVIDIA_ARGUMENTS,
    QUIRK_NVIDIA_DESTRUCTOR,
    QUIRK_NVIDIA_LINES,
    QUIRKS
};

/* The quirks of a platform that are on, a bit for each: 1u << quirk. Says which they are at level debug. NULL, or one that does
 * not tell its name, is taken for any of those in the table: a workaround ends no program, but a lack of it does. */
unsigned quirks_of(cl_platform_id platform);

#endif
