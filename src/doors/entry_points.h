/* The functions of the sharing extensions, by name. */
#ifndef CLD3D_DOORS_ENTRY_POINTS_H
#define CLD3D_DOORS_ENTRY_POINTS_H

#include "next/next.h"

struct entry_point {
    const char *name;
    next_function function;
};

extern const struct entry_point entry_points[];
extern const unsigned entry_point_count;

#endif
