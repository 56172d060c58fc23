/* The drop-in OpenCL.dll: finds the OpenCL below. */
#include "entry/entry.h"

#include "bridge/client.h"
#include "bridge/fallback.h"
#include "log.h"
#include "os/os.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* For display: the library below, or why there is none. */
enum { LONGEST_PATH = 3 * 1024 }; /* as long as a setting can be */
static char next_report[LONGEST_PATH + 320];

/* The path of `name` in the folder whose path is the first `length` characters of `wide`. Returns whether the file
 * exists. */
static bool path_in(wchar_t *wide, size_t length, const wchar_t *name, char *path, size_t size)
{
    if (length == 0 || length >= MAX_PATH)
        return false;
    wcscpy(wide + length, name);
    return os_narrow(wide, path, size) && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
}

/* The system's own OpenCL.dll, by its full path: by its name alone the system's loader would find this library again.
 * If cld3d-setup has replaced it by another copy of cld3d, the original is in the folder beside that. */
static void next_path(char *path, size_t size)
{
    static const wchar_t kept[] = L"\\cld3d\\opencl.dll"; /* where cld3d-setup keeps the one that this has replaced */
    wchar_t wide[OS_PATH_BESIDE];
    const char *chosen = setting_text(SETTING_NEXT);
    if (chosen[0]) {
        snprintf(path, size, "%s", chosen);
        return;
    }
    if (os_path_beside(wide, kept + 1) && os_narrow(wide, path, size))
        return;
    const UINT length = GetSystemDirectoryW(wide, MAX_PATH);
    if (!path_in(wide, length, kept, path, size))
        path_in(wide, length, L"\\opencl.dll", path, size);
}

/* Why a loaded library cannot be the OpenCL below, or NULL. */
static const char *unfit(void *library)
{
    if (os_library_symbol(library, "cld3d_report"))
        return "it is cld3d itself";
    return os_library_symbol(library, "clGetPlatformIDs") ? NULL : "it is not an OpenCL library";
}

static void *open_next(void)
{
    char path[LONGEST_PATH] = "", error[256];
    next_path(path, sizeof(path));
    void *library = os_library_open(path, error, sizeof(error));
    const char *why = library ? unfit(library) : error;
    if (!why) {
        snprintf(next_report, sizeof(next_report), "%s", path);
        log_write(LOG_INFO, "the OpenCL below is %s", path);
        return library;
    }
    snprintf(next_report, sizeof(next_report), "none: %s: %s", path, why);
    if (os_is_wine())
        log_write(LOG_ERROR, "there is no OpenCL: the bridge to the host's is %s; and Wine's own (%s): %s",
                  client_report(), path, why);
    else
        log_write(
            LOG_ERROR,
            "no OpenCL library to forward calls to: %s: %s; install an OpenCL driver, or set %s to the path of its "
            "library",
            path, why, setting_variable(SETTING_NEXT));
    os_library_close(library);
    return NULL;
}

/* Returns what loaders return if no OpenCL is installed. */
static cl_int CL_API_CALL no_platforms(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms)
{
    (void)num_entries;
    (void)platforms;
    if (num_platforms)
        *num_platforms = 0;
    return CL_PLATFORM_NOT_FOUND_KHR;
}

bool entry_needs_another(void)
{
    return false; /* nothing is below yet */
}

bool entry_set_next(bool another)
{
    (void)another;
    if (os_is_wine() && !setting_text(SETTING_NEXT)[0] && client_join()) {
        snprintf(next_report, sizeof(next_report), "the host's libOpenCL.so.1");
        return true;
    }
    void *library = open_next();
    if (library && os_is_wine() && fallback_is_wines(library))
        fallback_load(library, client_report());
    else
        next_load(library);
    if (!library)
        next.clGetPlatformIDs = no_platforms;
    return library != NULL;
}

const char *entry_next_report(void)
{
    return next_report;
}
