/* How a process ends that uses OpenCL through the bridge: at once, with the status that it gives, whatever threads, commands and callbacks
 * there still are; and what becomes of the rest when one thread is ended. Each end is that of this program, started again.
 *
 * Wine tells a parent the status that the process has given, even if the process has crashed after that. So a shell of the host starts
 * the program, and writes down what it gets. */
#include "tap.h"

#include <windows.h>

#include <CL/cl.h>
#include <stdint.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { STATUS = 37, SECONDS = 60 };

/* ---- OpenCL, loaded by hand so that it can be unloaded ---- */

/* clang-format off */
#define FUNCTIONS(F)                                                                                                     \
    F(clGetPlatformIDs) F(clGetDeviceIDs) F(clCreateContext) F(clCreateCommandQueue) F(clCreateBuffer) F(clCreateUserEvent) \
    F(clCreateProgramWithSource) F(clBuildProgram) F(clCreateKernel) F(clSetKernelArg) F(clEnqueueNDRangeKernel)          \
    F(clEnqueueReadBuffer) F(clEnqueueFillBuffer) F(clEnqueueMarkerWithWaitList) F(clEnqueueMapBuffer)                    \
    F(clSetEventCallback) F(clSetMemObjectDestructorCallback) F(clSetUserEventStatus) F(clWaitForEvents) F(clReleaseEvent) \
    F(clRetainCommandQueue) F(clFlush) F(clFinish)
/* clang-format on */

#define MEMBER(name) __typeof__(&name) name;

static struct {
    FUNCTIONS(MEMBER)
} cl;

static HMODULE library;

static bool load(void)
{
    library = LoadLibraryA("OpenCL.dll");
#define LOAD(name) cl.name = (__typeof__(&name))(void (*)(void))GetProcAddress(library, #name);
    FUNCTIONS(LOAD)
    return library && cl.clFinish;
}

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel slow;
static cl_mem buffer;
static cl_event gate; /* never set, unless a case does */

static cl_command_queue make_queue(void)
{
    cl_int status;
    return cl.clCreateCommandQueue(context, device, 0, &status);
}

static bool open_opencl(void)
{
    static const char source[] = "kernel void slow(global uint *p, uint turns)\n"
                                 "{\n"
                                 "    uint x = p[0];\n"
                                 "    for (uint i = 0; i < turns; i++)\n"
                                 "        x = x * 1664525u + 1013904223u + (x >> 3);\n"
                                 "    p[0] = x;\n"
                                 "}\n";
    const char *text = source;
    const cl_uint turns = 1;
    const size_t one = 1;
    cl_platform_id platform = NULL;
    cl_int status = 1;
    if (!load() || cl.clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return false;
    context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = make_queue();
    cl_program program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &status);
    if (cl.clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    slow = cl.clCreateKernel(program, "slow", &status);
    buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    gate = cl.clCreateUserEvent(context, &status);
    return cl.clSetKernelArg(slow, 0, sizeof(buffer), &buffer) == CL_SUCCESS &&
           cl.clSetKernelArg(slow, 1, sizeof(turns), &turns) == CL_SUCCESS &&
           cl.clEnqueueNDRangeKernel(queue, slow, 1, NULL, &one, NULL, 0, NULL, NULL) == CL_SUCCESS &&
           cl.clFinish(queue) == CL_SUCCESS && gate;
}

/* Commands that take some seconds. */
static bool start_work(cl_event *event)
{
    const cl_uint turns = 500000000;
    const size_t one = 1;
    return cl.clSetKernelArg(slow, 1, sizeof(turns), &turns) == CL_SUCCESS &&
           cl.clEnqueueNDRangeKernel(queue, slow, 1, NULL, &one, NULL, 0, NULL, event) == CL_SUCCESS &&
           cl.clFlush(queue) == CL_SUCCESS;
}

/* ---- waits ---- */

static volatile LONG waiting, passed; /* threads before their waits, and behind them */

static const char *const waits[] = {"clWaitForEvents", "clFinish", "a blocking read", "a blocking map",
                                    "a wait for a kernel"};

/* In the wait of a number. */
static DWORD WINAPI wait_in_thread(void *number)
{
    static char bytes[4096];
    cl_command_queue own = make_queue();
    cl_event event = NULL;
    cl_int status;
    if ((uintptr_t)number == 1)
        cl.clEnqueueMarkerWithWaitList(own, 1, &gate, NULL);
    if ((uintptr_t)number == 4)
        start_work(&event);
    InterlockedIncrement(&waiting);
    switch ((uintptr_t)number) {
    case 0: cl.clWaitForEvents(1, &gate); break;
    case 1: cl.clFinish(own); break;
    case 2: cl.clEnqueueReadBuffer(own, buffer, CL_TRUE, 0, sizeof(bytes), bytes, 1, &gate, NULL); break;
    case 3: cl.clEnqueueMapBuffer(own, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 1, &gate, NULL, &status); break;
    default: cl.clWaitForEvents(1, &event);
    }
    InterlockedIncrement(&passed);
    return 1;
}

static HANDLE start_waiting(uintptr_t number)
{
    const LONG before = waiting;
    const HANDLE thread = CreateThread(NULL, 0, wait_in_thread, (void *)number, 0, NULL);
    while (waiting == before)
        Sleep(1);
    Sleep(50); /* until it is in the wait */
    return thread;
}

/* ---- what there still is at the end ---- */

static volatile LONG called;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    InterlockedIncrement(&called);
}

