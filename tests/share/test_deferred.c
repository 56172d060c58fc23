/* Acquires and releases that wait for a user event, one behind the other, when the user event or Direct3D fails: each
 * command's event tells whether it took place, and what did not take place changes nothing. */
#include "sharing.h"

/* ---- chains of commands behind a user event ---- */

enum { CHAIN = 5 };

struct chain {
    const char *steps; /* R: a release, A: an acquire */
    cl_event events[CHAIN];
    cl_int statuses[CHAIN];
};

static const char *const chains[] = {"R", "RA", "RAR", "RARA", "RARAR"};
enum { CHAINS = sizeof(chains) / sizeof(chains[0]) };

/* Enqueues the steps; the first waits for `user`. */
static void chain_enqueue(const struct rig *rig, cl_command_queue queue, cl_mem object, cl_event user,
                          struct chain *chain)
{
    for (int i = 0; chain->steps[i]; i++) {
        const rig_enqueue step = chain->steps[i] == 'R' ? rig->release : rig->acquire;
        CHECK_INT(step(queue, 1, &object, i == 0, i == 0 ? &user : NULL, &chain->events[i]), CL_SUCCESS);
    }
}

/* All are over when the user event is set; each gives its event back. */
static void chain_end(struct chain *chain)
{
    for (int i = 0; chain->steps[i]; i++) {
        clWaitForEvents(1, &chain->events[i]);
        chain->statuses[i] = rig_event_status(chain->events[i]);
        CHECK(chain->statuses[i] <= CL_COMPLETE);
        CHECK_INT(clReleaseEvent(chain->events[i]), CL_SUCCESS);
    }
}

/* Whether OpenCL has the object in the end, by what the events say; each step that took place follows one of the other
 * kind. */
static bool chain_leaves_acquired(const struct chain *chain)
{
    bool acquired = true;
    for (int i = 0; chain->steps[i]; i++) {
        if (chain->statuses[i] != CL_COMPLETE)
            continue;
        CHECK_INT(acquired, chain->steps[i] == 'R');
        acquired = chain->steps[i] == 'A';
    }
    return acquired;
}

/* The object works as ever, and what OpenCL has written before is not lost: with the next release it is Direct3D's. */
static void check_after(const struct rig *rig, const struct shared *shared, bool acquired, unsigned written)
{
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_mem object = shared->object;
    CHECK_INT(rig->acquire(queue, 1, &object, 0, NULL, NULL), acquired ? rig->api->already_acquired : CL_SUCCESS);
    CHECK(cl_has(queue, shared, written));
    CHECK_INT(rig->release(queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &object, 0, NULL, NULL), rig->api->not_acquired);
    d3d_has(rig, shared, written);
    struct rig fresh = *rig;
    fresh.queue = queue;
    CHECK(round_trip(&fresh, shared, written, written + 1));
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

static bool open_written(const struct rig *rig, enum kind kind, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 2);
    if (!shared_open(rig, kind, 1, shared))
        return false;
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(rig->queue);
    return true;
}

