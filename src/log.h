/* The log.
 *
 * A message states the request, the cause and the remedy. CLD3D_LOG selects the log level, CLD3D_LOG_FILE the
 * destination. All functions may be called from any thread. */
#ifndef CLD3D_LOG_H
#define CLD3D_LOG_H

#include <CL/cl.h>
#include <stdbool.h>

/* mingw's own printf is C11 (__USE_MINGW_ANSI_STDIO), but its compiler checks formats by Microsoft's rules by
 * default. */
#ifdef _WIN32
#define LOG_FORMAT(format_index, first) __attribute__((format(gnu_printf, format_index, first)))
#else
#define LOG_FORMAT(format_index, first) __attribute__((format(printf, format_index, first)))
#endif

enum log_level { LOG_NONE, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Logs a message if CLD3D_LOG selects its level. What does not fit in 1 KiB is cut off. Of errors and warnings with the
 * same format a hundred are written; likewise below. */
void log_write(enum log_level level, const char *format, ...) LOG_FORMAT(2, 3);

/* Whether CLD3D_LOG requests statistics, whatever its level. log_statistics logs a line of them unconditionally. */
bool log_wants_statistics(void);
void log_statistics(const char *format, ...) LOG_FORMAT(1, 2);

/* The single place that logs refusals: logs at level `warn` that `call` fails with `code` and why, and returns
 * `code`. Cold, so that the compiler puts the code of refusals apart from what a frame runs. */
__attribute__((cold)) cl_int log_refuse(const char *call, cl_int code, const char *format, ...) LOG_FORMAT(3, 4);

/* The single place that logs errors of the OpenCL below: logs at level `warn` that its function `what`, needed for
 * `call`, failed with `code`, and returns `code`. Logs nothing and returns CL_SUCCESS if it did not fail. */
cl_int log_next(const char *call, const char *what, cl_int code);

#ifdef CLD3D_ANALYSED
/* Static analysers (scripts/check-static) see one file at a time, so it must be visible here that these return the code
 * passed to them. */
static inline cl_int log_returns(const char *call, cl_int code)
{
    (void)call;
    return code;
}
#define log_refuse(call, code, ...) (log_write(LOG_WARN, __VA_ARGS__), log_returns(call, code))
#define log_next(call, what, code) (log_write(LOG_WARN, "%s", what), log_returns(call, code))
#endif

#endif
