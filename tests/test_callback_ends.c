/* The callbacks of programs and of the ends of objects that cld3d has for Wine, and what callbacks of events may do with shared
 * objects. */
#include "below.h"
#include "callbacks.h"
#ifndef _WIN32
#include "like_nvidia.h"
#endif

/* ---- programs ---- */

static void CL_CALLBACK on_program(cl_program program, void *data)
{
    write_down(&journal, program, 0, data);
}

static cl_program make_program(const struct base *base, const char *source)
{
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(base->context, 1, &source, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return program;
}

static cl_build_status build_status(const struct base *base, cl_program program)
{
    cl_build_status status = 4711;
    CHECK_INT(clGetProgramBuildInfo(program, base->device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL),
              CL_SUCCESS);
    return status;
}

static void builds(void)
{
    static const char *const sources[] = {"kernel void f(global int *p) { p[0] = 1; }",
                                          "kernel void f(global int *p) { p[0] = nothing; }"};
    struct base base;
    if (!open_base(&base, 0))
        return;
    for (int i = 0; i < 2; i++) {
        atomic_store(&journal.count, 0);
        cl_program program = make_program(&base, sources[i]);
        const cl_int status = clBuildProgram(program, 1, &base.device, "", on_program, &base);
        CHECK(status == CL_SUCCESS || (i == 1 && status == CL_BUILD_PROGRAM_FAILURE));
        if (wait_until(&journal.count, 1)) {
            CHECK(journal.entries[0].object == program);
            CHECK(journal.entries[0].data == &base);
        }
        CHECK_INT(build_status(&base, program), i ? CL_BUILD_ERROR : CL_BUILD_SUCCESS);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    }
    atomic_store(&journal.count, 0);
    CHECK_INT(clBuildProgram(NULL, 0, NULL, "", on_program, NULL), CL_INVALID_PROGRAM);
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 0);
    close_base(&base);
}

static void compiles_and_links(void)
{
    struct base base;
    cl_int status = 1;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_program program = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
    status = clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, NULL, NULL);
    if (status == CL_INVALID_OPERATION) {
        CHECK_INT(clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, on_program, &base), status);
        CHECK(clLinkProgram(base.context, 1, &base.device, "", 1, &program, on_program, &base, &status) == NULL);
        CHECK_INT(status, CL_INVALID_OPERATION);
        SKIP("the OpenCL below compiles no programs apart (Wine 8's)");
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
        close_base(&base);
        return;
    }
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, on_program, &base), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == program);
    cl_program linked = clLinkProgram(base.context, 1, &base.device, "", 1, &program, on_program, &base, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (wait_until(&journal.count, 2))
        CHECK(journal.entries[1].object == linked);
    if (CHECK(linked != NULL))
        CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    close_base(&base);
}

/* ---- the ends of objects ---- */

static void CL_CALLBACK on_memory(cl_mem memory, void *data)
{
    write_down(&journal, memory, 0, data);
}

/* A command that reads the first bytes. */
static cl_event see(cl_command_queue queue, cl_mem buffer, cl_uint *seen)
{
    cl_event event = NULL;
    CHECK_INT(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(*seen), seen, 0, NULL, &event), CL_SUCCESS);
    return event;
}

/* The application has let go of the buffer; a command that waits still uses it, and so the application's memory. */
static void ends_when_set(cl_event gate, cl_event event)
{
    pause_ms(100);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
}

