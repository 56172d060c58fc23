/* The layers of a Khronos loader: what is registered for programs of our kind (64 or 32 bits), and cld3d.dll among them.
 *
 * A value's name is the path of a library, and the number 0 enables it. */
#include "info.h"

#include <aclapi.h>
#include <stdio.h>

#define KEY L"SOFTWARE\\Khronos\\OpenCL\\Layers"

enum { ENABLED = 0, PATH_SIZE = MAX_PATH };

static bool say_failed(LONG code)
{
    fprintf(stderr, "cld3dinfo: cannot write HKLM\\%ls: Windows error %ld%s\n", KEY, code,
            code == ERROR_ACCESS_DENIED ? ", insufficient rights; run this as administrator" : "");
    return false;
}

/* The place of cld3d.dll beside this program. False: this program's own path is too long for one. */
static bool layer_path(wchar_t *path)
{
    if (library_path_beside(path, L"cld3d.dll"))
        return true;
    fprintf(stderr, "cld3dinfo: the path of this program has more than %d characters\n", MAX_PATH - 1);
    return false;
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

/* ---- what the programs of all users load must not be what any of them has put there ---- */

/* An entry that denies is not counted: it may be for some of them alone. */
static bool lets_all_change(const ACE_HEADER *entry)
{
    static const GENERIC_MAPPING files = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
    static const DWORD change =
        FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER;
    const ACCESS_ALLOWED_ACE *allowed = (const ACCESS_ALLOWED_ACE *)entry;
    PSID who = (PSID)&allowed->SidStart;
    if (entry->AceType != ACCESS_ALLOWED_ACE_TYPE || (entry->AceFlags & INHERIT_ONLY_ACE))
        return false;
    DWORD rights = allowed->Mask;
    MapGenericMask(&rights, (GENERIC_MAPPING *)&files);
    return (rights & change) && (IsWellKnownSid(who, WinWorldSid) || IsWellKnownSid(who, WinAuthenticatedUserSid) ||
                                 IsWellKnownSid(who, WinBuiltinUsersSid));
}

static bool all_may_change(const wchar_t *path)
{
    PSECURITY_DESCRIPTOR rules = NULL;
    PACL list = NULL;
    void *entry;
    const bool known = GetNamedSecurityInfoW((wchar_t *)path, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL,
                                             &list, NULL, &rules) == ERROR_SUCCESS;
    bool found = !known || !list;
    for (DWORD i = 0; !found && i < list->AceCount; i++)
        found = GetAce(list, i, &entry) && lets_all_change(entry);
    LocalFree(rules);
    return found;
}

bool layer_register(void)
{
    wchar_t path[PATH_SIZE], folder[PATH_SIZE];
    char text[3 * PATH_SIZE];
    const DWORD enabled = ENABLED;
    HKEY key;
    if (!layer_path(path))
        return false;
    if (GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES) {
        fprintf(stderr, "cld3dinfo: there is no cld3d.dll in the folder of this program; copy it there\n");
        return false;
    }
    wcscpy(folder, path);
    *wcsrchr(folder, L'\\') = L'\0';
    if (all_may_change(path) || all_may_change(folder)) {
        text_from_wide(text, sizeof(text), all_may_change(path) ? path : folder);
        fprintf(stderr,
                "cld3dinfo: not registered: all users may change %s; put it where only administrators may write\n",
                text);
        return false;
    }
    LONG code = RegCreateKeyExW(HKEY_LOCAL_MACHINE, KEY, 0, NULL, 0, KEY_READ | KEY_WRITE, NULL, &key, NULL);
    if (code != ERROR_SUCCESS)
        return say_failed(code);
    const bool before = is_enabled(key, path);
    code = RegSetValueExW(key, path, 0, REG_DWORD, (const BYTE *)&enabled, sizeof(enabled));
    RegCloseKey(key);
    if (code != ERROR_SUCCESS)
        return say_failed(code);
    say(path, before ? "is already registered" : "registered");
    return true;
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
    if (code != ERROR_SUCCESS && code != ERROR_FILE_NOT_FOUND)
        return say_failed(code);
    if (code == ERROR_SUCCESS)
        remove_empty_keys();
    say(path, code == ERROR_SUCCESS ? "unregistered" : "is not registered");
    return true;
}

/* ---- the report ---- */

/* Characters in a value's name, as Windows documents, and those that are shown. */
enum { LONGEST_NAME = 16383, SHOWN = 500 };

void layers_report(struct fact *in)
{
    static wchar_t path[LONGEST_NAME + 1];
    char text[3 * SHOWN + 1];
    struct fact *layers = report_list(in, "layers");
    HKEY key;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, KEY, 0, KEY_READ, &key) != ERROR_SUCCESS)
        return;
    for (DWORD i = 0;; i++) {
        DWORD length = LONGEST_NAME + 1;
        if (RegEnumValueW(key, i, path, &length, NULL, NULL, NULL, NULL) != ERROR_SUCCESS)
            break;
        const char *state = !is_enabled(key, path) ? "disabled"
                            : GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES
                                ? "enabled, but the file does not exist"
                                : "enabled";
        path[SHOWN] = L'\0';
        text_from_wide(text, sizeof(text), path);
        report_text(layers, NULL, i == 0 ? "OpenCL layers" : "", "%s (%s)", text, state);
    }
    RegCloseKey(key);
}
