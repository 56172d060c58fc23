/* Two OpenCL drivers in one process, used at once: what belongs to the other is refused, events, callbacks and failures are those of
 * the driver that they belong to, and threads use both. */
#include "common/dx9.h"
#include "two_drivers.h"

static const char source[] = "kernel void add_one(global uchar *bytes) { bytes[get_global_id(0)] += 1; }\n";

/* ---- what belongs to the other ---- */

/* The call is refused with the code for another context, gives no event and changes nothing. */
static void refuse(rig_enqueue enqueue, const struct rig *rig, cl_uint count, const cl_mem *objects, cl_uint wait_count,
                   const cl_event *wait)
{
    cl_event event = (cl_event)&event;
    CHECK_INT(enqueue(rig->queue, count, objects, wait_count, wait, &event), CL_INVALID_CONTEXT);
    CHECK(event == (cl_event)&event);
    CHECK_INT(enqueue(rig->queue, count, objects, wait_count, wait, NULL), CL_INVALID_CONTEXT);
}

BOTH_CASE(mixed_lists, 0)
{
    struct shared shared[SIDES];
    if (!open_both(sides, KIND_2D, 1, shared))
        return;
    const cl_mem one[] = {shared[FIRST].object, shared[SECOND].object};
    const cl_mem other[] = {shared[SECOND].object, shared[FIRST].object};
    for (int i = 0; i < SIDES; i++) {
        refuse(sides[i].acquire, &sides[i], 2, one, 0, NULL);
        refuse(sides[i].acquire, &sides[i], 2, other, 0, NULL);
        refuse(sides[i].acquire, &sides[i], 1, &shared[!i].object, 0, NULL);
    }
    for (int i = 0; i < SIDES; i++)
        CHECK_INT(acquire_one(&sides[i], shared[i].object), CL_SUCCESS);
    for (int i = 0; i < SIDES; i++) {
        refuse(sides[i].release, &sides[i], 2, one, 0, NULL);
        refuse(sides[i].release, &sides[i], 2, other, 0, NULL);
        refuse(sides[i].release, &sides[i], 1, &shared[!i].object, 0, NULL);
    }
    for (int i = 0; i < SIDES; i++) {
        CHECK(cl_has(sides[i].queue, &shared[i], 1 + (unsigned)i));
        CHECK_INT(release_one(&sides[i], shared[i].object), CL_SUCCESS);
        round_trip(&sides[i], &shared[i], 1 + (unsigned)i, 5);
    }
    close_both(shared);
}

/* Events of the other side: a user event that is pending, one that is set, one that has failed, one of a command and one of an acquire. */
enum { OTHERS = 5 };

static void make_events(const struct rig *rig, cl_mem object, cl_event events[OTHERS])
{
    for (int i = 0; i < 3; i++)
        events[i] = user_event(rig->context);
    CHECK_INT(clSetUserEventStatus(events[1], CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(events[2], -5), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &events[3]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &object, 0, NULL, &events[4]), CL_SUCCESS);
}

