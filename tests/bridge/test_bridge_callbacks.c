/* Callbacks through the bridge: each arrives once, on a thread that Windows knows, and may call OpenCL and Windows. The drivers' own
 * come from threads of the host; notices.c calls those that the drivers here don't. */
#include "bridge.h"

/* ---- where callbacks run ---- */

static DWORD slot = TLS_OUT_OF_INDEXES;
static atomic_uint strange; /* callbacks elsewhere */

/* A thread of Windows has a TEB, with the limits of its stack, slots and what else the C library and Windows need. */
static bool on_a_windows_thread(void)
{
    const NT_TIB *block = (const NT_TIB *)NtCurrentTeb();
    const char here = 0;
    const HANDLE thread = OpenThread(THREAD_QUERY_INFORMATION, FALSE, GetCurrentThreadId());
    void *memory = HeapAlloc(GetProcessHeap(), 0, 100);
    const bool right = block && block->Self == block && (const void *)&here >= block->StackLimit &&
                       (const void *)&here < block->StackBase && thread &&
                       GetProcessIdOfThread(thread) == GetCurrentProcessId() && memory && TlsSetValue(slot, memory) &&
                       TlsGetValue(slot) == memory && TlsSetValue(slot, NULL);
    HeapFree(GetProcessHeap(), 0, memory);
    CloseHandle(thread);
    return right;
}

static void note_place(void)
{
    if (!on_a_windows_thread())
        atomic_fetch_add(&strange, 1);
}

static bool open_callbacks(struct base *base)
{
    if (slot == TLS_OUT_OF_INDEXES)
        slot = TlsAlloc();
    atomic_store(&strange, 0);
    return open_base(base);
}

/* ---- events ---- */

enum { EVENTS = 10000, EVERY = 100, GATES = EVENTS / 1000 };

static struct base world;
static atomic_uint counts[EVENTS], total, inner, wrong;
static cl_event gates[GATES];

static void CL_CALLBACK on_inner(cl_event event, cl_int status, void *data)
{
    (void)data;
    note_place();
    if (status != CL_COMPLETE || clReleaseEvent(event) != CL_SUCCESS)
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&inner, 1);
}

/* Another command with a callback of its own. A queue that goes cannot wait for this one. */
static bool enqueue_inner(void)
{
    cl_int status = UNSET;
    cl_event event = NULL;
    cl_command_queue own = clCreateCommandQueue(world.context, world.device, 0, &status);
    return clReleaseCommandQueue(own) == CL_SUCCESS &&
           clEnqueueMarkerWithWaitList(world.queue, 0, NULL, &event) == CL_SUCCESS &&
           clSetEventCallback(event, CL_COMPLETE, on_inner, NULL) == CL_SUCCESS && clFlush(world.queue) == CL_SUCCESS;
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    const unsigned place = (unsigned)(uintptr_t)data;
    cl_int asked = UNSET;
    cl_context context = NULL;
    note_place();
    bool right = place < EVENTS && atomic_fetch_add(&counts[place % EVENTS], 1) == 0 && status == CL_COMPLETE;
    right = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(asked), &asked, NULL) == CL_SUCCESS &&
            asked == CL_COMPLETE && right;
    right = clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL) == CL_SUCCESS &&
            context == world.context && right;
    if (place % EVERY == EVERY / 2)
        right = enqueue_inner() && right;
    if (place % 1000 == 500)
        right = clSetUserEventStatus(gates[place / 1000], CL_COMPLETE) == CL_SUCCESS && right;
    if (!right)
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&total, 1);
}

static void enqueue_many(const struct base *base, cl_mem buffer, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        cl_event event = NULL;
        CHECK_INT(clEnqueueFillBuffer(base->queue, buffer, "ab", 2, 0, 64, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, (void *)(uintptr_t)i), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        if (i % 64 == 63)
            CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    }
    CHECK_INT(clFinish(base->queue), CL_SUCCESS);
}

static bool open_events(void)
{
    atomic_store(&total, 0);
    atomic_store(&inner, 0);
    atomic_store(&wrong, 0);
    for (unsigned i = 0; i < EVENTS; i++)
        atomic_store(&counts[i], 0);
    if (!open_callbacks(&world))
        return false;
    for (unsigned i = 0; i < GATES; i++)
        gates[i] = user_event(&world);
    return true;
}

static void close_events(void)
{
    wait_until(&total, EVENTS);
    wait_until(&inner, EVENTS / EVERY);
    CHECK_INT(clWaitForEvents(GATES, gates), CL_SUCCESS);
    Sleep(20);
    unsigned once = 0;
    for (unsigned i = 0; i < EVENTS; i++)
        once += atomic_load(&counts[i]) == 1;
    CHECK_INT(once, EVENTS);
    CHECK_INT(total, EVENTS);
    CHECK_INT(wrong, 0);
    CHECK_INT(strange, 0);
    for (unsigned i = 0; i < GATES; i++)
        CHECK_INT(clReleaseEvent(gates[i]), CL_SUCCESS);
    close_base(&world);
}

