/* The list of all settings, and their values. All functions may be called from any thread. */
#ifndef CLD3D_SETTINGS_H
#define CLD3D_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Every setting of cld3d: constant, environment variable, default, meaning. docs/settings.md has the same list. */
/* clang-format off */
#define SETTINGS(X)                                                                                                    \
    X(SETTING_LOG, "CLD3D_LOG", "warn", "log level: none, error, warn, info or debug; `stats`, alone or after a comma, adds what each context's objects cost, when nothing uses it any longer") \
    X(SETTING_LOG_FILE, "CLD3D_LOG_FILE", "", "file that receives the messages instead of standard error, if it can be written") \
    X(SETTING_NEXT, "CLD3D_NEXT", "", "full path of the OpenCL.dll to forward calls to; by default the system's own")  \
    X(SETTING_STRICT, "CLD3D_STRICT", "1", "0 lets commands use shared objects that are not acquired")                 \
    X(SETTING_FORCE, "CLD3D_FORCE", "0", "1 replaces the Direct3D sharing of a driver that has its own")               \
    X(SETTING_COPY_BACK, "CLD3D_COPY_BACK", "0", "1 copies all bytes back in each release, whatever was written")      \
    X(SETTING_CPU_AS_GPU, "CLD3D_CPU_AS_GPU", "0", "1 presents CPU devices as GPUs to programs that accept only GPUs") \
    X(SETTING_TRANSPORT, "CLD3D_TRANSPORT", "", "comma-separated list of the transports that may be used: `vulkan`, `rows`, `in-place`, `host` (docs/behaviour.md); by default all") \
    X(SETTING_VULKAN, "CLD3D_VULKAN", "", "how the Vulkan layer makes images shareable: `record`, `mapped`, `export` or `none`; by default whatever suits the device") \
    X(SETTING_ROWS, "CLD3D_ROWS", "", "comma-separated list of the kinds of memory for rows: `opaque-fd`, `dma-buf`, `host` (docs/vulkan-layer.md); by default all") \
    X(SETTING_VULKAN_SMALLEST, "CLD3D_VULKAN_SMALLEST", "65536", "size in bytes of the smallest image that the Vulkan layer makes exportable on a GPU, or copies there") \
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
/* Whether its value is neither empty nor 0. */
bool setting_on(enum setting setting);
const char *setting_variable(enum setting setting);
/* The next name in a comma-separated list: `*length` is 0 at its end. Returns the rest of the list. */
const char *setting_next_name(const char *list, const char **name, size_t *length);
/* Whether such a name equals `expected`; whether a list contains it. */
bool setting_name_is(const char *name, size_t length, const char *expected);
bool setting_names(const char *list, const char *expected);

#endif
