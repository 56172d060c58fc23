/* Makes a sequence that has found something shorter. */
#ifndef CLD3D_TESTS_FUZZ_SHRINK_H
#define CLD3D_TESTS_FUZZ_SHRINK_H

#include "watch.h"

/* Takes out of `s` what the find does not need, for at most so many seconds. Each trial is a process of its own that runs the
 * sequence so many times. */
void shrink(struct sequence *s, const struct find *find, unsigned times, double seconds);

#endif
