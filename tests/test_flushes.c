/* Which queues cld3d flushes: those whose commands it has to wait for, since nobody else may do so while it waits; and no
 * others, whose batches are their owners' business. And that its commands wait for nothing else, and that it enqueues
 * none that nobody needs. Each case is run again over a layer that counts (flushes.c). */
#include "flushes.h"
#include "sharing.h"

/* To be compared with what it was: the address may have been another queue's. */
static cl_uint flushes(cl_command_queue queue)
{
    cl_uint count = 0;
    CHECK_INT(clGetCommandQueueInfo(queue, FLUSHES_OF_QUEUE, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

static bool counted(void)
{
    if (getenv("CLD3D_TEST_COUNTED"))
        return true;
    SKIP("only as a part of the case above");
    return false;
}

static void again(const char *cases)
{
    if (getenv("CLD3D_TEST_COUNTED")) {
        SKIP("runs the cases below");
        return;
    }
    test_setenv("CLD3D_TEST_COUNTED", "1");
    CHECK_INT(run_over("CLD3D_TEST_FLUSHES", cases), 2);
    test_setenv("CLD3D_TEST_COUNTED", NULL);
}

/* A queue whose marker waits behind long work of another, and is not flushed. */
struct busy {
    struct slow_work work;
    cl_command_queue working, queue;
    cl_event worked, marked;
    bool submitted; /* by the driver at once (NVIDIA's does so), and what follows too: then no flush is needed */
};

static bool busy_open(const struct rig *rig, struct busy *busy)
{
    if (!slow_open(rig, &busy->work))
        return false;
    busy->working = make_queue(rig, rig->context, 0);
    busy->worked = slow_start(&busy->work, busy->working);
    busy->queue = make_queue(rig, rig->context, 0);
    if (!CHECK_INT(clEnqueueMarkerWithWaitList(busy->queue, 1, &busy->worked, &busy->marked), CL_SUCCESS))
        return false;
    busy->submitted = rig_event_status(busy->marked) < CL_QUEUED;
    return true;
}

static void is_flushed(const struct busy *busy, cl_command_queue queue, cl_uint before)
{
    CHECK(flushes(queue) > before || busy->submitted);
}

static void busy_close(struct busy *busy)
{
    CHECK_INT(clReleaseEvent(busy->marked), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(busy->worked), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(busy->queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(busy->working), CL_SUCCESS);
    slow_close(&busy->work);
}

/* By what a release depends on commands of another queue. */
enum way { BY_LIST, BY_COMMAND, BY_ACQUIRE, BY_THIRD_QUEUE, WAYS };

static void release(const struct rig *rig, struct shared *shared, unsigned count, const cl_event *wait)
{
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, count, count ? wait : NULL, NULL), CL_SUCCESS);
}

static void release_behind(const struct rig *rig, struct shared *shared, enum way way, const struct busy *busy)
{
    cl_event wait = busy->marked;
    cl_command_queue third = make_queue(rig, rig->context, 0);
    const cl_uint before = flushes(third);
    cl_event after = NULL;
    if (way == BY_THIRD_QUEUE) {
        CHECK_INT(clEnqueueBarrierWithWaitList(third, 1, &wait, &after), CL_SUCCESS);
        wait = after;
    }
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, way == BY_ACQUIRE, way == BY_ACQUIRE ? &wait : NULL, NULL),
              CL_SUCCESS);
    if (way == BY_COMMAND)
        CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &wait, NULL), CL_SUCCESS);
    const bool listed = way == BY_LIST || way == BY_THIRD_QUEUE;
    release(rig, shared, listed, &wait);
    if (way == BY_THIRD_QUEUE) {
        is_flushed(busy, third, before);
        CHECK_INT(clReleaseEvent(after), CL_SUCCESS);
    }
    CHECK_INT(clReleaseCommandQueue(third), CL_SUCCESS);
}

SHARING_CASE(what_is_waited_for, 0)
{
    struct shared shared;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    for (unsigned way = 0; way < WAYS; way++) {
        struct busy busy;
        if (!busy_open(rig, &busy))
            break;
        const cl_uint before = flushes(busy.queue), own = flushes(rig->queue);
        release_behind(rig, &shared, (enum way)way, &busy);
        CHECK_INT(rig_event_status(busy.marked), CL_COMPLETE);
        is_flushed(&busy, busy.queue, before);
        CHECK(flushes(rig->queue) > own);
        /* Nothing is left of it: the next release does not wait for that queue again. */
        const cl_uint then = flushes(busy.queue);
        CHECK(round_trip(rig, &shared, 1, 1));
        CHECK_INT(flushes(busy.queue), then);
        busy_close(&busy);
    }
    shared_close(&shared);
}

