/* The target of libFuzzer for the settings: any bytes are the text of one. What the readers of the library make of it is compared
 * with what docs/ say of its words: words stand between commas and spaces, unknown ones are left out, and a text that is too long
 * counts as none. The readers are included here, since in a library each of them reads a setting once. */
#define _GNU_SOURCE /* putenv */
#include "../../src/error_name.c"
#include "../../src/log.c"
#include "../../src/settings.c"
#include "../../src/handles/quirks.c"
#include "../../src/transport/transports.c"

#include <stdint.h>

enum { LONGEST = 700 };

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "fuzz: %s: '%s'\n", what, text);
    abort();
}

/* ---- what stands around the readers ---- */

static const struct transport by_itself = {.name = "host", .title = "host"},
                              other = {.name = "in-place", .title = "in place"},
                              named = {.name = "named", .title = "named", .by_name = true};
const struct transport *const transport_list[] = {&named, &other, &by_itself};
const unsigned transport_list_count = 3;

static const char *driver, *version;

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info name, size_t room, void *to,
                                        size_t *size_ret)
{
    const char *text = name == CL_PLATFORM_NAME ? driver : version;
    (void)platform;
    (void)size_ret;
    if (strlen(text) >= room)
        return CL_INVALID_VALUE;
    memcpy(to, text, strlen(text) + 1);
    return CL_SUCCESS;
}

/* One device, which has all that workarounds are for. */
static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
                                     cl_uint *count)
{
    (void)type;
    devices[0] = (cl_device_id)platform;
    *count = room > 0;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size_ret)
{
    static const char remote[] = "OpenCL 3.0 PoCL HSTR: pocl-remote: cpu";
    (void)device;
    (void)name;
    (void)size_ret;
    if (room < sizeof(remote))
        return CL_INVALID_VALUE;
    memcpy(to, remote, sizeof(remote));
    return CL_SUCCESS;
}

/* As the environment of a program that has just begun. (setenv keeps all texts that a variable ever had.) */
static void set(enum setting setting, const char *text)
{
    static char lines[SETTING_COUNT][LONGEST + 64];
    char *line = lines[setting];
    const bool fresh = !line[0];
    snprintf(line, sizeof(lines[0]), "%s=%s", settings[setting].variable, text);
    if (fresh)
        putenv(line);
    atomic_store(&setting_known[setting], false);
}

/* ---- what the docs say ---- */

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || strchr(", ", at[-1])) && (!at[length] || strchr(", ", at[length])))
            return true;
    return false;
}

/* The place of the last such word, 0 for none. */
static size_t last_place(const char *text, const char *word)
{
    size_t place = 0;
    for (size_t i = 0; text[i]; i++)
        if ((i == 0 || strchr(", ", text[i - 1])) && strncmp(text + i, word, strlen(word)) == 0 &&
            (!text[i + strlen(word)] || strchr(", ", text[i + strlen(word)])))
            place = i + 1;
    return place;
}

static void check_log(const char *text)
{
    bool statistics;
    int wanted = LOG_WARN;
    size_t place = 0;
    for (int level = LOG_NONE; level <= LOG_DEBUG; level++) {
        const size_t here = last_place(text, level_names[level]);
        if (here > place) {
            place = here;
            wanted = level;
        }
    }
    if (read_level(&statistics) != wanted)
        fail("the log has another level", text);
    if (statistics != has_word(text, "stats"))
        fail("the log has other statistics", text);
}

/* Each workaround is for one driver. `off`: those that the text names. */
static void check_quirks_of(const char *name, const char *text, unsigned off)
{
    static const char *const versions[] = {"OpenCL 3.0 PoCL 3.1+debian", "OpenCL 3.0 PoCL 6.0",
                                           "OpenCL 3.0 PoCL 7.1",        "OpenCL",
                                           "OpenCL 3.0 rubbish .",       ""};
    int platform;
    driver = name;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        version = versions[i];
        const unsigned on = quirks_of((cl_platform_id)&platform);
        for (int q = 0; q < QUIRKS; q++) {
            const bool needed = strcmp(quirks[q].platform, driver) == 0 && (i != 2 || !quirks[q].last.major);
            if ((on >> q & 1) != (needed && !(off >> q & 1)))
                fail("another workaround is on", text);
        }
    }
}

static void check_quirks(const char *text)
{
    unsigned off = 0;
    for (int q = 0; q < QUIRKS; q++)
        off |= has_word(text, "all") || has_word(text, quirks[q].name) ? 1u << q : 0;
    check_quirks_of(POCL, text, off);
    check_quirks_of(NVIDIA, text, off);
}

static void check_transports(const char *text)
{
    const struct transport *used[TRANSPORTS_MAX];
    bool any = false;
    unsigned wanted = 0;
    for (unsigned i = 0; i < transport_list_count; i++)
        any = any || has_word(text, transport_list[i]->name);
    const unsigned count = choose_used(used);
    for (unsigned i = 0; i < transport_list_count; i++) {
        if (any ? !has_word(text, transport_list[i]->name) : transport_list[i]->by_name)
            continue;
        if (wanted >= count || used[wanted++] != transport_list[i])
            fail("other transports are used", text);
    }
    if (wanted != count)
        fail("more transports are used", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[LONGEST + 1];
    tier_formats_table.clGetPlatformInfo = platform_info;
    tier_formats_table.clGetDeviceIDs = device_ids;
    tier_formats_table.clGetDeviceInfo = device_info;
    snprintf(text, sizeof(text), "%.*s", (int)(size < LONGEST ? size : LONGEST), size ? (const char *)bytes : "");
    for (int setting = 0; setting < SETTING_COUNT; setting++) {
        set((enum setting)setting, setting == SETTING_LOG_FILE ? "/dev/null" : text);
        const char *got = setting_text((enum setting)setting);
        const bool taken = text[0] && strlen(text) < sizeof(setting_values[0]);
        if (setting != SETTING_LOG_FILE && strcmp(got, taken ? text : settings[setting].value))
            fail("a setting is another text", text);
        if (setting_on((enum setting)setting) != (got[0] && strcmp(got, "0")))
            fail("a setting is on or off", text);
    }
    check_log(setting_text(SETTING_LOG));
    check_quirks(setting_text(SETTING_NO_QUIRKS));
    check_transports(setting_text(SETTING_TRANSPORT));
    return 0;
}
