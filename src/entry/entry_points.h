/* The functions of the sharing extensions. */
#ifndef CLD3D_ENTRY_ENTRY_POINTS_H
#define CLD3D_ENTRY_ENTRY_POINTS_H

#include "next/next.h"

struct entry_point {
    const char *name;
    next_function function;
    size_t slot; /* its offset in the dispatch table, or 0: most have none */
};

extern const struct entry_point entry_points[];
extern const size_t entry_point_count;

/* The function of this name, which may be NULL; NULL if it is none of them. */
next_function entry_point(const char *name);

#endif
