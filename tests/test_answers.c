/* Queries that Wine's own opencl.dll answers wrongly, or not at all, with and without the host companion. */
#include "tap.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdlib.h>

enum { ROOM = 16384, MOST_NAMES = 256 };

static cl_platform_id platform;
static cl_device_id device;

static bool find(void)
{
    return CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS) &&
           CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
}

static cl_int ask(bool of_device, cl_uint name, size_t room, void *to, size_t *size)
{
    return of_device ? clGetDeviceInfo(device, name, room, to, size)
                     : clGetPlatformInfo(platform, name, room, to, size);
}

/* ---- what a device can execute ---- */

static void execution(void)
{
    cl_device_exec_capabilities capabilities = 0;
    unsigned char small[4] = {0xAA, 0xAA, 0xAA, 0xAA};
    size_t size = 0;
    if (!find())
        return;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(capabilities));
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL),
              CL_SUCCESS);
    /* A kernel of the host's own can't be called from here. */
    CHECK_INT(capabilities, CL_EXEC_KERNEL);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(small), small, NULL), CL_INVALID_VALUE);
    for (unsigned i = 0; i < sizeof(small); i++)
        CHECK_INT(small[i], 0xAA);
    CHECK_INT(clGetDeviceInfo(NULL, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, NULL),
              CL_INVALID_DEVICE);
}

/* ---- extensions ---- */

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static unsigned count_words(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text != ' ' && (text[1] == ' ' || !text[1]);
    return count;
}

static bool get_words(bool of_device, char *text)
{
    const cl_uint name = of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS;
    size_t size = 0, again = 0;
    memset(text, 0, ROOM);
    return CHECK_INT(ask(of_device, name, 0, NULL, &size), CL_SUCCESS) &&
           CHECK_INT(ask(of_device, name, size, text, &again), CL_SUCCESS) && CHECK_INT(again, size) &&
           CHECK_INT(strlen(text) + 1, size) && CHECK_INT(ask(of_device, name, size - 1, text, NULL), CL_INVALID_VALUE);
}

static void same_names(bool of_device)
{
    static char text[ROOM];
    static cl_name_version list[MOST_NAMES];
    const cl_uint name = of_device ? CL_DEVICE_EXTENSIONS_WITH_VERSION : CL_PLATFORM_EXTENSIONS_WITH_VERSION;
    size_t size = 0;
    if (!get_words(of_device, text))
        return;
    if (ask(of_device, name, 0, NULL, &size) != CL_SUCCESS) {
        SKIP("this OpenCL is older than 3.0");
        return;
    }
    if (!CHECK(size <= sizeof(list)) || !CHECK_INT(ask(of_device, name, size, list, NULL), CL_SUCCESS))
        return;
    CHECK_INT(ask(of_device, name, size - 1, list, NULL), CL_INVALID_VALUE);
    CHECK_INT(size / sizeof(list[0]), count_words(text));
    for (size_t i = 0; i < size / sizeof(list[0]); i++)
        if (!CHECK(has_word(text, list[i].name)))
            printf("# %s\n", list[i].name);
}

/* The string and the list with versions name the same. */
static void both_lists(void)
{
    if (!find())
        return;
    same_names(false);
    same_names(true);
}

/* What is nothing without its functions is listed only if a program can get them. */
static void functions_too(void)
{
    static const struct {
        const char *extension, *function;
    } known[] = {
        {"cl_khr_command_buffer", "clCreateCommandBufferKHR"},
        {"cl_pocl_content_size", "clSetContentSizeBufferPoCL"},
        {"cl_khr_create_command_queue", "clCreateCommandQueueWithPropertiesKHR"},
        {"cl_khr_d3d11_sharing", "clCreateFromD3D11BufferKHR"},
        {"cl_khr_dx9_media_sharing", "clCreateFromDX9MediaSurfaceKHR"},
    };
    static char text[ROOM];
    if (!find())
        return;
    for (int of_device = 0; of_device < 2; of_device++) {
        if (!get_words(of_device, text))
            return;
        for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            if (has_word(text, known[i].extension) &&
                !CHECK(clGetExtensionFunctionAddressForPlatform(platform, known[i].function) != NULL))
                printf("# %s\n", known[i].function);
    }
}

/* ---- what is wrong ---- */

