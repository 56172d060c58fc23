#include "settings.h"

#include "os/os.h"

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