static void CL_CALLBACK on_memory(cl_mem memory, void *data)
{
    (void)memory, (void)data;
    InterlockedIncrement(&called);
}

static void CL_CALLBACK stay(cl_event event, cl_int status, void *data)
{
    on_event(event, status, data);
    Sleep(60000);
}

static bool nothing(void)
{
    return true;
}

static bool work(void)
{
    return start_work(NULL);
}

/* Some that never come, and many that come while the process ends. */
static bool callbacks(void)
{
    cl_int status;
    cl_event now = cl.clCreateUserEvent(context, &status), event;
    bool set = cl.clSetEventCallback(gate, CL_COMPLETE, on_event, NULL) == CL_SUCCESS &&
               cl.clSetMemObjectDestructorCallback(buffer, on_memory, NULL) == CL_SUCCESS;
    for (int i = 0; i < 200; i++) {
        set = cl.clEnqueueMarkerWithWaitList(queue, 1, &now, &event) == CL_SUCCESS && set;
        set = cl.clSetEventCallback(event, CL_COMPLETE, on_event, NULL) == CL_SUCCESS && set;
        set = cl.clReleaseEvent(event) == CL_SUCCESS && set;
    }
    return cl.clFlush(queue) == CL_SUCCESS && cl.clSetUserEventStatus(now, CL_COMPLETE) == CL_SUCCESS && set;
}

static bool in_a_callback(void)
{
    cl_int status;
    cl_event now = cl.clCreateUserEvent(context, &status);
    if (cl.clSetEventCallback(now, CL_COMPLETE, stay, NULL) != CL_SUCCESS ||
        cl.clSetUserEventStatus(now, CL_COMPLETE) != CL_SUCCESS)
        return false;
    for (int i = 0; i < 10000 && !called; i++)
        Sleep(1);
    return called;
}

static bool in_three_waits(void)
{
    return start_waiting(0) && start_waiting(1) && start_waiting(2);
}

/* A destructor of the program's plugin releases what it has, while nobody is left to wait for. Each of its releases waited for a sixth of
 * a second or longer. */
static bool plugin(void)
{
    const HMODULE library_of = LoadLibraryA("releases_at_end.dll");
    cl_command_queue *to_release = library_of ? (void *)GetProcAddress(library_of, "queue_to_release") : NULL;
    unsigned *often = library_of ? (void *)GetProcAddress(library_of, "times_to_release") : NULL;
    if (!to_release || !often)
        return false;
    for (*often = 1; *often < 500; ++*often)
        if (cl.clRetainCommandQueue(queue) != CL_SUCCESS)
            return false;
    *to_release = queue;
    return callbacks(); /* for which there are threads */
}

