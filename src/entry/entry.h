/* What both entry points share: the drop-in OpenCL.dll and the Khronos layer.
 *
 * A program's call goes through a table. The first call opens the entry point: it queries the OpenCL below and builds
 * the tiers. That cannot be done earlier: a DLL that is being loaded must not load another, and a loader that is
 * setting up its layers does not answer yet. Afterwards a call costs one load, one branch and one jump.
 *
 * An open entry point is in one of two modes. If there is another cld3d anywhere below, that one is active, and this
 * one passes all calls on unchanged: the lowest one is active. It is found by asking the OpenCL below for the function
 * `cld3d_report`, which layers and loaders in between pass on. */
#ifndef CLD3D_ENTRY_ENTRY_H
#define CLD3D_ENTRY_ENTRY_H

#include "next/next.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The exported functions as a table. A layer passes it to its loader. */
extern const cl_icd_dispatch entry_exports;

extern _Atomic(const cl_icd_dispatch *) entry_current; /* NULL until the entry point is open */

/* Opens the entry point unless another thread has, and returns the table. */
const cl_icd_dispatch *entry_open_now(void);

static inline const cl_icd_dispatch *entry_table(void)
{
    const cl_icd_dispatch *table = atomic_load_explicit(&entry_current, memory_order_acquire);
    return table ? table : entry_open_now();
}

/* Makes sure that the entry point is open, for the extensions' own functions: a program may call them first. */
static inline void entry_open(void)
{
    entry_table();
}

/* Builds the tiers over `next`, which must be set. Called once. */
void tiers_install(void);

/* Implemented by each entry point. Whether what is below has no OpenCL to offer, so that another must replace it.
 * Called without a lock, maybe by several threads: a loader starts its drivers now, and they may call cld3d. */
bool entry_needs_another(void);
/* Sets `next`; `another`: the result of entry_needs_another. False if there is no OpenCL below. Called once, under a
 * lock. */
bool entry_set_next(bool another);
/* The path of the library below, for display, or why there is none; NULL if the entry point cannot know. */
const char *entry_next_report(void);

/* For cld3dinfo, and to identify a cld3d: what only the library knows, by topic. NULL for an unknown topic, or if there
 * is nothing to tell. The text lives as long as the process; that of "way" until the thread ends or creates another
 * object.
 *
 * "version", "build"; "next": entry_next_report; "bridge" (on Windows): client_report; "transport": the transports
 * that may be used; "way": the transport of the object that this thread created last, and why; "match": why the last
 * preferred devices were preferred; "passes": another cld3d below, to which this one passes all calls. */
const char *CL_API_CALL cld3d_report(const char *topic);

#endif
