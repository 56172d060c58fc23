#include "os/os.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

void os_lock(os_mutex *mutex)
{
    AcquireSRWLockExclusive(mutex);
}

void os_unlock(os_mutex *mutex)
{
    ReleaseSRWLockExclusive(mutex);
}

void os_sleep_shortly(void)
{
    Sleep(1);
}

void os_wait(os_condition *condition, os_mutex *mutex, unsigned milliseconds)
{
    SleepConditionVariableSRW(condition, mutex, milliseconds, 0);
}

void os_wake_all(os_condition *condition)
{
    WakeAllConditionVariable(condition);
}

void os_library_keep(void (*function)(void))
{
    HMODULE library;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, (const char *)function,
                       &library);
}

struct thread {
    void (*run)(void *data);
    void *data;
};

static DWORD WINAPI thread_main(void *argument)
{
    const struct thread thread = *(struct thread *)argument;
    free(argument);
    thread.run(thread.data);
    return 0;
}

bool os_thread_start(void (*run)(void *data), void *data)
{
    struct thread *thread = malloc(sizeof(*thread));
    if (!thread)
        return false;
    *thread = (struct thread){run, data};
    HANDLE handle = CreateThread(NULL, 0, thread_main, thread, 0, NULL);
    if (!handle)
        free(thread);
    else
        CloseHandle(handle);
    return handle != NULL;
}

/* Of the process's group of up to 64. */
unsigned os_processors(void)
{
    DWORD_PTR usable = 0, existing = 0;
    unsigned count = 0;
    GetProcessAffinityMask(GetCurrentProcess(), &usable, &existing);
    for (; usable; usable &= usable - 1)
        count++;
    return count ? count : 1;
}

unsigned os_processor(void)
{
    return GetCurrentProcessorNumber();
}

void os_leave_processor(unsigned processor)
{
    DWORD_PTR usable = 0, existing = 0;
    if (processor < 8 * sizeof(usable) && GetProcessAffinityMask(GetCurrentProcess(), &usable, &existing) &&
        (usable &= ~((DWORD_PTR)1 << processor)))
        SetThreadAffinityMask(GetCurrentThread(), usable);
}

unsigned long long os_nanoseconds(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    const unsigned long long ticks = (unsigned long long)count.QuadPart,
                             second = (unsigned long long)frequency.QuadPart;
    return ticks / second * 1000000000 + ticks % second * 1000000000 / second;
}

uintptr_t os_thread(void)
{
    return GetCurrentThreadId();
}

/* Room for paths and settings. */
enum { LONGEST_TEXT = 1024 };

bool os_wide(const char *text, wchar_t *wide, size_t count)
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, (int)count) > 0;
}

bool os_narrow(const wchar_t *wide, char *text, size_t size)
{
    return WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) > 0;
}

bool os_path_beside(wchar_t *path, const wchar_t *name)
{
    HMODULE self = NULL;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (const char *)os_path_beside, &self);
    const DWORD length = GetModuleFileNameW(self, path, MAX_PATH);
    wchar_t *end = length && length < MAX_PATH ? wcsrchr(path, L'\\') : NULL;
    if (end)
        wcscpy(end + 1, name);
    return end && GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

bool os_is_elevated(void)
{
    union {
        TOKEN_MANDATORY_LABEL label;
        BYTE bytes[sizeof(TOKEN_MANDATORY_LABEL) + SECURITY_MAX_SID_SIZE];
    } integrity;
    TOKEN_ELEVATION elevation;
    HANDLE token;
    DWORD size;
    /* Under Wine all processes of a user have the same rights, and Wine reports them all as elevated. */
    if (os_is_wine())
        return false;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return true;
    const bool known = GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &size) &&
                       GetTokenInformation(token, TokenIntegrityLevel, &integrity, sizeof(integrity), &size);
    CloseHandle(token);
    return !known || elevation.TokenIsElevated ||
           *GetSidSubAuthority(integrity.label.Label.Sid, 0) > SECURITY_MANDATORY_MEDIUM_RID;
}

