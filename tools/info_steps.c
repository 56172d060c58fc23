/* Drivers crash and hang, under Wine even outside of what a Windows program can catch. So the work is done by a second
 * process, in steps that it announces in memory shared with the first. If it does not survive a step, the first process
 * starts it again, and it leaves out that step and says why. */
#include "info.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 12, PATIENCE_SECONDS = 120 };

struct step_board {
    volatile LONG number;   /* counts steps, so that the first process sees that there is progress */
    char doing[NAME_SIZE];  /* the current step */
    volatile LONG printing; /* the steps are over */

    unsigned failure_count;
    char failures[FAILURES_MAX][NAME_SIZE];
};

/* Shared with the other process. */
static struct step_board own_board;
static struct step_board *board = &own_board;

/* ---- the second process ---- */

bool step(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(board->doing, sizeof(board->doing), format, arguments);
    va_end(arguments);
    InterlockedIncrement(&board->number);
    for (unsigned i = 0; i < board->failure_count; i++) {
        if (strcmp(board->failures[i], board->doing) != 0)
            continue;
        why_say(why, "the driver crashed or hung");
        return false;
    }
    return true;
}

const char *step_failed(unsigned index)
{
    return index < board->failure_count ? board->failures[index] : NULL;
}

/* Otherwise Wine's debugger would write between the lines of the report. */
static LONG WINAPI end_process(EXCEPTION_POINTERS *exception)
{
    return exception ? EXCEPTION_EXECUTE_HANDLER : EXCEPTION_CONTINUE_SEARCH;
}

bool steps_join(const char *handle)
{
    SetUnhandledExceptionFilter(end_process);
    board = MapViewOfFile((HANDLE)(uintptr_t)strtoull(handle, NULL, 16), FILE_MAP_ALL_ACCESS, 0, 0, sizeof(*board));
    return board != NULL;
}

void steps_print(void)
{
    InterlockedExchange(&board->printing, 1);
}

void steps_finish(int status)
{
    const char *why = fflush(stdout) != 0 ? strerror(errno) : ferror(stdout) ? "an earlier write failed" : NULL;
    if (why) {
        fprintf(stderr, "cld3dinfo: the report cannot be written: %s\n", why);
        status = 1;
    }
    /* Not `return`: drivers that crash or hang while they are unloaded would change the exit status. */
    TerminateProcess(GetCurrentProcess(), (UINT)status);
    abort(); /* never reached; the compiler does not know */
}

/* ---- the first process ---- */

static HANDLE start(HANDLE mapping, const char *options)
{
    wchar_t program[MAX_PATH], command[2 * MAX_PATH];
    STARTUPINFOW startup = {.cb = sizeof(startup),
                            .dwFlags = STARTF_USESTDHANDLES,
                            .hStdInput = GetStdHandle(STD_INPUT_HANDLE),
                            .hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
                            .hStdError = GetStdHandle(STD_ERROR_HANDLE)};
    PROCESS_INFORMATION process;
    const DWORD length = GetModuleFileNameW(NULL, program, MAX_PATH);
    if (length == 0 || length >= MAX_PATH)
        return NULL;
    swprintf(command, sizeof(command) / sizeof(command[0]), L"\"%ls\" %hs --second=%llx", program, options,
             (unsigned long long)(uintptr_t)mapping);
    if (!CreateProcessW(program, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process))
        return NULL;
    CloseHandle(process.hThread);
    return process.hProcess;
}

/* Waits until the process ends, or ends it when it has done no step for too long. Gives its exit status. */
static DWORD supervise(HANDLE process)
{
    LONG last = board->number;
    unsigned waited = 0;
    DWORD status = 1;
    while (WaitForSingleObject(process, 1000) == WAIT_TIMEOUT && waited < PATIENCE_SECONDS) {
        waited = board->number == last && !board->printing ? waited + 1 : 0;
        last = board->number;
    }
    TerminateProcess(process, 1);
    GetExitCodeProcess(process, &status);
    CloseHandle(process);
    return status;
}

int steps_run(const char *options, void (*give_up)(const char *step))
{
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof(inherit), .bInheritHandle = TRUE};
    HANDLE mapping = CreateFileMappingW(INVALID_HANDLE_VALUE, &inherit, PAGE_READWRITE, 0, sizeof(*board), NULL);
    struct step_board *shared = mapping ? MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, sizeof(*board)) : NULL;
    HANDLE process;
    if (shared)
        board = shared;
    strcpy(board->doing, "starting a second process");
    while (shared && (process = start(mapping, options)) != NULL) {
        const DWORD status = supervise(process);
        if (board->printing)
            return status == 0 ? 0 : 1;
        if (board->failure_count == FAILURES_MAX)
            break;
        strcpy(board->failures[board->failure_count++], board->doing);
    }
    give_up(board->doing);
    return 1;
}
