#define _GNU_SOURCE /* NSIG, sigaltstack */
#include "companion/signals.h"

/* Wine's handlers; SIG_DFL where Wine has none, or where cld3d must not restore it. */
static struct sigaction wines[NSIG];

static void set_all(void)
{
    for (int number = 1; number < NSIG; number++)
        if (wines[number].sa_handler != SIG_DFL)
            sigaction(number, &wines[number], NULL);
}

/* The signal stack of the calling thread. LLVM sets another one, in the thread in which it installs its handlers. */
stack_t signals_before_call(void)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    sigaltstack(NULL, &stack);
    return stack;
}

/* Other threads may be in such calls too; each restores the same handlers. */
void signals_after_call(const stack_t *stack)
{
    set_all();
    sigaltstack(stack, NULL);
}

void signals_install(cl_icd_dispatch *table)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &wines[number]) != 0 || wines[number].sa_handler == SIG_IGN)
            wines[number].sa_handler = SIG_DFL;
    /* A driver's own handler may continue after a division by zero in a kernel. Wine's would end the process, because the
     * threads that run kernels are not Wine's. */
    wines[SIGFPE].sa_handler = SIG_DFL;
    signals_install_generated(table);
}
