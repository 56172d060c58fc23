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

/* Seeds from `first` up to, without it, `end`; no new one begins when the seconds are over. */
struct seeds {
    uint64_t first, end;
    unsigned ops; /* in a sequence, about */
    double seconds;
};

/* Runs the sequences of seeds in one child. `report` is called about every second. */
struct find watch_seeds(const struct seeds *seeds, void (*report)(uint64_t ran));
/* Runs one sequence, so many times. With `verbose` the child tells each call on standard output. */
struct find watch_one(const struct sequence *s, unsigned times, bool verbose);

/* Runs the sequences of files, each once, in one child. The find's seed is the number of the file. */
struct find watch_files(char *const *names, unsigned count);
/* The same in groups of `threads` sequences at a time, in one device and context. */
struct find watch_threads(const struct seeds *seeds, unsigned threads, void (*report)(uint64_t ran));

double watch_now(void);

#endif