static void memory_ends(void)
{
    static int first, second;
    struct base base;
    cl_int status = 1;
    cl_uint refs = 0;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    unsigned char *bytes = calloc(1, 65536);
    cl_uint seen = 0;
    cl_mem buffer = clCreateBuffer(base.context, CL_MEM_USE_HOST_PTR, 65536, bytes, &status);
    CHECK_INT(clSetMemObjectDestructorCallback(NULL, on_memory, &first), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, NULL, &first), CL_INVALID_VALUE);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &first), CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &second), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    CHECK_INT(refs, 1);
    CHECK_INT(clRetainMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    cl_event gate = user_event(base.context);
    CHECK_INT(clReleaseEvent(fill(&base, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(base.queue, buffer, &seen);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(50);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    ends_when_set(gate, event);
    if (wait_until(&journal.count, 2)) {
        CHECK(journal.entries[0].data == &second && journal.entries[1].data == &first);
        CHECK(journal.entries[0].object == buffer);
    }
    CHECK_INT(seen, 0x12345678);
    close_base(&base);
    free(bytes);
}

#ifdef _WIN32
static void CL_CALLBACK on_context(cl_context context, void *data)
{
    write_down(&journal, context, 0, data);
}
#endif

/* Natively only OpenCL 3.0 loaders have the other two functions. */
static void ends_of_all_kinds(void)
{
    for (int i = 0; i < 8; i++) {
        unsigned expected = 1;
        struct base base;
        if (!open_base(&base, 0))
            return;
        atomic_store(&journal.count, 0);
        cl_mem buffer = make_buffer(&base);
        CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &base), CL_SUCCESS);
#ifdef _WIN32
        cl_program program = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
        CHECK_INT(clSetProgramReleaseCallback(program, on_program, &base), CL_SUCCESS);
        CHECK_INT(clSetContextDestructorCallback(base.context, on_context, &base), CL_SUCCESS);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
        expected = 3;
#endif
        CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
        close_base(&base);
        CHECK_INT(atomic_load(&journal.count), expected);
    }
}

#ifdef _WIN32
/* A context that the application has released, and obtains again from its queue: it is never released again, and ends with
 * the queue. The same for a program and its kernel. */
static void ends_of_queried(void)
{
    struct base base;
    cl_context context = NULL;
    cl_program program = NULL;
    cl_int status = 1;
    cl_uint refs = 0;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_program made = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
    CHECK_INT(clBuildProgram(made, 1, &base.device, "", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(made, "f", &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseProgram(made), CL_SUCCESS);
    CHECK_INT(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), CL_SUCCESS);
    if (clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(refs), &refs, NULL) != CL_SUCCESS || !refs) {
        SKIP("the driver's handle is no longer valid (NVIDIA's)");
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        close_base(&base);
        return;
    }
    CHECK_INT(clSetProgramReleaseCallback(program, on_program, &base), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
    CHECK_INT(clGetCommandQueueInfo(base.queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL), CL_SUCCESS);
    CHECK_INT(clSetContextDestructorCallback(context, on_context, &base), CL_SUCCESS);
    pause_ms(1000); /* until cld3d no longer looks */
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    wait_until(&journal.count, 1);
    CHECK(journal.entries[0].object == program);
    pause_ms(1000);
    CHECK_INT(atomic_load(&journal.count), 1);
    CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK(journal.entries[1].object == context);
}
#endif

/* ---- a lock of the application's ---- */

/* A lock that the program holds while it enqueues, and that its callback takes. */
struct held_lock {
    atomic_flag taken;
    atomic_uint came, went; /* into the callback, and through the lock */
};

static void take(struct held_lock *lock)
{
    while (atomic_flag_test_and_set(&lock->taken))
        let_others_run();
}

static void CL_CALLBACK on_event_with_lock(cl_event event, cl_int status, void *data)
{
    struct held_lock *lock = data;
    (void)event;
    (void)status;
    atomic_fetch_add(&lock->came, 1);
    take(lock);
    atomic_flag_clear(&lock->taken);
    atomic_fetch_add(&lock->went, 1);
}

/* With callbacks in the driver's threads this hangs in PoCL: the release waits for a command that such a thread would
 * run, the thread waits for the lock. */
static void lock_around_a_release(struct rig *rig)
{
    struct held_lock lock = {.taken = ATOMIC_FLAG_INIT};
    struct slow_work work;
    struct shared shared;
#ifndef _WIN32
    if (!getenv("CLD3D_CALLBACKS")) {
        SKIP("hangs with the driver's own");
        return;
    }
#endif
    unsigned char bytes[SHARED_BYTES];
    if (!slow_open(rig, &work) || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    rig_pattern(bytes, sizeof(bytes), 2);
    take(&lock);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    cl_event event = slow_start(&work, rig->queue);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event_with_lock, &lock), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    /* While the callback waits, all goes on. */
    wait_until(&lock.came, 1);
    CHECK(round_trip(rig, &shared, 2, 3));
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK_INT(atomic_load(&lock.went), 0);
    atomic_flag_clear(&lock.taken);
    wait_until(&lock.went, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

static void lock_around_a_release_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, lock_around_a_release);
}

#ifndef _WIN32
/* ---- a release in a callback ---- */

struct release_call {
    const struct rig *rig;
    cl_mem object;
    cl_command_queue queue;
    cl_event end;
    cl_int status;
    atomic_uint went, ended; /* callbacks that have made their call, and that use this no longer */
};

static void CL_CALLBACK on_event_release(cl_event event, cl_int status, void *data)
{
    struct release_call *call = data;
    (void)event;
    (void)status;
    call->status = call->rig->release(call->queue, 1, &call->object, 0, NULL, &call->end);
    atomic_fetch_add(&call->went, 1);
}

/* With the queue empty, with a command behind the one that ends, which a driver may not begin before its callback has
 * returned, and in another queue. */
enum release_place { RELEASE_LAST, RELEASE_BEFORE_ANOTHER, RELEASE_ELSEWHERE, RELEASE_PLACES };

static void release_from_callback(const struct rig *rig, enum kind kind, enum release_place place)
{
    struct slow_work work;
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    if (!slow_open(rig, &work) || !shared_open(rig, kind, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    struct release_call call = {
        .rig = rig, .object = shared.object, .status = 1, .queue = place == RELEASE_ELSEWHERE ? other : rig->queue};
    rig_pattern(bytes, sizeof(bytes), 2);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    cl_event ends[2] = {slow_start(&work, rig->queue), NULL};
    if (place == RELEASE_BEFORE_ANOTHER)
        ends[1] = slow_start(&work, rig->queue);
    CHECK_INT(clSetEventCallback(ends[0], CL_COMPLETE, on_event_release, &call), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    if (wait_until(&call.went, 1) && CHECK_INT(call.status, CL_SUCCESS)) {
        CHECK_INT(clWaitForEvents(1, &call.end), CL_SUCCESS);
        CHECK_INT(rig_event_status(call.end), CL_COMPLETE);
        CHECK(d3d_has(rig, &shared, 2));
        CHECK(round_trip(rig, &shared, 2, 3));
        CHECK_INT(clReleaseEvent(call.end), CL_SUCCESS);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i])
            CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

static void releases_from_callbacks(struct rig *rig)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int place = 0; place < RELEASE_PLACES; place++)
            release_from_callback(rig, (enum kind)kind, (enum release_place)place);
}

static void releases_from_callbacks_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, releases_from_callbacks);
}

struct behind {
    cl_command_queue other;
    cl_event event;
    cl_int status;
    atomic_uint went;
};

/* A driver may have the event locked. */
static void CL_CALLBACK enqueue_behind(cl_event event, cl_int status, void *data)
{
    struct behind *behind = data;
    (void)status;
    behind->status = clEnqueueBarrierWithWaitList(behind->other, 1, &event, &behind->event);
    atomic_fetch_add(&behind->went, 1);
}

/* In another queue, behind an event that is reported as submitted or running. */
static void enqueued_behind(struct rig *rig)
{
    const cl_int types[] = {CL_SUBMITTED, CL_RUNNING};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct behind behind = {.other = make_queue(rig, rig->context, 0), .status = 1};
        cl_event marked = NULL;
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marked), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(marked, types[i], enqueue_behind, &behind), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        if (wait_until(&behind.went, 1) && CHECK_INT(behind.status, CL_SUCCESS)) {
            CHECK_INT(clWaitForEvents(1, &behind.event), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(behind.event), CL_SUCCESS);
        }
        CHECK_INT(clReleaseEvent(marked), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(behind.other), CL_SUCCESS);
    }
}

