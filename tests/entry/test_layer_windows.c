/* cld3d.dll, the Khronos layer for Windows, below a small loader that does as the real one (small_loader/): registered,
 * loaded and used. And several cld3d in one chain, the drop-in above or below the layer: only the lowest acts. And
 * under Wine over a loader that finds no driver, as the one inside a program does: then the layer has the host's OpenCL
 * below.
 *
 * A library loads what is below it once, so each case loads copies. */
#include "common/rig.h"
#include "common/rig_d3d.h"
#include "small_loader/small_loader.h"
#include "tap.h"
#include "wines_opencl.h"

#include <CL/cl_d3d11.h>
#include <CL/cl_icd.h>

#define LAYERS_KEY "SOFTWARE\\Khronos\\OpenCL\\Layers"

enum { EXTENT = 16, BYTES = EXTENT * EXTENT * 4 };

typedef const char *(CL_API_CALL *report_fn)(const char *topic);

/* ---- libraries ---- */

struct copy {
    char path[MAX_PATH + 64];
    HMODULE module;
    bool registered;
};

/* Copies a library that lies beside the program; loads it unless it is a layer, which the loader does. */
static bool make_copy(struct copy *copy, const char *original, const char *name)
{
    static unsigned copies; /* one may stay loaded, and keep its name */
    char folder[MAX_PATH] = "", from[MAX_PATH + 32];
    GetModuleFileNameA(NULL, folder, sizeof(folder) - 1);
    *strrchr(folder, '\\') = '\0';
    *copy = (struct copy){"", NULL, false};
    snprintf(from, sizeof(from), "%s\\%s", folder, original);
    snprintf(copy->path, sizeof(copy->path), "%s\\%s-%lu-%u.dll", folder, name, GetCurrentProcessId(), copies++);
    return CHECK(CopyFileA(from, copy->path, FALSE));
}

static bool open_library(struct copy *copy, const char *original, const char *name)
{
    if (!make_copy(copy, original, name))
        return false;
    copy->module = LoadLibraryA(copy->path);
    return CHECK(copy->module != NULL);
}

static bool open_layer(struct copy *copy, const char *name)
{
    HKEY key;
    const DWORD enabled = 0;
    if (!make_copy(copy, "cld3d.dll", name) ||
        !CHECK_INT(RegCreateKeyExA(HKEY_LOCAL_MACHINE, LAYERS_KEY, 0, NULL, 0, KEY_WRITE, NULL, &key, NULL),
                   ERROR_SUCCESS))
        return false;
    copy->registered = CHECK_INT(RegSetValueExA(key, copy->path, 0, REG_DWORD, (const BYTE *)&enabled, sizeof(enabled)),
                                 ERROR_SUCCESS);
    RegCloseKey(key);
    return copy->registered;
}

/* The layer keeps the loader, or what is in its place, loaded until the process ends. */
static void close_copy(struct copy *copy)
{
    enum { MOST_REFERENCES = 10 };
    HKEY key;
    if (copy->registered && RegOpenKeyExA(HKEY_LOCAL_MACHINE, LAYERS_KEY, 0, KEY_WRITE, &key) == ERROR_SUCCESS) {
        CHECK_INT(RegDeleteValueA(key, copy->path), ERROR_SUCCESS);
        RegCloseKey(key);
    }
    HMODULE module = copy->path[0] ? GetModuleHandleA(copy->path) : NULL;
    for (int i = 0; i < MOST_REFERENCES && module && FreeLibrary(module); i++)
        module = GetModuleHandleA(copy->path);
    if (copy->path[0] && !DeleteFileA(copy->path))
        MoveFileExA(copy->path, NULL, MOVEFILE_DELAY_UNTIL_REBOOT);
}

static void (*function_of(HMODULE module, const char *name))(void)
{
    return (void (*)(void))GetProcAddress(module, name);
}

static const char *ask(const struct copy *copy, const char *topic)
{
    const report_fn report = (report_fn)function_of(GetModuleHandleA(copy->path), "cld3d_report");
    return CHECK(report != NULL) ? report(topic) : NULL;
}

static const struct small_loader_state *state_of(const struct copy *loader)
{
    return ((small_loader_state_fn)function_of(loader->module, "small_loader_state"))();
}

/* ---- a program that uses a library ---- */

/* clang-format off */
#define FUNCTIONS(F)                                                                                                   \
    F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) F(clReleaseContext) \
    F(clCreateCommandQueue) F(clReleaseCommandQueue) F(clEnqueueReadImage) F(clEnqueueWriteImage) F(clReleaseMemObject) \
    F(clGetExtensionFunctionAddressForPlatform) F(clCreateFromD3D11Texture2DKHR) F(clEnqueueAcquireD3D11ObjectsKHR)    \
    F(clEnqueueReleaseD3D11ObjectsKHR)
/* clang-format on */

struct program {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    struct rig d3d; /* its Direct3D half alone */
    cl_platform_id platform;
    cl_device_id device;
};