enum { THREADS = 4 };

static DWORD WINAPI enqueue_part(void *first)
{
    struct base own = world;
    cl_int status = UNSET;
    own.queue = clCreateCommandQueue(own.context, own.device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    cl_mem buffer = make_buffer(&own, 64, NULL);
    enqueue_many(&own, buffer, (unsigned)(uintptr_t)first, EVENTS / THREADS);
    release_memory(buffer);
    CHECK_INT(clReleaseCommandQueue(own.queue), CL_SUCCESS);
    return 0;
}

CASE("ten thousand events of several threads", in_threads)
{
    HANDLE threads[THREADS];
    if (!open_events())
        return;
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = CreateThread(NULL, 0, enqueue_part, (void *)(i * (EVENTS / THREADS)), 0, NULL);
    CHECK_INT(WaitForMultipleObjects(THREADS, threads, TRUE, 120000), WAIT_OBJECT_0);
    for (int i = 0; i < THREADS; i++)
        CloseHandle(threads[i]);
    close_events();
}

/* ---- commands that fail ---- */

static atomic_uint failed;

static void CL_CALLBACK on_failure(cl_event event, cl_int status, void *data)
{
    (void)event;
    note_place();
    *(cl_int *)data = status;
    atomic_fetch_add(&failed, 1);
}

/* Some drivers never call a function that was registered before the failure, and call one that was registered later with success. */
CASE("a command and a user event that fail", failures)
{
    struct base base;
    cl_event marker = NULL;
    cl_int early = UNSET, late = UNSET, of_gate = UNSET;
    if (!open_callbacks(&base))
        return;
    cl_event gate = user_event(&base);
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 1, &gate, &marker), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(gate, CL_COMPLETE, on_failure, &of_gate), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(marker, CL_COMPLETE, on_failure, &early), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    CHECK_INT(failed, 0);
    set_event(gate, -4711);
    wait_until(&failed, 2);
    CHECK_INT(clSetEventCallback(marker, CL_COMPLETE, on_failure, &late), CL_SUCCESS);
    wait_until(&failed, 3);
    CHECK_INT(of_gate, -4711);
    CHECK(early < 0 && early == event_status(marker));
    CHECK_INT(late, early);
    CHECK_INT(strange, 0);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    close_base(&base);
}

/* ---- memory ---- */

enum { ENDS = 5 };

static struct {
    atomic_uint count;
    void *objects[ENDS * 2];
    unsigned order[ENDS * 2];
} ends;

static void note_end(void *object, void *data)
{
    note_place();
    const unsigned at = atomic_load(&ends.count);
    if (at < COUNT(ends.order)) {
        ends.objects[at] = object;
        ends.order[at] = (unsigned)(uintptr_t)data;
    }
    atomic_fetch_add(&ends.count, 1);
}

static void ends_are(const void *object, unsigned count)
{
    if (!wait_until(&ends.count, count))
        return;
    for (unsigned i = 0; i < count; i++) {
        CHECK(ends.objects[i] == object);
        CHECK_INT(ends.order[i], count - i);
    }
    Sleep(20);
    CHECK_INT(ends.count, count);
    CHECK_INT(strange, 0);
}

/* ---- programs ---- */

static struct {
    atomic_uint count;
    cl_program program;
    void *data;
    cl_build_status status;
} told;

static void CL_CALLBACK on_program(cl_program program, void *data)
{
    note_place();
    told.program = program;
    told.data = data;
    clGetProgramBuildInfo(program, world.device, CL_PROGRAM_BUILD_STATUS, sizeof(told.status), &told.status, NULL);
    atomic_fetch_add(&told.count, 1);
}

static void was_told(cl_program program, cl_build_status status)
{
    static unsigned so_far;
    if (wait_until(&told.count, ++so_far)) {
        CHECK(told.program == program);
        CHECK(told.data == &told);
        CHECK_INT(told.status, status);
        CHECK_INT(strange, 0);
    }
}

