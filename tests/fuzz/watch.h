/* Runs sequences in child processes, so that a crash or a hang is a find like another and the next sequence starts
 * again. */
#ifndef CLD3D_TESTS_FUZZ_WATCH_H
#define CLD3D_TESTS_FUZZ_WATCH_H

#include "ops.h"

/* What came of a child. */
struct find {
    char what[160]; /* "" if all was right; tells one kind of find from another */
    char text[512]; /* the same for people */
    uint64_t seed;  /* of the sequence at which it ended */
    uint64_t ran;   /* sequences before that */
};

/* So many seeds from the first; no new one begins at the end, which is a time of watch_now. */
struct seeds {
    uint64_t first, count, before; /* sequences that have run before, to be told */
    unsigned ops;                  /* in a sequence, about */
    double end;
};

/* Runs the sequences of seeds in one child. Tells now and then how many have run. */
struct find watch_seeds(const struct seeds *seeds);
/* Runs one sequence, so many times. With `verbose` the child tells each call on standard output. */
struct find watch_one(const struct sequence *s, unsigned times, bool verbose);

double watch_now(void);

#endif
