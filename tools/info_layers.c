/* The layers of a Khronos loader: what is registered for programs of our kind (64 or 32 bits), and cld3d.dll among them.
 *
 * A value's name is the path of a library, and the number 0 enables it. */
#include "info.h"
#include "info_rights.h"
#include "info_text.h"

#include "os/os.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define KEY L"SOFTWARE\\Khronos\\OpenCL\\Layers"

enum { ENABLED = 0, PATH_SIZE = MAX_PATH + 16 };

/* What Windows says to an error code, as a text for people. */
static const char *windows_error(LONG code)
{
    static char text[192];
    if (code == ERROR_ACCESS_DENIED)
        return "insufficient rights; run this as administrator";
    snprintf(text, sizeof(text), "Windows error %ld", code);
    return text;
}

static void say_failed(const char *what, LONG code)
{
    fprintf(stderr, "cld3dinfo: cannot %s HKLM\\%ls: %s\n", what, KEY, windows_error(code));
}

/* The place of cld3d.dll beside this program. False: this program's own path is too long for one. */
static bool layer_path(wchar_t *path)
{
    const DWORD length = GetModuleFileNameW(NULL, path, MAX_PATH);
    wchar_t *name = length > 0 && length < MAX_PATH ? wcsrchr(path, L'\\') : NULL;
    if (!name) {
        fprintf(stderr, "cld3dinfo: the path of this program has more than %d characters\n", MAX_PATH - 1);
        return false;
    }
    wcscpy(name + 1, L"cld3d.dll");
    return true;
}

static void say(const wchar_t *path, const char *what)
{
    char text[3 * PATH_SIZE];
    text_from_wide(text, sizeof(text), path);
    printf("%s: %s\n", text, what);
}

static bool is_enabled(HKEY key, const wchar_t *path)
{
    DWORD value = 1, type = REG_NONE, size = sizeof(value);
    return RegQueryValueExW(key, path, NULL, &type, (BYTE *)&value, &size) == ERROR_SUCCESS && type == REG_DWORD &&
           value == ENABLED;
}

bool layer_register(void)
{
    wchar_t path[PATH_SIZE];
    const DWORD enabled = ENABLED;
    char why[4 * PATH_SIZE];
    HKEY key;
    if (!layer_path(path))
        return false;
    if (GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES) {
        fprintf(stderr, "cld3dinfo: there is no cld3d.dll in the folder of this program; copy it there\n");
        return false;
    }
    if (!rights_keep_library(path, os_is_wine(), why, sizeof(why))) {
        fprintf(stderr, "cld3dinfo: not registered: %s; put it where only administrators may write\n", why);
        return false;
    }
    LONG code = RegCreateKeyExW(HKEY_LOCAL_MACHINE, KEY, 0, NULL, 0, KEY_READ | KEY_WRITE, NULL, &key, NULL);
    if (code == ERROR_SUCCESS) {
        const bool before = is_enabled(key, path);
        code =
            before ? ERROR_SUCCESS : RegSetValueExW(key, path, 0, REG_DWORD, (const BYTE *)&enabled, sizeof(enabled));
        RegCloseKey(key);
        if (code == ERROR_SUCCESS)
            say(path, before ? "is already registered" : "registered");
    }
    if (code != ERROR_SUCCESS)
        say_failed("write", code);
    return code == ERROR_SUCCESS;
}

/* The keys that layer_register made: those that hold nothing, from the lowest up to Khronos' own. Windows removes no key
 * that has keys below it, but does not mind values. */
static void remove_empty_keys(void)
{
    static const wchar_t *const names[] = {KEY, L"SOFTWARE\\Khronos\\OpenCL", L"SOFTWARE\\Khronos"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        DWORD keys = 1, values = 1;
        HKEY key;
        if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, names[i], 0, KEY_READ, &key) != ERROR_SUCCESS)
            return;
        RegQueryInfoKeyW(key, NULL, NULL, NULL, &keys, NULL, NULL, &values, NULL, NULL, NULL, NULL);
        RegCloseKey(key);
        if (keys || values || RegDeleteKeyW(HKEY_LOCAL_MACHINE, names[i]) != ERROR_SUCCESS)
            return;
    }
}

bool layer_unregister(void)
{
    wchar_t path[PATH_SIZE];
    HKEY key;
    if (!layer_path(path)) /* the file itself may be gone already */
        return false;
    LONG code = RegOpenKeyExW(HKEY_LOCAL_MACHINE, KEY, 0, KEY_READ | KEY_WRITE, &key);
    if (code == ERROR_SUCCESS) {
        code = RegDeleteValueW(key, path);
        RegCloseKey(key);
    }
    if (code != ERROR_SUCCESS && code != ERROR_FILE_NOT_FOUND) {
        say_failed("write", code);
        return false;
    }
    if (code == ERROR_SUCCESS)
        remove_empty_keys();
    say(path, code == ERROR_SUCCESS ? "unregistered" : "is not registered");
    return true;
}

/* ---- the report ---- */

/* Characters in a value's name, as Windows documents, and those that are shown. */
enum { LONGEST_NAME = 16383, SHOWN = 500 };

static void tell_layer(HKEY key, wchar_t *path, DWORD type,
                       void (*call)(void *context, const char *path, const char *state), void *context)
{
    char text[3 * SHOWN + 4];
    const char *state = "enabled";
    if (type != REG_DWORD)
        state = "not a number, so loaders ignore it";
    else if (!is_enabled(key, path))
        state = "disabled";
    else if (GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES)
        state = "enabled, but the file does not exist";
    const bool whole = wcslen(path) <= SHOWN;
    path[SHOWN] = L'\0';
    text_from_wide(text, sizeof(text) - 3, path);
    if (!whole)
        strcat(text, "...");
    call(context, text, state);
}

void layers_each(void (*call)(void *context, const char *path, const char *state), void *context)
{
    static wchar_t path[LONGEST_NAME + 1];
    HKEY key;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, KEY, 0, KEY_READ, &key) != ERROR_SUCCESS)
        return;
    for (DWORD i = 0;; i++) {
        DWORD length = LONGEST_NAME + 1, type = REG_NONE;
        if (RegEnumValueW(key, i, path, &length, NULL, &type, NULL, NULL) != ERROR_SUCCESS)
            break;
        tell_layer(key, path, type, call, context);
    }
    RegCloseKey(key);
}

static void print_layer(void *context, const char *path, const char *state)
{
    bool *first = context;
    print_field(*first ? "OpenCL layers" : "", "%s (%s)", path, state);
    *first = false;
}

void print_layers(void)
{
    bool none = true;
    layers_each(print_layer, &none);
    if (none)
        print_field("OpenCL layers", "none registered");
}
