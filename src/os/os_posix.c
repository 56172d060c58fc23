#define _GNU_SOURCE

#include "os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void os_lock(os_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

void os_unlock(os_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

void os_sleep_shortly(void)
{
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

void os_wait(os_condition *condition, os_mutex *mutex, unsigned milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const unsigned long long end = (unsigned long long)until.tv_nsec + milliseconds * 1000000ull;
    until.tv_sec += (time_t)(end / 1000000000);
    until.tv_nsec = (long)(end % 1000000000);
    pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}

void os_wake_all(os_condition *condition)
{
    pthread_cond_broadcast(condition);
}

void os_library_keep(void (*function)(void))
{
    Dl_info library;
    const void *address;
    memcpy(&address, &function, sizeof(address));
    if (dladdr(address, &library))
        dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

struct thread {
    void (*run)(void *data);
    void *data;
};

static void *thread_main(void *argument)
{
    const struct thread thread = *(struct thread *)argument;
    free(argument);
    thread.run(thread.data);
    return NULL;
}

bool os_thread_start(void (*run)(void *data), void *data)
{
    pthread_t handle;
    struct thread *thread = malloc(sizeof(*thread));
    if (!thread)
        return false;
    *thread = (struct thread){run, data};
    if (pthread_create(&handle, NULL, thread_main, thread) != 0) {
        free(thread);
        return false;
    }
    pthread_detach(handle);
    return true;
}

unsigned os_processors(void)
{
    cpu_set_t usable;
    return sched_getaffinity(getpid(), sizeof(usable), &usable) == 0 && CPU_COUNT(&usable) > 0
               ? (unsigned)CPU_COUNT(&usable)
               : 1;
}

unsigned os_processor(void)
{
    return (unsigned)sched_getcpu();
}

void os_leave_processor(unsigned processor)
{
    cpu_set_t usable;
    if (processor >= CPU_SETSIZE || sched_getaffinity(getpid(), sizeof(usable), &usable) != 0)
        return;
    CPU_CLR(processor, &usable);
    if (CPU_COUNT(&usable) > 0)
        sched_setaffinity(0, sizeof(usable), &usable);
}

bool os_process_ends(void)
{
    return false; /* threads continue while a process exits */
}

unsigned long long os_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

uintptr_t os_thread(void)
{
    return (uintptr_t)pthread_self();
}

bool os_is_elevated(void)
{
    return getauxval(AT_SECURE) != 0;
}

bool os_setting(const char *name, char *value, size_t size)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other way, and cld3d itself never changes the environment */
    const char *text = os_is_elevated() ? NULL : getenv(name);
    const size_t length = text ? strlen(text) : 0;
    value[0] = '\0';
    if (length == 0 || length >= size)
        return false;
    memcpy(value, text, length + 1);
    return true;
}

void os_log_line(const char *file, const char *line)
{
    static os_mutex mutex = OS_MUTEX_INIT;
    os_lock(&mutex);
    FILE *stream = file && file[0] ? fopen(file, "ae") : NULL;
    fputs(line, stream ? stream : stderr);
    if (stream)
        fclose(stream);
    os_unlock(&mutex);
}

void *os_library_open(const char *path, char *why, size_t why_size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && why_size) {
        const char *text = dlerror(); /* NOLINT(concurrency-mt-unsafe): each thread has its own in glibc and musl */
        snprintf(why, why_size, "%s", text ? text : "dlopen failed");
    }
    return library;
}

void (*os_library_symbol(void *library, const char *name))(void)
{
    /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees this one. */
    void *address = dlsym(library, name);
    void (*function)(void);
    memcpy(&function, &address, sizeof(function));
    return function;
}

void os_library_close(void *library)
{
    if (library)
        dlclose(library);
}

void *os_library_loaded(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_NOLOAD);
}

bool os_readable(const void *address, size_t size)
{
    /* The kernel copies, so a bad address gives an error and no signal. One byte of each page is enough. */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)address, last = first + (size ? size - 1 : 0);
    if (!address || last < first)
        return false;
    for (uintptr_t at = first; at <= last; at = (at / page + 1) * page) {
        char byte;
        const struct iovec here = {&byte, 1}, there = {(void *)at, 1};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
            continue;
        /* A container may deny the call; then at least check whether the address is mapped. */
        unsigned char resident;
        if (errno == EFAULT || mincore((void *)(at / page * page), 1, &resident) != 0)
            return false;
    }
    return true;
}

/* Whether /proc/self/maps lists the address as executable. */
static bool maps_executable(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return true;
    bool found = false;
    char line[512];
    while (!found && fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && (uintptr_t)address >= from &&
            (uintptr_t)address < to)
            found = strchr(rights, 'x') != NULL;
    }
    fclose(maps);
    return found;
}

/* Addresses known to be code: few functions are checked, and these again for each object. Single addresses and no ranges,
 * because other memory may later take a library's place. */
bool os_executable(const void *address)
{
    static _Atomic(const void *) known_code[1024];
    /* Libraries begin at page boundaries, so the lower bits alone would be too similar. */
    const uint32_t mixed = (uint32_t)((uintptr_t)address / 16) * 2654435761u;
    _Atomic(const void *) *known = &known_code[mixed >> 22];
    if (!address || atomic_load_explicit(known, memory_order_relaxed) == address)
        return address != NULL;
    const bool found = maps_executable(address);
    if (found)
        atomic_store_explicit(known, address, memory_order_relaxed);
    return found;
}

bool os_is_wine(void)
{
    return false;
}
