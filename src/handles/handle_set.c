#include "handles/handle_set.h"

#include <stdlib.h>

bool handle_set_has(const struct handle_set *set, const void *handle)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->list[i] == handle)
            return true;
    return false;
}

bool handle_set_add(struct handle_set *set, void *handle)
{
    if (handle_set_has(set, handle))
        return true;
    if (set->count == set->capacity) {
        const unsigned wider = set->capacity ? set->capacity * 2 : 8;
        void **grown = realloc(set->list, wider * sizeof(*grown));
        if (!grown)
            return false;
        set->list = grown;
        set->capacity = wider;
    }
    set->list[set->count++] = handle;
    return true;
}

void handle_set_remove(struct handle_set *set, const void *handle)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->list[i] == handle)
            set->list[i--] = set->list[--set->count];
}
