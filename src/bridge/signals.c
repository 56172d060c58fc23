#define _GNU_SOURCE /* NSIG, sigaltstack, dladdr */
#include "bridge/signals.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Wine's handlers; SIG_DFL where Wine has none, or where it must not be restored. */
static struct sigaction wines[NSIG];

static bool is_wines(const struct sigaction *action)
{
    Dl_info library;
    void *address;
    memcpy(&address, &action->sa_handler, sizeof(address)); /* sa_sigaction is at the same place */
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN && dladdr(address, &library) &&
           library.dli_fname && strstr(library.dli_fname, "ntdll.so");
}

void signals_note(void)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &wines[number]) != 0 || !is_wines(&wines[number]))
            wines[number].sa_handler = SIG_DFL;
    /* A driver's own handler may continue after a division by zero in a kernel. Wine's would end the process, because the
     * threads that run kernels are not Wine's. */
    wines[SIGFPE].sa_handler = SIG_DFL;
}

/* Other threads may do so too; each sets the same handlers. */
static void restore(void)
{
    for (int number = 1; number < NSIG; number++)
        if (wines[number].sa_handler != SIG_DFL)
            sigaction(number, &wines[number], NULL);
}

/* A compiler takes all at once. */
void signals_restore(void)
{
    struct sigaction now;
    if (sigaction(SIGQUIT, NULL, &now) == 0 && now.sa_handler != wines[SIGQUIT].sa_handler)
        restore();
}

stack_t signals_before_call(void)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    sigaltstack(NULL, &stack);
    return stack;
}

void signals_after_call(const stack_t *stack)
{
    restore();
    sigaltstack(stack, NULL);
}
