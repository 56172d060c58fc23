/* Without an OpenCL below: the library loads, each call has a clear answer, and nothing crashes. Each case loads a copy
 * of the library under another name, since one loads its next library once. */
#include "tap.h"
#include "wines_opencl.h"

#include <windows.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>

static char folder[MAX_PATH];

static bool find_folder(void)
{
    GetModuleFileNameA(NULL, folder, sizeof(folder) - 1);
    char *name = strrchr(folder, '\\');
    if (!CHECK(name != NULL))
        return false;
    *name = '\0';
    return true;
}

struct library {
    char path[MAX_PATH + 32];
    HMODULE module;
};

/* A copy of cld3d whose next library is `next`, or the copy itself (NULL). */
static bool open_copy(struct library *library, const char *name, const char *next)
{
    char original[MAX_PATH + 32];
    if (!find_folder())
        return false;
    snprintf(original, sizeof(original), "%s\\OpenCL.dll", folder);
    snprintf(library->path, sizeof(library->path), "%s\\%s-%lu.dll", folder, name, GetCurrentProcessId());
    SetEnvironmentVariableA("CLD3D_NEXT", next ? next : library->path);
    if (!CHECK(CopyFileA(original, library->path, FALSE)))
        return false;
    library->module = LoadLibraryA(library->path);
    return CHECK(library->module != NULL);
}

static void close_copy(struct library *library)
{
    if (library->module)
        CHECK(FreeLibrary(library->module));
    CHECK(DeleteFileA(library->path));
}

#define FIND(type, library, name) ((type)(void (*)(void))GetProcAddress((library)->module, #name))

static void nothing_answers(const struct library *library)
{
    typedef const char *(CL_API_CALL * report)(const char *);
    cl_platform_id platform = NULL;
    cl_uint count = 4711;
    cl_int status = 1;
    const __typeof__(&clGetPlatformIDs) get_platforms = FIND(__typeof__(&clGetPlatformIDs), library, clGetPlatformIDs);
    const __typeof__(&clGetDeviceIDs) get_devices = FIND(__typeof__(&clGetDeviceIDs), library, clGetDeviceIDs);
    const __typeof__(&clCreateContextFromType) create =
        FIND(__typeof__(&clCreateContextFromType), library, clCreateContextFromType);
    const __typeof__(&clCreateUserEvent) create_event =
        FIND(__typeof__(&clCreateUserEvent), library, clCreateUserEvent);
    const __typeof__(&clGetExtensionFunctionAddressForPlatform) address =
        FIND(__typeof__(&clGetExtensionFunctionAddressForPlatform), library, clGetExtensionFunctionAddressForPlatform);
    const report tell = FIND(report, library, cld3d_report);
    if (!CHECK(get_platforms && get_devices && create && create_event && address && tell))
        return;
    CHECK_INT(get_platforms(1, &platform, &count), CL_PLATFORM_NOT_FOUND_KHR);
    CHECK_INT(count, 0);
    CHECK_INT(get_platforms(0, NULL, &count), CL_PLATFORM_NOT_FOUND_KHR);
    CHECK(get_devices(NULL, CL_DEVICE_TYPE_ALL, 0, NULL, &count) < 0);
    CHECK(create(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &status) == NULL);
    CHECK(status < 0);
    status = 1;
    CHECK(create_event(NULL, &status) == NULL);
    CHECK(status < 0);
    CHECK(address(NULL, "clGetDeviceIDsFromD3D11KHR") == NULL);
    CHECK(tell("next") && strncmp(tell("next"), "none: ", 6) == 0);
    CHECK(tell("version") && tell("version")[0]);
}

/* The functions of the extensions, as a program calls them that links them. */
static void sharing_answers(const struct library *library)
{
    typedef cl_int(CL_API_CALL * get_ids)(cl_platform_id, cl_uint, void *, cl_uint, cl_uint, cl_device_id *, cl_uint *);
    typedef cl_mem(CL_API_CALL * create_buffer)(cl_context, cl_mem_flags, void *, cl_int *);
    typedef cl_int(CL_API_CALL * enqueue)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                          cl_event *);
    const get_ids get_devices[] = {FIND(get_ids, library, clGetDeviceIDsFromD3D10KHR),
                                   FIND(get_ids, library, clGetDeviceIDsFromD3D11KHR)};
    const create_buffer create[] = {FIND(create_buffer, library, clCreateFromD3D10BufferKHR),
                                    FIND(create_buffer, library, clCreateFromD3D11BufferKHR)};
    const enqueue acquire[] = {FIND(enqueue, library, clEnqueueAcquireD3D10ObjectsKHR),
                               FIND(enqueue, library, clEnqueueAcquireD3D11ObjectsKHR),
                               FIND(enqueue, library, clEnqueueAcquireDX9MediaSurfacesKHR)};
    cl_uint count = 0;
    int something = 0;
    for (int i = 0; i < 2; i++) {
        cl_int status = 1;
        if (!CHECK(get_devices[i] && create[i]))
            return;
        CHECK_INT(get_devices[i](NULL, 0, &something, 0, 0, NULL, &count), CL_INVALID_PLATFORM);
        CHECK(create[i](NULL, CL_MEM_READ_WRITE, &something, &status) == NULL);
        CHECK_INT(status, CL_INVALID_CONTEXT);
    }
    for (int i = 0; i < 3; i++)
        if (CHECK(acquire[i] != NULL))
            CHECK_INT(acquire[i](NULL, 0, NULL, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
}

static void without(const char *name, const char *next)
{
    struct library library = {"", NULL};
    if (open_copy(&library, name, next)) {
        nothing_answers(&library);
        sharing_answers(&library);
    }
    close_copy(&library);
}

CASE("the next library is missing", missing)
{
    without("next-missing", "C:\\no\\such\\folder\\opencl.dll");
}

CASE("the next library is this one", itself)
{
    without("next-itself", NULL);
}

CASE("the next library is another cld3d", another_cld3d)
{
    char path[MAX_PATH + 32];
    if (!find_folder())
        return;
    snprintf(path, sizeof(path), "%s\\OpenCL.dll", folder);
    without("next-another", path);
}

CASE("the next library is no OpenCL", no_opencl)
{
    char path[MAX_PATH + 32] = "";
    GetSystemDirectoryA(path, MAX_PATH);
    strcat(path, "\\kernel32.dll");
    without("next-wrong", path);
}

CASE("the next library by its path", found)
{
    char path[MAX_PATH + 32] = "";
    struct library library = {"", NULL};
    cl_uint count = 0;
    if (!has_wines_opencl())
        return;
    GetSystemDirectoryA(path, MAX_PATH);
    strcat(path, "\\opencl.dll");
    if (open_copy(&library, "next-found", path)) {
        const __typeof__(&clGetPlatformIDs) get_platforms =
            FIND(__typeof__(&clGetPlatformIDs), &library, clGetPlatformIDs);
        CHECK_INT(get_platforms(0, NULL, &count), CL_SUCCESS);
        CHECK(count > 0);
    }
    close_copy(&library);
}

TAP_MAIN
