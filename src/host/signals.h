/* Wine's signal handlers, kept from drivers that set their own in their place, and from glibc in a thread that is to end.
 *
 * Wine suspends threads with SIGUSR1, ends them with SIGQUIT and makes exceptions of SIGSEGV and its like. LLVM takes
 * them all, in PoCL's clGetDeviceIDs: a thread can't be suspended then (GetThreadContext waits for ever), and two
 * threads that are ended at once end the process. It does so once per process, unless a handler of its own has run; so
 * after the calls in which a driver may begin to use a compiler everything is set as it was. Kernels are compiled in
 * others too, but not first there. */
#ifndef CLD3D_HOST_SIGNALS_H
#define CLD3D_HOST_SIGNALS_H

#include "next/next.h"

/* Notes the handlers that Wine has now, and takes the place of those calls in `table`. Once, before any driver has made
 * a device. */
void signals_install(cl_icd_dispatch *table);

#endif