bool os_setting(const char *name, char *value, size_t size)
{
    wchar_t wide_name[64], wide[LONGEST_TEXT];
    DWORD length = 0;
    if (!os_is_elevated() && os_wide(name, wide_name, sizeof(wide_name) / sizeof(wide_name[0])))
        length = GetEnvironmentVariableW(wide_name, wide, LONGEST_TEXT);
    if (length > 0 && length < LONGEST_TEXT && os_narrow(wide, value, size))
        return true;
    value[0] = '\0';
    return false;
}

void os_log_line(const char *file, const char *line)
{
    static os_mutex mutex = OS_MUTEX_INIT;
    wchar_t wide[LONGEST_TEXT];
    os_lock(&mutex);
    FILE *stream = file && file[0] && os_wide(file, wide, LONGEST_TEXT) ? _wfopen(wide, L"ab") : NULL;
    fputs(line, stream ? stream : stderr);
    if (stream)
        fclose(stream);
    else
        fflush(stderr);
    os_unlock(&mutex);
}

void *os_library_open(const char *path, char *why, size_t why_size)
{
    wchar_t wide[LONGEST_TEXT];
    HMODULE library = NULL;
    if (os_wide(path, wide, LONGEST_TEXT))
        library = LoadLibraryW(wide);
    if (!library && why_size)
        snprintf(why, why_size, "LoadLibrary failed with Windows error %lu", GetLastError());
    return (void *)library;
}

void (*os_library_symbol(void *library, const char *name))(void)
{
    return (void (*)(void))GetProcAddress((HMODULE)library, name);
}

void os_library_close(void *library)
{
    if (library)
        FreeLibrary((HMODULE)library);
}

static DWORD protection_at(const void *address, size_t size)
{
    MEMORY_BASIC_INFORMATION info;
    if (!address || !VirtualQuery(address, &info, sizeof(info)) || info.State != MEM_COMMIT ||
        (info.Protect & (PAGE_GUARD | PAGE_NOACCESS)))
        return 0;
    const char *end = (const char *)info.BaseAddress + info.RegionSize;
    if ((const char *)address + size > end)
        return protection_at(end, (size_t)((const char *)address + size - end));
    return info.Protect;
}

/* Whether a caller of this function has it on its stack, as most arguments are: a query of a page's protection is a
 * system call. */
static bool on_stack(const void *address, size_t size)
{
    ULONG_PTR lowest, end;
    const uintptr_t at = (uintptr_t)address, here = (uintptr_t)&lowest;
    GetCurrentThreadStackLimits(&lowest, &end);
    return here >= lowest && at >= here && at < end && size <= end - at; /* a program may have made itself a stack */
}

bool os_readable(const void *address, size_t size)
{
    return on_stack(address, size) || (size <= UINTPTR_MAX - (uintptr_t)address && protection_at(address, size) != 0);
}

bool os_executable(const void *address)
{
    const DWORD code = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    return (protection_at(address, 1) & code) != 0;
}

bool os_read(const void *address, void *to, size_t size)
{
    SIZE_T done = 0;
    return ReadProcessMemory(GetCurrentProcess(), address, to, size, &done) && done == size;
}

static void (*from_ntdll(const char *name))(void)
{
    return os_library_symbol((void *)GetModuleHandleA("ntdll.dll"), name);
}

/* Determined once (or by each of several threads that are first at the same time), because each query takes the
 * loader's lock. */
bool os_is_wine(void)
{
    static _Atomic enum { NOT_ASKED, WINE, WINDOWS } known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == NOT_ASKED) {
        answer = from_ntdll("wine_get_version") ? WINE : WINDOWS;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == WINE;
}

bool os_process_ends(void)
{
    typedef BOOLEAN(NTAPI * function)(void);
    static _Atomic(function) known;
    function ends = atomic_load_explicit(&known, memory_order_relaxed);
    if (!ends) {
        ends = (function)from_ntdll("RtlDllShutdownInProgress");
        atomic_store_explicit(&known, ends, memory_order_relaxed);
    }
    return ends && ends();
}
