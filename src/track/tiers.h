/* The tiers between a program and the OpenCL below. Each tier takes the table of the tier below and replaces the
 * functions that it changes; the rest goes through untouched.
 *
 *     program -> entry point -> share -> formats -> next
 *
 * `share` is the extensions themselves: contexts, objects, ownership. `formats` emulates image formats that a device lacks
 * in wider ones. `next` is the OpenCL below (next/next.h). A tier calls the tier below, never its own. */
#ifndef CLD3D_TRACK_TIERS_H
#define CLD3D_TRACK_TIERS_H

#include "next/next.h"

/* The tables of the tiers: filled by the entry point and read through these functions alone, which every call runs. */
extern cl_icd_dispatch tier_share_table, tier_formats_table;

static inline const cl_icd_dispatch *tier_share(void)
{
    return &tier_share_table;
}

/* The tier below the extension, for all that stands above it. */
static inline const cl_icd_dispatch *below(void)
{
    return &tier_formats_table;
}

#endif