static void user_event_fails(const struct rig *rig, enum kind kind, const char *steps,
                             cl_command_queue_properties properties)
{
    struct shared shared;
    struct chain chain = {.steps = steps};
    if (!open_written(rig, kind, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, properties);
    cl_event user = user_event(rig->context);
    chain_enqueue(rig, queue, shared.object, user, &chain);
    CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
    chain_end(&chain);
    CHECK(chain.statuses[0] < 0);
    check_after(rig, &shared, chain_leaves_acquired(&chain), 2);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE("a user event fails", in_order, 0)
{
    for (int i = 0; i < CHAINS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            user_event_fails(rig, (enum kind)kind, chains[i], 0);
}

SHARING_CASE("a user event fails, out of order", out_of_order, RIG_OUT_OF_ORDER)
{
    for (int i = 0; i < CHAINS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            user_event_fails(rig, (enum kind)kind, chains[i], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* An acquire that waits for the user event that fails, with a chain behind it, or none: Direct3D has the object again. */
static void acquire_fails(const struct rig *rig, enum kind kind, const char *steps)
{
    struct shared shared;
    struct chain chain = {.steps = steps};
    unsigned char bytes[SHARED_BYTES];
    if (!shared_open(rig, kind, 1, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context), first = NULL;
    CHECK_INT(rig->acquire(queue, 1, &shared.object, 1, &user, &first), CL_SUCCESS);
    chain_enqueue(rig, queue, shared.object, user, &chain);
    CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
    chain_end(&chain);
    clWaitForEvents(1, &first);
    CHECK(rig_event_status(first) < 0);
    CHECK_INT(rig_event_type(first), rig->api->command_acquire);
    for (int k = 0; chain.steps[k]; k++)
        CHECK(chain.statuses[k] < 0 || chain.steps[k] == 'A');
    CHECK_INT(clReleaseEvent(first), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 1));
    if (!steps[0]) {
        CHECK_INT(cl_read(rig->queue, &shared, bytes, NULL), rig->api->not_acquired);
        CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
        CHECK(round_trip(rig, &shared, 1, 2));
    }
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE("the user event of the acquire fails", acquire_and_chain, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        acquire_fails(rig, (enum kind)kind, "");
        for (int i = 0; i < CHAINS; i++)
            acquire_fails(rig, (enum kind)kind, chains[i]);
    }
}

/* The object goes while its release waits for a user event; a new one of the same surface is acquired behind that release, in
 * its queue or by its event, and has what the first one wrote. */
static void make_again_behind(const struct rig *rig, enum kind kind, bool by_event)
{
    struct shared shared;
    cl_event user = user_event(rig->context), released = NULL;
    cl_command_queue queues[2] = {make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
    cl_command_queue later = queues[by_event];
    cl_int status = 1;
    if (!open_written(rig, kind, &shared))
        return;
    CHECK_INT(rig->release(queues[0], 1, &shared.object, 1, &user, &released), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, kind, shared.resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(rig->acquire(later, 1, &shared.object, by_event, by_event ? &released : NULL, NULL), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(cl_has(later, &shared, 2));
    CHECK_INT(rig->release(later, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    CHECK(round_trip(rig, &shared, 2, 3));
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE("an object made again behind the release", made_again, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int by_event = 0; by_event < 2; by_event++)
            make_again_behind(rig, (enum kind)kind, by_event);
}

/* A barrier of the program's behind a deferred acquire does not let go what the acquire holds back. */
SHARING_CASE("before a barrier", before_a_barrier, RIG_OUT_OF_ORDER)
{
    unsigned char bytes[SHARED_BYTES] = {0}, expected[SHARED_BYTES];
    struct shared shared;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context), later = NULL;
    if (!open_written(rig, KIND_BUFFER, &shared))
        return;
    rig_pattern(expected, sizeof(expected), 2);
    CHECK_INT(rig->release(queue, 1, &shared.object, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, shared.object, CL_FALSE, 0, sizeof(bytes), bytes, 0, NULL, &later),
              CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    pause_ms(20);
    CHECK(rig_event_status(later) > CL_COMPLETE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &later), CL_SUCCESS);
    CHECK_MEM(bytes, expected, sizeof(bytes));
    check_after(rig, &shared, true, 2);
    CHECK_INT(clReleaseEvent(later), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    shared_close(&shared);
}

/* ---- two threads set user events ---- */

struct setter {
    cl_event user;
    atomic_bool began;
};

static void set_other(void *data)
{
    struct setter *setter = data;
    atomic_store(&setter->began, true);
    CHECK_INT(clSetUserEventStatus(setter->user, CL_COMPLETE), CL_SUCCESS);
}

/* A release that waits for two user events ends in the call that sets the later one, in whichever thread that is. */
SHARING_CASE("two threads set the two user events of a release", two_setters, 0)
{
    for (int turn = 0; turn < 20; turn++) {
        struct shared shared;
        struct setter setter = {.user = user_event(rig->context)};
        struct test_job job = {set_other, &setter};
        test_thread thread;
        cl_event users[2] = {setter.user, user_event(rig->context)};
        if (!open_written(rig, (enum kind)(turn % KINDS), &shared))
            return;
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 2, users, NULL), CL_SUCCESS);
        if (test_thread_start(&thread, &job)) {
            while (!atomic_load(&setter.began) && turn % 2)
                pause_ms(0);
            CHECK_INT(clSetUserEventStatus(users[1], CL_COMPLETE), CL_SUCCESS);
            test_thread_join(thread);
            CHECK(d3d_has(rig, &shared, 2));
        }
        for (int i = 0; i < 2; i++)
            CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* ---- the object is released when the command has ended ---- */

/* Once a deferred release has ended and its object is released, the surface is the program's alone, even if the thread that set the
 * user event is still in its call. */
SHARING_CASE("the surface is free after the release", surface_free, 0)
{
    for (int turn = 0; turn < 50; turn++) {
        struct shared shared;
        test_thread thread;
        cl_event released = NULL;
        struct setter setter = {.user = user_event(rig->context)};
        struct test_job job = {set_other, &setter};
        if (!open_written(rig, KIND_2D, &shared))
            return;
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &setter.user, &released), CL_SUCCESS);
        if (test_thread_start(&thread, &job)) {
            CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            CHECK_INT(rig_refs(shared.resource), 1);
            test_thread_join(thread);
        }
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(setter.user), CL_SUCCESS);
        shared_close(&shared);
    }
}

TAP_MAIN
