/* Threads are suspended, looked at and ended while a driver with a compiler is in the process, as debuggers, garbage
 * collectors and profilers do. Wine does it with signals, and PoCL's compiler takes them; the bridge keeps them
 * Wine's. What the driver itself needs a signal for still works. */
#include "bridge.h"

enum { THREADS = 8, TIMES = 20 };

static struct base base;

static bool open_opencl(void)
{
    return base.context || open_base(&base);
}

/* Builds a kernel and divides the first number by the second. */
static void divide(cl_int numbers[4])
{
    const size_t one = 1;
    cl_kernel kernel =
        built_kernel(&base, "kernel void divide(global int *a) { a[2] = a[0] / a[1]; a[3] = 42; }\n", "divide");
    cl_mem buffer = make_buffer(&base, 4 * sizeof(cl_int), numbers);
    set_memory(kernel, 0, buffer);
    CHECK_INT(clEnqueueNDRangeKernel(base.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    read_all(&base, buffer, numbers, 4 * sizeof(cl_int));
    release_memory(buffer);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

/* ---- threads ---- */

/* The thread has waited in the driver before, and does not any longer. */
static DWORD WINAPI count(void *counter)
{
    cl_int status = 1;
    cl_command_queue queue = clCreateCommandQueue(base.context, base.device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clFinish(queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    for (;;)
        atomic_fetch_add((atomic_uint *)counter, 1);
    return 0;
}

static HANDLE start_counting(atomic_uint *counter)
{
    atomic_store(counter, 0);
    HANDLE thread = CreateThread(NULL, 0, count, counter, 0, NULL);
    while (CHECK(thread != NULL) && atomic_load(counter) == 0)
        Sleep(0);
    return thread;
}

static bool stands_still(const atomic_uint *counter)
{
    const unsigned before = atomic_load(counter);
    Sleep(10);
    return atomic_load(counter) == before;
}

static bool comes_to_rest(const atomic_uint *counter)
{
    enum { TIMES = 3000 };
    for (int i = 0; i < TIMES; i++)
        if (stands_still(counter))
            return true;
    return false;
}

static DWORD64 instruction(const CONTEXT *of)
{
#ifdef _WIN64
    return of->Rip;
#else
    return of->Eip;
#endif
}

static void suspend(HANDLE thread, const atomic_uint *counter)
{
    CONTEXT now = {.ContextFlags = CONTEXT_CONTROL};
    CHECK_INT(SuspendThread(thread), 0);
    CHECK(GetThreadContext(thread, &now));
    CHECK(instruction(&now) != 0);
    CHECK(stands_still(counter));
    CHECK_INT(ResumeThread(thread), 1);
    const unsigned before = atomic_load(counter);
    while (atomic_load(counter) == before)
        Sleep(0);
}

/* ---- cases ---- */

CASE("a thread is suspended, looked at and resumed", suspends)
{
    static atomic_uint counter;
    cl_int numbers[4] = {6, 3, 0, 0};
    if (!open_opencl())
        return;
    HANDLE thread = start_counting(&counter);
    for (int i = 0; i < TIMES; i++)
        suspend(thread, &counter);
    divide(numbers);
    suspend(thread, &counter);
    CHECK(TerminateThread(thread, 0));
    CHECK_INT(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CloseHandle(thread);
}

CASE("threads are ended close together", ends_together)
{
    static atomic_uint counters[THREADS];
    HANDLE threads[THREADS];
    if (!open_opencl())
        return;
    for (int time = 0; time < 4; time++) {
        for (int i = 0; i < THREADS; i++)
            threads[i] = start_counting(&counters[i]);
        for (int i = 0; i < THREADS; i++)
            CHECK(TerminateThread(threads[i], 0));
        CHECK_INT(WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE), WAIT_OBJECT_0);
        for (int i = 0; i < THREADS; i++)
            CloseHandle(threads[i]);
        Sleep(100); /* Wine calls a thread ended before it is */
        for (int i = 0; i < THREADS; i++)
            CHECK(comes_to_rest(&counters[i]));
    }
    unsigned last[THREADS];
    for (int i = 0; i < THREADS; i++)
        last[i] = atomic_load(&counters[i]);
    Sleep(1000); /* one that runs on gets its turn, however many do */
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(atomic_load(&counters[i]), last[i]);
}

/* What comes out is not defined, but the kernel goes on: PoCL has a handler for it, for 64 bits. */
CASE("a kernel divides by zero", divides_by_zero)
{
    cl_int numbers[4] = {6, 0, 0, 0};
    if (!open_opencl())
        return;
    if (sizeof(void *) == 4 && !in_wow64() && is_pocl(base.platform)) {
        SKIP("in 32 bits PoCL ends any program whose kernel divides by zero");
        return;
    }
    divide(numbers);
    CHECK_INT(numbers[3], 42);
}

TAP_MAIN
