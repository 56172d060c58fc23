/* Libraries: where they were found and who made them. */
#include "info.h"
#include "info_text.h"
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
    wchar_t path[MAX_PATH];
    const DWORD length = GetModuleFileNameW(library->module, path, MAX_PATH);
    if (length == 0 || length >= MAX_PATH) {
        snprintf(library->path, sizeof(library->path), "(its path is unknown)");
        return;
    }
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
    if (library->module) {
        describe(library);
        return;
    }
    const DWORD code = GetLastError();
    wchar_t wide[128] = L"";
    char text[3 * 128];
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK, NULL,
                   code, 0, wide, sizeof(wide) / sizeof(wide[0]), NULL);
    text_from_wide(text, sizeof(text), wide);
    const size_t end = strlen(text);
    if (end > 0 && text[end - 1] == '.')
        text[end - 1] = '\0';
    why_say(library->why, "%s cannot be loaded: Windows error %lu%s%.160s", name, code, text[0] ? ", " : "", text);
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

/* The path of a file in the folder of this program; false if it is not known. */
static bool path_beside(wchar_t *path, const wchar_t *file)
{
    const DWORD length = GetModuleFileNameW(NULL, path, MAX_PATH);
    wchar_t *name = length > 0 && length < MAX_PATH ? wcsrchr(path, L'\\') : NULL;
    if (!name || name + 1 - path + wcslen(file) >= MAX_PATH)
        return false;
    wcscpy(name + 1, file);
    return true;
}

static bool has_path(const struct library *library, const wchar_t *path)
{
    char text[3 * MAX_PATH];
    text_from_wide(text, sizeof(text), path);
    return _stricmp(text, library->path) == 0;
}

bool library_beside_unused(const struct library *library)
{
    wchar_t beside[MAX_PATH];
    return path_beside(beside, L"OpenCL.dll") && GetFileAttributesW(beside) != INVALID_FILE_ATTRIBUTES &&
           (library->wine || !has_path(library, beside));
}

/* The mark of a file: that of a library, or of what Wine puts in its place. */
static bool is_wine_file(const wchar_t *path)
{
    char head[sizeof(IMAGE_DOS_HEADER) + 16] = "";
    FILE *file = _wfopen(path, L"rb");
    const bool read = file && fread(head, sizeof(head), 1, file) == 1;
    if (file)
        fclose(file);
    const char *mark = head + sizeof(IMAGE_DOS_HEADER);
    return read && (memcmp(mark, "Wine builtin DLL", 16) == 0 || memcmp(mark, "Wine placeholder", 16) == 0);
}

bool library_only_here(const struct library *library, const wchar_t *name, char *cause, size_t size)
{
    wchar_t path[MAX_PATH];
    struct library systems = {0};
    if (!library->module || library->wine || !path_beside(path, name) || !has_path(library, path))
        return false;
    const UINT length = GetSystemDirectoryW(path, MAX_PATH);
    if (length == 0 || length + 1 + wcslen(name) >= MAX_PATH)
        return false;
    wcscat(wcscat(path, L"\\"), name);
    text_from_wide(systems.path, sizeof(systems.path), path);
    read_product(&systems, path);
    if (strcmp(systems.product, library->product) == 0)
        return false;
    if (GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES)
        snprintf(cause, size, "they find no %s", systems.path);
    else
        snprintf(cause, size, "they load %s (%s)", systems.path,
                 is_wine_file(path)   ? "Wine's own"
                 : systems.product[0] ? systems.product
                                      : "of unknown origin");
    return true;
}
