/* PoCL, whose compiler (LLVM) takes the process's signals in every call in which it may begin to use it, for test_signals: below the
 * bridge. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "layer.h"

#include <signal.h>

static void taken(int number)
{
    (void)number;
}

/* The thread's stack for handlers too. */
static void take(void)
{
    static const int numbers[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGFPE};
    static char room[65536];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = taken;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
    sigaltstack(&stack, NULL);
}

#define TAKES(name)        \
    REPLACES(name)         \
    {                      \
        take();            \
        return PASS(name); \
    }

TAKES(clGetDeviceIDs)
TAKES(clCreateContext)
TAKES(clCreateContextFromType)
TAKES(clBuildProgram)
TAKES(clCompileProgram)
TAKES(clLinkProgram)
