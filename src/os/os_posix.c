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

/* Uses a clock that cannot be set, if the C library supports it. */
void os_wait(os_condition *condition, os_mutex *mutex, unsigned milliseconds)
{
#ifdef __GLIBC__
    const clockid_t clock_id = CLOCK_MONOTONIC;
#else
    const clockid_t clock_id = CLOCK_REALTIME;
#endif
    struct timespec until;
    clock_gettime(clock_id, &until);
    const unsigned long long end = (unsigned long long)until.tv_nsec + milliseconds * 1000000ull;
    until.tv_sec += (time_t)(end / 1000000000);
    until.tv_nsec = (long)(end % 1000000000);
#ifdef __GLIBC__
    pthread_cond_clockwait(condition, mutex, clock_id, &until);
#else
    pthread_cond_timedwait(condition, mutex, &until);
#endif
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
    const int processor = sched_getcpu();
    return processor < 0 ? 0 : (unsigned)processor;
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

unsigned long os_thread_id(void)
{
    return (unsigned long)syscall(SYS_gettid);
}

bool os_thread_lives(unsigned long id)
{
    return syscall(SYS_tgkill, getpid(), (pid_t)id, 0) == 0 || errno != ESRCH;
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

/* A cache of addresses known to be code: few functions are checked, and these again for each object. It stores single
 * addresses and no ranges, because other memory may later take a library's place. */
enum { CODE_SETS = 64, CODE_WAYS = 4 };
static _Atomic(const void *) known_code[CODE_SETS][CODE_WAYS];

/* Libraries begin at page boundaries, so the lower bits alone would be too similar. */
static _Atomic(const void *) *code_set(const void *address)
{
    const uint32_t mixed = (uint32_t)((uintptr_t)address / 16) * 2654435761u;
    return known_code[mixed >> 26]; /* CODE_SETS is 2 to the power of the 6 bits that are left */
}

static bool is_known_code(const void *address)
{
    _Atomic(const void *) *set = code_set(address);
    bool found = false;
    for (unsigned i = 0; i < CODE_WAYS && !found; i++)
        found = atomic_load_explicit(&set[i], memory_order_relaxed) == address;
    return found;
}

/* Uses a free place, or otherwise replaces another address in turn. */
static void remember_code(const void *address)
{
    static atomic_uint turn;
    _Atomic(const void *) *set = code_set(address);
    unsigned place = 0;
    while (place < CODE_WAYS && atomic_load_explicit(&set[place], memory_order_relaxed))
        place++;
    if (place == CODE_WAYS)
        place = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % CODE_WAYS;
    atomic_store_explicit(&set[place], address, memory_order_relaxed);
}

bool os_executable(const void *address)
{
    if (!address)
        return false;
    if (is_known_code(address))
        return true;
    const bool found = maps_executable(address);
    if (found)
        remember_code(address);
    return found;
}

bool os_is_wine(void)
{
    return false;
}

bool os_valid_handle(const void *handle)
{
    (void)handle;
    return false;
}