static bool open_program(struct program *p, const struct copy *top)
{
    *p = (struct program){.d3d.api = &rig_d3d11};
#define LOAD(name)                                                \
    p->name = (__typeof__(&name))function_of(top->module, #name); \
    if (!CHECK(p->name != NULL))                                  \
        return false;
    FUNCTIONS(LOAD)
#undef LOAD
    return CHECK_INT(p->clGetPlatformIDs(1, &p->platform, NULL), CL_SUCCESS) &&
           CHECK_INT(p->clGetDeviceIDs(p->platform, CL_DEVICE_TYPE_ALL, 1, &p->device, NULL), CL_SUCCESS) &&
           CHECK_INT(rig_ops_d3d11.open(0, &p->d3d.device), S_OK);
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

/* Each extension is named once, by the platform and by the device. */
static void names_once(const struct program *p)
{
    static char text[64 * 1024];
    CHECK_INT(p->clGetPlatformInfo(p->platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    CHECK_INT(count_of(text, "cl_khr_d3d11_sharing"), 1);
    CHECK_INT(p->clGetDeviceInfo(p->device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    CHECK_INT(count_of(text, "cl_khr_d3d11_sharing"), 1);
    CHECK_INT(count_of(text, "cl_khr_d3d10_sharing"), 1);
    CHECK_INT(count_of(text, "cl_khr_dx9_media_sharing"), 1);
}

/* OpenCL reads what Direct3D has, and Direct3D what OpenCL has written. */
static void exchange(const struct program *p, cl_command_queue queue, cl_mem object, void *texture,
                     const struct rig_desc *desc)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {EXTENT, EXTENT, 1};
    static unsigned char got[BYTES], other[BYTES];
    CHECK_INT(p->clEnqueueAcquireD3D11ObjectsKHR(queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(p->clEnqueueReadImage(queue, object, CL_TRUE, origin, region, 0, 0, got, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(got, desc->initial, BYTES);
    rig_pattern(other, BYTES, 2);
    CHECK_INT(p->clEnqueueWriteImage(queue, object, CL_TRUE, origin, region, 0, 0, other, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(p->clEnqueueReleaseD3D11ObjectsKHR(queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    rig_read(&p->d3d, texture, desc, 0, got);
    CHECK_MEM(got, other, BYTES);
}

static void round_trip(const struct program *p)
{
    unsigned char initial[BYTES];
    const struct rig_desc desc = {
        .format = DXGI_FORMAT_R8G8B8A8_UNORM, .width = EXTENT, .height = EXTENT, .initial = initial};
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p->platform,
                                                CL_CONTEXT_D3D11_DEVICE_KHR, (cl_context_properties)p->d3d.device, 0};
    cl_int status = 1;
    rig_pattern(initial, BYTES, 1);
    void *texture = rig_make(&p->d3d, p->d3d.device, &desc, NULL);
    cl_context context = p->clCreateContext(properties, 1, &p->device, NULL, NULL, &status);
    if (!CHECK(texture != NULL) || !CHECK_INT(status, CL_SUCCESS))
        return;
    cl_command_queue queue = p->clCreateCommandQueue(context, p->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem object = p->clCreateFromD3D11Texture2DKHR(context, CL_MEM_READ_WRITE, texture, 0, &status);
    if (CHECK_INT(status, CL_SUCCESS))
        exchange(p, queue, object, texture, &desc);
    CHECK_INT(p->clReleaseMemObject(object), CL_SUCCESS);
    CHECK_INT(p->clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(p->clReleaseContext(context), CL_SUCCESS);
    rig_release(texture);
}

/* All that a program sees through the library at the top of a chain. */
static void use(const struct copy *top)
{
    struct program program;
    if (open_program(&program, top)) {
        names_once(&program);
        CHECK(program.clGetExtensionFunctionAddressForPlatform(program.platform, "clCreateFromD3D11BufferKHR") != NULL);
        round_trip(&program);
    }
    rig_release(program.d3d.device);
}

/* ---- chains ---- */

CASE("the layer alone", layer_alone)
{
    struct copy layer, loader;
    if (!has_wines_opencl())
        return;
    if (open_layer(&layer, "layer") && open_library(&loader, "small_loader.dll", "loader")) {
        use(&loader);
        const struct small_loader_state *state = state_of(&loader);
        CHECK_INT(state->layers, 1);
        CHECK_INT(state->new_way, 1);
        CHECK_INT(state->early_calls, 0);
        CHECK_INT(state->empty_slots, 0);
        CHECK_STR(state->last_name, "cld3d");
        CHECK_STR(ask(&layer, "passes"), NULL);
        CHECK_STR(ask(&layer, "next"), NULL);
        close_copy(&loader);
    }
    close_copy(&layer);
}

static void passes_on(const struct copy *copy)
{
    const char *passes = ask(copy, "passes");
    CHECK(passes && strncmp(passes, "cld3d ", 6) == 0);
}

CASE("the layer above the drop-in", layer_above_drop_in)
{
    struct copy drop_in, layer, loader;
    if (open_library(&drop_in, "OpenCL.dll", "drop-in") && open_layer(&layer, "layer")) {
        SetEnvironmentVariableA("SMALL_LOADER_BELOW", drop_in.path);
        if (open_library(&loader, "small_loader.dll", "loader"))
            use(&loader);
        SetEnvironmentVariableA("SMALL_LOADER_BELOW", NULL);
        CHECK_INT(state_of(&loader)->layers, 1);
        CHECK_INT(state_of(&loader)->early_calls, 0);
        passes_on(&layer);
        CHECK_STR(ask(&drop_in, "passes"), NULL);
        close_copy(&loader);
        close_copy(&layer);
    }
    close_copy(&drop_in);
}

CASE("the drop-in above the layer", drop_in_above_layer)
{
    struct copy drop_in, layer, loader;
    if (!has_wines_opencl())
        return;
    if (open_layer(&layer, "layer") && open_library(&loader, "small_loader.dll", "loader")) {
        SetEnvironmentVariableA("CLD3D_NEXT", loader.path);
        if (open_library(&drop_in, "OpenCL.dll", "drop-in")) {
            use(&drop_in);
            passes_on(&drop_in);
            CHECK_STR(ask(&layer, "passes"), NULL);
            CHECK_STR(ask(&drop_in, "next"), loader.path);
        }
        SetEnvironmentVariableA("CLD3D_NEXT", NULL);
        close_copy(&drop_in);
        close_copy(&loader);
    }
    close_copy(&layer);
}

CASE("the layer twice", layer_twice)
{
    struct copy one, other, loader;
    if (!has_wines_opencl())
        return;
    if (open_layer(&one, "layer-one") && open_layer(&other, "layer-other") &&
        open_library(&loader, "small_loader.dll", "loader")) {
        use(&loader);
        CHECK_INT(state_of(&loader)->layers, 2);
        CHECK_INT(state_of(&loader)->early_calls, 0);
        CHECK_INT((ask(&one, "passes") != NULL) + (ask(&other, "passes") != NULL), 1);
        close_copy(&loader);
        close_copy(&other);
    }
    close_copy(&one);
}

/* The layer calls the driver's functions, and not those that the loader exports, which would call the layer. */
CASE("a driver with sharing of its own", driver_with_sharing)
{
    struct copy layer, loader;
    cl_platform_id platform = NULL;
    cl_uint count = 0;
    if (!has_wines_opencl())
        return;
    SetEnvironmentVariableA("SMALL_LOADER_OWN_SHARING", "1");
    if (open_layer(&layer, "layer") && open_library(&loader, "small_loader.dll", "loader")) {
        const __typeof__(&clGetPlatformIDs) get_platforms =
            (__typeof__(&clGetPlatformIDs))function_of(loader.module, "clGetPlatformIDs");
        const clGetDeviceIDsFromD3D11KHR_fn get_devices =
            (clGetDeviceIDsFromD3D11KHR_fn)function_of(loader.module, "clGetDeviceIDsFromD3D11KHR");
        CHECK_INT(get_platforms(1, &platform, NULL), CL_SUCCESS);
        CHECK_INT(get_devices(platform, CL_D3D11_DEVICE_KHR, &count, CL_ALL_DEVICES_FOR_D3D11_KHR, 0, NULL, &count),
                  CL_SUCCESS);
        CHECK_INT(count, SMALL_LOADER_OWN_DEVICES);
        close_copy(&loader);
    }
    SetEnvironmentVariableA("SMALL_LOADER_OWN_SHARING", NULL);
    close_copy(&layer);
}

/* ---- loaders without a driver ---- */

/* Whether the OpenCL below is the host's, over the bridge. */
static bool has_hosts(const struct copy *layer)
{
    const char *next = ask(layer, "next"), *bridge = ask(layer, "bridge");
    return next && strstr(next, "libOpenCL.so.1") && bridge && strncmp(bridge, "connected", 9) == 0;
}

static bool open_loader_without(struct copy *loader, const char *what, const char *name)
{
    SetEnvironmentVariableA("SMALL_LOADER_BELOW", what);
    return open_library(loader, "small_loader.dll", name);
}

static void used_without_driver(const struct copy *loader, int layers)
{
    use(loader);
    CHECK_INT(state_of(loader)->layers, layers);
    CHECK_INT(state_of(loader)->early_calls, 0);
    CHECK_INT(state_of(loader)->empty_slots, 0);
    CHECK_INT(state_of(loader)->blocked_calls, 0);
    CHECK_INT(state_of(loader)->lost_calls, 0);
}

static void layer_over_nothing(const char *what)
{
    struct copy layer, loader;
    if (open_layer(&layer, "layer") && open_loader_without(&loader, what, "loader")) {
        used_without_driver(&loader, 1);
        CHECK(has_hosts(&layer));
        CHECK_STR(ask(&layer, "passes"), NULL);
        close_copy(&loader);
    }
    SetEnvironmentVariableA("SMALL_LOADER_BELOW", NULL);
    close_copy(&layer);
}

CASE("a loader that finds no driver", no_driver)
{
    layer_over_nothing("no driver");
}

CASE("a loader that has no platforms", no_platforms)
{
    layer_over_nothing("no platforms");
}

TAP_MAIN
