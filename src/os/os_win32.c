#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>

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
    HMODULE self;
    struct thread *thread = malloc(sizeof(*thread));
    if (!thread)
        return false;
    *thread = (struct thread){run, data};
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const char *)(void (*)(void))os_thread_start, &self);
    HANDLE handle = CreateThread(NULL, 0, thread_main, thread, 0, NULL);
    if (!handle)
        free(thread);
    else
        CloseHandle(handle);
    return handle != NULL;
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

bool os_setting(const char *name, char *value, size_t size)
{
    const DWORD length = os_is_elevated() ? 0 : GetEnvironmentVariableA(name, value, (DWORD)size);
    if (length == 0 || length >= size) {
        value[0] = '\0';
        return false;
    }
    return true;
}

void os_log_line(const char *file, const char *line)
{
    static os_mutex mutex = OS_MUTEX_INIT;
    os_lock(&mutex);
    FILE *stream = file && file[0] ? fopen(file, "ab") : stderr;
    if (stream) {
        fputs(line, stream);
        if (stream == stderr)
            fflush(stream);
        else
            fclose(stream);
    }
    os_unlock(&mutex);
}

void *os_library_open(const char *path, char *why, size_t why_size)
{
    HMODULE library = LoadLibraryA(path);
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

bool os_readable(const void *address, size_t size)
{
    return size <= UINTPTR_MAX - (uintptr_t)address && protection_at(address, size) != 0;
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

bool os_is_wine(void)
{
    return GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != NULL;
}

bool os_valid_handle(const void *handle)
{
    DWORD flags;
    return GetHandleInformation((HANDLE)handle, &flags);
}
