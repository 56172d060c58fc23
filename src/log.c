#include "log.h"

#include "error_name.h"
#include "os/os.h"
#include "settings.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {"none", "error", "warn", "info", "debug"};

/* The level that CLD3D_LOG selects: that of the last name which is a level. `*statistics`: whether `stats` is among the
 * names. */
static int read_level(bool *statistics)
{
    const char *list = setting_text(SETTING_LOG), *name;
    size_t length;
    int limit = LOG_WARN;
    *statistics = false;
    for (list = setting_next_name(list, &name, &length); length; list = setting_next_name(list, &name, &length)) {
        for (int i = LOG_NONE; i <= LOG_DEBUG; i++)
            if (setting_name_is(name, length, level_names[i]))
                limit = i;
        *statistics = *statistics || setting_name_is(name, length, "stats");
    }
    return limit;
}

static bool wants(enum log_level level)
{
    static atomic_int chosen = -1;
    bool statistics;
    int limit = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (limit < 0) {
        limit = read_level(&statistics);
        atomic_store_explicit(&chosen, limit, memory_order_relaxed);
    }
    return (int)level <= limit;
}

bool log_wants_statistics(void)
{
    bool statistics;
    read_level(&statistics);
    return statistics;
}

/* How many messages of a kind, which an address identifies, there have been. */
static unsigned count(const void *kind)
{
    enum { KINDS = 256 };
    static struct {
        _Atomic(const void *) kind;
        atomic_uint count;
    } kinds[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        const size_t at = ((uintptr_t)kind / 8 + i) % KINDS;
        const void *none = NULL;
        if (atomic_compare_exchange_strong(&kinds[at].kind, &none, kind) || none == kind)
            return atomic_fetch_add(&kinds[at].count, 1);
    }
    return 0;
}

static void write_line(const char *kind, const char *format, va_list arguments, const char *end)
{
    char line[1024];
    int length = snprintf(line, sizeof(line), "cld3d: %s: ", kind);
    vsnprintf(line + length, sizeof(line) - (size_t)length - strlen(end), format, arguments);
    memcpy(line + strlen(line), end, strlen(end) + 1);
    os_log_line(setting_text(SETTING_LOG_FILE), line);
}

/* A program that fails in each frame does not fill the disk. */
static void write_message(enum log_level level, const void *kind, const char *format, va_list arguments)
{
    enum { MOST = 100 };
    const unsigned before = wants(level) ? level <= LOG_WARN ? count(kind) : 0 : MOST;
    if (before < MOST)
        write_line(level_names[level], format, arguments,
                   before == MOST - 1 ? " (further messages of this kind are not logged)\n" : "\n");
}

void log_write(enum log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_message(level, format, format, arguments);
    va_end(arguments);
}

static void write_of_kind(enum log_level level, const void *kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_message(level, kind, format, arguments);
    va_end(arguments);
}

void log_statistics(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("stats", format, arguments, "\n");
    va_end(arguments);
}

cl_int log_refuse(const char *call, cl_int code, const char *format, ...)
{
    if (!wants(LOG_WARN))
        return code;
    char reason[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    write_of_kind(LOG_WARN, format, "%s: %s (%d): %s", call, cl_error_name(code), code, reason);
    return code;
}

cl_int log_next(const char *call, const char *what, cl_int code)
{
    if (code != CL_SUCCESS)
        write_of_kind(LOG_WARN, what, "%s: the OpenCL below failed in %s: %s (%d)", call, what, cl_error_name(code),
                      code);
    return code;
}