CASE("programs that are built, compiled and linked", builds)
{
    cl_int status = UNSET;
    if (!open_callbacks(&world))
        return;
    cl_program program = program_of(&world, "kernel void k(global int *p) { p[0] = 1; }");
    CHECK_INT(clBuildProgram(program, 1, &world.device, "", on_program, &told), CL_SUCCESS);
    was_told(program, CL_BUILD_SUCCESS);
    CHECK_INT(clCompileProgram(program, 1, &world.device, "", 0, NULL, NULL, on_program, &told), CL_SUCCESS);
    was_told(program, CL_BUILD_SUCCESS);
    cl_program linked = clLinkProgram(world.context, 1, &world.device, "", 1, &program, on_program, &told, &status);
    CHECK_INT(status, CL_SUCCESS);
    was_told(linked, CL_BUILD_SUCCESS);
    cl_program bad = program_of(&world, "kernel void k(global int *p) { p[0] = unheard_of; }");
    status = clBuildProgram(bad, 1, &world.device, "", on_program, &told);
    CHECK(status == CL_SUCCESS || status == CL_BUILD_PROGRAM_FAILURE);
    was_told(bad, CL_BUILD_ERROR);
    CHECK_INT(clReleaseProgram(bad), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    close_base(&world);
}

static void CL_CALLBACK on_program_end(cl_program program, void *data)
{
    note_end(program, data);
}

CASE("the ends of programs", program_ends)
{
    struct base base;
    if (!has_layer("notices") || !open_callbacks(&base))
        return;
    cl_program program = program_of(&base, "kernel void k(global int *p) { p[0] = 1; }");
    atomic_store(&ends.count, 0);
    for (uintptr_t i = 1; i <= 3; i++)
        CHECK_INT(clSetProgramReleaseCallback(program, on_program_end, (void *)i), CL_SUCCESS);
    CHECK_INT(clRetainProgram(program), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    Sleep(20);
    CHECK_INT(ends.count, 0);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    ends_are(program, 3);
    close_base(&base);
}

/* ---- contexts ---- */

static void CL_CALLBACK on_context_end(cl_context context, void *data)
{
    note_end(context, data);
}

/* Of a context with nothing in it; as the driver has it. */
CASE("the ends of contexts", context_ends)
{
    struct base base;
    cl_int status = UNSET;
    if (!open_callbacks(&base))
        return;
    cl_context context = clCreateContext(NULL, 1, &base.device, NULL, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    atomic_store(&ends.count, 0);
    for (uintptr_t i = 1; i <= 3; i++)
        CHECK_INT(clSetContextDestructorCallback(context, on_context_end, (void *)i), CL_SUCCESS);
    CHECK(clSetContextDestructorCallback(context, NULL, NULL) < 0);
    CHECK_INT(ends.count, 0);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    ends_are(context, 3);
    close_base(&base);
}

static struct {
    atomic_uint count;
    char text[256];
    unsigned long long info;
    size_t size;
    void *data;
} error;

static void CL_CALLBACK on_error(const char *text, const void *info, size_t size, void *data)
{
    note_place();
    snprintf(error.text, sizeof(error.text), "%s", text);
    error.info = 0;
    memcpy(&error.info, info, size < sizeof(error.info) ? size : sizeof(error.info));
    error.size = size;
    error.data = data;
    atomic_fetch_add(&error.count, 1);
}

CASE("errors of a context", context_errors)
{
    struct base base;
    cl_int status = UNSET;
    if (!has_layer("notices") || !open_callbacks(&base))
        return;
    cl_context context = clCreateContext(NULL, 1, &base.device, on_error, &error, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(clCreateBuffer(context, 0, 0, NULL, &status) == NULL);
    if (wait_until(&error.count, 1)) {
        CHECK_STR(error.text, "there is no such buffer");
        CHECK(error.size == 4 || error.size == 8); /* a size of the host's */
        CHECK_INT(error.info, 0);
        CHECK(error.data == &error);
        CHECK_INT(strange, 0);
    }
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    close_base(&base);
}

/* ---- shared virtual memory ---- */

static struct {
    atomic_uint count;
    cl_command_queue queue;
    cl_uint pointers;
    void *first, *last, *data;
} freed;

static void CL_CALLBACK on_free(cl_command_queue queue, cl_uint count, void **pointers, void *data)
{
    note_place();
    freed.queue = queue;
    freed.pointers = count;
    freed.first = pointers[0];
    freed.last = pointers[count - 1];
    freed.data = data;
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(world.context, pointers[i]);
    atomic_fetch_add(&freed.count, 1);
}

CASE("shared virtual memory is freed", svm_is_freed)
{
    enum { POINTERS = 20 };
    void *pointers[POINTERS];
    cl_event event = NULL;
    if (!open_callbacks(&world))
        return;
    if (!has_svm(&world)) {
        SKIP("the device has no shared virtual memory here");
        close_base(&world);
        return;
    }
    for (int i = 0; i < POINTERS; i++)
        pointers[i] = clSVMAlloc(world.context, CL_MEM_READ_WRITE, 64, 0);
    cl_event gate = user_event(&world);
    CHECK_INT(clEnqueueSVMFree(world.queue, POINTERS, pointers, on_free, &freed, 1, &gate, &event), CL_SUCCESS);
    CHECK_INT(clFlush(world.queue), CL_SUCCESS);
    Sleep(20);
    CHECK_INT(freed.count, 0);
    set_event(gate, CL_COMPLETE);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    if (wait_until(&freed.count, 1)) {
        CHECK(freed.queue == world.queue);
        CHECK_INT(freed.pointers, POINTERS);
        CHECK(freed.first == pointers[0] && freed.last == pointers[POINTERS - 1]);
        CHECK(freed.data == &freed);
        CHECK_INT(strange, 0);
    }
    void *other = clSVMAlloc(world.context, CL_MEM_READ_WRITE, 64, 0);
    CHECK_INT(clEnqueueSVMFree(world.queue, 1, &other, NULL, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clFinish(world.queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    close_base(&world);
}

TAP_MAIN