static const struct {
    const char *name;
    bool (*make)(void);
} states[] = {
    {"nothing to do", nothing},
    {"commands that run", work},
    {"callbacks that are due", callbacks},
    {"a callback that runs", in_a_callback},
    {"threads in three waits", in_three_waits},
    {"a plugin that releases", plugin},
};

/* ---- how it ends ---- */

static int by_return(void)
{
    return STATUS;
}

static int by_exit_process(void)
{
    ExitProcess(STATUS);
}

static DWORD WINAPI end_process(void *none)
{
    (void)none;
    ExitProcess(STATUS);
}

static int by_another_thread(void)
{
    CreateThread(NULL, 0, end_process, NULL, 0, NULL);
    Sleep(INFINITE);
    return 1;
}

/* What is due comes, or does not; nothing more of OpenCL is called. */
static int by_unloading(void)
{
    if (!FreeLibrary(library))
        return 1;
    Sleep(50);
    return STATUS;
}

static const struct {
    const char *name;
    int (*end)(void);
} ends[] = {
    {"main returns", by_return},
    {"ExitProcess", by_exit_process},
    {"ExitProcess in another thread", by_another_thread},
    {"FreeLibrary, then main returns", by_unloading},
};
enum { BY_UNLOADING = COUNT(ends) - 1 };

/* ---- a thread that is ended ---- */

static bool works(void)
{
    static cl_uint found[16];
    const cl_uint pattern = 0x12345678;
    cl_event event = NULL;
    cl_command_queue own = make_queue();
    cl_int status;
    cl_mem other = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(found), NULL, &status);
    return cl.clEnqueueFillBuffer(own, other, &pattern, 4, 0, sizeof(found), 0, NULL, &event) == CL_SUCCESS &&
           cl.clWaitForEvents(1, &event) == CL_SUCCESS &&
           cl.clEnqueueReadBuffer(own, other, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL) == CL_SUCCESS &&
           cl.clFinish(own) == CL_SUCCESS && found[15] == pattern;
}

/* OpenCL works as before: while the wait would still go on, and when what it waited for is there. The thread stays ended. */
static int end_thread(uintptr_t wait)
{
    DWORD code = 0;
    const HANDLE thread = start_waiting(wait);
    const LONG before = passed; /* rusticl 22.3 does not wait for a kernel that runs */
    if (!TerminateThread(thread, 9) || WaitForSingleObject(thread, 30000) != WAIT_OBJECT_0 ||
        !GetExitCodeThread(thread, &code) || code != 9)
        return 2;
    if (!works())
        return 3;
    if (cl.clSetUserEventStatus(gate, CL_COMPLETE) != CL_SUCCESS || cl.clWaitForEvents(1, &gate) != CL_SUCCESS)
        return 4;
    if (cl.clFinish(queue) != CL_SUCCESS || !works())
        return 5;
    Sleep(50);
    return passed != before ? 6 : STATUS;
}

/* ---- the program, started again ---- */

/* "end STATE END", or "thread WAIT". */
static int child(char **arguments)
{
    const unsigned first = (unsigned)atoi(arguments[1]);
    if (!open_opencl())
        return 10;
    if (strcmp(arguments[0], "thread") == 0)
        return end_thread(first % COUNT(waits));
    return states[first % COUNT(states)].make() ? ends[(unsigned)atoi(arguments[2]) % COUNT(ends)].end() : 11;
}

