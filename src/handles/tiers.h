/* The tiers between a program and the OpenCL below. Each tier takes the table of the tier below and replaces the
 * functions that it changes; all others pass through unchanged.
 *
 *     program -> entry point -> share -> formats -> next
 *
 * `share` implements the extensions: contexts, objects, ownership. `formats` emulates image formats that a device lacks
 * in wider ones. `next` is the OpenCL below (next/next.h). A tier calls the tier below. A query by name
 * also uses the table of `share` itself: it returns the function that the program would call (functions.c). */
#ifndef CLD3D_HANDLES_TIERS_H
#define CLD3D_HANDLES_TIERS_H

#include "next/next.h"

/* The tables of the tiers: filled by the entry point and read only through these functions, which every call runs. */
extern cl_icd_dispatch tier_share_table, tier_formats_table;

static inline const cl_icd_dispatch *tier_share(void)
{
    return &tier_share_table;
}

/* The tier below `share`, for src/share/, src/transport/ and src/handles/. */
static inline const cl_icd_dispatch *below(void)
{
    return &tier_formats_table;
}

#endif
