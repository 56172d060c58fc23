/* Every folder above a library counts, since who may rename one of them may put another in its place. */
#include "info_rights.h"
#include "info_text.h"

#include <aclapi.h>
#include <sddl.h>
#include <stdio.h>
#include <wchar.h>

#define TAKE_OVER (DELETE | WRITE_DAC | WRITE_OWNER)
#define OF_FILE (FILE_WRITE_DATA | FILE_APPEND_DATA | TAKE_OVER)
#define OF_FOLDER (FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY | FILE_DELETE_CHILD | TAKE_OVER)
#define OF_FOLDER_ABOVE (FILE_DELETE_CHILD | TAKE_OVER)

enum { PATH_SIZE = 1024 };

/* ---- one file or folder ---- */

static bool is_ordinary(PSID user, bool wine, wchar_t name[RIGHTS_NAME_SIZE])
{
    static const wchar_t everybody[] = L"S-1-1-0";
    static const wchar_t *const administrators[] = {
        L"S-1-5-18",                                                       /* the system */
        L"S-1-5-32-544",                                                   /* administrators */
        L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", /* the service that installs Windows' parts */
        L"S-1-3-0",
        L"S-1-3-4", /* the owner, who is looked at besides */
    };
    wchar_t *text = NULL;
    bool ordinary = true;
    if (!ConvertSidToStringSidW(user, &text)) {
        wcscpy(name, L"an unknown account");
        return !wine;
    }
    for (size_t i = 0; i < sizeof(administrators) / sizeof(administrators[0]); i++)
        ordinary &= wcscmp(text, administrators[i]) != 0;
    if (wine)
        ordinary = wcscmp(text, everybody) == 0;
    _snwprintf(name, RIGHTS_NAME_SIZE - 1, L"%ls", text);
    name[RIGHTS_NAME_SIZE - 1] = L'\0';
    LocalFree(text);
    return ordinary;
}

/* An entry that denies is not counted: it may be for some of them alone. */
static bool allows(const ACE_HEADER *entry, DWORD mask)
{
    static const GENERIC_MAPPING files = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
    if ((entry->AceFlags & INHERIT_ONLY_ACE) ||
        (entry->AceType != ACCESS_ALLOWED_ACE_TYPE && entry->AceType != ACCESS_ALLOWED_CALLBACK_ACE_TYPE))
        return false;
    DWORD rights = ((const ACCESS_ALLOWED_ACE *)entry)->Mask;
    MapGenericMask(&rights, (GENERIC_MAPPING *)&files);
    return (rights & mask) != 0;
}

bool rights_find_ordinary(PSID owner, PACL list, DWORD mask, bool wine, wchar_t name[RIGHTS_NAME_SIZE])
{
    if (owner && is_ordinary(owner, wine, name))
        return true;
    if (!list) {
        wcscpy(name, L"everybody");
        return true;
    }
    for (DWORD i = 0; i < list->AceCount; i++) {
        void *entry;
        if (GetAce(list, i, &entry) && allows(entry, mask) &&
            is_ordinary(&((ACCESS_ALLOWED_ACE *)entry)->SidStart, wine, name))
            return true;
    }
    return false;
}

/* ---- a library's path ---- */

static bool keeps(const wchar_t *path, DWORD mask, bool wine, char *why, size_t why_size)
{
    wchar_t name[RIGHTS_NAME_SIZE];
    char text[3 * PATH_SIZE];
    PSECURITY_DESCRIPTOR rules = NULL;
    PSID owner;
    PACL list;
    const DWORD code =
        GetNamedSecurityInfoW((wchar_t *)path, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                              &owner, NULL, &list, NULL, &rules);
    text_from_wide(text, sizeof(text), path);
    if (code != ERROR_SUCCESS) {
        snprintf(why, why_size, "it cannot be determined who may write to %s (Windows error %lu)", text, code);
        return false;
    }
    const bool found = rights_find_ordinary(owner, list, mask, wine, name);
    LocalFree(rules);
    if (found)
        snprintf(why, why_size, "%ls may change %s, and thereby what other users' programs load", name, text);
    return !found;
}

/* The path as it is without links, short names and drives that stand for others; its own prefix taken off. */
static bool real_path(const wchar_t *path, wchar_t real[PATH_SIZE])
{
    HANDLE file =
        CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const DWORD length = GetFinalPathNameByHandleW(file, real, PATH_SIZE, VOLUME_NAME_DOS);
    CloseHandle(file);
    if (length == 0 || length >= PATH_SIZE || wcsncmp(real, L"\\\\?\\", 4) != 0)
        return false;
    wmemmove(real, real + 4, length - 4 + 1);
    return true;
}

/* What is checked must be what will be loaded: nobody may lead the way there to another place. */
static bool is_direct(const wchar_t *path, char *why, size_t why_size)
{
    wchar_t real[PATH_SIZE], full[PATH_SIZE];
    const DWORD length = GetLongPathNameW(path, full, PATH_SIZE);
    char text[3 * PATH_SIZE];
    if (length == 0 || length >= PATH_SIZE || !real_path(path, real)) {
        snprintf(why, why_size, "its real location cannot be determined");
        return false;
    }
    if (_wcsicmp(full, real) == 0 && real[1] == L':')
        return true;
    text_from_wide(text, sizeof(text), real);
    snprintf(why, why_size, "its real location is %s; run it from there, on a local drive", text);
    return false;
}

/* Cuts the last name off; the root of a drive keeps its backslash. False if that was the root. */
static bool go_up(wchar_t *path)
{
    wchar_t *last = wcsrchr(path, L'\\');
    if (!last || !last[1])
        return false;
    last[last[-1] == L':' ? 1 : 0] = L'\0';
    return true;
}

bool rights_keep_library(const wchar_t *path, bool wine, char *why, size_t why_size)
{
    wchar_t folder[PATH_SIZE];
    if (wcslen(path) >= PATH_SIZE) {
        snprintf(why, why_size, "its path is too long");
        return false;
    }
    wcscpy(folder, path);
    if ((!wine && !is_direct(path, why, why_size)) || !keeps(path, OF_FILE, wine, why, why_size) || !go_up(folder) ||
        !keeps(folder, OF_FOLDER, wine, why, why_size))
        return false;
    /* Of folders above Wine does not tell whether they are like /tmp, where everybody may write but not rename. */
    while (!wine && go_up(folder))
        if (!keeps(folder, OF_FOLDER_ABOVE, wine, why, why_size))
            return false;
    return true;
}
