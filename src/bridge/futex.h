/* The kernel's own wait: unlike the C library's it leaves nothing behind if Windows code ends the waiting thread. */
#ifndef CLD3D_BRIDGE_FUTEX_H
#define CLD3D_BRIDGE_FUTEX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Waits until the word is not `seen` any more, `nanoseconds` at most, or for ever if that is 0. It may return earlier. */
static inline void futex_wait(atomic_uint *word, unsigned seen, long nanoseconds)
{
    const struct timespec pause = {.tv_nsec = nanoseconds};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nanoseconds ? &pause : NULL, NULL, 0);
}

static inline void futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}

#endif
