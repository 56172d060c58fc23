/* The log, and the list of all settings.
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

/* Every setting of cld3d: constant, environment variable, default, meaning. The table of README.md is checked
 * against this list (scripts/check-settings). */
/* clang-format off */
#define SETTINGS(X)                                                                                                    \
    X(SETTING_LOG, "CLD3D_LOG", "warn", "log level: none, error, warn, info or debug; `stats`, alone or after a comma, adds what each context's objects cost") \
    X(SETTING_LOG_FILE, "CLD3D_LOG_FILE", "", "file that receives the messages instead of standard error, if it can be written") \
    X(SETTING_NEXT, "CLD3D_NEXT", "", "full path of the OpenCL.dll to forward calls to; by default the system's own")  \
    X(SETTING_STRICT, "CLD3D_STRICT", "1", "0 lets commands use shared objects that are not acquired")                 \
    X(SETTING_FORCE, "CLD3D_FORCE", "0", "1 replaces the Direct3D sharing of a driver that has its own")               \
    X(SETTING_CALLBACKS, "CLD3D_CALLBACKS", "0", "1 makes cld3d call the program's callbacks itself, as it always does under Wine") \
    X(SETTING_COPY_BACK, "CLD3D_COPY_BACK", "0", "1 copies all bytes back in each release, whatever was written")      \
    X(SETTING_CPU_AS_GPU, "CLD3D_CPU_AS_GPU", "0", "1 presents CPU devices as GPUs to programs that accept only GPUs") \
    X(SETTING_TRANSPORT, "CLD3D_TRANSPORT", "", "comma-separated list of the transports that may be used: `vulkan`, `in-place`, `host` (docs/behaviour.md); by default all") \
    X(SETTING_VULKAN, "CLD3D_VULKAN", "", "how the Vulkan layer makes images shareable: `mapped`, `export` or `none`; by default whatever suits the device") \
    X(SETTING_VULKAN_SMALLEST, "CLD3D_VULKAN_SMALLEST", "65536", "size in bytes of the smallest image that the Vulkan layer makes exportable on a GPU") \
    X(SETTING_NO_QUIRKS, "CLD3D_NO_QUIRKS", "", "comma-separated list of driver workarounds to turn off, or `all` (docs/quirks.md)")
/* clang-format on */

enum setting {
#define X(constant, variable, value, meaning) constant,
    SETTINGS(X)
#undef X
        SETTING_COUNT
};

/* The value of a setting, or its default. The text lives as long as the process. */
const char *setting_text(enum setting setting);
/* Its default value. */
const char *setting_default(enum setting setting);
/* Whether its value is neither empty nor 0. */
bool setting_on(enum setting setting);
const char *setting_variable(enum setting setting);
/* The next name in a comma-separated list: `*length` is 0 at its end. Returns the rest of the list. */
const char *setting_next_name(const char *list, const char **name, size_t *length);
/* Whether such a name equals `expected`; whether a list contains it. */
bool setting_name_is(const char *name, size_t length, const char *expected);
bool setting_names(const char *list, const char *expected);

void log_write(enum log_level level, const char *format, ...) LOG_FORMAT(2, 3);

/* Whether statistics were requested, independent of the level; and logs a line of them. */
bool log_wants_statistics(void);
void log_statistics(const char *format, ...) LOG_FORMAT(1, 2);

/* The name of an OpenCL error code or "CL_?" for one that is unknown. */
const char *cl_error_name(cl_int code);

/* The single place that logs refusals: logs at level `warn` that `call` fails with `code` and why, and returns
 * `code`. */
cl_int log_refuse(const char *call, cl_int code, const char *format, ...) LOG_FORMAT(3, 4);

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