static void release_events(cl_event events[OTHERS])
{
    CHECK_INT(clSetUserEventStatus(events[0], CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < OTHERS; i++)
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
}

static void refuse_events(const struct rig *rig, const struct shared *shared, const cl_event events[OTHERS],
                          rig_enqueue enqueue)
{
    cl_event own = user_event(rig->context);
    CHECK_INT(clSetUserEventStatus(own, CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < OTHERS; i++) {
        const cl_event mixed[] = {own, events[i]}, turned[] = {events[i], own};
        refuse(enqueue, rig, 1, &shared->object, 1, &events[i]);
        refuse(enqueue, rig, 1, &shared->object, 2, mixed);
        refuse(enqueue, rig, 1, &shared->object, 2, turned);
        refuse(enqueue, rig, 0, NULL, 1, &events[i]);
    }
    CHECK_INT(clReleaseEvent(own), CL_SUCCESS);
}

BOTH_CASE(mixed_wait_lists, 0)
{
    struct shared shared[SIDES];
    cl_event events[OTHERS];
    if (!open_both(sides, KIND_BUFFER, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i], *other = &sides[!i];
        make_events(other, shared[!i].object, events);
        refuse_events(rig, &shared[i], events, rig->acquire);
        CHECK_INT(acquire_one(rig, shared[i].object), CL_SUCCESS);
        CHECK(cl_has(rig->queue, &shared[i], 1 + (unsigned)i));
        refuse_events(rig, &shared[i], events, rig->release);
        CHECK_INT(release_one(rig, shared[i].object), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared[i], 1 + (unsigned)i));
        release_events(events);
        CHECK_INT(release_one(other, shared[!i].object), CL_SUCCESS);
    }
    close_both(shared);
}

/* Commands of OpenCL itself: what the driver says of an event or an object of another driver is its business, but it is an error, and
 * later calls find everything as it was. */
BOTH_CASE(mixed_commands, 0)
{
    struct shared shared[SIDES];
    unsigned char bytes[SHARED_BYTES];
    if (!open_both(sides, KIND_BUFFER, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++)
        CHECK_INT(acquire_one(&sides[i], shared[i].object), CL_SUCCESS);
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        cl_event pending = user_event(sides[!i].context);
        CHECK(clEnqueueReadBuffer(rig->queue, shared[!i].object, CL_TRUE, 0, SHARED_BYTES, bytes, 0, NULL, NULL) !=
              CL_SUCCESS);
        CHECK(clEnqueueCopyBuffer(rig->queue, shared[i].object, shared[!i].object, 0, 0, SHARED_BYTES, 0, NULL, NULL) !=
              CL_SUCCESS);
        CHECK(clEnqueueMarkerWithWaitList(rig->queue, 1, &pending, NULL) != CL_SUCCESS);
        CHECK(clEnqueueReadBuffer(rig->queue, shared[i].object, CL_FALSE, 0, SHARED_BYTES, bytes, 1, &pending, NULL) !=
              CL_SUCCESS);
        /* Nothing of it holds the queue: the bytes are there when the call returns. */
        CHECK(cl_has(rig->queue, &shared[i], 1 + (unsigned)i));
        CHECK_INT(release_one(rig, shared[i].object), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared[i], 1 + (unsigned)i));
        CHECK_INT(acquire_one(rig, shared[i].object), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(pending, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(pending), CL_SUCCESS);
    }
    for (int i = 0; i < SIDES; i++)
        CHECK_INT(release_one(&sides[i], shared[i].object), CL_SUCCESS);
    close_both(shared);
}

/* A kernel of one driver with an argument of the other: refused when it is set, or else when the kernel is enqueued. */
BOTH_CASE(mixed_arguments, 0)
{
    struct shared shared[SIDES];
    const size_t size = SHARED_BYTES;
    if (!open_both(sides, KIND_BUFFER, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        cl_kernel kernel = rig_kernel(rig, source, "add_one");
        cl_command_queue plain_queue = NULL;
        cl_context plain = plain_context(rig);
        if (!CHECK(kernel != NULL))
            break;
        CHECK_INT(acquire_one(&sides[!i], shared[!i].object), CL_SUCCESS);
        cl_int status = clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared[!i].object);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
        CHECK(status != CL_SUCCESS);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        /* A queue of a context that shares nothing is another context's all the same. */
        struct rig without = *rig;
        without.context = plain;
        without.queue = plain_queue = make_queue(rig, plain, 0);
        kernel = rig_kernel(&without, source, "add_one");
        status = clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared[!i].object);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(plain_queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
        CHECK(status != CL_SUCCESS);
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(plain_queue), CL_SUCCESS);
        CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
        CHECK(cl_has(sides[!i].queue, &shared[!i], 1 + (unsigned)!i));
        CHECK_INT(release_one(&sides[!i], shared[!i].object), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared[!i], 1 + (unsigned)!i));
    }
    close_both(shared);
}

/* An image of a buffer, and a part of one, in a context of the other. */
BOTH_CASE(mixed_images, 0)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    struct shared shared[SIDES];
    if (!open_both(sides, KIND_BUFFER, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++) {
        const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                    .image_width = SHARED_BYTES / 4,
                                    .mem_object = shared[!i].object};
        cl_int status = CL_SUCCESS;
        CHECK(clCreateImage(sides[i].context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_MEM_OBJECT);
        CHECK(clCreateImage(NULL, CL_MEM_READ_WRITE, &format, &desc, NULL, &status) == NULL);
        CHECK_INT(status, CL_INVALID_CONTEXT);
        round_trip(&sides[!i], &shared[!i], 1 + (unsigned)!i, 9);
    }
    close_both(shared);
}

/* ---- user events ---- */

/* A user event of one driver holds an acquire, a write and a release there, which is all deferred; the other driver goes on. Then it is set,
 * and each has its own bytes. */
