/* The layer's own entry points, called as a Khronos loader calls them: the old way (clInitLayer) and the new one
 * (clInitLayerWithProperties, clDeinitLayer). The loader of these tests uses the library as its layer already, so each
 * case opens a copy of it. */
#define _DEFAULT_SOURCE /* mkstemps */
#include "answer.h"
#include "below.h"
#include "tap.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef cl_int(CL_API_CALL *init_with_properties)(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **,
                                                  const cl_properties *);
typedef cl_int(CL_API_CALL *deinit)(void);

struct layer {
    char path[64];
    void *library;
    pfn_clGetLayerInfo info;
    pfn_clInitLayer init;
    init_with_properties init_new;
    deinit end;
};

static bool copy_file(const char *from, int to)
{
    char bytes[65536];
    size_t size;
    FILE *file = fopen(from, "rb");
    bool good = file != NULL;
    while (good && (size = fread(bytes, 1, sizeof(bytes), file)) > 0)
        good = write(to, bytes, size) == (ssize_t)size;
    if (file)
        fclose(file);
    return good;
}

static bool open_layer(struct layer *layer)
{
    const char *original = getenv("OPENCL_LAYERS");
    strcpy(layer->path, "/tmp/cld3d-layer-XXXXXX.so");
    const int file = mkstemps(layer->path, 3);
    if (!CHECK(original != NULL) || !CHECK(file >= 0) || !CHECK(copy_file(original, file)))
        return false;
    close(file);
    layer->library = dlopen(layer->path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(layer->library != NULL))
        return false;
    void *const symbols[] = {dlsym(layer->library, "clGetLayerInfo"), dlsym(layer->library, "clInitLayer"),
                             dlsym(layer->library, "clInitLayerWithProperties"),
                             dlsym(layer->library, "clDeinitLayer")};
    memcpy(&layer->info, &symbols[0], sizeof(void *));
    memcpy(&layer->init, &symbols[1], sizeof(void *));
    memcpy(&layer->init_new, &symbols[2], sizeof(void *));
    memcpy(&layer->end, &symbols[3], sizeof(void *));
    return CHECK(layer->info && layer->init && layer->init_new && layer->end);
}

static void close_layer(struct layer *layer)
{
    if (layer->library)
        dlclose(layer->library);
    unlink(layer->path);
}

