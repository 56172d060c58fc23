/* What the code needs from the operating system, and nothing else: os_win32.c and os_posix.c implement it, and object.c
 * the parts common to both.
 *
 * All functions may be called from any thread. None of them may be called while the loader lock is held (from DllMain),
 * except the mutex functions and os_process_ends. */
#ifndef CLD3D_OS_OS_H
#define CLD3D_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#include <windows.h>
typedef SRWLOCK os_mutex;
#define OS_MUTEX_INIT SRWLOCK_INIT
typedef CONDITION_VARIABLE os_condition;
#define OS_CONDITION_INIT CONDITION_VARIABLE_INIT
#else
#include <pthread.h>
typedef pthread_mutex_t os_mutex;
#define OS_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
typedef pthread_cond_t os_condition;
#define OS_CONDITION_INIT PTHREAD_COND_INITIALIZER
#endif

/* A mutex, not recursive; static initialisation with OS_MUTEX_INIT, nothing to destroy. */
void os_lock(os_mutex *mutex);
void os_unlock(os_mutex *mutex);

/* Waits, releasing the mutex meanwhile, until the condition is signalled or `milliseconds` have passed; it may return
 * earlier. */
void os_wait(os_condition *condition, os_mutex *mutex, unsigned milliseconds);
void os_wake_all(os_condition *condition);

/* Sleeps for a millisecond. */
void os_sleep_shortly(void);

/* Keeps the library that contains `function` loaded until the process ends. Takes the loader's lock: for calls with no
 * lock held. */
void os_library_keep(void (*function)(void));

/* The same for this library: to be called before the first of its threads starts, and before a driver gets a function to
 * call. Later calls cost nothing and take no lock. */
void os_stay_loaded(void);

/* Starts a detached thread that calls `run` with `data`; call os_stay_loaded before. False: it cannot be started. Does
 * not take the loader's lock: a thread that holds that one may be in a function of the program, such as a destructor of
 * one of its libraries, and wait there for a lock of the caller. */
bool os_thread_start(void (*run)(void *data), void *data);

/* How many processors the process's first thread may use; at least 1. */
unsigned os_processors(void);
/* The number of the processor on which the calling thread runs. */
unsigned os_processor(void);
/* From now on the calling thread, one of cld3d's, runs on the others alone, if the process may use any. */
void os_leave_processor(unsigned processor);

/* Whether Windows has ended all other threads of the process and unloads its libraries: there is no thread left to wait
 * for. */
bool os_process_ends(void);

/* Nanoseconds of a monotonic clock. */
unsigned long long os_nanoseconds(void);

/* A number that no other living thread has. */
uintptr_t os_thread(void);

/* Whether this process runs with more rights than its user normally has: set-user-ID and the like; on Windows elevated,
 * or with an integrity level above medium. Always false under Wine. */
bool os_is_elevated(void);

/* Copies the environment variable `name` to `value`, of `size` bytes, always terminated; on Windows in UTF-8. False,
 * with an empty value, if the variable is not set, empty or too long, or in an elevated process, which must not be
 * controlled by its user's environment. */
bool os_setting(const char *name, char *value, size_t size);

/* Writes one complete line of text (with its newline) to standard error, or appends it to `file` if that is neither
 * NULL nor empty, and can be written. Lines of several threads do not mix. */
void os_log_line(const char *file, const char *line);

/* Loads a library, by its full path or as the system finds its name, for os_library_close. NULL on failure: `why`, of
 * `why_size` bytes, then gives the reason; it may be NULL if that is 0. */
void *os_library_open(const char *path, char *why, size_t why_size);
/* The address of an exported function, or NULL. */
void (*os_library_symbol(void *library, const char *name))(void);
/* NULL is allowed. */
void os_library_close(void *library);

#ifndef _WIN32
/* The library of that name if the process has already loaded it, otherwise NULL. It stays loaded until
 * os_library_close. */
void *os_library_loaded(const char *name);
#endif

/* Whether `size` bytes from `address` can be read now. Another thread may unmap them at any time: this helps against
 * bad arguments, but does not protect against races. */
bool os_readable(const void *address, size_t size);

/* The same for `count` elements of `size` bytes, which may be more than there is memory. */
static inline bool os_readable_array(const void *address, size_t count, size_t size)
{
    return count <= SIZE_MAX / size && os_readable(address, count * size);
}

#ifdef _WIN32
/* Converts text, paths included, between UTF-8, which is used here, and UTF-16 for Windows. False if it does not fit or is invalid. */
bool os_wide(const char *text, wchar_t *wide, size_t count);
bool os_narrow(const wchar_t *wide, char *text, size_t size);

/* Writes to `path`, of OS_PATH_BESIDE characters, the path of a file in this library's folder. Returns whether it exists. */
enum { OS_PATH_BESIDE = MAX_PATH + 32 };
bool os_path_beside(wchar_t *path, const wchar_t *name);

/* Reads `size` bytes from `address`, under Wine also host memory, which os_readable does not know. False, with
 * undefined contents in `to`, on failure. Slow: Wine's server does it. */
bool os_read(const void *address, void *to, size_t size);
#endif

/* Whether `address` lies in memory that may be executed. */
bool os_executable(const void *address);

/* Whether `object` can be a live object that begins with a pointer to a function table, as COM objects and OpenCL
 * handles do, and whose function at `offset` of that table can be called. The rest of the table may have gaps. Nothing
 * is called. */
bool os_has_function(const void *object, size_t offset);
/* Whether that place holds `value` instead, which is not 0. */
bool os_has_value(const void *object, size_t offset, uintptr_t value);

/* Whether this is Windows code under Wine. Always false in libcld3d.so, which Wine's processes also load. */
bool os_is_wine(void);

#endif