/* A shell of the host runs the program, and writes its status to a file. Wine does not pass on which OpenCL.dll it was told to load. */
static bool start_by_shell(const char *words, const char *file)
{
    static const char script[] = "export WINEDLLOVERRIDES='opencl=n,b'; timeout -k 9 $2 wine \\\"$0\\\" $1; s=$?; "
                                 "echo $s >\\\"$3.new\\\" && mv \\\"$3.new\\\" \\\"$3\\\"";
    char program[MAX_PATH], command[4 * MAX_PATH];
    STARTUPINFOA startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process = {0};
    GetModuleFileNameA(NULL, program, sizeof(program));
    snprintf(command, sizeof(command), "/bin/sh -c \"%s\" \"%s\" \"%s\" %d \"%s\"", script, program, words, SECONDS,
             file);
    return CreateProcessA("\\\\?\\unix\\bin\\sh", command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process);
}

static int read_number(const char *path)
{
    int number = -1;
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &number) != 1)
            number = -1;
        fclose(file);
        remove(path);
    }
    return number;
}

/* The status that the host sees: 124 or 137 after a hang, 128 and the number of the signal after a crash. Wine's server kills a process
 * that takes half a second for its end, as one may on a busy machine: that is no hang. */
static int status_of(const char *words)
{
    static unsigned number;
    char file[64], path[80];
    snprintf(file, sizeof(file), "/tmp/cld3d-end-%lu-%u", GetCurrentProcessId(), ++number);
    snprintf(path, sizeof(path), "Z:%s", file);
    if (!CHECK(start_by_shell(words, file)))
        return -1;
    int status = -1;
    for (int i = 0; i < (SECONDS + 20) * 100 && status < 0; i++) {
        Sleep(10);
        status = read_number(path);
        if (status == 137 && i < SECONDS * 100) {
            printf("# Wine's server killed a process that took its time: %s\n", words);
            status = STATUS;
        }
    }
    return status;
}

static void ends_well(const char *words, const char *what, const char *how)
{
    if (!CHECK_INT(status_of(words), STATUS))
        printf("# %s: %s\n", what, how);
}

/* rusticl 22.3 crashes at the end of most processes whose kernel still runs, without Wine too. */
static bool driver_crashes(unsigned state)
{
    const char *driver = getenv("OPENCL");
    return states[state].make == work && driver && strcmp(driver, "rusticl") == 0;
}

/* By one of the first two ends, and by the third. */
static void ends_with(unsigned state)
{
    char words[64];
    if (driver_crashes(state)) {
        SKIP("the driver crashes without Wine too");
        return;
    }
    for (unsigned end = state % 2; end < BY_UNLOADING; end += 2 - state % 2) {
        snprintf(words, sizeof(words), "end %u %u", state, end);
        ends_well(words, states[state].name, ends[end].name);
    }
}

#define ENDS_WITH(text, name, state) \
    CASE(text, ends_with_##name)     \
    {                                \
        ends_with(state);            \
    }
ENDS_WITH("the end with nothing to do", nothing, 0)
ENDS_WITH("the end while commands run", work, 1)
ENDS_WITH("the end while callbacks are due", callbacks, 2)
ENDS_WITH("the end while a callback runs", callback, 3)
ENDS_WITH("the end while threads are in three waits", three_waits, 4)
ENDS_WITH("releases while the process ends wait for no thread", plugin, 5)

/* With callbacks the library has a thread. */
CASE("the end after FreeLibrary", unloaded)
{
    char words[64];
    for (unsigned state = 0; state < 4; state++) {
        if (driver_crashes(state))
            continue;
        snprintf(words, sizeof(words), "end %u %u", state, BY_UNLOADING);
        ends_well(words, states[state].name, ends[BY_UNLOADING].name);
    }
}

CASE("a thread is ended in each kind of wait", ended_threads)
{
    char words[64];
    for (unsigned wait = 0; wait < COUNT(waits); wait++) {
        snprintf(words, sizeof(words), "thread %u", wait);
        ends_well(words, "a thread is ended", waits[wait]);
    }
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    if (argc > 2 && (strcmp(argv[1], "end") == 0 || strcmp(argv[1], "thread") == 0))
        return child(argv + 1);
    return tap_run(argc, argv);
}
