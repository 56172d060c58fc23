#include "log.h"

#include "error_name.h"
#include "os/os.h"
#include "settings.h"

#include <stdarg.h>
#include <stdatomic.h>
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

static void write_line(const char *kind, const char *format, va_list arguments)
{
    char line[1024];
    int length = snprintf(line, sizeof(line), "cld3d: %s: ", kind);
    vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, arguments);
    memcpy(line + strlen(line), "\n", sizeof("\n"));
    os_log_line(setting_text(SETTING_LOG_FILE), line);
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!wants(level))
        return;
    va_list arguments;
    va_start(arguments, format);
    write_line(level_names[level], format, arguments);
    va_end(arguments);
}

void log_statistics(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("stats", format, arguments);
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
    log_write(LOG_WARN, "%s: %s (%d): %s", call, cl_error_name(code), code, reason);
    return code;
}

cl_int log_next(const char *call, const char *what, cl_int code)
{
    if (code != CL_SUCCESS)
        log_write(LOG_WARN, "%s: the OpenCL below failed in %s: %s (%d)", call, what, cl_error_name(code), code);
    return code;
}
