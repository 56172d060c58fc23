#include "bridge/client.h"

#include "bridge/calls_generated.h"
#include "log.h"
#include "next/handle.h"
#include "os/os.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

typedef LONG(NTAPI *query_function)(HANDLE process, const void *address, int class, void *to, SIZE_T size,
                                    SIZE_T *size_ret);

static char report[BRIDGE_WHY + 128] = "none: it is not asked for here";

const char *client_report(void)
{
    return report;
}

cl_int client_crashed(const char *call, cl_int code)
{
    return log_refuse(call, code, "the call did not return: the driver has crashed in it");
}

/* ---- finding the host side ---- */

/* Newer Wines load any library of the host by its path. */
static bool find_by_path(query_function query)
{
    enum { LOAD_BY_NAME = 1002 };
    static const wchar_t nt[] = L"\\??\\";
    wchar_t path[OS_PATH_BESIDE + 4];
    wcscpy(path, nt);
    if (!os_path_beside(path + wcslen(nt), L"libcld3d.so"))
        return false;
    const struct {
        USHORT length, size;
        const wchar_t *text;
    } name = {(USHORT)(wcslen(path) * sizeof(*path)), (USHORT)sizeof(path), path};
    uint64_t found[2] = {0, 0}; /* the module, and its handle for calls */
    if (query(GetCurrentProcess(), &name, LOAD_BY_NAME, found, sizeof(found), NULL) != 0)
        return false;
    client_library = found[1];
    return true;
}

/* All load the library that belongs to a DLL with Wine's mark. Where they look for both is their choice, and not the DLL's. */
static bool find_by_door(query_function query, char *why)
{
    enum { LIBRARY_OF_DLL = 1000 };
    wchar_t path[OS_PATH_BESIDE];
    if (!os_path_beside(path, L"libcld3d.dll")) {
        snprintf(why, BRIDGE_WHY, "there is no libcld3d.dll beside this library; install cld3d again");
        return false;
    }
    const HMODULE door = LoadLibraryW(path);
    const LONG status = door ? query(GetCurrentProcess(), (const void *)door, LIBRARY_OF_DLL, &client_library,
                                     sizeof(client_library), NULL)
                             : (LONG)STATUS_DLL_NOT_FOUND;
    if (status != 0)
        snprintf(
            why, BRIDGE_WHY,
            "Wine does not find libcld3d.so (0x%08lx): it is neither in a folder of WINEDLLPATH nor in Wine's own; "
            "start the program with 'cld3d-setup run', or install it into Wine with 'cld3d-setup install --wine'",
            (unsigned long)status);
    return status == 0;
}

/* `how`: where the library was found. */
static bool find(const char **how, char *why)
{
    const HMODULE ntdll = GetModuleHandleA("ntdll.dll");
    const query_function query = (query_function)os_library_symbol((void *)ntdll, "NtQueryVirtualMemory");
    const void *place = (const void *)os_library_symbol((void *)ntdll, "__wine_unix_call_dispatcher");
    if (!query || !place) {
        snprintf(why, BRIDGE_WHY, "this Wine is older than 8.0, and has no unixlibs; use a newer one");
        return false;
    }
    memcpy(&client_dispatch, place, sizeof(client_dispatch));
    *how = "found beside this library";
    if (find_by_path(query))
        return true;
    *how = "found by Wine (WINEDLLPATH, or Wine's own folder)";
    return find_by_door(query, why);
}

static bool begin(struct bridge_start *start, const char **how)
{
    if (!find(how, start->why))
        return false;
    if (!client_call(BRIDGE_START, start))
        snprintf(start->why, BRIDGE_WHY, "libcld3d.so has crashed at its start, or is another library");
    return start->ready;
}

/* In the new WoW64, what gives memory one address on both sides. */
static void remove_shared_memory(void)
{
    for (size_t i = 0; i < next_slot_count; i++)
        if (strstr(next_slots[i].name, "SVM"))
            next_remove(next_slots[i].name);
    next_remove("clSetKernelExecInfo");
}

