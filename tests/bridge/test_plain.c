/* A program that knows nothing of Direct3D gets the same answers through cld3d as without it: each query is asked of this library
 * and of the system's own opencl.dll, in one process. Handles and extensions are not compared. */
#include "tap.h"

#include <windows.h>

#include <CL/cl.h>

/* ---- both libraries ---- */

#define FUNCTIONS(F)     \
    F(clGetPlatformIDs)  \
    F(clGetPlatformInfo) \
    F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) F(clReleaseContext) F(clGetSupportedImageFormats)

#define MEMBER(name) __typeof__(&name) name;

struct opencl {
    FUNCTIONS(MEMBER)
};

/* Loads the opencl.dll in a folder; only cld3d's has a report of its own. */
static bool load(struct opencl *cl, const char *folder, bool is_cld3d)
{
    char path[MAX_PATH + 16];
    bool whole = true;
    snprintf(path, sizeof(path), "%s\\OpenCL.dll", folder);
    HMODULE library = LoadLibraryA(path);
    if (!CHECK(library != NULL) || !CHECK_INT(GetProcAddress(library, "cld3d_report") != NULL, is_cld3d))
        return false;
#define LOAD(name)                                                                \
    cl->name = (__typeof__(&name))(void (*)(void))GetProcAddress(library, #name); \
    whole = CHECK(cl->name != NULL) && whole;
    FUNCTIONS(LOAD)
    return whole;
}

static bool load_ours(struct opencl *cl)
{
    char folder[MAX_PATH] = "";
    GetModuleFileNameA(NULL, folder, sizeof(folder) - 1);
    char *name = strrchr(folder, '\\');
    if (!CHECK(name != NULL))
        return false;
    *name = '\0';
    return load(cl, folder, true);
}

static bool load_system(struct opencl *cl)
{
    char folder[MAX_PATH] = "";
    if (!CHECK(GetSystemDirectoryA(folder, sizeof(folder)) != 0))
        return false;
    BOOL is_wow64 = FALSE;
    if (IsWow64Process(GetCurrentProcess(), &is_wow64) && is_wow64 &&
        !LoadLibraryA("C:\\windows\\system32\\opencl.dll")) {
        SKIP("Wine has no OpenCL for 32-bit programs here");
        return false;
    }
    return load(cl, folder, false);
}

enum { OURS, SYSTEM, LIBRARIES };

static bool load_both(struct opencl cl[LIBRARIES])
{
    return load_system(&cl[SYSTEM]) && load_ours(&cl[OURS]);
}

/* ---- queries ---- */

/* Handles differ from run to run, and the extensions are what cld3d adds. */
static bool plain_platform_info(cl_platform_info name)
{
    return name != CL_PLATFORM_EXTENSIONS && name != CL_PLATFORM_EXTENSIONS_WITH_VERSION &&
           name != CL_PLATFORM_HOST_TIMER_RESOLUTION;
}

/* What cld3d tells otherwise: what OpenCL 2.0 brought and Wine's opencl.dll has no functions for, and the LUID of the
 * adapter that the device belongs to. */
static bool told_otherwise(cl_device_info name)
{
    return (name >= 0x106C && name <= 0x106E) ||
           (name >= CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES && name <= CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE) ||
           name == CL_DEVICE_SVM_CAPABILITIES || name == CL_DEVICE_IL_VERSION || name == CL_DEVICE_ILS_WITH_VERSION ||
           name == CL_DEVICE_MAX_NUM_SUB_GROUPS || name == CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS ||
           (name >= CL_DEVICE_MAX_ON_DEVICE_QUEUES && name <= CL_DEVICE_PIPE_MAX_PACKET_SIZE);
}

static bool plain_device_info(cl_device_info name)
{
    return !told_otherwise(name) && name != CL_DEVICE_EXTENSIONS && name != CL_DEVICE_PLATFORM &&
           name != CL_DEVICE_EXTENSIONS_WITH_VERSION && name != CL_DEVICE_PARENT_DEVICE;
}

/* An answer, or what is told in place of one. */
struct answer {
    cl_int status;
    size_t size;
    unsigned char bytes[16384];
};

static void same(const struct answer answers[LIBRARIES], const char *what, cl_uint name)
{
    const size_t size = answers[SYSTEM].status == CL_SUCCESS ? answers[SYSTEM].size : 0;
    const bool right = CHECK_INT(answers[OURS].status, answers[SYSTEM].status) &&
                       (answers[SYSTEM].status != CL_SUCCESS || CHECK_INT(answers[OURS].size, size)) &&
                       CHECK_MEM(answers[OURS].bytes, answers[SYSTEM].bytes, size);
    if (!right)
        printf("# %s 0x%x\n", what, name);
}

/* The lists of both are in the same order. */
static void compare_devices(const struct opencl cl[LIBRARIES], const cl_platform_id platforms[LIBRARIES])
{
    static struct answer answers[LIBRARIES];
    cl_device_id devices[LIBRARIES][8];
    cl_uint counts[LIBRARIES] = {0, 0};
    for (int l = 0; l < LIBRARIES; l++)
        CHECK_INT(cl[l].clGetDeviceIDs(platforms[l], CL_DEVICE_TYPE_ALL, 8, devices[l], &counts[l]), CL_SUCCESS);
    if (!CHECK_INT(counts[OURS], counts[SYSTEM]))
        return;
    for (cl_uint d = 0; d < counts[OURS]; d++)
        for (cl_device_info name = 0x1000; name < 0x1070; name++) {
            for (int l = 0; l < LIBRARIES; l++)
                answers[l].status = cl[l].clGetDeviceInfo(devices[l][d], name, sizeof(answers[l].bytes),
                                                          answers[l].bytes, &answers[l].size);
            if (plain_device_info(name))
                same(answers, "device", name);
        }
}

CASE("what platforms and devices say", platforms_and_devices)
{
    static struct answer answers[LIBRARIES];
    struct opencl cl[LIBRARIES];
    cl_platform_id lists[LIBRARIES][8];
    cl_uint counts[LIBRARIES] = {0, 0};
    if (!load_both(cl))
        return;
    for (int l = 0; l < LIBRARIES; l++)
        CHECK_INT(cl[l].clGetPlatformIDs(8, lists[l], &counts[l]), CL_SUCCESS);
    if (!CHECK_INT(counts[OURS], counts[SYSTEM]) || !CHECK(counts[OURS] > 0))
        return;
    for (cl_uint p = 0; p < counts[OURS]; p++) {
        const cl_platform_id platforms[LIBRARIES] = {lists[OURS][p], lists[SYSTEM][p]};
        for (cl_platform_info name = 0x0900; name < 0x0910; name++) {
            for (int l = 0; l < LIBRARIES; l++)
                answers[l].status = cl[l].clGetPlatformInfo(platforms[l], name, sizeof(answers[l].bytes),
                                                            answers[l].bytes, &answers[l].size);
            if (plain_platform_info(name))
                same(answers, "platform", name);
        }
        compare_devices(cl, platforms);
    }
}

CASE("the formats of images", formats)
{
    static const cl_mem_object_type types[] = {
        CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,       CL_MEM_OBJECT_IMAGE2D_ARRAY,
        CL_MEM_OBJECT_IMAGE3D, CL_MEM_OBJECT_BUFFER,        CL_MEM_OBJECT_IMAGE1D_BUFFER};
    static struct answer answers[LIBRARIES];
    struct opencl cl[LIBRARIES];
    cl_context contexts[LIBRARIES];
    if (!load_both(cl))
        return;
    for (int l = 0; l < LIBRARIES; l++) {
        cl_platform_id platform = NULL;
        cl_device_id device = NULL;
        cl_int status = 1;
        CHECK_INT(cl[l].clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
        CHECK_INT(cl[l].clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
        contexts[l] = cl[l].clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (int l = 0; l < LIBRARIES; l++) {
            cl_uint count = 0;
            cl_image_format *list = (void *)answers[l].bytes;
            answers[l].status =
                cl[l].clGetSupportedImageFormats(contexts[l], CL_MEM_READ_WRITE, types[i], 256, list, &count);
            answers[l].size = count * sizeof(*list);
        }
        same(answers, "formats", types[i]);
    }
    for (int l = 0; l < LIBRARIES; l++)
        CHECK_INT(cl[l].clReleaseContext(contexts[l]), CL_SUCCESS);
}

TAP_MAIN
