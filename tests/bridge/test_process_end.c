/* A program that returns from `main` while threads of ours are there: Windows ends them, and then a destructor of the program's
 * plugin releases what it has. Nobody is left to wait for. The program is this one, started again. */
#include "tap.h"

#include <windows.h>

#include <CL/cl.h>

static const char child_mark[] = "CLD3D_TEST_ENDS";

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    InterlockedExchange(data, 1);
}

static cl_command_queue make_queue(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int status;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    return context ? clCreateCommandQueue(context, device, 0, &status) : NULL;
}

/* After this there is a thread that has called a callback, and one that waited for its event. */
static bool call_back(cl_command_queue queue)
{
    static LONG called;
    cl_event event;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS ||
        clSetEventCallback(event, CL_COMPLETE, on_event, &called) != CL_SUCCESS)
        return false;
    clFinish(queue);
    for (unsigned i = 0; i < 10000 && !called; i++)
        Sleep(1);
    return clReleaseEvent(event) == CL_SUCCESS && called;
}

/* Each of the plugin's releases waited for a sixth of a second or longer. */
enum { RELEASES = 500, MOST_SECONDS = 15 };

static int end_with_threads(void)
{
    HMODULE plugin = LoadLibraryA("releases_at_end.dll");
    cl_command_queue *queue = plugin ? (void *)GetProcAddress(plugin, "queue_to_release") : NULL;
    unsigned *times = plugin ? (void *)GetProcAddress(plugin, "times_to_release") : NULL;
    cl_command_queue made = make_queue();
    if (!queue || !times || !made)
        return 2;
    for (unsigned i = 1; i < RELEASES; i++)
        if (clRetainCommandQueue(made) != CL_SUCCESS)
            return 3;
    *queue = made;
    *times = RELEASES;
    return call_back(made) ? 0 : 4; /* at last: the threads stay for half a second */
}

CASE("releases while the process ends wait for no thread", releases)
{
    char program[MAX_PATH];
    STARTUPINFOA startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process;
    DWORD code = 1;
    GetModuleFileNameA(NULL, program, sizeof(program));
    SetEnvironmentVariableA(child_mark, "1");
    if (!CHECK(CreateProcessA(program, NULL, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process)))
        return;
    const DWORD ended = WaitForSingleObject(process.hProcess, MOST_SECONDS * 1000);
    CHECK_INT(ended, WAIT_OBJECT_0);
    if (ended != WAIT_OBJECT_0)
        TerminateProcess(process.hProcess, 9);
    else if (CHECK(GetExitCodeProcess(process.hProcess, &code)))
        CHECK_INT(code, 0);
    CloseHandle(process.hThread);
    CloseHandle(process.hProcess);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    if (GetEnvironmentVariableA(child_mark, NULL, 0) != 0)
        return end_with_threads();
    return tap_run(argc, argv);
}
