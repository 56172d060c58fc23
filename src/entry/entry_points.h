/* The functions of the sharing extensions, by name. */
#ifndef CLD3D_ENTRY_ENTRY_POINTS_H
#define CLD3D_ENTRY_ENTRY_POINTS_H

#include "next/next.h"

/* NULL for any other name; NULL is allowed. */
next_function entry_point(const char *name);

#endif
