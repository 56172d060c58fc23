#define _GNU_SOURCE /* NSIG, sigaltstack, tgkill */
#include "companion/signals.h"

#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Wine's handlers; SIG_DFL where Wine has none, or where cld3d must not restore it. */
static struct sigaction wines[NSIG];

static void note(void)
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &wines[number]) != 0 || wines[number].sa_handler == SIG_IGN)
            wines[number].sa_handler = SIG_DFL;
    /* PoCL's own handler continues after a division by zero in a kernel. Wine's would end the process, because the
     * threads that run kernels are not Wine's. */
    wines[SIGFPE].sa_handler = SIG_DFL;
}

/* ---- threads that Wine ends during a wait in the driver ---- */

/* The IDs of the threads to end; 0: a free entry. */
static atomic_int ending[256];
enum { MOST_ENDING = sizeof(ending) / sizeof(ending[0]) };
static sem_t any_ending;

/* glibc's functions that implement pthread_cleanup_push in C. */
extern void cleanup_push(struct _pthread_cleanup_buffer *, void (*)(void *), void *) __asm__("_pthread_cleanup_push");
extern void cleanup_pop(struct _pthread_cleanup_buffer *, int) __asm__("_pthread_cleanup_pop");

/* While a thread waits for a condition, glibc's cleanup list has a function that locks the mutex again if the thread
 * exits. */
static bool in_wait(void)
{
    struct _pthread_cleanup_buffer top;
    cleanup_push(&top, NULL, NULL);
    const bool waits = top.__prev != NULL;
    cleanup_pop(&top, 0);
    return waits;
}

static bool put(int before, int after)
{
    for (int i = 0; i < MOST_ENDING; i++) {
        int expected = before;
        if (atomic_compare_exchange_strong(&ending[i], &expected, after))
            return true;
    }
    return false;
}

/* Whether the thread's storage is the C library's. In 32-bit code of a 64-bit Wine (the new WoW64) FS points to Windows'
 * data until Wine's handler has restored it; such a thread is in no wait of a driver. The third word of the C library's
 * storage is its own address. The system call does not use the storage, because it succeeds and is bound at once (-z
 * now). */
static bool has_own_storage(void)
{
#ifdef __x86_64__
    uintptr_t base = 0;
    return syscall(SYS_arch_prctl, ARCH_GET_FS, &base) == 0 && base && ((const uintptr_t *)base)[2] == base;
#else
    return true;
#endif
}

/* Wine's handler exits the thread. If that happened within a wait, glibc would run the cleanup function on stack frames
 * that it does not know, which would end the process or leave the mutex without an owner. Such a thread is asked again
 * until it no longer waits. */
static void on_quit(int number, siginfo_t *info, void *context)
{
    const int thread = (int)syscall(SYS_gettid);
    if (!has_own_storage()) {
        put(thread, 0);
        wines[SIGQUIT].sa_sigaction(number, info, context);
        return;
    }
    const int kept = errno;
    if (in_wait() && (put(thread, thread) || put(0, thread))) {
        sem_post(&any_ending);
        errno = kept;
        return;
    }
    put(thread, 0);
    wines[SIGQUIT].sa_sigaction(number, info, context);
}

/* A thread that was to be ended during a wait in the driver must not continue in the program. */
static void end_if_asked(void)
{
    const int thread = gettid();
    for (int i = 0; i < MOST_ENDING; i++)
        if (atomic_load(&ending[i]) == thread)
            tgkill(getpid(), thread, SIGQUIT);
}

static bool ask_again(void)
{
    bool any = false;
    for (int i = 0; i < MOST_ENDING; i++) {
        const int thread = atomic_load(&ending[i]);
        if (thread && tgkill(getpid(), thread, SIGQUIT) != 0)
            put(thread, 0); /* the thread has already ended */
        any = any || thread;
    }
    return any;
}

static void *ask_again_and_again(void *none)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    for (;;) {
        if (ask_again())
            nanosleep(&pause, NULL);
        else
            sem_wait(&any_ending);
    }
    return none;
}

/* Starts the thread that asks again, with all signals blocked, so that it gets none of Wine's. */
static bool start_asking(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started =
        sem_init(&any_ending, 0, 0) == 0 && pthread_create(&thread, NULL, ask_again_and_again, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started && pthread_detach(thread) == 0;
}

/* ---- the handlers ---- */

static bool asking;

static void set_all(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action = wines[number];
        if (action.sa_handler == SIG_DFL)
            continue;
        if (number == SIGQUIT && asking)
            action.sa_sigaction = on_quit;
        sigaction(number, &action, NULL);
    }
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

/* A thread that is to be ended here uses the events until the wait returns; the program may release them earlier. */
static cl_int wait_holding(cl_uint num_events, const cl_event *event_list)
{
    enum { MOST = 64 };
    cl_event held[MOST] = {NULL};
    cl_uint count = 0;
    if (!event_list || num_events > MOST)
        return next.clWaitForEvents(num_events, event_list);
    while (count < num_events && next.clRetainEvent(event_list[count]) == CL_SUCCESS) {
        held[count] = event_list[count];
        count++;
    }
    const cl_int status = next.clWaitForEvents(num_events, count == num_events && count ? held : event_list);
    while (count > 0)
        next.clReleaseEvent(held[--count]);
    return status;
}

static cl_int CL_API_CALL wait_for_events(cl_uint num_events, const cl_event *event_list)
{
    const cl_int status = wait_holding(num_events, event_list);
    end_if_asked();
    return status;
}

static cl_int CL_API_CALL finish(cl_command_queue command_queue)
{
    const cl_int status = next.clFinish(command_queue);
    end_if_asked();
    return status;
}

void signals_install(cl_icd_dispatch *table)
{
    note();
    asking = (wines[SIGQUIT].sa_flags & SA_SIGINFO) && wines[SIGQUIT].sa_handler != SIG_DFL && start_asking();
    set_all();
    signals_install_generated(table);
    table->clWaitForEvents = wait_for_events;
    table->clFinish = finish;
}
