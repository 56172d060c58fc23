/* What both entry points have: the drop-in OpenCL.dll and the Khronos layer.
 *
 * A program's call goes through a table. The first call opens the entry point: it asks the OpenCL below and builds the tiers. That
 * can't be done earlier: a DLL that is being loaded must not load another, and a loader that is setting up its layers does
 * not answer yet. Afterwards a call costs one load, one branch and one jump.
 *
 * An open entry point stands in one of two ways. If there is another cld3d anywhere below, that one does all, and this one passes
 * everything on as it is: whoever is lowest acts. It is found by asking the OpenCL below for the function `cld3d_report`,
 * which layers and loaders between the two hand down. */
#ifndef CLD3D_ENTRY_DOOR_H
#define CLD3D_ENTRY_DOOR_H

#include "next/next.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The exported functions as a table. A layer gives it to its loader. */
extern const cl_icd_dispatch entry_exports;

extern _Atomic(const cl_icd_dispatch *) entry_current; /* NULL until the entry point is open */

/* Opens the entry point unless another thread has, and gives the table. */
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

/* Each entry point has its own. Whether what is below has no OpenCL to offer, and another must take its place. Called without
 * a lock, maybe by several threads: a loader starts its drivers now, and they may call us. */
bool entry_needs_another(void);
/* Sets `next`, with that answer; false if there is no OpenCL below. Called once, under a lock. */
bool entry_set_next(bool another);
/* The path of the library below for people, or why there is none; NULL if the entry point can't know. */
const char *entry_next_report(void);

/* For cld3dinfo, and the mark of a cld3d: what only the library knows, by topic ("version", "build", "next", "transport",
 * "companion", "match": why the last preferred devices were that, "passes": set if another cld3d is below). The text lives as long as the process; NULL for an unknown topic. */
const char *CL_API_CALL cld3d_report(const char *topic);

#endif