static void enqueued_behind_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, enqueued_behind);
}

/* The callback is all that releases something. */
static void CL_CALLBACK on_frame(cl_event event, cl_int status, void *data)
{
    struct release_call *call = data;
    (void)status;
    call->status = call->rig->release(call->queue, 1, &call->object, 0, NULL, NULL);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    atomic_fetch_add(&call->went, 1);
}

enum { CHAINED = 200 };

static void CL_CALLBACK on_chained(cl_event event, cl_int status, void *data);

static void chain(const struct release_call *call)
{
    cl_event end = NULL;
    CHECK_INT(acquire_one(call->rig, call->object), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(call->queue, 0, NULL, &end), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(end, CL_COMPLETE, on_chained, (void *)(uintptr_t)call), CL_SUCCESS);
    CHECK_INT(clFlush(call->queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
}

/* All calls of all frames but the first are in callbacks. */
static void CL_CALLBACK on_chained(cl_event event, cl_int status, void *data)
{
    struct release_call *call = data;
    (void)event;
    (void)status;
    CHECK_INT(call->rig->release(call->queue, 1, &call->object, 0, NULL, NULL), CL_SUCCESS);
    if (atomic_fetch_add(&call->went, 1) + 1 < CHAINED)
        chain(call); /* the driver may call back in it, or on another thread */
    atomic_fetch_add(&call->ended, 1);
}

/* Calls that concern an object, from a thread of the driver that may be the only one. */
static void CL_CALLBACK on_plain(cl_event event, cl_int status, void *data)
{
    static const unsigned char byte = 5;
    struct release_call *call = data;
    (void)event;
    (void)status;
    CHECK_INT(clEnqueueWriteBuffer(call->queue, call->object, CL_FALSE, 0, 1, &byte, 0, NULL, NULL), CL_SUCCESS);
    call->status = call->rig->release(call->queue, 1, &call->object, 0, NULL, &call->end);
    atomic_fetch_add(&call->went, 1);
}

/* A callback that was set before anything was shared. */
static void set_before_the_first(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = 1;
    CHECK_INT(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    struct rig rig;
    struct shared shared;
    const struct base base = {.context = context, .queue = queue};
    struct release_call call = {.rig = &rig, .status = 1};
    cl_mem buffer = make_buffer(&base);
    cl_event gate = user_event(context), filled = fill(&base, buffer, 1, &gate);
    CHECK_INT(clSetEventCallback(filled, CL_COMPLETE, on_plain, &call), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    if (rig_open(&rig, &rig_d3d11, 0) && shared_open(&rig, KIND_BUFFER, 1, &shared)) {
        call.queue = rig.queue;
        call.object = shared.object;
        CHECK_INT(acquire_one(&rig, shared.object), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
        if (wait_until(&call.went, 1) && CHECK_INT(call.status, CL_SUCCESS)) {
            CHECK_INT(clWaitForEvents(1, &call.end), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(call.end), CL_SUCCESS);
        }
        shared_close(&shared);
        rig_close(&rig);
    }
    CHECK_INT(clReleaseEvent(filled), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* PoCL may still be at work on an event that is complete: another context's end releases none. */
static void ends_apart(struct rig *rig)
{
    struct rig other;
    struct shared shared;
    cl_event event = NULL;
    cl_uint now = 0;
    if (clGetCommandQueueInfo(rig->queue, BELOW_EVENTS_RELEASED, sizeof(now), &now, NULL) != CL_SUCCESS) {
        SKIP("over a layer that counts events");
        return;
    }
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    now = order_below(rig->queue, BELOW_EVENTS_RELEASED, 0);
    if (rig_open(&other, &rig_d3d11, 0))
        rig_close(&other);
    CHECK_INT(order_below(rig->queue, BELOW_EVENTS_RELEASED, 0), now);
    shared_close(&shared);
}

static void ends_apart_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, ends_apart);
}

static void frame(struct release_call *call, const struct shared *shared, const unsigned char *bytes)
{
    const unsigned next = atomic_load(&call->went) + 1;
    cl_event end = NULL;
    CHECK_INT(acquire_one(call->rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(call->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(call->queue, 0, NULL, &end), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(end, CL_COMPLETE, on_frame, call), CL_SUCCESS);
    CHECK_INT(clFlush(call->queue), CL_SUCCESS);
    if (wait_until(&call->went, next))
        CHECK_INT(call->status, CL_SUCCESS);
}

/* What a release in a callback leaves goes with later frames. */
static void frames_released_in_callbacks(struct rig *rig)
{
    enum { FRAMES = 100, MOST_LEFT = 8 };
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    cl_uint before = 0;
    if (clGetCommandQueueInfo(rig->queue, BELOW_QUEUES, sizeof(before), &before, NULL) != CL_SUCCESS) {
        SKIP("over a layer that counts queues");
        return;
    }
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    struct release_call call = {.rig = rig, .object = shared.object, .status = 1, .queue = rig->queue};
    rig_pattern(bytes, sizeof(bytes), 2);
    for (int i = 0; i < FRAMES; i++)
        frame(&call, &shared, bytes);
    CHECK(order_below(rig->queue, BELOW_QUEUES, 0) <= before + MOST_LEFT);
    atomic_store(&call.went, 0);
    chain(&call);
    wait_until(&call.went, CHAINED);
    CHECK(order_below(rig->queue, BELOW_QUEUES, 0) <= before + CHAINED / 2);
    wait_until(&call.ended, CHAINED);
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 2, 3));
    shared_close(&shared);
}

static void frames_released_in_callbacks_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, frames_released_in_callbacks);
}

static void frames_below(void)
{
    if (getenv("CLD3D_CALLBACKS") || !takes_layers("CLD3D_TEST_BELOW")) {
        SKIP("runs a case with the driver's callbacks");
        return;
    }
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "frames that callbacks release"), 1);
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "leaves the events of another"), 1);
}
#endif

