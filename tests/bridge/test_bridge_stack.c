/* A thread's first call of a driver that looks at the thread's stack, as ROCm does (amd.c): in the main thread, in others before
 * and after it, and in a callback. Each order is that of a process of its own, which such a driver ends else. */
#include "bridge.h"
#include "amd.h"

static const char child_mark[] = "CLD3D_TEST_STACK";

/* ---- in the process of its own ---- */

static cl_uint threads_seen(void)
{
    cl_platform_id platform = NULL;
    cl_uint count = 0;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetPlatformInfo(platform, AMD_THREADS, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

/* All that a program does first. */
static void use_opencl(void)
{
    struct base base;
    cl_uint found[2] = {0};
    if (!open_base(&base))
        return;
    cl_kernel kernel = built_kernel(&base, "kernel void k(global uint *p) { p[get_global_id(0)] = 7; }", "k");
    cl_mem buffer = make_buffer(&base, sizeof(found), found);
    const size_t two = 2;
    set_memory(kernel, 0, buffer);
    CHECK_INT(clEnqueueNDRangeKernel(base.queue, kernel, 1, NULL, &two, NULL, 0, NULL, NULL), CL_SUCCESS);
    read_all(&base, buffer, found, sizeof(found));
    CHECK_INT(found[1], 7);
    release_memory(buffer);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    close_base(&base);
}

static DWORD WINAPI use_in_thread(void *none)
{
    (void)none;
    use_opencl();
    return 0;
}

/* With a stack of so many bytes; 0: as the program says. */
static void other_thread(SIZE_T stack)
{
    HANDLE thread = CreateThread(NULL, stack, use_in_thread, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    CHECK_INT(WaitForSingleObject(thread, 60000), WAIT_OBJECT_0);
    CloseHandle(thread);
}

static atomic_uint called;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    use_opencl();
    atomic_fetch_add(&called, 1);
}

static void in_callback(void)
{
    struct base base;
    if (!open_base(&base))
        return;
    cl_event event = user_event(&base);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    set_event(event, CL_COMPLETE);
    wait_until(&called, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    close_base(&base);
}

static void main_first(void)
{
    use_opencl();
    CHECK(threads_seen() >= 1);
    other_thread(0);
    CHECK(threads_seen() >= 2);
    in_callback();
    CHECK(threads_seen() >= 3);
}

static void others_first(void)
{
    other_thread(0);
    other_thread(1 << 18);
    other_thread(1 << 26);
    use_opencl();
    CHECK(threads_seen() >= 4);
}

/* Deep in the stack of the main thread. */
static void deep(unsigned depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    if (depth)
        deep(depth - 1);
    else
        use_opencl();
    room[1] = room[0];
}

static void main_first_and_deep(void)
{
    deep(100);
    CHECK(threads_seen() >= 1);
    other_thread(0);
    use_opencl();
    CHECK(threads_seen() >= 2);
}

/* ---- the processes ---- */

static void (*const orders[])(void) = {main_first, others_first, main_first_and_deep};

/* What the process prints tells how it ended: Wine's status for one that a driver ends may be 0. */
static void runs(unsigned order)
{
    char program[MAX_PATH], command[MAX_PATH + 8], line[512], number[16];
    unsigned well = 0;
    GetModuleFileNameA(NULL, program, sizeof(program));
    snprintf(command, sizeof(command), "\"\"%s\"\"", program); /* cmd.exe takes the outer marks off */
    snprintf(number, sizeof(number), "%u", order);
    SetEnvironmentVariableA(child_mark, number);
    FILE *child = _popen(command, "r");
    SetEnvironmentVariableA(child_mark, NULL);
    if (!CHECK(child != NULL))
        return;
    while (fgets(line, sizeof(line), child)) {
        well += strncmp(line, "all is well", 11) == 0;
        line[strcspn(line, "\r\n")] = '\0';
        printf("#   %s\n", line);
    }
    _pclose(child);
    CHECK_INT(well, 1);
}

CASE("the first calls in the main thread, in others before it, and deep in its stack", orders_run)
{
    for (unsigned order = 0; order < COUNT(orders) && has_layer("libamd"); order++)
        runs(order);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    const char *order = getenv(child_mark);
    if (order) {
        orders[atoi(order)]();
        puts(tap_case.failures == 0 && tap_case.checks > 0 ? "all is well" : "checks have failed");
        return 0;
    }
    return tap_run(argc, argv);
}