/* As many as a program may have at work for one frame. */
SHARING_CASE(many_are_waited_for, 0)
{
    enum { QUEUES = 20 };
    struct shared shared;
    struct busy busy;
    cl_command_queue queues[QUEUES];
    cl_event marked[QUEUES] = {NULL};
    cl_uint before[QUEUES];
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared) || !busy_open(rig, &busy))
        return;
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = make_queue(rig, rig->context, 0);
        before[i] = flushes(queues[i]);
        CHECK_INT(clEnqueueMarkerWithWaitList(queues[i], 1, &busy.marked, &marked[i]), CL_SUCCESS);
    }
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, QUEUES, marked, NULL), CL_SUCCESS);
    release(rig, &shared, 0, NULL);
    CHECK(d3d_has(rig, &shared, 1));
    for (int i = 0; i < QUEUES; i++) {
        CHECK_INT(rig_event_status(marked[i]), CL_COMPLETE);
        is_flushed(&busy, queues[i], before[i]);
        CHECK_INT(clReleaseEvent(marked[i]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    }
    busy_close(&busy);
    shared_close(&shared);
}

/* When the user event is set nobody but that call can flush. */
SHARING_CASE(behind_a_user_event, 0)
{
    struct shared shared;
    struct busy busy;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared) || !busy_open(rig, &busy))
        return;
    const cl_uint before = flushes(busy.queue);
    cl_event wait[] = {user_event(rig->context), busy.marked};
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    release(rig, &shared, 2, wait);
    CHECK_INT(flushes(busy.queue), before);
    CHECK_INT(clSetUserEventStatus(wait[0], CL_COMPLETE), CL_SUCCESS);
    is_flushed(&busy, busy.queue, before);
    CHECK(d3d_has(rig, &shared, 1));
    CHECK_INT(clReleaseEvent(wait[0]), CL_SUCCESS);
    busy_close(&busy);
    shared_close(&shared);
}

/* As clReleaseCommandQueue promises, though the deferred release keeps the queue. */
SHARING_CASE(queue_given_back, 0)
{
    struct shared shared;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &shared.object, 1, &user, NULL), CL_SUCCESS);
    const cl_uint before = flushes(queue);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK(flushes(queue) > before);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 1));
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

/* It waits for its bytes, which are on the way. */
SHARING_CASE(object_given_back, 0)
{
    struct shared shared;
    struct busy busy;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared) || !busy_open(rig, &busy))
        return;
    const cl_uint before = flushes(busy.queue), own = flushes(rig->queue);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &busy.marked, NULL), CL_SUCCESS);
    CHECK_INT(flushes(rig->queue), own);
    shared_close(&shared);
    is_flushed(&busy, busy.queue, before);
    CHECK(flushes(rig->queue) > own);
    busy_close(&busy);
}

/* Commands that are flushed already need no more. */
SHARING_CASE(flushed_already, 0)
{
    struct shared shared;
    struct busy busy;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared) || !busy_open(rig, &busy))
        return;
    while (rig_event_status(busy.worked) >= CL_QUEUED)
        let_others_run();
    const cl_uint before = flushes(busy.working);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    release(rig, &shared, 1, &busy.worked);
    CHECK_INT(flushes(busy.working), before);
    busy_close(&busy);
    shared_close(&shared);
}

/* The markers of other queues are queued and stay so: of acquires and releases, at once and behind a user event, and of
 * objects that are given back while their bytes are on the way. */
SHARING_CASE(what_is_not, 0)
{
    struct shared shared, leaving;
    cl_event marked = NULL;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    const cl_uint before = flushes(other);
    CHECK_INT(clEnqueueMarkerWithWaitList(other, 0, NULL, &marked), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 1, 2));
    cl_event user = user_event(rig->context);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    if (shared_open(rig, KIND_BUFFER, 1, &leaving)) {
        CHECK_INT(acquire_one(rig, leaving.object), CL_SUCCESS);
        shared_close(&leaving);
    }
    CHECK_INT(flushes(other), before);
    CHECK_INT(clReleaseEvent(marked), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
}

/* Its release is done all the same. */
SHARING_CASE(not_flushed, 0)
{
    if (!counted())
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    test_setenv(FLUSHES_FAIL, "1");
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    test_setenv(FLUSHES_FAIL, NULL);
}

/* ---- commands that move nothing ---- */