/* ---- a user event that is set when memory goes ---- */

static atomic_uint memories_gone;

static void CL_CALLBACK on_memory_set(cl_mem memory, void *data)
{
    (void)memory;
    CHECK_INT(clSetUserEventStatus(*(cl_event *)data, CL_COMPLETE), CL_SUCCESS);
    atomic_fetch_add(&memories_gone, 1);
}

static void set_when_memory_goes(struct rig *rig)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    cl_int status = 1;
    cl_event gate = user_event(rig->context), user = user_event(rig->context), end = NULL;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 65536, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory_set, &user), CL_SUCCESS);
    cl_event filled = fill(&(struct base){.queue = other}, buffer, 1, &gate);
    CHECK_INT(clFlush(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    rig_pattern(bytes, sizeof(bytes), 2);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS);
    atomic_store(&memories_gone, 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(filled), CL_SUCCESS);
    wait_until(&memories_gone, 1);
    CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
}

static void set_when_memory_goes_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, set_when_memory_goes);
}

/* What is enqueued after the release may wait for the function, in any queue. */
static void set_after_the_release(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    for (int i = 0; i < 4; i++) {
        cl_event user = user_event(base.context), after = NULL;
        cl_mem buffer = make_buffer(&base);
        atomic_store(&memories_gone, 0);
        CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory_set, &user), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
        CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 1, &user, &after), CL_SUCCESS);
        CHECK_INT(clFlush(base.queue), CL_SUCCESS);
        if (!wait_until(&memories_gone, 1))
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &after), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(after), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    }
    close_base(&base);
}

