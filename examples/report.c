#include "report.h"

#include <CL/cl_ext.h>
#include <d3d11.h>
#include <CL/cl_d3d11.h>
#include <CL/cl_dx9_media_sharing.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct code_name {
    long code;
    const char *name;
};

#define NAME(code)  \
    {               \
        code, #code \
    }

static const struct code_name cl_names[] = {
    NAME(CL_DEVICE_NOT_FOUND),
    NAME(CL_DEVICE_NOT_AVAILABLE),
    NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAME(CL_OUT_OF_RESOURCES),
    NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_PLATFORM),
    NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_QUEUE_PROPERTIES),
    NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_MEM_OBJECT),
    NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    NAME(CL_INVALID_IMAGE_SIZE),
    NAME(CL_INVALID_BUILD_OPTIONS),
    NAME(CL_INVALID_PROGRAM),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME),
    NAME(CL_INVALID_KERNEL),
    NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE),
    NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_EVENT_WAIT_LIST),
    NAME(CL_INVALID_EVENT),
    NAME(CL_INVALID_OPERATION),
    NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    NAME(CL_INVALID_PROPERTY),
    NAME(CL_PLATFORM_NOT_FOUND_KHR),
    NAME(CL_INVALID_D3D11_DEVICE_KHR),
    NAME(CL_INVALID_D3D11_RESOURCE_KHR),
    NAME(CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR),
    NAME(CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR),
    NAME(CL_INVALID_DX9_MEDIA_ADAPTER_KHR),
    NAME(CL_INVALID_DX9_MEDIA_SURFACE_KHR),
    NAME(CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR),
    NAME(CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR),
};

static const struct code_name d3d_names[] = {
    NAME(E_FAIL),
    NAME(E_INVALIDARG),
    NAME(E_NOINTERFACE),
    NAME(E_NOTIMPL),
    NAME(E_OUTOFMEMORY),
    NAME(DXGI_ERROR_DEVICE_HUNG),
    NAME(DXGI_ERROR_DEVICE_REMOVED),
    NAME(DXGI_ERROR_DEVICE_RESET),
    NAME(DXGI_ERROR_DRIVER_INTERNAL_ERROR),
    NAME(DXGI_ERROR_INVALID_CALL),
    NAME(DXGI_ERROR_UNSUPPORTED),
    NAME(D3DERR_DEVICEHUNG),
    NAME(D3DERR_DEVICELOST),
    NAME(D3DERR_DEVICEREMOVED),
    NAME(D3DERR_DRIVERINTERNALERROR),
    NAME(D3DERR_INVALIDCALL),
    NAME(D3DERR_NOTAVAILABLE),
    NAME(D3DERR_OUTOFVIDEOMEMORY),
};

#undef NAME

static const char *name_of(const struct code_name *names, size_t count, long code)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].code == code)
            return names[i].name;
    return "an unknown code";
}

static FILE *progress_stream;

void report_to(FILE *stream)
{
    progress_stream = stream;
}

void step(const char *format, ...)
{
    FILE *stream = progress_stream ? progress_stream : stdout;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stream, format, arguments);
    va_end(arguments);
    fputc('\n', stream);
    fflush(stream);
}

void progress(unsigned done, unsigned total, double per_second)
{
    enum { WIDTH = 40 };
    FILE *stream = progress_stream ? progress_stream : stdout;
    const unsigned full = total ? (unsigned)((unsigned long long)done * WIDTH / total) : WIDTH;
    fputs("\r[", stream);
    for (unsigned i = 0; i < WIDTH; i++)
        fputc(i < full ? '#' : '.', stream);
    fprintf(stream, "] %u of %u, %.1f per second ", done, total, per_second);
    if (done == total)
        fputc('\n', stream);
    fflush(stream);
}

/* The program's file without folders and ".exe". */
static const char *program_name(void)
{
    static char path[MAX_PATH];
    if (!GetModuleFileNameA(NULL, path, sizeof(path)))
        return "demo";
    char *dot = strrchr(path, '.'), *slash = strrchr(path, '\\');
    if (dot && dot > slash)
        *dot = '\0';
    return slash ? slash + 1 : path;
}

_Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_name());
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check_cl(cl_int code, const char *call, const char *advice)
{
    if (code == CL_SUCCESS)
        return;
    const char *name = name_of(cl_names, sizeof(cl_names) / sizeof(*cl_names), code);
    fail("%s returned %s (%d): %s", call, name, (int)code, advice);
}

void check_d3d(HRESULT result, const char *call, const char *advice)
{
    if (SUCCEEDED(result))
        return;
    const char *name = name_of(d3d_names, sizeof(d3d_names) / sizeof(*d3d_names), result);
    fail("%s returned %s (0x%08lx): %s", call, name, (unsigned long)result, advice);
}

double clock_ms(void)
{
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return 1000.0 * (double)ticks.QuadPart / (double)per_second.QuadPart;
}