static cl_uint idle_commands(cl_command_queue queue)
{
    cl_uint count = 0;
    CHECK_INT(clGetCommandQueueInfo(queue, IDLE_COMMANDS_OF_QUEUE, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

/* Of an acquire in the queue, which is followed by a kernel's work and a release. */
static cl_uint idle_in_acquire(const struct rig *rig, struct shared *shared, cl_uint wait_count, const cl_event *wait,
                               cl_event *event)
{
    unsigned char bytes[SHARED_BYTES];
    static unsigned seed;
    rig_pattern(bytes, sizeof(bytes), ++seed);
    const cl_uint before = idle_commands(rig->queue);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, wait_count, wait, event), CL_SUCCESS);
    const cl_uint after = idle_commands(rig->queue);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    CHECK(d3d_has(rig, shared, seed));
    return after - before;
}

/* How many an acquire with an event needs: none where a command moves bytes, whose event it is. */
static cl_uint nothing_is_enqueued(const struct rig *rig, struct shared *shared)
{
    cl_event event = NULL, ended = user_event(rig->context);
    CHECK_INT(clSetUserEventStatus(ended, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(idle_in_acquire(rig, shared, 0, NULL, NULL), 0);
    const cl_uint with_event = idle_in_acquire(rig, shared, 0, NULL, &event);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(idle_in_acquire(rig, shared, 1, &ended, NULL), with_event);
    CHECK_INT(idle_in_acquire(rig, shared, 0, NULL, NULL), 0);
    CHECK_INT(clReleaseEvent(ended), CL_SUCCESS);
    return with_event;
}

/* An acquire that moves nothing in OpenCL, waits for nothing and gives no event enqueues no command. */
SHARING_CASE(nothing_to_enqueue, 0)
{
    struct shared shared;
    struct rig second = *rig;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    if (nothing_is_enqueued(rig, &shared) && out_of_order_mode(rig)) {
        second.queue = make_queue(rig, rig->context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
        nothing_is_enqueued(&second, &shared);
        CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
    }
    shared_close(&shared);
}

/* ---- a command is enqueued beside a release ---- */

enum { HOLDING_ROUNDS = 5, PATIENCE_MS = 50000 };

struct holding {
    const struct rig *rig;
    atomic_int begun, released; /* rounds */
};

static bool reaches(atomic_int *rounds, int round)
{
    for (int i = 0; i < PATIENCE_MS && atomic_load(rounds) < round; i++)
        pause_ms(1);
    return atomic_load(rounds) >= round;
}

/* Holds the queue by a user event that is set when the release has returned. */
static void hold_queue(void *data)
{
    struct holding *holding = data;
    for (int round = 1; round <= HOLDING_ROUNDS; round++) {
        cl_event user = user_event(holding->rig->context);
        CHECK(reaches(&holding->begun, round));
        pause_ms(FLUSHES_SLOW_MS / 3);
        CHECK_INT(clEnqueueMarkerWithWaitList(holding->rig->queue, 1, &user, NULL), CL_SUCCESS);
        const bool returned = CHECK(reaches(&holding->released, round));
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        if (!returned)
            return;
    }
}

/* A release that has found its queue free waits for no command that another thread enqueues then, before it has enqueued its own. */
SHARING_CASE(held_beside, RIG_PROFILING)
{
    struct shared shared;
    struct holding holding = {.rig = rig};
    struct test_job job = {hold_queue, &holding};
    test_thread thread;
    if (!counted() || !shared_open(rig, KIND_2D, 1, &shared) || !test_thread_start(&thread, &job))
        return;
    for (int round = 1; round <= HOLDING_ROUNDS; round++) {
        unsigned char bytes[SHARED_BYTES];
        cl_event released = NULL;
        rig_pattern(bytes, sizeof(bytes), (unsigned)round);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(rig->queue);
        atomic_store(&holding.begun, round);
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
        atomic_store(&holding.released, round);
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, (unsigned)round));
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        if (atomic_load(&tap_case.failures))
            break;
    }
    test_thread_join(thread);
    shared_close(&shared);
}

static void beside(void)
{
    again(": held beside a release");
}

static void waited_for(void)
{
    again(": queues that are waited for");
}

static void many(void)
{
    again(": twenty queues at once");
}

static void user_events(void)
{
    again(": behind a user event");
}

static void given_back(void)
{
    again(": an object given back");
}

static void queue_back(void)
{
    again(": a queue given back");
}

static void failing(void)
{
    again(": a queue that cannot be flushed");
}

static void flushed(void)
{
    again(": flushed already");
}

static void others(void)
{
    again(": other queues");
}

static void idle(void)
{
    again(": commands that move nothing");
}

static const struct tap_test tests[] = {
    {"flushes of queues that are waited for", waited_for},
    SHARING_TESTS("queues that are waited for", what_is_waited_for),
    {"flushes of twenty queues at once", many},
    SHARING_TESTS("twenty queues at once", many_are_waited_for),
    {"flushes behind a user event", user_events},
    SHARING_TESTS("behind a user event", behind_a_user_event),
    {"flushes for an object given back", given_back},
    SHARING_TESTS("an object given back", object_given_back),
    {"flushes of a queue given back", queue_back},
    SHARING_TESTS("a queue given back", queue_given_back),
    {"a release whose flush fails", failing},
    SHARING_TESTS("a queue that cannot be flushed", not_flushed),
    {"flushes of queues that are flushed", flushed},
    SHARING_TESTS("flushed already", flushed_already),
    {"flushes of other queues", others},
    SHARING_TESTS("other queues", what_is_not),
    {"commands of acquires that move nothing", idle},
    SHARING_TESTS("commands that move nothing", nothing_to_enqueue),
    {"commands that are held beside a release", beside},
    SHARING_TESTS("held beside a release", held_beside),
};

TAP_MAIN(tests)
