/* ntdll.so: a process that has it loaded is Wine's, for libcld3d.so. Its handler of signals counts those that come to it. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>

__attribute__((visibility("default"))) volatile sig_atomic_t ntdll_quits;
__attribute__((visibility("default"))) void ntdll_handler(int number, siginfo_t *info, void *now);

void ntdll_handler(int number, siginfo_t *info, void *now)
{
    (void)info, (void)now;
    ntdll_quits += number == SIGQUIT;
}
