#include "shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const struct sequence *s, const struct find *find, unsigned times)
{
    return strcmp(watch_one(s, times, false).what, find->what) == 0;
}

static struct sequence *without(const struct sequence *s, unsigned from, unsigned count)
{
    struct sequence *shorter = malloc(sizeof(*shorter));
    *shorter = *s;
    memmove(shorter->ops + from, shorter->ops + from + count, (s->count - from - count) * sizeof(s->ops[0]));
    shorter->count -= count;
    return shorter;
}

/* Keeps the candidate if it finds the same. */
static bool keep(struct sequence *s, struct sequence *candidate, const struct find *find, unsigned times)
{
    const bool found = same(candidate, find, times);
    if (found)
        *s = *candidate;
    free(candidate);
    return found;
}

/* Pieces of all lengths, from half down to one. */
static bool take_out(struct sequence *s, const struct find *find, unsigned times, double end)
{
    bool any = false;
    for (unsigned length = s->count / 2 + 1; length; length /= 2)
        for (unsigned from = 0; from + length <= s->count && watch_now() < end;) {
            if (keep(s, without(s, from, length), find, times))
                any = true;
            else
                from += length;
        }
    return any;
}

/* Fields that do not matter become 0. */
static void simplify(struct sequence *s, const struct find *find, unsigned times, double end)
{
    for (unsigned i = 0; i < s->count; i++) {
        for (unsigned field = 1; field < sizeof(s->ops[i]) && watch_now() < end; field++) {
            struct sequence *simpler = malloc(sizeof(*simpler));
            *simpler = *s;
            unsigned char *byte = (unsigned char *)&simpler->ops[i] + field;
            if (*byte) {
                *byte = 0;
                keep(s, simpler, find, times);
            } else {
                free(simpler);
            }
        }
    }
}

void shrink(struct sequence *s, const struct find *find, unsigned times, double seconds)
{
    const double end = watch_now() + seconds;
    while (take_out(s, find, times, end) && watch_now() < end)
        printf("# %u operations are left\n", s->count);
    simplify(s, find, times, end);
    take_out(s, find, times, end);
}
