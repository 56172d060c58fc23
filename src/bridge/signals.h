/* Wine's signal handlers. With signals Wine ends, suspends and interrupts threads, and finds out where Windows code has
 * crashed. The compiler in many drivers (LLVM) installs handlers of its own, and then a suspended thread ends the process, and
 * a process that ends reports a failure. So Wine's handlers are noted before the first driver is loaded, and restored after the
 * calls in which a driver may first use its compiler, and after long waits: a driver may compile on a thread of its own. */
#ifndef CLD3D_BRIDGE_SIGNALS_H
#define CLD3D_BRIDGE_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Notes Wine's handlers: those in its ntdll.so, for a driver may have been loaded before. */
void signals_note(void);
/* Around a call that may change handlers, and the calling thread's signal stack. */
stack_t signals_before_call(void);
void signals_after_call(const stack_t *stack);

/* Around a call that waits in the driver, if it `waits`. A program may end such a thread (TerminateThread, the end of the
 * process), which Wine does by a signal: in the driver that would leave locks locked. So the thread is ended when its wait
 * is over. Windows code sees it ended at once. */
struct wait {
    atomic_int *place; /* NULL: the thread is ended as always */
    unsigned long long since;
};
struct wait signals_before_wait(bool waits);
void signals_after_wait(struct wait wait);

#endif
