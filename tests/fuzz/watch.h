/* Runs sequences in child processes, so that a crash or a hang is a find like another and the next sequence starts
 * again. */
#ifndef CLD3D_TESTS_FUZZ_WATCH_H
#define CLD3D_TESTS_FUZZ_WATCH_H

#include "ops.h"

/* What came of a child. */
struct find {
    char what[160];  /* "" if all was right; tells one kind of find from another */
    char text[512];  /* the same for people */
    uint64_t seed;   /* of the sequence at which it ended */
    uint64_t ran;    /* sequences before that */
};

/* Runs the sequences of the seeds from `seed` on for so many seconds. `report` is called about every second. */
struct find watch_seeds(uint64_t seed, unsigned ops, double seconds, void (*report)(uint64_t ran));
/* Runs one sequence, so many times. With `verbose` the child tells each call on standard output. */
struct find watch_one(const struct sequence *s, unsigned times, bool verbose);

/* Runs the sequences of files, each once, in one child. The find's seed is the number of the file. */
struct find watch_files(char *const *names, unsigned count);
/* Runs groups of `threads` sequences at the same time in one device and context, from the seeds from `seed` on, for so many
 * seconds. */
struct find watch_threads(uint64_t seed, unsigned threads, unsigned ops, double seconds, void (*report)(uint64_t ran));

double watch_now(void);

#endif
