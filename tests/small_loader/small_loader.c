#include "small_loader.h"

#include "entry/entry.h"

#include <windows.h>

#include <CL/cl_d3d11.h>
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = sizeof(cl_icd_dispatch) / sizeof(next_function), LAYERS_MAX = 8, LAYER_NAME = 0x4241 };

typedef cl_int(CL_API_CALL *init_with_properties)(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **,
                                                  const cl_properties *);

_Atomic(const cl_icd_dispatch *) entry_current;
static cl_icd_dispatch tables[LAYERS_MAX + 1]; /* the OpenCL below, and each layer's with its gaps filled */
static struct small_loader_state state;
static bool initialising;

const struct small_loader_state *small_loader_state(void)
{
    return &state;
}

/* ---- the OpenCL below ---- */

static __typeof__(&clGetExtensionFunctionAddress) address_below;
static __typeof__(&clGetExtensionFunctionAddressForPlatform) address_for_below;
static __typeof__(&clGetPlatformIDs) platforms_below;

static void *CL_API_CALL get_address(const char *name)
{
    state.early_calls += initialising;
    return address_below(name);
}

static DWORD WINAPI call_from_above(void *data)
{
    cl_uint count = 0;
    (void)data;
    return clGetPlatformIDs(0, NULL, &count) != CL_SUCCESS;
}

/* A driver that the loader tries to start may call OpenCL in a thread of its own, and wait for it. */
static void call_once_from_above(void)
{
    static atomic_flag called = ATOMIC_FLAG_INIT;
    if (initialising || atomic_flag_test_and_set(&called))
        return;
    HANDLE thread = CreateThread(NULL, 0, call_from_above, NULL, 0, NULL);
    state.blocked_calls += WaitForSingleObject(thread, 10000) != WAIT_OBJECT_0;
    CloseHandle(thread);
}

static void *CL_API_CALL no_address(const char *name)
{
    (void)name;
    return NULL;
}

static cl_int CL_API_CALL no_driver(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    (void)room, (void)platforms;
    call_once_from_above();
    if (count)
        *count = 0;
    return CL_PLATFORM_NOT_FOUND_KHR;
}

static cl_int CL_API_CALL no_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    no_driver(room, platforms, count);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    state.early_calls += initialising;
    return platforms_below(room, platforms, count);
}

static void *CL_API_CALL get_address_for(cl_platform_id platform, const char *name)
{
    HMODULE module;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (const char *)&state, &module);
    const FARPROC own = strstr(name, "D3D11") ? GetProcAddress(module, name) : NULL;
    void *address;
    memcpy(&address, &own, sizeof(address));
    return own ? address : address_for_below(platform, name);
}

/* ---- a driver with Direct3D 11 sharing ---- */

static __typeof__(&clGetDeviceInfo) device_info_below;

static cl_int CL_API_CALL get_own_devices(cl_platform_id platform, cl_d3d11_device_source_khr source, void *object,
                                          cl_d3d11_device_set_khr set, cl_uint room, cl_device_id *devices,
                                          cl_uint *count)
{
    (void)platform, (void)source, (void)object, (void)set, (void)room, (void)devices;
    *count = SMALL_LOADER_OWN_DEVICES;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size)
{
    static const char own[] = "cl_khr_d3d11_sharing";
    if (name != CL_DEVICE_EXTENSIONS)
        return device_info_below(device, name, room, to, size);
    if (size)
        *size = sizeof(own);
    if (to && room >= sizeof(own))
        memcpy(to, own, sizeof(own));
    return !to || room >= sizeof(own) ? CL_SUCCESS : CL_INVALID_VALUE;
}

static void give_own_sharing(cl_icd_dispatch *table)
{
    device_info_below = table->clGetDeviceInfo;
    table->clGetDeviceInfo = get_device_info;
    table->clGetDeviceIDsFromD3D11KHR = get_own_devices;
}

static void load_library(const char *path, cl_icd_dispatch *table)
{
    HMODULE library = LoadLibraryA(path);
    for (size_t i = 0; library && i < next_slot_count; i++) {
        const FARPROC function = GetProcAddress(library, next_slots[i].name);
        memcpy((char *)table + next_slots[i].offset, &function, sizeof(function));
    }
}

static void load_nothing(bool says_so, cl_icd_dispatch *table)
{
    for (size_t i = 0; i < next_slot_count; i++)
        memcpy((char *)table + next_slots[i].offset, &next_slots[i].missing, sizeof(next_slots[i].missing));
    table->clGetExtensionFunctionAddress = no_address;
    table->clGetPlatformIDs = says_so ? no_driver : no_platforms;
}

static void load_below(cl_icd_dispatch *table)
{
    char path[MAX_PATH + 16];
    if (GetEnvironmentVariableA("SMALL_LOADER_BELOW", path, sizeof(path)) == 0) {
        GetSystemDirectoryA(path, MAX_PATH);
        strcat(path, "\\opencl.dll");
    }
    if (strcmp(path, "no driver") == 0 || strcmp(path, "no platforms") == 0)
        load_nothing(strcmp(path, "no driver") == 0, table);
    else
        load_library(path, table);
    address_below = table->clGetExtensionFunctionAddress;
    address_for_below = table->clGetExtensionFunctionAddressForPlatform;
    platforms_below = table->clGetPlatformIDs;
    if (GetEnvironmentVariableA("SMALL_LOADER_OWN_SHARING", NULL, 0) != 0)
        give_own_sharing(table);
    table->clGetExtensionFunctionAddressForPlatform = get_address_for;
    table->clGetExtensionFunctionAddress = get_address;
    table->clGetPlatformIDs = get_platforms;
}