#ifndef _WIN32
/* The thread that calls back is the one that would run the commands which the user event sets free. */
static void one_thread(void)
{
    if (getenv("POCL_MAX_PTHREAD_COUNT")) {
        SKIP("runs a case above");
        return;
    }
    CHECK_INT(run_again("set when memory goes", "POCL_MAX_PTHREAD_COUNT", "1"), 1);
    CHECK_INT(run_again("before anything is shared", "POCL_MAX_PTHREAD_COUNT", "1"), 1);
}
#endif

/* The application gives the queue away before its commands have ended. */
static void memory_ends_after_queue(void)
{
    struct base base;
    cl_int status = 1;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    unsigned char *bytes = calloc(1, 65536);
    cl_uint seen = 0;
    cl_mem buffer = clCreateBuffer(base.context, CL_MEM_USE_HOST_PTR, 65536, bytes, &status);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &base), CL_SUCCESS);
    cl_command_queue other = clCreateCommandQueue(base.context, base.device, 0, &status);
    cl_event gate = user_event(base.context);
    CHECK_INT(clReleaseEvent(fill(&(struct base){.queue = other}, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(other, buffer, &seen);
    CHECK_INT(clRetainCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    ends_when_set(gate, event);
    wait_until(&journal.count, 1);
    CHECK_INT(seen, 0x12345678);
    close_base(&base);
    free(bytes);
}

#ifdef _WIN32
/* Natively only OpenCL 3.0 loaders have it. */
static void contexts_end(void)
{
    struct base base;
    cl_uint refs = 0;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    CHECK_INT(clSetContextDestructorCallback(NULL, on_context, NULL), CL_INVALID_CONTEXT);
    CHECK_INT(clSetContextDestructorCallback(base.context, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetContextDestructorCallback(base.context, on_context, &base), CL_SUCCESS);
    CHECK_INT(clRetainContext(base.context), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
    CHECK_INT(clGetContextInfo(base.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 0);
    close_base(&base);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].data == &base);
}

static void programs_end(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_program program = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
    CHECK_INT(clSetProgramReleaseCallback(program, on_program, &base), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == program);
    close_base(&base);
}
#else
/* The driver does not count queued commands, and takes no marker for a while. Where its code says that the queue is of no use, nothing
 * waits for the queue. */
static void memory_ends_without_markers(const struct base *base, cl_int refusal, bool queue_goes)
{
    const bool is_lost = refusal == CL_INVALID_COMMAND_QUEUE;
    cl_int status = 1;
    cl_uint seen = 0;
    atomic_store(&journal.count, 0);
    cl_mem buffer = make_buffer(base);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, NULL), CL_SUCCESS);
    cl_command_queue other = clCreateCommandQueue(base->context, base->device, 0, &status);
    cl_event gate = user_event(base->context);
    CHECK_INT(clReleaseEvent(fill(&(struct base){.queue = other}, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(other, buffer, &seen);
    like_nvidia_refuse(base->queue, refusal);
    if (queue_goes)
        CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    if (is_lost)
        wait_until(&journal.count, 1);
    pause_ms(100);
    CHECK_INT(atomic_load(&journal.count), is_lost);
    like_nvidia_refuse(base->queue, CL_SUCCESS);
    pause_ms(100);
    CHECK_INT(atomic_load(&journal.count), is_lost);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    wait_until(&journal.count, 1);
    CHECK_INT(seen, 0x12345678);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    if (!queue_goes)
        CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

static cl_uint context_refs(cl_context context)
{
    cl_uint refs = 0;
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    return refs;
}

static void make_queue_and_release(const struct base *base)
{
    cl_int status = 1;
    cl_command_queue other = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

/* A queue that is given back meanwhile goes when another one is made, and lets go of its context: at once if the driver is quick to
 * end a marker. */
static void queue_ends_without_markers(void)
{
    struct base own, *base = &own; /* no earlier command holds its context */
    cl_int status = 1;
    if (!open_base(base, 0))
        return;
    const cl_uint before = context_refs(base->context);
    cl_command_queue first = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    const bool counted = context_refs(base->context) > before; /* NVIDIA's contexts do not count their queues */
    like_nvidia_refuse(base->queue, CL_OUT_OF_RESOURCES);
    CHECK_INT(clReleaseCommandQueue(first), CL_SUCCESS);
    like_nvidia_refuse(base->queue, CL_SUCCESS);
    CHECK_INT(context_refs(base->context) > before, counted);
    for (int i = 0; i < 100 && context_refs(base->context) != before; i++) {
        make_queue_and_release(base);
        pause_ms(10);
    }
    CHECK_INT(context_refs(base->context), before);
    close_base(base);
}

/* The last queue that goes, with work that lasts: nothing of it holds the context when that is over, though no queue is made or
 * released any more. */
static void queue_ends_late(void)
{
    struct base own, *base = &own;
    cl_int status = 1;
    if (!open_base(base, 0))
        return;
    const cl_uint before = context_refs(base->context);
    cl_command_queue other = clCreateCommandQueue(base->context, base->device, 0, &status);
    cl_event gate = user_event(base->context);
    CHECK_INT(clEnqueueMarkerWithWaitList(other, 1, &gate, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    for (int i = 0; i < 5000 && context_refs(base->context) != before; i++)
        pause_ms(1);
    CHECK_INT(context_refs(base->context), before);
    close_base(base);
}

static void memories_end_without_markers(void)
{
    static const cl_int refusals[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_COMMAND_QUEUE};
    struct base base;
    if (!open_base(&base, 0))
        return;
    if (!like_nvidia_refuse(base.queue, CL_SUCCESS)) {
        SKIP("over a layer that refuses markers");
        close_base(&base);
        return;
    }
    for (int i = 0; i < 3; i++)
        for (int queue_goes = 0; queue_goes < 2; queue_goes++)
            memory_ends_without_markers(&base, refusals[i], queue_goes);
    queue_ends_late(); /* first: a release that was put off has ends looked for too */
    queue_ends_without_markers();
    close_base(&base);
}

static void ours(void)
{
    callbacks_ours(5);
}

/* The buffer with which cld3d tries what the driver counts can't be made at first. A driver that counts is not taken for one that
 * does not then: no other command keeps a buffer that has gone. */
static void tried_again(void)
{
    const cl_uint next_one = 1;
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_mem first = make_buffer(&base), second = make_buffer(&base), other = make_buffer(&base);
    cl_event gate = user_event(base.context);
    if (clGetCommandQueueInfo(base.queue, BELOW_FAIL_BUFFER, sizeof(next_one), (void *)&next_one, NULL) == CL_SUCCESS) {
        CHECK_INT(clSetMemObjectDestructorCallback(first, on_memory, NULL), CL_SUCCESS);
        CHECK_INT(clSetMemObjectDestructorCallback(second, on_memory, NULL), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(fill(&base, other, 1, &gate)), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(second), CL_SUCCESS);
        if (!is_nvidia(base.platform)) /* which does not count */
            wait_until(&journal.count, 1);
        CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    } else {
        SKIP("over a layer whose buffers fail");
    }
    CHECK_INT(clReleaseMemObject(first), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(other), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    close_base(&base);
}

static void trial_that_fails(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs the case above");
        return;
    }
    test_setenv("CLD3D_CALLBACKS", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "what the driver counts is tried again"), 1);
    test_setenv("CLD3D_CALLBACKS", NULL);
}

/* Any later release looks again. */
static void no_thread_to_look(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_mem buffer = make_buffer(&base), other = make_buffer(&base);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &base), CL_SUCCESS);
    let_threads_start(false);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    let_threads_start(true);
    CHECK_INT(clReleaseMemObject(other), CL_SUCCESS);
    wait_until(&journal.count, 1);
    close_base(&base);
}

/* Over a driver that leaves queued commands out of an object's count. */
static void uncounted(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs the cases above");
        return;
    }
    test_setenv("CLD3D_CALLBACKS", "1");
    CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "the end of a memory object"), 3);
    CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "a user event that is set when memory goes"), 2);
    test_setenv("CLD3D_CALLBACKS", NULL);
}
#endif

static const struct tap_test tests[] = {
    {"callbacks: clBuildProgram", builds},
    {"callbacks: clCompileProgram and clLinkProgram", compiles_and_links},
    {"callbacks: the end of a memory object", memory_ends},
#ifdef _WIN32
    {"callbacks: the ends of objects that queries have given", ends_of_queried},
#endif
    {"callbacks: ends before the context's release returns", ends_of_all_kinds},
    {"callbacks: the end of a memory object after its queue's", memory_ends_after_queue},
    {"callbacks: a lock held around a release and taken in a callback", lock_around_a_release_d3d11},
    {"a user event that is set when memory goes", set_when_memory_goes_d3d11},
    {"a user event that is set when memory goes, for what comes after", set_after_the_release},
#ifndef _WIN32
    {"a user event that is set in the one thread of a driver", one_thread},
    {"a callback that was set before anything is shared", set_before_the_first},
    {"a context's end leaves the events of another", ends_apart_d3d11},
#endif
#ifdef _WIN32
    {"callbacks: the end of a context", contexts_end},
    {"callbacks: the end of a program", programs_end},
#else
    {"callbacks: a release in one", releases_from_callbacks_d3d11},
    {"a command behind an event in its callback", enqueued_behind_d3d11},
    {"frames that callbacks release", frames_released_in_callbacks_d3d11},
    {"queues that such frames leave", frames_below},
    {"what the driver counts is tried again", tried_again},
    {"cld3d's callbacks where a trial of the driver fails", trial_that_fails},
    {"callbacks: no thread to look for ends for a moment", no_thread_to_look},
    {"the end of a memory object while there are no markers", memories_end_without_markers},
    {"cld3d's callbacks where the driver has its own", ours},
    {"cld3d's callbacks where the driver counts no queued commands", uncounted},
#endif
};

TAP_MAIN(tests)