BOTH_CASE(one_is_held, 0)
{
    struct shared shared[SIDES];
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 30);
    if (!open_both(sides, KIND_2D, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++) {
        const struct rig *held = &sides[i], *other = &sides[!i];
        cl_event set = user_event(held->context), ends[2] = {NULL, NULL};
        d3d_fill(held, &shared[i], 10);
        d3d_fill(held, &shared[!i], 11);
        CHECK_INT(held->acquire(held->queue, 1, &shared[i].object, 1, &set, &ends[0]), CL_SUCCESS);
        CHECK_INT(cl_write(held->queue, &shared[i], bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(held->release(held->queue, 1, &shared[i].object, 0, NULL, &ends[1]), CL_SUCCESS);
        for (unsigned turn = 0; turn < 3; turn++)
            CHECK(round_trip(other, &shared[!i], 11 + turn, 12 + turn));
        CHECK(rig_event_status(ends[0]) > CL_COMPLETE);
        CHECK(rig_event_status(ends[1]) > CL_COMPLETE);
        CHECK(d3d_has(held, &shared[i], 10));
        CHECK_INT(clSetUserEventStatus(set, CL_COMPLETE), CL_SUCCESS);
        CHECK(d3d_has(held, &shared[i], 30));
        CHECK(d3d_has(other, &shared[!i], 14));
        for (int e = 0; e < 2; e++) {
            CHECK_INT(clWaitForEvents(1, &ends[e]), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(ends[e]), CL_SUCCESS);
        }
        CHECK_INT(clReleaseEvent(set), CL_SUCCESS);
    }
    close_both(shared);
}

/* Both are held, each by an event of its own. The first is set to an error: what it held fails, and the second's is held until its own
 * event is set. */
BOTH_CASE(one_fails, 0)
{
    struct shared shared[SIDES];
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 30);
    for (int failing = 0; failing < SIDES; failing++) {
        cl_event set[SIDES], ends[SIDES];
        if (!open_both(sides, KIND_BUFFER, 1, shared))
            return;
        for (int i = 0; i < SIDES; i++) {
            set[i] = user_event(sides[i].context);
            CHECK_INT(sides[i].acquire(sides[i].queue, 1, &shared[i].object, 1, &set[i], NULL), CL_SUCCESS);
            CHECK_INT(cl_write(sides[i].queue, &shared[i], bytes, 0, NULL, NULL), CL_SUCCESS);
            CHECK_INT(sides[i].release(sides[i].queue, 1, &shared[i].object, 0, NULL, &ends[i]), CL_SUCCESS);
        }
        CHECK_INT(clSetUserEventStatus(set[failing], -5), CL_SUCCESS);
        CHECK(rig_event_status(ends[!failing]) > CL_COMPLETE);
        CHECK(d3d_has(&sides[failing], &shared[failing], 1 + (unsigned)failing));
        CHECK_INT(clSetUserEventStatus(set[!failing], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &ends[!failing]), CL_SUCCESS);
        CHECK(d3d_has(&sides[!failing], &shared[!failing], 30));
        CHECK(clWaitForEvents(1, &ends[failing]) != CL_SUCCESS);
        CHECK(rig_event_status(ends[failing]) < 0);
        for (int i = 0; i < SIDES; i++) {
            CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(set[i]), CL_SUCCESS);
            go_on(&sides[i]);
            round_trip(&sides[i], &shared[i], i == failing ? 1 + (unsigned)failing : 30, 31);
        }
        close_both(shared);
    }
}

/* ---- callbacks ---- */

struct called {
    atomic_uint times;
    cl_event event;
    cl_int status;
};

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    struct called *called = data;
    called->event = event;
    called->status = status;
    atomic_fetch_add(&called->times, 1);
}

static bool was_called(struct called *called)
{
    enum { WAIT = 60000 };
    for (int i = 0; i < WAIT && !atomic_load(&called->times); i++)
        pause_ms(1);
    return CHECK_INT(atomic_load(&called->times), 1);
}

BOTH_CASE(own_callbacks, 0)
{
    struct shared shared[SIDES];
    struct called called[SIDES] = {{0}, {0}};
    cl_event set[SIDES], ends[SIDES];
    if (!open_both(sides, KIND_2D, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++) {
        set[i] = user_event(sides[i].context);
        CHECK_INT(sides[i].acquire(sides[i].queue, 1, &shared[i].object, 1, &set[i], &ends[i]), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(ends[i], CL_COMPLETE, on_end, &called[i]), CL_SUCCESS);
    }
    for (int i = SIDES - 1; i >= 0; i--) {
        CHECK_INT(atomic_load(&called[i].times), 0);
        CHECK_INT(clSetUserEventStatus(set[i], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &ends[i]), CL_SUCCESS);
        if (was_called(&called[i])) {
            CHECK(called[i].event == ends[i]);
            CHECK_INT(called[i].status, CL_COMPLETE);
        }
    }
    for (int i = 0; i < SIDES; i++) {
        CHECK_INT(release_one(&sides[i], shared[i].object), CL_SUCCESS);
        CHECK(d3d_has(&sides[i], &shared[i], 1 + (unsigned)i));
        CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(set[i]), CL_SUCCESS);
    }
    close_both(shared);
}

