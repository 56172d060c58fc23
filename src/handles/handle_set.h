/* A set of OpenCL handles, for comparisons and lookups. The caller guards it. */
#ifndef CLD3D_HANDLES_HANDLE_SET_H
#define CLD3D_HANDLES_HANDLE_SET_H

#include <stdbool.h>

/* All zero: empty. The owner frees `list` with `free`. */
struct handle_set {
    void **list;
    unsigned count, capacity;
};

bool handle_set_has(const struct handle_set *set, const void *handle);
/* False if out of memory. */
bool handle_set_add(struct handle_set *set, void *handle);
void handle_set_remove(struct handle_set *set, const void *handle);

#endif