/* The slots' names come with cld3d's answers for missing functions: here those of a loader without a driver. */
cl_int next_lacks(const char *function, const char *since)
{
    (void)function, (void)since;
    state.lost_calls++;
    return CL_INVALID_OPERATION;
}

/* ---- layers ---- */

/* A layer's own functions, and the table below where it has none. */
static void stack(cl_icd_dispatch *table, const cl_icd_dispatch *layer, cl_uint entries, const cl_icd_dispatch *below)
{
    next_function *to = (next_function *)table;
    const next_function *own = (const next_function *)layer, *under = (const next_function *)below;
    for (cl_uint i = 0; i < SLOTS; i++) {
        to[i] = i < entries && own[i] ? own[i] : under[i];
        state.empty_slots += !to[i] && under[i];
    }
}

static cl_int initialise(HMODULE library, const cl_icd_dispatch *below, cl_uint *entries, const cl_icd_dispatch **layer)
{
    const init_with_properties new_way =
        (init_with_properties)(void (*)(void))GetProcAddress(library, "clInitLayerWithProperties");
    const pfn_clInitLayer old_way = (pfn_clInitLayer)(void (*)(void))GetProcAddress(library, "clInitLayer");
    const cl_properties none[] = {0};
    cl_int status = CL_INVALID_VALUE;
    initialising = true;
    if (new_way)
        status = new_way(SLOTS, below, entries, layer, none);
    else if (old_way)
        status = old_way(SLOTS, below, entries, layer);
    initialising = false;
    state.new_way += new_way && status == CL_SUCCESS;
    return status;
}

static void add_layer(const char *path)
{
    HMODULE library = LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    const pfn_clGetLayerInfo info =
        library ? (pfn_clGetLayerInfo)(void (*)(void))GetProcAddress(library, "clGetLayerInfo") : NULL;
    const cl_icd_dispatch *layer = NULL;
    cl_layer_api_version version = 0;
    cl_uint entries = 0;
    if (!info || info(CL_LAYER_API_VERSION, sizeof(version), &version, NULL) != CL_SUCCESS ||
        version != CL_LAYER_API_VERSION_100 ||
        info(LAYER_NAME, sizeof(state.last_name), state.last_name, NULL) != CL_SUCCESS ||
        initialise(library, &tables[state.layers], &entries, &layer) != CL_SUCCESS)
        return;
    stack(&tables[state.layers + 1], layer, entries, &tables[state.layers]);
    state.layers++;
}

static void add_layers(void)
{
    HKEY key;
    char name[1024];
    if (RegOpenKeyExA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Khronos\\OpenCL\\Layers", 0, KEY_READ, &key) != ERROR_SUCCESS)
        return;
    for (DWORD i = 0; state.layers < LAYERS_MAX; i++) {
        DWORD length = sizeof(name), type = 0, value = 1, size = sizeof(value);
        if (RegEnumValueA(key, i, name, &length, NULL, &type, (BYTE *)&value, &size) != ERROR_SUCCESS)
            break;
        if (type == REG_DWORD && value == 0)
            add_layer(name);
    }
    RegCloseKey(key);
}

const cl_icd_dispatch *entry_open_now(void)
{
    load_below(&tables[0]);
    add_layers();
    atomic_store(&entry_current, &tables[state.layers]);
    return &tables[state.layers];
}

/* ---- the extension's own functions, which the real loader exports too ---- */

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDsFromD3D11KHR(cl_platform_id platform, cl_d3d11_device_source_khr source,
                                                           void *object, cl_d3d11_device_set_khr set, cl_uint room,
                                                           cl_device_id *devices, cl_uint *count)
{
    return entry_table()->clGetDeviceIDsFromD3D11KHR(platform, source, object, set, room, devices, count);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateFromD3D11Texture2DKHR(cl_context context, cl_mem_flags flags,
                                                              ID3D11Texture2D *resource, UINT subresource,
                                                              cl_int *status)
{
    return entry_table()->clCreateFromD3D11Texture2DKHR(context, flags, resource, subresource, status);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueAcquireD3D11ObjectsKHR(cl_command_queue queue, cl_uint count,
                                                                const cl_mem *objects, cl_uint wait_count,
                                                                const cl_event *wait, cl_event *event)
{
    return entry_table()->clEnqueueAcquireD3D11ObjectsKHR(queue, count, objects, wait_count, wait, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReleaseD3D11ObjectsKHR(cl_command_queue queue, cl_uint count,
                                                                const cl_mem *objects, cl_uint wait_count,
                                                                const cl_event *wait, cl_event *event)
{
    return entry_table()->clEnqueueReleaseD3D11ObjectsKHR(queue, count, objects, wait_count, wait, event);
}
