/* A companion of another version is refused, with a line that says so, and everything is as without one. */
#include "sharing.h"

#include "../src/companion/channel.h"

#include <string.h>

static const char *report(const char *topic)
{
    typedef const char *(CL_API_CALL * report_function)(const char *);
    const report_function ask =
        (report_function)(void (*)(void))GetProcAddress(GetModuleHandleA("OpenCL.dll"), "cld3d_report");
    const char *text = CHECK(ask != NULL) ? ask(topic) : NULL;
    return text ? text : "";
}

static void is_refused(void)
{
    CHECK_STR(report("companion"),
              "refused: its channel version is 99, that of this OpenCL.dll is " CHANNEL_VERSION_TEXT);
}

static void as_without(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = 1;
    cl_ulong svm = 1;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0) == NULL);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) != CL_SUCCESS || svm == 0);
    CHECK(clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR") == NULL);
    CHECK(clGetExtensionFunctionAddressForPlatform(platform, "clCreateFromD3D11BufferKHR") != NULL);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* tests/old_companion.c makes it long. */
static void long_list(void)
{
    static const char word[] = "cl_khr_byte_addressable_store";
    static char text[65536];
    cl_platform_id platform;
    cl_device_id device;
    size_t size = 0, found = 0;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, &size), CL_SUCCESS);
    CHECK_INT(size, strlen(text) + 1);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        found++;
    CHECK(found >= 128);
    CHECK(strstr(text, "cl_khr_d3d11_sharing") != NULL);
}

static const struct tap_test tests[] = {
    {"a companion of another version is refused", is_refused},
    {"all is as without a companion", as_without},
    {"a long list of extensions is whole", long_list},
};

TAP_MAIN(tests)