bool client_join(void)
{
    struct bridge_start start = {.version = BRIDGE_VERSION};
    const char *how = "";
    if (!begin(&start, &how)) {
        snprintf(report, sizeof(report), "none: %s", start.why);
        client_dispatch = NULL;
        return false;
    }
    snprintf(report, sizeof(report), "connected: libcld3d.so %s, %s", start.release, how);
    log_write(LOG_INFO, "the bridge to the host's OpenCL: libcld3d.so %s, %s", start.release, how);
    if (strcmp(start.release, CLD3D_VERSION) != 0)
        log_write(LOG_WARN, "libcld3d.so has version %s, this library %s; use both from the same release",
                  start.release, CLD3D_VERSION);
    next_load(NULL);
    client_install_generated(&next);
    next_is_wider = start.checks;
    next_remove("clEnqueueNativeKernel"); /* would call the program on a thread of the host's */
    if (start.checks)
        remove_shared_memory();
    handles_are_checked = start.checks || sizeof(void *) == sizeof(uint64_t);
    client_extensions_install(&next);
    return true;
}

/* ---- callbacks ---- */

static void deliver_one(const struct bridge_notice *n)
{
    void *const data = (void *)(uintptr_t)n->data, *const object = (void *)(uintptr_t)n->object;
    const next_function function = next_function_at((void *)(uintptr_t)n->function);
    switch (n->kind) {
    case NOTICE_EVENT: ((void(CL_CALLBACK *)(cl_event, cl_int, void *))function)(object, n->status, data); break;
    case NOTICE_CONTEXT:
        ((void(CL_CALLBACK *)(const char *, const void *, size_t, void *))function)(n->text, n->count ? n->info : NULL,
                                                                                    n->count, data);
        break;
    case NOTICE_SVM_FREE:
        ((void(CL_CALLBACK *)(cl_command_queue, cl_uint, void **, void *))function)(
            object, n->count, (void **)(uintptr_t)n->pointers, data);
        break;
    default: ((void(CL_CALLBACK *)(void *, void *))function)(object, data);
    }
}

static os_mutex delivery = OS_MUTEX_INIT;
static os_condition begun = OS_CONDITION_INIT;

static void deliver(void *unused)
{
    struct bridge_notice notice = {.previous = 0};
    (void)unused;
    os_lock(&delivery);
    os_wake_all(&begun);
    os_unlock(&delivery);
    while (client_call(BRIDGE_NEXT, &notice))
        deliver_one(&notice);
}

/* In the new WoW64 a process that ends while a thread begins ends with a crash in Wine: its handler finds no stack. */
bool client_delivers(const char *call)
{
    enum { BEGIN_MS = 100 }; /* for ever, if the caller has the loader's lock */
    static bool runs;
    os_stay_loaded();
    os_lock(&delivery);
    if (!runs && (runs = os_thread_start(deliver, NULL)) && next_is_wider)
        os_wait(&begun, &delivery, BEGIN_MS);
    const bool delivers = runs;
    os_unlock(&delivery);
    if (!delivers)
        log_refuse(call, CL_OUT_OF_HOST_MEMORY, "the thread for callbacks cannot be started");
    return delivers;
}

void *client_shadow(const struct bridge_map *map, cl_event *event, cl_int *errcode_ret)
{
    enum { ALIGNMENT = 128 }; /* of the largest type */
    void *memory = map->need <= SIZE_MAX ? _aligned_malloc((size_t)map->need, ALIGNMENT) : NULL;
    struct bridge_shadow shadow = {.map = map->map, .address = (uintptr_t)memory, .wants_event = event != NULL};
    cl_int status = CL_OUT_OF_RESOURCES;
    if (client_call(BRIDGE_SHADOW, &shadow))
        status = shadow.status;
    give_code(errcode_ret, status);
    if (status != CL_SUCCESS) {
        log_refuse("clEnqueueMap", status, "the program has no %llu bytes for the mapped memory",
                   (unsigned long long)map->need);
        _aligned_free(memory);
        return NULL;
    }
    if (event)
        *event = (cl_event)(uintptr_t)shadow.event;
    return memory;
}

void client_unshadow(uint64_t address)
{
    _aligned_free((void *)(uintptr_t)address);
}
