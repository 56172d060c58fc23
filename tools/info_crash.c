/* Drivers may crash on the questions that cld3dinfo asks. What was found until then is still worth to be printed. */
#include "info.h"
#include "info_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char doing[NAME_SIZE] = "starting";
static void (*report_crash)(const char *what);

static void module_at(void *address, char *name, size_t size)
{
    HMODULE module;
    wchar_t path[MAX_PATH];
    snprintf(name, size, "%p", address);
    if (GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, address,
                           &module) &&
        GetModuleFileNameW(module, path, MAX_PATH))
        text_from_wide(name, size, path);
}

static LONG WINAPI crashed(EXCEPTION_POINTERS *exception)
{
    static LONG crashes;
    char what[2 * WHY_SIZE], where[WHY_SIZE];
    if (InterlockedIncrement(&crashes) > 1)
        TerminateProcess(GetCurrentProcess(), 1); /* the report itself: nothing more can be done */
    module_at(exception->ExceptionRecord->ExceptionAddress, where, sizeof(where));
    snprintf(what, sizeof(what), "crash 0x%08lx in %s, while %s", exception->ExceptionRecord->ExceptionCode, where, doing);
    report_crash(what);
    fflush(NULL);
    TerminateProcess(GetCurrentProcess(), 1);
    return EXCEPTION_EXECUTE_HANDLER;
}

void crash_expect(void (*report)(const char *what))
{
    report_crash = report;
    SetUnhandledExceptionFilter(crashed);
}

void crash_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(doing, sizeof(doing), format, arguments);
    va_end(arguments);
}