/* ---- threads ---- */

enum { THREADS = 4, TURNS = 25 };

struct worker {
    const struct rig *rig; /* that of its driver */
    unsigned number;
    bool held; /* a user event holds each third acquire */
};

static void live_once(const struct worker *worker, const struct rig *rig, unsigned turn)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    const unsigned seed = 1 + turn * THREADS + worker->number;
    cl_event set = worker->held && turn % 3 == 0 ? user_event(rig->context) : NULL;
    if (!shared_open(rig, (enum kind)(turn % KINDS), seed, &shared))
        return;
    rig_pattern(bytes, sizeof(bytes), seed + 1000);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, set ? 1 : 0, set ? &set : NULL, NULL), CL_SUCCESS);
    if (!set)
        CHECK(cl_has(rig->queue, &shared, seed));
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    if (set) {
        CHECK_INT(clSetUserEventStatus(set, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(set), CL_SUCCESS);
        queue_wait(rig->queue);
    }
    CHECK(d3d_has(rig, &shared, seed + 1000));
    shared_close(&shared);
}

/* Every fifth turn in a context that lives no longer than it. */
static void live(void *data)
{
    const struct worker *worker = data;
    struct rig own = *worker->rig;
    own.queue = make_queue(&own, own.context, 0);
    const struct rig common = own;
    for (unsigned turn = 0; turn < TURNS && own.queue; turn++) {
        const bool fresh = turn % 5 == 4;
        if (fresh) {
            cl_int status = 1;
            own.context = rig_make_context(&own, own.device, false, &status);
            CHECK_INT(status, CL_SUCCESS);
            own.queue = make_queue(&own, own.context, 0);
        }
        live_once(worker, &own, turn);
        if (fresh) {
            CHECK_INT(clReleaseCommandQueue(own.queue), CL_SUCCESS);
            CHECK_INT(clReleaseContext(own.context), CL_SUCCESS);
            own = common;
        }
    }
    CHECK_INT(clReleaseCommandQueue(common.queue), CL_SUCCESS);
}

static void run_threads(void (*run)(void *), void *data[], unsigned count)
{
    test_thread threads[THREADS];
    struct test_job jobs[THREADS];
    unsigned started = 0;
    for (; started < count; started++) {
        jobs[started] = (struct test_job){run, data[started]};
        if (!test_thread_start(&threads[started], &jobs[started]))
            break;
    }
    while (started)
        test_thread_join(threads[--started]);
}

BOTH_CASE(threads, 0)
{
    struct worker workers[THREADS];
    void *data[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&sides[i % SIDES], i, i >= SIDES};
        data[i] = &workers[i];
    }
    run_threads(live, data, THREADS);
}

/* One resource, with an object in a context of each driver, goes from thread to thread. */
struct carrier {
    const struct rig *rig;
    const struct shared *shared;
    cl_kernel kernel; /* adds one to each byte */
    unsigned number;
    struct meeting *meeting;
};

static void add_one(const struct carrier *carrier)
{
    const struct rig *rig = carrier->rig;
    const size_t size = SHARED_BYTES;
    CHECK_INT(acquire_one(rig, carrier->shared->object), CL_SUCCESS);
    CHECK_INT(clEnqueueNDRangeKernel(rig->queue, carrier->kernel, 1, NULL, &size, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, carrier->shared->object), CL_SUCCESS);
}

static void carry(void *data)
{
    const struct carrier *carrier = data;
    for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
        if (turn % 2 == carrier->number)
            add_one(carrier);
        meeting_wait(carrier->meeting);
    }
}

