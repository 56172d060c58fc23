#include "log.h"

#include "os/os.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *variable, *value;
} settings[] = {
#define X(constant, variable, value, meaning) {variable, value},
    SETTINGS(X)
#undef X
};

/* Guards the texts while they are first read from the environment. */
static os_mutex setting_lock = OS_MUTEX_INIT;
static char setting_values[SETTING_COUNT][3 * 1024]; /* 1023 Windows characters in UTF-8 */
static atomic_bool setting_known[SETTING_COUNT];

const char *setting_text(enum setting setting)
{
    char *value = setting_values[setting];
    if (atomic_load_explicit(&setting_known[setting], memory_order_acquire))
        return value;
    /* Read without the lock, because the system may take its own locks. */
    char found[sizeof(setting_values[setting])];
    if (!os_setting(settings[setting].variable, found, sizeof(found)))
        snprintf(found, sizeof(found), "%s", settings[setting].value);
    os_lock(&setting_lock);
    if (!atomic_load_explicit(&setting_known[setting], memory_order_relaxed)) {
        memcpy(value, found, strlen(found) + 1);
        atomic_store_explicit(&setting_known[setting], true, memory_order_release);
    }
    os_unlock(&setting_lock);
    return value;
}

const char *setting_default(enum setting setting)
{
    return settings[setting].value;
}

bool setting_on(enum setting setting)
{
    const char *text = setting_text(setting);
    return text[0] && strcmp(text, "0") != 0;
}

const char *setting_variable(enum setting setting)
{
    return settings[setting].variable;
}

const char *setting_next_name(const char *list, const char **name, size_t *length)
{
    list += strspn(list, ", ");
    *name = list;
    *length = strcspn(list, ", ");
    return list + *length;
}

bool setting_name_is(const char *name, size_t length, const char *expected)
{
    return strlen(expected) == length && memcmp(name, expected, length) == 0;
}

bool setting_names(const char *list, const char *expected)
{
    const char *name;
    size_t length;
    bool found = false;
    for (list = setting_next_name(list, &name, &length); length && !found;
         list = setting_next_name(list, &name, &length))
        found = setting_name_is(name, length, expected);
    return found;
}

static const char *const level_names[] = {"none", "error", "warn", "info", "debug"};

/* The names in the setting: the last one that is a level counts. */
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

const char *cl_error_name(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define N(constant) {constant, #constant}
        /* clang-format off */
        N(CL_SUCCESS), N(CL_DEVICE_NOT_FOUND), N(CL_DEVICE_NOT_AVAILABLE), N(CL_COMPILER_NOT_AVAILABLE),
        N(CL_MEM_OBJECT_ALLOCATION_FAILURE), N(CL_OUT_OF_RESOURCES), N(CL_OUT_OF_HOST_MEMORY),
        N(CL_PROFILING_INFO_NOT_AVAILABLE), N(CL_MEM_COPY_OVERLAP), N(CL_IMAGE_FORMAT_MISMATCH),
        N(CL_IMAGE_FORMAT_NOT_SUPPORTED), N(CL_BUILD_PROGRAM_FAILURE), N(CL_MAP_FAILURE),
        N(CL_MISALIGNED_SUB_BUFFER_OFFSET), N(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), N(CL_INVALID_VALUE),
        N(CL_INVALID_DEVICE_TYPE), N(CL_INVALID_PLATFORM), N(CL_INVALID_DEVICE), N(CL_INVALID_CONTEXT),
        N(CL_INVALID_QUEUE_PROPERTIES), N(CL_INVALID_COMMAND_QUEUE), N(CL_INVALID_HOST_PTR), N(CL_INVALID_MEM_OBJECT),
        N(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR), N(CL_INVALID_IMAGE_SIZE), N(CL_INVALID_SAMPLER), N(CL_INVALID_BINARY),
        N(CL_INVALID_BUILD_OPTIONS), N(CL_INVALID_PROGRAM), N(CL_INVALID_PROGRAM_EXECUTABLE),
        N(CL_INVALID_KERNEL_NAME), N(CL_INVALID_KERNEL), N(CL_INVALID_ARG_INDEX), N(CL_INVALID_ARG_VALUE),
        N(CL_INVALID_ARG_SIZE), N(CL_INVALID_KERNEL_ARGS), N(CL_INVALID_EVENT_WAIT_LIST), N(CL_INVALID_EVENT),
        N(CL_INVALID_OPERATION), N(CL_INVALID_BUFFER_SIZE), N(CL_INVALID_PROPERTY), N(CL_INVALID_IMAGE_DESCRIPTOR),
#undef N
        /* The codes of the three extensions; their headers require a Direct3D header before them. */
        {-1002, "CL_INVALID_D3D10_DEVICE_KHR"}, {-1003, "CL_INVALID_D3D10_RESOURCE_KHR"},
        {-1004, "CL_D3D10_RESOURCE_ALREADY_ACQUIRED_KHR"}, {-1005, "CL_D3D10_RESOURCE_NOT_ACQUIRED_KHR"},
        {-1006, "CL_INVALID_D3D11_DEVICE_KHR"}, {-1007, "CL_INVALID_D3D11_RESOURCE_KHR"},
        {-1008, "CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR"}, {-1009, "CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR"},
        {-1010, "CL_INVALID_DX9_MEDIA_ADAPTER_KHR"}, {-1011, "CL_INVALID_DX9_MEDIA_SURFACE_KHR"},
        {-1012, "CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR"}, {-1013, "CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR"},
        /* A code of an extension that not all headers define. */
        {-1138, "CL_INVALID_COMMAND_BUFFER_KHR"},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].code == code)
            return names[i].name;
    return "CL_?";
}