/* A case that gets a copy of the layer. */
#define LAYER_CASE(text, name)                                   \
    static void name(const struct layer *layer);                 \
    CASE(text, name##_opened)                                    \
    {                                                            \
        struct layer layer = {"", NULL, NULL, NULL, NULL, NULL}; \
        if (open_layer(&layer))                                  \
            name(&layer);                                        \
        close_layer(&layer);                                     \
    }                                                            \
    static void name(const struct layer *layer)

/* A small OpenCL: one platform with one device. All other slots are NULL, as loaders may have them. */
static struct {
    int word;
} a_platform, a_device;

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    if (platforms && room)
        platforms[0] = (cl_platform_id)&a_platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info name, size_t room, void *to,
                                        size_t *size_ret)
{
    (void)platform;
    return name == CL_PLATFORM_EXTENSIONS ? give_answer("cl_khr_icd", 11, room, to, size_ret) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_devices(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
                                      cl_uint *count)
{
    (void)platform, (void)type;
    if (devices && room)
        devices[0] = (cl_device_id)&a_device;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_bool yes = CL_TRUE;
    (void)device;
    if (name == CL_DEVICE_IMAGE_SUPPORT)
        return give_answer(&yes, sizeof(yes), room, to, size_ret);
    return name == CL_DEVICE_EXTENSIONS ? give_answer("", 1, room, to, size_ret) : CL_INVALID_VALUE;
}

static const cl_icd_dispatch target = {
    .clGetPlatformIDs = get_platforms,
    .clGetPlatformInfo = platform_info,
    .clGetDeviceIDs = get_devices,
    .clGetDeviceInfo = device_info,
};

enum { ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

static void works(const cl_icd_dispatch *table)
{
    char text[512] = "";
    cl_platform_id platform = NULL;
    cl_int status = 1;
    if (!CHECK(table != NULL))
        return;
    CHECK_INT(table->clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK(platform == (cl_platform_id)&a_platform);
    CHECK_INT(table->clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL), CL_SUCCESS);
    CHECK(strstr(text, "cl_khr_icd cl_khr_d3d10_sharing") == text);
    CHECK(table->clGetDeviceIDsFromD3D10KHR && table->clCreateFromD3D10BufferKHR &&
          table->clCreateFromD3D10Texture2DKHR && table->clCreateFromD3D10Texture3DKHR &&
          table->clEnqueueAcquireD3D10ObjectsKHR && table->clEnqueueReleaseD3D10ObjectsKHR);
    CHECK(table->clGetDeviceIDsFromD3D11KHR && table->clCreateFromD3D11BufferKHR &&
          table->clCreateFromD3D11Texture2DKHR && table->clCreateFromD3D11Texture3DKHR &&
          table->clEnqueueAcquireD3D11ObjectsKHR && table->clEnqueueReleaseD3D11ObjectsKHR);
    CHECK(table->clGetDeviceIDsFromDX9MediaAdapterKHR && table->clCreateFromDX9MediaSurfaceKHR &&
          table->clEnqueueAcquireDX9MediaSurfacesKHR && table->clEnqueueReleaseDX9MediaSurfacesKHR);
    CHECK(table->clCreateUserEvent(NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_OPERATION); /* an empty slot below */
}

LAYER_CASE("what the layer says of itself", information)
{
    cl_layer_api_version version = 0;
    char name[16] = "";
    size_t size = 0;
    CHECK_INT(layer->info(CL_LAYER_API_VERSION, sizeof(version), &version, &size), CL_SUCCESS);
    CHECK_INT(version, CL_LAYER_API_VERSION_100);
    CHECK_INT(size, sizeof(version));
    CHECK_INT(layer->info(CL_LAYER_API_VERSION, 1, &version, NULL), CL_INVALID_VALUE);
    CHECK_INT(layer->info(0x4241, sizeof(name), name, &size), CL_SUCCESS); /* CL_LAYER_NAME */
    CHECK_STR(name, "cld3d");
    CHECK_INT(size, 6);
    CHECK_INT(layer->info(0x4711, sizeof(name), name, &size), CL_INVALID_VALUE);
}

LAYER_CASE("the old way", old_way)
{
    const cl_icd_dispatch *table = NULL;
    cl_uint entries = 0;
    CHECK_INT(layer->init(ENTRIES, NULL, &entries, &table), CL_INVALID_VALUE);
    CHECK_INT(layer->init(ENTRIES, &target, NULL, &table), CL_INVALID_VALUE);
    CHECK_INT(layer->init(ENTRIES, &target, &entries, NULL), CL_INVALID_VALUE);
    CHECK_INT(layer->init(ENTRIES, &target, &entries, &table), CL_SUCCESS);
    CHECK(entries > 0 && entries <= ENTRIES);
    works(table);
}

LAYER_CASE("the new way", new_way)
{
    const cl_properties none[] = {0}, unknown[] = {0x4711, 1, 0};
    const cl_icd_dispatch *table = NULL;
    cl_uint entries = 0;
    CHECK_INT(layer->init_new(ENTRIES, &target, &entries, &table, unknown), CL_INVALID_PROPERTY);
    CHECK(table == NULL);
    CHECK_INT(layer->init_new(ENTRIES, &target, &entries, &table, none), CL_SUCCESS);
    CHECK(entries > 0 && entries <= ENTRIES);
    works(table);
    CHECK_INT(layer->end(), CL_SUCCESS);
}

/* A loader that knows fewer functions than we do. */
LAYER_CASE("a loader with fewer functions", short_table)
{
    const cl_icd_dispatch *table = NULL;
    cl_uint entries = 0;
    CHECK_INT(layer->init_new(8, &target, &entries, &table, NULL), CL_SUCCESS);
    works(table);
}

/* The target with the one function by which layers know each other, counted. */
static int early;
static bool initialising;

static void *CL_API_CALL no_address(const char *name)
{
    (void)name;
    early += initialising;
    return NULL;
}

/* A loader's init must not be answered with calls: it would wait for itself. */
static bool put_on(struct layer *layer, const cl_icd_dispatch *below, const cl_icd_dispatch **table)
{
    cl_uint entries = 0;
    if (!open_layer(layer))
        return false;
    initialising = true;
    const cl_int status = layer->init_new(ENTRIES, below, &entries, table, NULL);
    initialising = false;
    return CHECK_INT(status, CL_SUCCESS);
}

/* Of two in one chain the upper one passes everything on. */
CASE("two in one chain", twice)
{
    struct layer lower = {"", NULL, NULL, NULL, NULL, NULL}, upper = lower;
    const cl_icd_dispatch *table = NULL;
    char text[512] = "";
    cl_icd_dispatch below = target;
    below.clGetExtensionFunctionAddress = no_address;
    if (put_on(&lower, &below, &table) && put_on(&upper, table, &table)) {
        works(table);
        CHECK_INT(
            table->clGetPlatformInfo((cl_platform_id)&a_platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL),
            CL_SUCCESS);
        const char *first = strstr(text, "cl_khr_d3d11_sharing");
        CHECK(first && !strstr(first + 1, "cl_khr_d3d11_sharing"));
        CHECK_INT(early, 0);
    }
    close_layer(&upper);
    close_layer(&lower);
}

/* ---- two loaders in one process ---- */

enum { FIRST_LOADER = -4711, SECOND_LOADER = -4712 };

static cl_int CL_API_CALL release_first(cl_mem object)
{
    (void)object;
    return FIRST_LOADER;
}

static cl_int CL_API_CALL release_second(cl_mem object)
{
    (void)object;
    return SECOND_LOADER;
}

struct caller {
    const cl_icd_dispatch *table;
    atomic_bool stop;
    atomic_uint calls, wrong;
};

static void *call_on(void *data)
{
    struct caller *caller = data;
    while (!atomic_load(&caller->stop)) {
        const bool right =
            caller->table->clReleaseMemObject(NULL) == FIRST_LOADER && caller->table->clCreateFromD3D11BufferKHR;
        atomic_fetch_add(right ? &caller->calls : &caller->wrong, 1);
    }
    return NULL;
}

/* The library is loaded once, and each loader initialises it, the second maybe while the program calls through the first:
 * nothing changes under those calls. */
LAYER_CASE("two loaders in one process", two_loaders)
{
    struct caller caller = {0};
    cl_icd_dispatch first = target, second = target;
    const cl_icd_dispatch *table = NULL;
    cl_uint entries = 0;
    pthread_t thread;
    first.clReleaseMemObject = release_first;
    second.clReleaseMemObject = release_second;
    if (!CHECK_INT(layer->init(ENTRIES, &first, &entries, &caller.table), CL_SUCCESS))
        return;
    works(caller.table);
    CHECK_INT(pthread_create(&thread, NULL, call_on, &caller), 0);
    while (atomic_load(&caller.calls) < 1000 && atomic_load(&caller.wrong) == 0)
        ;
    for (int i = 0; i < 20000; i++)
        if (layer->init(ENTRIES, &second, &entries, &table) != CL_SUCCESS || table != caller.table)
            atomic_fetch_add(&caller.wrong, 1);
    atomic_store(&caller.stop, true);
    pthread_join(thread, NULL);
    CHECK_INT(atomic_load(&caller.wrong), 0);
    works(table);
}

static bool is_loaded(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

static void *open_loader(const cl_icd_dispatch **table)
{
    void *loader = dlopen(getenv("CLD3D_TEST_BELOW"), RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    pfn_clInitLayer init;
    cl_uint entries = 0;
    if (CHECK(loader != NULL))
        symbol = dlsym(loader, "clInitLayer");
    memcpy(&init, &symbol, sizeof(init));
    return CHECK(symbol != NULL) && init(ENTRIES, &target, &entries, table) == CL_SUCCESS ? loader : NULL;
}

/* The first loader is in a library that the program unloads, and its functions are still those below the second one's. */
LAYER_CASE("the first of two loaders is unloaded", first_loader_goes)
{
    const cl_icd_dispatch *first = NULL, *table = NULL;
    cl_command_queue queue = (cl_command_queue)&a_device;
    cl_uint entries = 0, launches = 1;
    void *loader = open_loader(&first);
    if (!loader || !CHECK_INT(layer->init(ENTRIES, first, &entries, &table), CL_SUCCESS))
        return;
    dlclose(loader);
    CHECK_INT(layer->init(ENTRIES, &target, &entries, &table), CL_SUCCESS);
    if (!CHECK(is_loaded(getenv("CLD3D_TEST_BELOW"))))
        return;
    CHECK_INT(table->clGetCommandQueueInfo(queue, BELOW_LAUNCHES, sizeof(launches), &launches, NULL), CL_SUCCESS);
    CHECK_INT(launches, 0);
    works(table);
}

/* In a process that looks like Wine's the library is no layer: cld3d is above Wine there. */
CASE("in a process of Wine's", under_wine)
{
    struct layer layer = {"", NULL, NULL, NULL, NULL, NULL};
    const cl_icd_dispatch *table = NULL;
    cl_uint entries = 0;
    void *ntdll = dlopen(getenv("CLD3D_TEST_NTDLL"), RTLD_NOW);
    if (CHECK(ntdll != NULL) && open_layer(&layer)) {
        CHECK_INT(layer.init(ENTRIES, &target, &entries, &table), CL_SUCCESS);
        CHECK(table == &target);
        CHECK_INT(entries, ENTRIES);
    }
    close_layer(&layer);
    if (ntdll)
        dlclose(ntdll);
}

TAP_MAIN
