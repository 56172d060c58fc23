/* What drivers do wrong, and cld3d's answer in their contexts. Each driver has a file; docs/quirks.md says in which
 * versions it was seen, and which test shows it. No other code depends on an OpenCL driver's name.
 *
 * A workaround is active for its driver in all versions. CLD3D_NO_QUIRKS turns it off by name, so that a fixed driver can
 * be tested. A measure that is correct with any driver and costs nothing is not a quirk. */
#ifndef CLD3D_DRIVERS_DRIVERS_H
#define CLD3D_DRIVERS_DRIVERS_H

#include "handles/context.h"

#include <CL/cl.h>

enum quirk {
    QUIRK_FAILED_COMMANDS_CRASH, /* commands behind a failed one may end the process */
    QUIRK_HALF_FLOATS,           /* half floats of images with one channel are read as integers */
    QUIRK_TIGHT_ROWS,            /* the rows of an image in host memory count as tightly packed */
    QUIRK_UNSET_EVENTS,          /* a context is never released after a user event that was not set */
    QUIRK_FINISH_HOLDS_QUEUE,    /* a thread in clFinish keeps others from flushing the queue or waiting for it */
    QUIRK_IMAGES_OF_BUFFERS,     /* copies to or from an image in a buffer lose its row pitch */
    QUIRKS
};

struct driver_quirk {
    enum quirk quirk;
    const char *name;   /* for CLD3D_NO_QUIRKS */
    const char *why;    /* what the driver does, and what cld3d does about it */
    const char *device; /* part of the version of one of the platform's devices; NULL: any */
};

struct driver {
    const char *platform; /* CL_PLATFORM_NAME */
    const struct driver_quirk *quirks;
    unsigned count;
};

extern const struct driver driver_nvidia, driver_pocl, driver_rusticl;

/* The active quirks of a platform, one bit each: 1u << quirk. Logs them at level debug. None for NULL, and for a
 * platform that does not report its name. */
unsigned quirks_of(cl_platform_id platform);

static inline bool context_has(const struct context_record *context, enum quirk quirk)
{
    return (context->quirks >> quirk & 1) != 0;
}

/* Whether the event belongs to a context with interop whose driver has the quirk. */
bool event_context_has(cl_event event, enum quirk quirk);

#endif