BOTH_CASE(from_thread_to_thread, 0)
{
    struct shared shared[SIDES];
    struct meeting meeting = {.count = SIDES};
    struct carrier carriers[SIDES];
    void *data[SIDES];
    unsigned char bytes[SHARED_BYTES], expected[SHARED_BYTES];
    if (!shared_open(&sides[FIRST], KIND_BUFFER, 1, &shared[FIRST]))
        return;
    if (!join(&sides[SECOND], &shared[FIRST], &shared[SECOND])) {
        shared_close(&shared[FIRST]);
        return;
    }
    bool ready = true;
    for (unsigned i = 0; i < SIDES; i++) {
        carriers[i] = (struct carrier){&sides[i], &shared[i], rig_kernel(&sides[i], source, "add_one"), i, &meeting};
        ready = ready && CHECK(carriers[i].kernel != NULL) &&
                CHECK_INT(clSetKernelArg(carriers[i].kernel, 0, sizeof(cl_mem), &shared[i].object), CL_SUCCESS);
        data[i] = &carriers[i];
    }
    if (ready) {
        run_threads(carry, data, SIDES);
        rig_pattern(expected, sizeof(expected), 1);
        for (size_t i = 0; i < sizeof(expected); i++)
            expected[i] = (unsigned char)(expected[i] + 2 * TURNS);
        rig_read(sides, shared[FIRST].resource, &shared[FIRST].desc, 0, bytes);
        CHECK_MEM(bytes, expected, sizeof(bytes));
    }
    for (int i = 0; i < SIDES; i++)
        if (carriers[i].kernel)
            CHECK_INT(clReleaseKernel(carriers[i].kernel), CL_SUCCESS);
    close_both(shared);
}

/* ---- Direct3D 9 ---- */

/* The planes of a video surface in a context of each, in turns. The rows of the two functions are the same, since both are cld3d's. */
static void surfaces(struct dx9 *first)
{
    struct dx9 second = *first;
    struct dx9_surface one, other;
    cl_int status = 1;
    if (!rig_find_device(&second.rig, first->rig.platform)) {
        other_is_missing();
        return;
    }
    second.rig.context = dx9_make_context(&second, second.property, second.device, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    second.rig.queue = make_queue(&second.rig, second.rig.context, 0);
    if (dx9_open_surface(&one, first, &dx9_formats[0], DX9_PLAIN, 16, 8)) {
        other = one;
        other.dx9 = &second;
        other.context = second.rig.context;
        other.queue = second.rig.queue;
        memset(other.planes, 0, sizeof(other.planes));
        if (dx9_share(&other, CL_MEM_READ_WRITE)) {
            dx9_fill(&one, 1);
            for (unsigned turn = 0; turn < 4; turn++) {
                struct dx9_surface *s = turn % 2 ? &other : &one;
                dx9_acquire(s);
                dx9_cl_expect(s, 1 + turn);
                dx9_cl_fill(s, 2 + turn);
                dx9_release(s);
                dx9_expect(s, 2 + turn);
            }
            const cl_mem mixed[] = {one.planes[0], other.planes[1]};
            CHECK_INT(first->acquire(first->rig.queue, 2, mixed, 0, NULL, NULL), CL_INVALID_CONTEXT);
            CHECK_INT(second.acquire(second.rig.queue, 2, mixed, 0, NULL, NULL), CL_INVALID_CONTEXT);
            for (int plane = 0; plane < DX9_MOST_PLANES; plane++)
                if (other.planes[plane])
                    CHECK_INT(clReleaseMemObject(other.planes[plane]), CL_SUCCESS);
        }
        dx9_close_surface(&one);
    }
    CHECK_INT(clReleaseCommandQueue(second.rig.queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(second.rig.context), CL_SUCCESS);
}

DX9_CASE(video_surfaces, 0)
{
    surfaces(dx9);
}

static const struct tap_test tests[] = {
    BOTH_TESTS("what belongs to the other: lists of objects", mixed_lists),
    BOTH_TESTS("what belongs to the other: wait lists", mixed_wait_lists),
    BOTH_TESTS("what belongs to the other: commands of OpenCL", mixed_commands),
    BOTH_TESTS("what belongs to the other: arguments of kernels", mixed_arguments),
    BOTH_TESTS("what belongs to the other: images of buffers", mixed_images),
    BOTH_TESTS("user events: one driver is held, the other goes on", one_is_held),
    BOTH_TESTS("user events: one driver's fails", one_fails),
    BOTH_TESTS("callbacks: each with its event", own_callbacks),
    BOTH_TESTS("threads: both drivers at once", threads),
    BOTH_TESTS("threads: one resource from thread to thread", from_thread_to_thread),
    DX9_TESTS("surfaces: planes in a context of each, in turns", video_surfaces),
};

TAP_MAIN(tests)
