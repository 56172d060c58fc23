/* Drivers crash and hang, under Wine even outside of what a Windows program can catch. So the work is done by a second
 * process, in steps that it announces in memory shared with the first. If it does not survive a step, the first process
 * starts it again, and it leaves out that step and says why. */
#include "info.h"
#include "info_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 12, PATIENCE_SECONDS = 120 };

struct step_board {
    volatile LONG number;   /* counts steps, so that the first process sees that there is progress */
    char doing[NAME_SIZE];  /* the current step */
    char where[WHY_SIZE];   /* where it crashed, if the second process could tell */
    volatile LONG printing; /* the steps are over */
    volatile LONG finished;
    int status;

    unsigned failure_count;
    struct {
        char doing[NAME_SIZE], how[WHY_SIZE];
    } failures[FAILURES_MAX];
};

/* Shared with the other process, or alone if there is none. */
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
        if (strcmp(board->failures[i].doing, board->doing) != 0)
            continue;
        why_say(why, "%.255s", board->failures[i].how);
        return false;
    }
    return true;
}

unsigned step_failures(void)
{
    return board->failure_count;
}

const char *step_failed(unsigned index)
{
    return board->failures[index].doing;
}

const char *step_failed_how(unsigned index)
{
    return board->failures[index].how;
}

static LONG WINAPI crashed(EXCEPTION_POINTERS *exception)
{
    void *address = exception->ExceptionRecord->ExceptionAddress;
    char name[WHY_SIZE - 64];
    wchar_t path[MAX_PATH];
    HMODULE module;
    snprintf(name, sizeof(name), "%p", address);
    if (GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                           address, &module) &&
        GetModuleFileNameW(module, path, MAX_PATH))
        text_from_wide(name, sizeof(name), path);
    snprintf(board->where, sizeof(board->where), "exception 0x%08lx in %s", exception->ExceptionRecord->ExceptionCode,
             name);
    TerminateProcess(GetCurrentProcess(), 1);
    return EXCEPTION_EXECUTE_HANDLER;
}

bool steps_join(const char *handle)
{
    board = MapViewOfFile((HANDLE)(uintptr_t)strtoull(handle, NULL, 16), FILE_MAP_ALL_ACCESS, 0, 0, sizeof(*board));
    if (!board)
        return false;
    SetUnhandledExceptionFilter(crashed);
    return true;
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
    board->status = status;
    InterlockedExchange(&board->finished, 1);
    /* Not `return`: drivers that crash or hang while they are unloaded would change the exit status. */
    TerminateProcess(GetCurrentProcess(), (UINT)status);
    abort(); /* never reached; the compiler does not know */
}

/* ---- the first process ---- */

/* The second process must not outlive this one: it may hang. */
static void tie(HANDLE process)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                       JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    HANDLE job = CreateJobObjectA(NULL, NULL);
    if (job && SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits)))
        AssignProcessToJobObject(job, process);
}

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
    tie(process.hProcess);
    return process.hProcess;
}

/* Waits until the process ends, or ends it when it has done no step for too long. Says how it failed. */
static void supervise(HANDLE process, char *how)
{
    LONG last = board->number;
    unsigned waited = 0;
    while (WaitForSingleObject(process, 1000) == WAIT_TIMEOUT && waited < PATIENCE_SECONDS) {
        waited = board->number == last && !board->printing ? waited + 1 : 0;
        last = board->number;
    }
    if (waited == PATIENCE_SECONDS)
        why_say(how, "the driver hung (stopped after %d seconds)", (int)PATIENCE_SECONDS);
    else if (board->where[0])
        why_say(how, "the driver crashed (%.200s)", board->where);
    else
        why_say(how, "the driver crashed");
    TerminateProcess(process, 1);
    CloseHandle(process);
}

static void note_failure(const char *how)
{
    const unsigned i = board->failure_count++;
    snprintf(board->failures[i].doing, sizeof(board->failures[i].doing), "%s", board->doing);
    snprintf(board->failures[i].how, sizeof(board->failures[i].how), "%s", how);
    board->where[0] = '\0';
}

bool steps_run(const char *options, int *status, void (*give_up)(const char *text))
{
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof(inherit), .bInheritHandle = TRUE};
    HANDLE mapping = CreateFileMappingW(INVALID_HANDLE_VALUE, &inherit, PAGE_READWRITE, 0, sizeof(*board), NULL);
    struct step_board *shared = mapping ? MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, sizeof(*board)) : NULL;
    if (!shared)
        return false;
    board = shared;
    strcpy(board->doing, "starting");
    for (;;) {
        char how[WHY_SIZE];
        HANDLE process = start(mapping, options);
        if (!process)
            break;
        supervise(process, how);
        if (board->finished) {
            *status = board->status;
            return true;
        }
        if (board->printing) { /* a part of the report is out */
            fprintf(stderr, "cld3dinfo: the report is incomplete: %s while it was printed\n", how);
            *status = 1;
            return true;
        }
        if (board->failure_count == FAILURES_MAX) {
            char text[2 * NAME_SIZE + WHY_SIZE];
            snprintf(text, sizeof(text),
                     "cld3dinfo cannot tell: the drivers crashed it %d times, most recently while %s: %s.",
                     (int)FAILURES_MAX + 1, board->doing, how);
            give_up(text);
            *status = 1;
            return true;
        }
        note_failure(how);
    }
    board = &own_board;
    return false;
}
