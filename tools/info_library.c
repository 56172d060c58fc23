/* Libraries: where they were found and who made them. */
#include "info.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* A string of the version resource, in the first language that it has. */
static bool version_string(const void *block, const wchar_t *name, char *text, size_t size)
{
    const struct {
        WORD language, code_page;
    } * translation;
    UINT length;
    wchar_t query[64];
    void *value;
    if (!VerQueryValueW(block, L"\\VarFileInfo\\Translation", (void **)&translation, &length) ||
        length < sizeof(*translation))
        return false;
    swprintf(query, sizeof(query) / sizeof(query[0]), L"\\StringFileInfo\\%04x%04x\\%ls", translation->language,
             translation->code_page, name);
    if (!VerQueryValueW(block, query, &value, &length) || length == 0)
        return false;
    text_from_wide(text, size, value);
    return text[0] != '\0';
}

static void read_product(struct library *library, const wchar_t *path)
{
    static char block[64 * 1024];
    char name[128], version[96] = "";
    const DWORD size = GetFileVersionInfoSizeW(path, NULL);
    if (size == 0 || size > sizeof(block) || !GetFileVersionInfoW(path, 0, size, block) ||
        !version_string(block, L"ProductName", name, sizeof(name)))
        return;
    version_string(block, L"ProductVersion", version, sizeof(version));
    snprintf(library->product, sizeof(library->product), "%s%s%s", name, version[0] ? " " : "", version);
}

/* Wine marks its DLLs between their two headers. It can load its own in place of a file and still say the file's path. */
static bool is_wine_own(HMODULE module)
{
    static const char mark[] = "Wine builtin DLL";
    const IMAGE_DOS_HEADER *header = (const IMAGE_DOS_HEADER *)module;
    return header->e_lfanew >= (LONG)(sizeof(*header) + sizeof(mark)) && memcmp(header + 1, mark, sizeof(mark)) == 0;
}

static void describe(struct library *library)
{
    library->wine = is_wine_own(library->module);
    wchar_t path[MAX_PATH] = L"";
    GetModuleFileNameW(library->module, path, MAX_PATH - 1);
    text_from_wide(library->path, sizeof(library->path), path);
    if (library->wine)
        snprintf(library->product, sizeof(library->product), "Wine's own");
    else
        read_product(library, path);
}

void library_load(struct library *library, const char *name)
{
    if (!step(library->why, "loading %s", name))
        return;
    library->module = LoadLibraryA(name);
    if (library->module)
        describe(library);
    else
        why_say(library->why, "%s cannot be loaded: Windows error %lu", name, GetLastError());
}

bool library_find(struct library *library, const char *path)
{
    library->module = GetModuleHandleA(path);
    if (library->module)
        describe(library);
    return library->module != NULL;
}

void (*library_function(const struct library *library, const char *name))(void)
{
    return library->module ? os_library_symbol((void *)library->module, name) : NULL;
}

bool library_path_beside(wchar_t *path, const wchar_t *file)
{
    const DWORD length = GetModuleFileNameW(NULL, path, MAX_PATH);
    wchar_t *name = length > 0 && length < MAX_PATH ? wcsrchr(path, L'\\') : NULL;
    if (!name || name + 1 - path + wcslen(file) >= MAX_PATH)
        return false;
    wcscpy(name + 1, file);
    return true;
}

bool library_only_here(const struct library *library, struct library *systems)
{
    wchar_t path[MAX_PATH + 16];
    *systems = (struct library){0};
    if (library->wine || !library_path_beside(path, L"OpenCL.dll"))
        return false;
    text_from_wide(systems->path, sizeof(systems->path), path);
    if (_stricmp(systems->path, library->path) != 0 || GetSystemDirectoryW(path, MAX_PATH) >= MAX_PATH)
        return false;
    wcscat(path, L"\\OpenCL.dll");
    text_from_wide(systems->path, sizeof(systems->path), path);
    read_product(systems, path);
    return strcmp(systems->product, library->product) != 0;
}

void library_report(struct fact *in, const char *key, const char *label, const struct library *library)
{
    if (!library->module)
        report_text(in, key, label, "none: %s", library->why);
    else
        report_text(in, key, label, "%s%s%s%s", library->path, library->product[0] ? " (" : "", library->product,
                    library->product[0] ? ")" : "");
}