static void bad_queries(void)
{
    static const cl_uint device_names[] = {CL_DEVICE_EXTENSIONS, CL_DEVICE_EXTENSIONS_WITH_VERSION,
                                           CL_DEVICE_EXECUTION_CAPABILITIES, CL_DEVICE_NAME,
                                           CL_DEVICE_SVM_CAPABILITIES};
    static const cl_uint platform_names[] = {CL_PLATFORM_EXTENSIONS, CL_PLATFORM_EXTENSIONS_WITH_VERSION,
                                             CL_PLATFORM_NAME};
    static void *nothing[64];
    char text[16];
    size_t size = 4711;
    if (!find())
        return;
    cl_device_id right = device;
    cl_platform_id right_platform = platform;
    void *wrong[] = {NULL, nothing, right_platform};
    for (int w = 0; w < 3; w++) {
        device = wrong[w];
        for (unsigned i = 0; i < sizeof(device_names) / sizeof(device_names[0]); i++) {
            CHECK_INT(ask(true, device_names[i], 0, NULL, &size), CL_INVALID_DEVICE);
            CHECK_INT(ask(true, device_names[i], sizeof(text), text, NULL), CL_INVALID_DEVICE);
        }
    }
    device = right;
    wrong[2] = right;
    for (int w = 1; w < 3; w++) { /* what NULL means is the implementation's choice */
        platform = wrong[w];
        for (unsigned i = 0; i < sizeof(platform_names) / sizeof(platform_names[0]); i++)
            CHECK_INT(ask(false, platform_names[i], 0, NULL, &size), CL_INVALID_PLATFORM);
    }
    platform = right_platform;
    CHECK_INT(size, 4711);
    for (int of_device = 0; of_device < 2; of_device++) {
        CHECK_INT(ask(of_device, 0x4711, 0, NULL, &size), CL_INVALID_VALUE);
        CHECK_INT(ask(of_device, of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(ask(of_device, of_device ? CL_DEVICE_EXTENSIONS : CL_PLATFORM_EXTENSIONS, 0, text, NULL),
                  CL_INVALID_VALUE);
    }
    CHECK_INT(ask(true, CL_DEVICE_EXECUTION_CAPABILITIES, 0, text, NULL), CL_INVALID_VALUE);
    CHECK_INT(ask(true, CL_DEVICE_EXECUTION_CAPABILITIES, 0, NULL, NULL), CL_SUCCESS);
}

/* What the host would look into. */
static void no_platforms_and_devices(void)
{
    static void *nothing[64];
    cl_uint count = 4711;
    cl_int status = 1;
    if (!find())
        return;
    void *wrong[] = {nothing, device, (void *)(size_t)16};
    for (int w = 0; w < 3; w++) {
        CHECK_INT(clGetDeviceIDs(wrong[w], CL_DEVICE_TYPE_ALL, 0, NULL, &count), CL_INVALID_PLATFORM);
        CHECK_INT(clUnloadPlatformCompiler(wrong[w]), CL_INVALID_PLATFORM);
    }
    CHECK_INT(count, 4711);
    wrong[1] = platform;
    for (int w = 0; w < 3; w++) {
        const cl_device_id both[] = {device, wrong[w]};
        CHECK(clCreateContext(NULL, 1, &both[1], NULL, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_DEVICE);
        CHECK(clCreateContext(NULL, 2, both, NULL, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_DEVICE);
    }
}

/* An error of OpenCL's, also where the driver crashes; and no object. */
static bool refused(const void *object, cl_int *status)
{
    const bool error = *status < 0 && *status > -2000;
    *status = CL_SUCCESS;
    return error && !object;
}

static void crashes(void)
{
    static void *nothing[64];
    const char *text = "kernel void k(global int *p) {}";
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    const cl_buffer_region region = {0, 16};
    void *const bad = nothing;
    cl_int status = CL_SUCCESS;
    if (!find())
        return;
    CHECK(refused(clCreateCommandQueue(bad, device, 0, &status), &status));
    CHECK(refused(clCreateCommandQueueWithProperties(bad, device, NULL, &status), &status));
    CHECK(refused(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, &status), &status));
    CHECK(refused(clCreateSubBuffer(bad, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status), &status));
    CHECK(refused(clCreateImage(bad, CL_MEM_READ_WRITE, &format, &desc, NULL, &status), &status));
    CHECK(refused(clCreateSampler(bad, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status), &status));
    CHECK(refused(clCreateProgramWithSource(bad, 1, &text, NULL, &status), &status));
    CHECK(refused(clCreateKernel(bad, "k", &status), &status));
    CHECK(refused(clCreateUserEvent(bad, &status), &status));
    CHECK(refused(clEnqueueMapBuffer(bad, bad, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status), &status));
    CHECK(clCreateBuffer(bad, CL_MEM_READ_WRITE, 64, NULL, NULL) == NULL);
    cl_int codes[] = {clRetainContext(bad), clReleaseContext(bad),        clFinish(bad),
                      clFlush(bad),         clReleaseMemObject(bad),      clReleaseKernel(bad),
                      clRetainProgram(bad), clSetUserEventStatus(bad, 0), clReleaseCommandQueue(bad)};
    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        CHECK(refused(NULL, &codes[i]));
}

/* ---- the rest ---- */

static void data_without_a_function(void)
{
    const char *text = "kernel void k(global int *p) {}";
    cl_int status = 1;
    if (!find())
        return;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, &status), CL_INVALID_VALUE);
    CHECK_INT(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

static void compiler(void)
{
    for (int i = 0; i < 2; i++)
        CHECK_INT(clUnloadCompiler(), CL_SUCCESS);
    if (find())
        CHECK_INT(clUnloadPlatformCompiler(platform), CL_SUCCESS);
}

static const struct tap_test tests[] = {
    {"what a device can execute", execution},
    {"extensions with and without version", both_lists},
    {"extensions and their functions", functions_too},
    {"queries that are wrong", bad_queries},
    {"what is no platform or device", no_platforms_and_devices},
    {"calls in which the driver crashes", crashes},
    {"data for a build's function, and no function", data_without_a_function},
    {"the compiler is unloaded", compiler},
};

TAP_MAIN(tests)
