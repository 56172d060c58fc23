/* Protection of Wine's signal handlers from drivers that install their own instead.
 *
 * Wine suspends threads with SIGUSR1, ends them with SIGQUIT and turns SIGSEGV and similar signals into exceptions.
 * LLVM replaces all these handlers when a driver creates its devices: then a thread cannot be suspended
 * (GetThreadContext never returns), and ending two threads at once ends the process. It does so once per process,
 * unless a handler of its own has run; so after the calls in which a driver may first use a compiler, all handlers are
 * restored. Other calls compile kernels too, but not first. */
#ifndef CLD3D_COMPANION_SIGNALS_H
#define CLD3D_COMPANION_SIGNALS_H

#include "next/next.h"

#include <signal.h>

/* Records Wine's current handlers, and replaces those calls in `table`. Call it once, before any driver has created a
 * device. */
void signals_install(cl_icd_dispatch *table);

/* ---- for signals_generated.c: around such a call, in its thread ---- */

stack_t signals_before_call(void);
void signals_after_call(const stack_t *stack);
void signals_install_generated(cl_icd_dispatch *table);

#endif
