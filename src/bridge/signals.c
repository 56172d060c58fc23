#define _GNU_SOURCE /* NSIG, sigaltstack, dladdr, syscall */
#include "bridge/signals.h"

#include "os/os.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Wine's handlers; SIG_DFL where Wine has none, or where it must not be restored. That for SIGQUIT, which ends a thread, is
 * `wines_end`, in whose place there is `on_end`. */
static struct sigaction wines[NSIG];
static void (*wines_end)(int number, siginfo_t *info, void *context);
static void on_end(int number, siginfo_t *info, void *context);

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
    if (wines[SIGQUIT].sa_handler != SIG_DFL) {
        wines_end = wines[SIGQUIT].sa_sigaction;
        wines[SIGQUIT].sa_sigaction = on_end;
    }
}

/* Other threads may do so too; each sets the same handlers. */
static void restore(void)
{
    for (int number = 1; number < NSIG; number++)
        if (wines[number].sa_handler != SIG_DFL)
            sigaction(number, &wines[number], NULL);
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

/* ---- threads that wait ---- */

/* Their numbers; negative if they are to be ended. */
enum { PLACES = 256 };
static atomic_int places[PLACES];

static int this_thread(void)
{
    return (int)syscall(SYS_gettid);
}

/* It may interrupt 32-bit code, where nothing of the thread's own can be used. */
static void on_end(int number, siginfo_t *info, void *context)
{
    const int thread = this_thread();
    for (unsigned i = 0; i < PLACES; i++) {
        int seen = thread;
        if (atomic_compare_exchange_strong(&places[i], &seen, -thread))
            return;
    }
    wines_end(number, info, context);
}

struct wait signals_before_wait(bool waits)
{
    static _Thread_local int thread;
    struct wait wait = {NULL, 0};
    if (waits && !thread)
        thread = this_thread();
    for (unsigned i = 0; i < PLACES && waits && !wait.place; i++) {
        atomic_int *place = &places[((unsigned)thread + i) % PLACES];
        int taken = 0;
        if (atomic_compare_exchange_strong(place, &taken, thread) ||
            taken == thread) /* a driver has crashed in its wait */
            wait = (struct wait){place, os_nanoseconds()};
    }
    return wait;
}

/* A driver's thread that compiles meanwhile takes longer, and takes all handlers at once. */
void signals_after_wait(struct wait wait)
{
    enum { COMPILES_NS = 500000 };
    struct sigaction now;
    if (!wait.place)
        return;
    if (os_nanoseconds() - wait.since > COMPILES_NS && sigaction(SIGQUIT, NULL, &now) == 0 &&
        now.sa_sigaction != wines[SIGQUIT].sa_sigaction)
        restore();
    if (atomic_exchange(wait.place, 0) < 0)
        pthread_kill(pthread_self(), SIGQUIT);
}
