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

enum { OURS, SYSTEM, LIBRARIES };

static struct {
    FUNCTIONS(MEMBER)
} cl[LIBRARIES];

/* Only cld3d's has a report of its own. */
static bool load(int which, const char *path)
{
    HMODULE library = LoadLibraryA(path);
    bool whole = CHECK(library != NULL) && CHECK_INT(GetProcAddress(library, "cld3d_report") != NULL, which == OURS);
#define LOAD(name)                                                                      \
    cl[which].name = (__typeof__(&name))(void (*)(void))GetProcAddress(library, #name); \
    whole = CHECK(cl[which].name != NULL) && whole;
    FUNCTIONS(LOAD)
    return whole;
}

static bool load_both(void)
{
    char ours[MAX_PATH + 16] = "", systems[MAX_PATH + 16] = "";
    BOOL is_wow64 = FALSE;
    if (IsWow64Process(GetCurrentProcess(), &is_wow64) && is_wow64 &&
        !LoadLibraryA("C:\\windows\\system32\\opencl.dll")) {
        SKIP("Wine has no OpenCL for 32-bit programs here");
        return false;
    }
    GetModuleFileNameA(NULL, ours, MAX_PATH);
    GetSystemDirectoryA(systems, MAX_PATH);
    char *name = strrchr(ours, '\\');
    if (!CHECK(name != NULL && systems[0]))
        return false;
    strcpy(name, "\\OpenCL.dll");
    strcat(systems, "\\OpenCL.dll");
    return load(SYSTEM, systems) && load(OURS, ours);
}

/* ---- queries ---- */

/* What cld3d tells otherwise: handles and what they belong to, which differ from run to run; what OpenCL 2.0 brought and Wine's
 * opencl.dll has no functions for; the LUID of the adapter that the device belongs to; and the extensions. */
static bool told_otherwise(cl_uint name)
{
    return name == CL_PLATFORM_EXTENSIONS || name == CL_PLATFORM_EXTENSIONS_WITH_VERSION ||
           name == CL_PLATFORM_HOST_TIMER_RESOLUTION || name == CL_DEVICE_EXTENSIONS || name == CL_DEVICE_PLATFORM ||
           name == CL_DEVICE_EXTENSIONS_WITH_VERSION || name == CL_DEVICE_PARENT_DEVICE ||
           (name >= 0x106C && name <= 0x106E) ||
           (name >= CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES && name <= CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE) ||
           name == CL_DEVICE_SVM_CAPABILITIES || name == CL_DEVICE_IL_VERSION || name == CL_DEVICE_ILS_WITH_VERSION ||
           name == CL_DEVICE_MAX_NUM_SUB_GROUPS || name == CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS ||
           (name >= CL_DEVICE_MAX_ON_DEVICE_QUEUES && name <= CL_DEVICE_PIPE_MAX_PACKET_SIZE);
}

/* An answer, or what is told in place of one. */
static struct {
    cl_int status;
    size_t size;
    unsigned char bytes[16384];
} answers[LIBRARIES];

/* Both answers to a question, which sets `status` and `size` and fills `bytes`. */
#define SAME(what, name, question)                                                            \
    do {                                                                                      \
        for (int l = 0; l < LIBRARIES; l++)                                                   \
            answers[l].status = (question);                                                   \
        const size_t right = answers[SYSTEM].status == CL_SUCCESS ? answers[SYSTEM].size : 0; \
        if (!CHECK_INT(answers[OURS].status, answers[SYSTEM].status) ||                       \
            (right && !CHECK_INT(answers[OURS].size, right)) ||                               \
            !CHECK_MEM(answers[OURS].bytes, answers[SYSTEM].bytes, right))                    \
            printf("# %s 0x%x\n", what, name);                                                \
    } while (0)

static cl_int formats_of(int l, cl_context context, cl_mem_object_type type)
{
    cl_uint count = 0;
    const cl_int status = cl[l].clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, type, 256,
                                                           (cl_image_format *)(void *)answers[l].bytes, &count);
    answers[l].size = count * sizeof(cl_image_format);
    return status;
}

static void compare_device(const cl_device_id of[LIBRARIES])
{
    cl_context contexts[LIBRARIES];
    cl_int status = 1;
    for (cl_device_info name = 0x1000; name < 0x1070; name++)
        if (!told_otherwise(name))
            SAME("device", name,
                 cl[l].clGetDeviceInfo(of[l], name, sizeof(answers[l].bytes), answers[l].bytes, &answers[l].size));
    for (int l = 0; l < LIBRARIES; l++) {
        contexts[l] = cl[l].clCreateContext(NULL, 1, &of[l], NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
    for (cl_mem_object_type type = CL_MEM_OBJECT_BUFFER; type <= CL_MEM_OBJECT_IMAGE1D_BUFFER; type++)
        SAME("formats", type, formats_of(l, contexts[l], type));
    for (int l = 0; l < LIBRARIES; l++)
        CHECK_INT(cl[l].clReleaseContext(contexts[l]), CL_SUCCESS);
}

/* The lists of both are in the same order. */
CASE("what platforms and devices say, and the formats of images", answers_of_both)
{
    cl_platform_id platforms[LIBRARIES][8];
    cl_device_id devices[LIBRARIES][8];
    cl_uint counts[LIBRARIES] = {0, 0}, device_counts[LIBRARIES] = {0, 0};
    if (!load_both())
        return;
    for (int l = 0; l < LIBRARIES; l++)
        CHECK_INT(cl[l].clGetPlatformIDs(8, platforms[l], &counts[l]), CL_SUCCESS);
    if (!CHECK_INT(counts[OURS], counts[SYSTEM]) || !CHECK(counts[OURS] > 0))
        return;
    for (cl_uint p = 0; p < counts[OURS]; p++) {
        for (cl_platform_info name = 0x0900; name < 0x0910; name++)
            if (!told_otherwise(name))
                SAME("platform", name,
                     cl[l].clGetPlatformInfo(platforms[l][p], name, sizeof(answers[l].bytes), answers[l].bytes,
                                             &answers[l].size));
        for (int l = 0; l < LIBRARIES; l++)
            CHECK_INT(cl[l].clGetDeviceIDs(platforms[l][p], CL_DEVICE_TYPE_ALL, 8, devices[l], &device_counts[l]),
                      CL_SUCCESS);
        CHECK_INT(device_counts[OURS], device_counts[SYSTEM]);
        for (cl_uint d = 0; d < device_counts[OURS] && d < device_counts[SYSTEM]; d++)
            compare_device((cl_device_id[]){devices[OURS][d], devices[SYSTEM][d]});
    }
}

TAP_MAIN
