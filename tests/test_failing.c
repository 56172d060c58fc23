/* Commands that fail since a user event before them has failed, in each way that a program can lose sight of them: drivers
 * must be kept from ending the process, and what comes after must work. */
#include "below.h"
#include "driver_bugs.h"
#include "sharing.h"

#ifndef _WIN32
#include <CL/cl_icd.h>
#endif

/* Rounds of each case: what is given back too early shows when its memory serves again. */
enum { ROUNDS = 20 };

static void fail_event(cl_event event)
{
    CHECK_INT(clSetUserEventStatus(event, -5), CL_SUCCESS);
}

static void set_event(cl_event event)
{
    CHECK_INT(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
}

static void drop_event(cl_event event)
{
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

static cl_event marker(cl_command_queue queue, cl_uint count, const cl_event *wait)
{
    cl_event event = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, count, wait, &event), CL_SUCCESS);
    return event;
}

/* The queue of rounds in each of which commands fail: one for all of them, or one for each where the driver's go on no more. */
struct rounds {
    cl_command_queue queue;
    cl_command_queue_properties properties;
    bool asked, stops;
};

static void next_round(const struct rig *rig, struct rounds *rounds)
{
    if (!rounds->asked)
        rounds->stops = !goes_on(rig, rounds->queue);
    rounds->asked = true;
    if (rounds->stops)
        renew_queue(rig, &rounds->queue, rounds->properties);
}

/* The body of a case, for one queue. It leaves nothing in the queue that may still wait. */
typedef void (*round_fn)(const struct rig *rig, cl_command_queue queue, struct shared *shared);

/* Runs a case in queues of both kinds, as far as the device has them, with a cycle of the object after each round. */
static void in_queues(struct rig *rig, round_fn body)
{
    const cl_command_queue_properties kinds[] = {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    cl_command_queue_properties known = 0;
    struct shared shared;
    CHECK_INT(clGetDeviceInfo(rig->cl_device, CL_DEVICE_QUEUE_PROPERTIES, sizeof(known), &known, NULL), CL_SUCCESS);
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    for (unsigned kind = 0; kind < 2; kind++) {
        if ((kinds[kind] & known) != kinds[kind])
            continue;
        struct rounds rounds = {.queue = make_queue(rig, rig->context, kinds[kind]), .properties = kinds[kind]};
        unsigned char pixel = 2;
        for (int i = 0; i < ROUNDS; i++) {
            body(rig, rounds.queue, &shared);
            d3d_fill(rig, &shared, pixel);
            CHECK(round_trip(rig, &shared, pixel, pixel + 1u));
            pixel++;
            next_round(rig, &rounds);
        }
        goes_on(rig, rounds.queue);
        CHECK_INT(clReleaseCommandQueue(rounds.queue), CL_SUCCESS);
    }
    shared_close(&shared);
}

/* ---- the application's own commands ---- */

static void nobody_asks(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event user = user_event(rig->context);
    (void)shared;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), CL_SUCCESS);
    fail_event(user);
    drop_event(user);
}

SHARING_CASE(without_events, 0)
{
    in_queues(rig, nobody_asks);
}

static void dropped_at_once(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event user = user_event(rig->context);
    (void)shared;
    drop_event(marker(queue, 1, &user));
    drop_event(marker(queue, 0, NULL));
    fail_event(user);
    drop_event(user);
}

SHARING_CASE(events_dropped_at_once, 0)
{
    in_queues(rig, dropped_at_once);
}

/* The event of what has failed goes while another event of its list is pending still. */
static void behind_two(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    const cl_event users[] = {user_event(rig->context), user_event(rig->context)};
    cl_event both = marker(queue, 2, users), next;
    (void)shared;
    fail_event(users[0]);
    /* NVIDIA's driver waits for the second event all the same. */
    for (int i = 0; i < 20 && rig_event_status(both) > CL_COMPLETE; i++)
        pause_ms(1);
    drop_event(both);
    next = marker(queue, 0, NULL);
    set_event(users[1]);
    clWaitForEvents(1, &next); /* with NVIDIA's driver it fails as well: it comes after a failed command */
    CHECK(rig_event_status(next) <= CL_COMPLETE);
    drop_event(next);
    drop_event(users[0]);
    drop_event(users[1]);
}

SHARING_CASE(one_of_two_fails, 0)
{
    in_queues(rig, behind_two);
}

/* The same, where the other one is a command before it in its queue. */
static void later_one(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event first = user_event(rig->context), second = user_event(rig->context);
    cl_event waits = marker(queue, 1, &first), fails = marker(queue, 1, &second), all = marker(queue, 0, NULL);
    (void)shared;
    fail_event(second);
    drop_event(fails);
    drop_event(all);
    set_event(first);
    CHECK(clWaitForEvents(1, &waits) == CL_SUCCESS || !queues_go_on(rig));
    drop_event(waits);
    drop_event(first);
    drop_event(second);
}

SHARING_CASE(later_one_fails, 0)
{
    in_queues(rig, later_one);
}

/* ---- acquire and release ---- */

/* The object is Direct3D's again, whatever the driver let the commands come to. */
static void give_back(const struct rig *rig, const struct shared *shared)
{
    const cl_int status = release_one(rig, shared->object);
    CHECK(status == CL_SUCCESS || status == rig->api->not_acquired);
}

static void acquire_fails(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event user = user_event(rig->context), acquired = NULL;
    CHECK_INT(rig->acquire(queue, 1, &shared->object, 1, &user, &acquired), CL_SUCCESS);
    fail_event(user);
    clWaitForEvents(1, &acquired); /* NVIDIA's driver takes a failed event for a complete one */
    CHECK(rig_event_status(acquired) < 0);
    drop_event(acquired);
    drop_event(user);
    CHECK_INT(release_one(rig, shared->object), rig->api->not_acquired);
}

SHARING_CASE(acquires, 0)
{
    in_queues(rig, acquire_fails);
}

/* Whole cycles behind an event that fails, and other work that still waits then. */
static void cycles_fail(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event user = user_event(rig->context), other = user_event(rig->context);
    cl_event waits = marker(queue, 1, &other);
    unsigned char bytes[SHARED_BYTES] = {0};
    CHECK_INT(rig->acquire(queue, 1, &shared->object, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(cl_write(queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queue, 1, &shared->object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(queue, 1, &shared->object, 0, NULL, NULL), CL_SUCCESS);
    fail_event(user);
    set_event(other);
    drop_event(waits);
    drop_event(user);
    drop_event(other);
    give_back(rig, shared);
}

SHARING_CASE(cycles, 0)
{
    in_queues(rig, cycles_fail);
}

/* A release behind a command that fails, while another waits before it. */
static void release_fails(const struct rig *rig, cl_command_queue queue, struct shared *shared)
{
    cl_event user = user_event(rig->context), other = user_event(rig->context), released = NULL;
    CHECK_INT(rig->acquire(queue, 1, &shared->object, 0, NULL, NULL), CL_SUCCESS);
    drop_event(marker(queue, 1, &other));
    CHECK_INT(rig->release(queue, 1, &shared->object, 1, &user, &released), CL_SUCCESS);
    fail_event(user);
    drop_event(released);
    set_event(other);
    drop_event(user);
    drop_event(other);
    give_back(rig, shared);
}

SHARING_CASE(releases, 0)
{
    in_queues(rig, release_fails);
}

/* ---- the order of a queue ---- */

static bool open_both(const struct rig *rig, struct slow_work *work, struct shared *shared)
{
    if (!slow_open(rig, work))
        return false;
    if (shared_open(rig, KIND_BUFFER, 1, shared))
        return true;
    slow_close(work);
    return false;
}

/* What was enqueued before a command that has failed still comes before what is enqueued after it. */
SHARING_CASE(order_is_kept, 0)
{
    struct slow_work work;
    struct shared shared;
    if (!open_both(rig, &work, &shared))
        return;
    cl_event begins = user_event(rig->context), fails = user_event(rig->context), released = NULL;
    cl_event first = marker(rig->queue, 1, &begins), slow, last;
    unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), 2);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    slow = slow_start(&work, rig->queue);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    last = marker(rig->queue, 1, &fails);
    fail_event(fails);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
    set_event(begins);
    /* The bytes are with Direct3D, or the release says that they are not. */
    CHECK(clWaitForEvents(1, &released) != CL_SUCCESS || d3d_has(rig, &shared, 2));
    go_on(rig);
    drop_event(first);
    drop_event(slow);
    drop_event(last);
    drop_event(released);
    drop_event(begins);
    drop_event(fails);
    give_back(rig, &shared);
    shared_close(&shared);
    slow_close(&work);
}

/* A second release behind that waits for nobody: its call is in the thread that sets the user event which holds the first. */
SHARING_CASE(two_releases_keep_it, 0)
{
    struct shared shared[2];
    cl_event released[2] = {NULL, NULL};
    if (!shared_open(rig, KIND_BUFFER, 1, &shared[0]) || !shared_open(rig, KIND_BUFFER, 1, &shared[1]))
        return;
    cl_event begins = user_event(rig->context), fails = user_event(rig->context);
    cl_event first = marker(rig->queue, 1, &begins);
    for (int i = 0; i < 2; i++)
        CHECK_INT(acquire_one(rig, shared[i].object), CL_SUCCESS);
    cl_event last = marker(rig->queue, 1, &fails);
    fail_event(fails);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(rig->release(rig->queue, 1, &shared[i].object, 0, NULL, &released[i]), CL_SUCCESS);
        pause_ms(20); /* the driver may end what it takes for free */
    }
    CHECK(rig_event_status(released[1]) != CL_COMPLETE);
    set_event(begins);
    for (int i = 0; i < 2; i++) {
        clWaitForEvents(1, &released[i]);
        drop_event(released[i]);
    }
    go_on(rig);
    drop_event(first);
    drop_event(last);
    drop_event(begins);
    drop_event(fails);
    for (int i = 0; i < 2; i++) {
        give_back(rig, &shared[i]);
        shared_close(&shared[i]);
    }
}

/* So it is with the application's own commands, and with those of an acquire. `through`: the command that fails waits for one of
 * another queue, which waits for the user event. NULL: it waits for that itself. */
static void own_order_is_kept(const struct rig *rig, bool acquires, cl_command_queue through)
{
    const cl_uint none = 0;
    cl_uint found = 0;
    cl_event acquired = NULL, read = NULL;
    struct slow_work work;
    struct shared shared;
    if (!open_both(rig, &work, &shared))
        return;
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, work.buffer, CL_TRUE, 0, sizeof(none), &none, 0, NULL, NULL),
              CL_SUCCESS);
    cl_event fails = user_event(rig->context), slow = slow_start(&work, rig->queue);
    cl_event before = through ? marker(through, 1, &fails) : NULL,
             last = marker(rig->queue, 1, through ? &before : &fails);
    if (through)
        CHECK_INT(clFlush(through), CL_SUCCESS);
    fail_event(fails);
    if (before)
        drop_event(before);
    if (acquires)
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, work.buffer, CL_FALSE, 0, sizeof(found), &found, 0, NULL, &read),
              CL_SUCCESS);
    clWaitForEvents(1, &read);
    /* NVIDIA's commands fail behind one that has failed, and rusticl 25.0's do, acquires too. */
    const bool failed = rig_event_status(acquires ? acquired : read) < 0;
    CHECK(!failed || !queues_go_on(rig));
    CHECK(found != none || (failed && rig_event_status(read) < 0));
    if (acquires) {
        CHECK_INT(release_one(rig, shared.object), failed ? rig->api->not_acquired : CL_SUCCESS);
        drop_event(acquired);
    }
    drop_event(read);
    drop_event(slow);
    drop_event(last);
    drop_event(fails);
    shared_close(&shared);
    slow_close(&work);
}

SHARING_CASE(commands_keep_order, 0)
{
    own_order_is_kept(rig, false, NULL);
}

SHARING_CASE(acquires_keep_order, 0)
{
    own_order_is_kept(rig, true, NULL);
}

SHARING_CASE(kept_through_another, 0)
{
    cl_command_queue other = make_queue(rig, rig->context, 0);
    own_order_is_kept(rig, false, other);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

#ifndef _WIN32
/* The one that fails waits for a deferred acquire, whose user event is set and whose Direct3D part fails. */
SHARING_CASE(kept_behind_a_failed_acquire, 0)
{
    const cl_uint none = 0;
    cl_uint found = 0;
    cl_event acquired = NULL, read = NULL;
    struct slow_work work;
    struct shared shared;
    if (skip_without_staging() || !slow_open(rig, &work) || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, work.buffer, CL_TRUE, 0, sizeof(none), &none, 0, NULL, NULL),
              CL_SUCCESS);
    cl_event begins = user_event(rig->context);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(rig->release(other, 1, &shared.object, 1, &begins, NULL), CL_SUCCESS);
    CHECK_INT(rig->acquire(other, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
    cl_event slow = slow_start(&work, rig->queue), last = marker(rig->queue, 1, &acquired);
    fake_d3d_fail("Map", 1, E_FAIL);
    set_event(begins);
    clWaitForEvents(1, &acquired);
    fake_d3d_reset();
    CHECK(rig_event_status(acquired) < 0);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, work.buffer, CL_FALSE, 0, sizeof(found), &found, 0, NULL, &read),
              CL_SUCCESS);
    clWaitForEvents(1, &read);
    const bool failed = rig_event_status(read) < 0;
    CHECK(!failed || !queues_go_on(rig));
    CHECK(found != none || failed);
    CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
    drop_event(read);
    drop_event(slow);
    drop_event(last);
    drop_event(acquired);
    drop_event(begins);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}
#endif

/* ---- queues that lose nothing ---- */

enum tells { NOT_YET, TELLS, HAS_TOLD };
enum { TELLS_FOR = 30 }; /* milliseconds */

static void CL_CALLBACK tell_slowly(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_store((atomic_int *)data, TELLS);
    pause_ms(TELLS_FOR);
    atomic_store((atomic_int *)data, HAS_TOLD);
}

static void await_tells(atomic_int *tells, int wanted)
{
    for (int i = 0; i < 60000 && atomic_load(tells) < wanted; i++)
        pause_ms(1);
    CHECK(atomic_load(tells) >= wanted);
}

/* Two commands, the second of which is pending until the program says so. PoCL begins it after the callbacks of the first one. */
struct pending {
    atomic_int tells, go;
    cl_event events[2];
};

static void CL_CALLBACK tell_when_told(cl_event event, cl_int status, void *data)
{
    struct pending *pending = data;
    (void)event;
    (void)status;
    atomic_store(&pending->tells, TELLS);
    for (int i = 0; i < 60000 && !atomic_load(&pending->go); i++)
        pause_ms(1);
    atomic_store(&pending->tells, HAS_TOLD);
}

static void pending_start(const struct rig *rig, cl_command_queue queue, struct pending *pending)
{
    cl_event begins = user_event(rig->context);
    atomic_store(&pending->tells, NOT_YET);
    atomic_store(&pending->go, 0);
    pending->events[0] = marker(queue, 1, &begins);
    pending->events[1] = marker(queue, 0, NULL);
    CHECK_INT(clSetEventCallback(pending->events[0], CL_COMPLETE, tell_when_told, pending), CL_SUCCESS);
    set_event(begins);
    drop_event(begins);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    await_tells(&pending->tells, TELLS);
}

/* The second one fails where drivers let commands fail behind a failed one of their queue. */
static void pending_end(const struct rig *rig, struct pending *pending)
{
    CHECK_INT(atomic_load(&pending->tells), TELLS);
    atomic_store(&pending->go, 1);
    await_tells(&pending->tells, HAS_TOLD);
    CHECK(clWaitForEvents(1, &pending->events[1]) == CL_SUCCESS || !queues_go_on(rig));
    drop_event(pending->events[0]);
    drop_event(pending->events[1]);
}

/* A command of one queue fails: in another one nothing waits. */
SHARING_CASE(other_queues_go_on, 0)
{
    static struct pending pending;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    pending_start(rig, rig->queue, &pending);
    cl_event fails = user_event(rig->context), failed = marker(other, 1, &fails);
    CHECK_INT(clFlush(other), CL_SUCCESS);
    fail_event(fails);
    cl_event next = marker(rig->queue, 0, NULL);
    pending_end(rig, &pending);
    CHECK_INT(clWaitForEvents(1, &next), CL_SUCCESS);
    drop_event(next);
    drop_event(failed);
    drop_event(fails);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

/* The same over a driver that is short of something when cld3d waits for the queue (below.c). */
static void short_of_something(void)
{
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv(BELOW_NO_FINISH, "1");
    test_setenv("CLD3D_NO_QUIRKS", "pocl-failure-race"); /* which waits for the slow kernel, up to 100 ms */
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "order of a queue: "), 4);
    test_setenv("CLD3D_NO_QUIRKS", NULL);
    test_setenv(BELOW_NO_FINISH, NULL);
}

/* ---- an error in a callback ---- */

static void CL_CALLBACK fail_other(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    fail_event(*(cl_event *)data);
}

/* It ends what waits for it in two queues, and what is deferred there, though another user event is pending: in PoCL. Other drivers
 * let their commands wait for that too. */
SHARING_CASE(fails_in_a_callback, 0)
{
    struct shared shared;
    cl_event waits[2] = {user_event(rig->context), user_event(rig->context)}, tells = user_event(rig->context);
    cl_event released = NULL;
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    cl_event before = marker(rig->queue, 2, waits);
    CHECK_INT(rig->acquire(other, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    cl_event behind = marker(other, 2, waits);
    CHECK_INT(rig->release(other, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(tells, CL_COMPLETE, fail_other, &waits[0]), CL_SUCCESS);
    set_event(tells);
    for (int i = 0; i < (is_pocl(rig->platform) ? 60000 : 2000) && rig_event_status(released) > CL_COMPLETE; i++)
        pause_ms(1);
    CHECK(rig_event_status(released) < 0 || !is_pocl(rig->platform));
    set_event(waits[1]);
    clWaitForEvents(1, &released);
    drop_event(released);
    drop_event(before);
    drop_event(behind);
    drop_event(waits[0]);
    drop_event(waits[1]);
    drop_event(tells);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    give_back(rig, &shared);
    shared_close(&shared);
}

/* ---- at the moment at which something else ends ---- */

enum { MOMENTS = 400, MOST_WRITTEN = 1 << 20 };

/* A command waits for a user event that fails, and for another command that ends just then: by its queue, or by its wait list. */
static void fail_at_the_end(struct rig *rig, bool by_list)
{
    cl_int status = CL_SUCCESS;
    struct rounds rounds = {.queue = rig->queue};
    CHECK_INT(
        clGetCommandQueueInfo(rig->queue, CL_QUEUE_PROPERTIES, sizeof(rounds.properties), &rounds.properties, NULL),
        CL_SUCCESS);
    char *bytes = calloc(1, MOST_WRITTEN);
    cl_command_queue other = make_queue(rig, rig->context, 0);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, MOST_WRITTEN, NULL, &status);
    for (unsigned i = 0; i < MOMENTS && CHECK_INT(status, CL_SUCCESS); i++) {
        cl_event waits[2] = {user_event(rig->context), NULL}, held = NULL;
        const size_t size = 1 + i * 7919u % MOST_WRITTEN;
        CHECK_INT(
            clEnqueueWriteBuffer(by_list ? other : rig->queue, buffer, CL_FALSE, 0, size, bytes, 0, NULL, &waits[1]),
            CL_SUCCESS);
        CHECK_INT(clEnqueueWriteBuffer(rig->queue, buffer, CL_FALSE, 0, 64, bytes, by_list ? 2 : 1, waits, &held),
                  CL_SUCCESS);
        CHECK_INT(clFlush(other), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        for (unsigned k = 0; i % 2 && k < 20000 && rig_event_status(waits[1]) > CL_COMPLETE; k++)
            continue;
        fail_event(waits[0]);
        CHECK(clWaitForEvents(1, &held) != CL_SUCCESS);
        CHECK(rig_event_status(held) < 0);
        if (clWaitForEvents(1, &waits[1]) != CL_SUCCESS) /* it is behind the one before that has failed */
            CHECK(!by_list && !queues_go_on(rig));
        drop_event(held);
        drop_event(waits[0]);
        drop_event(waits[1]);
        next_round(rig, &rounds);
        rig->queue = rounds.queue;
    }
    CHECK_INT(clFinish(other), CL_SUCCESS);
    goes_on(rig, rig->queue);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    free(bytes);
}

SHARING_CASE(when_the_queue_ends, 0)
{
    fail_at_the_end(rig, false);
}

SHARING_CASE(when_the_list_ends, 0)
{
    fail_at_the_end(rig, true);
}

SHARING_CASE(when_the_list_ends_in_any_order, RIG_OUT_OF_ORDER)
{
    fail_at_the_end(rig, true);
}

/* ---- as the context goes ---- */

/* The first command ends, and the second one, behind it, has failed before. */
static void fail_behind(const struct rig *rig, atomic_int *tells)
{
    cl_event fails = user_event(rig->context), other = user_event(rig->context);
    cl_event first = marker(rig->queue, 1, &other), second = marker(rig->queue, 1, &fails);
    CHECK_INT(clSetEventCallback(first, CL_COMPLETE, tell_slowly, tells), CL_SUCCESS);
    fail_event(fails);
    set_event(other);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    await_tells(tells, TELLS);
    drop_event(second);
    drop_event(first);
    drop_event(fails);
    drop_event(other);
}

#ifdef _WIN32
static cl_context keep_below(cl_context context)
{
    (void)context;
    return NULL; /* Wine's handles do not tell the driver's functions */
}

static void gone_above(cl_context context)
{
    (void)context;
}
#else
/* A handle of a driver begins with its functions, which no layer sees. */
static const cl_icd_dispatch *driver_of(cl_context context)
{
    return *(cl_icd_dispatch *const *)(void *)context;
}

/* One more reference to the driver's context. */
static cl_context keep_below(cl_context context)
{
    CHECK_INT(driver_of(context)->clRetainContext(context), CL_SUCCESS);
    return context;
}

static cl_uint references_below(cl_context context)
{
    cl_uint count = 0;
    CHECK_INT(driver_of(context)->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL),
              CL_SUCCESS);
    return count;
}

/* The last one: nobody else has any, once the driver's threads are through. */
static void gone_above(cl_context context)
{
    for (int i = 0; i < 60000 && references_below(context) > 1; i++)
        pause_ms(1);
    CHECK_INT(references_below(context), 1);
    CHECK_INT(driver_of(context)->clReleaseContext(context), CL_SUCCESS);
}
#endif

/* PoCL tells the commands behind one of its end after the program's callbacks, when the queue counts as empty already: also those
 * that have failed. */
SHARING_CASE(while_the_driver_tells, 0)
{
    static atomic_int tells;
    struct rig own;
    if (!rig_open(&own, rig->api, 0))
        return;
    atomic_store(&tells, NOT_YET);
    fail_behind(&own, &tells);
    const cl_context below = keep_below(own.context);
    rig_close(&own);
    await_tells(&tells, HAS_TOLD);
    pause_ms(10); /* the driver's thread goes on */
    gone_above(below);
}

/* A command of another queue goes on for longer than the context that the one behind it was of. */
static void fail_beside(const struct rig *rig, cl_event running)
{
    const cl_event waits[] = {user_event(rig->context), running};
    cl_event failed = marker(rig->queue, 2, waits);
    fail_event(waits[0]);
    drop_event(failed);
    drop_event(waits[0]);
}

/* Some slow work, one after the other. Gives the event of the last. */
static cl_event long_work(struct slow_work *work, cl_command_queue queue)
{
    enum { TIMES = 4 };
    for (int i = 1; i < TIMES; i++)
        drop_event(slow_start(work, queue));
    return slow_start(work, queue);
}

struct held {
    cl_command_queue queue;
    cl_event fails, failed;
    atomic_int tells;
};

static void CL_CALLBACK enqueue_held(cl_event event, cl_int status, void *data)
{
    struct held *held = data;
    (void)event;
    (void)status;
    held->failed = marker(held->queue, 1, &held->fails);
    atomic_store(&held->tells, HAS_TOLD);
}

/* A command that was enqueued in a callback fails behind one that goes on for longer than the context. */
static void fail_in_callback(const struct rig *rig, cl_command_queue other)
{
    static struct held held;
    cl_event begins = user_event(rig->context), first = marker(other, 1, &begins);
    held.queue = rig->queue;
    held.fails = user_event(rig->context);
    atomic_store(&held.tells, NOT_YET);
    CHECK_INT(clSetEventCallback(first, CL_COMPLETE, enqueue_held, &held), CL_SUCCESS);
    set_event(begins);
    CHECK_INT(clFlush(other), CL_SUCCESS);
    await_tells(&held.tells, HAS_TOLD);
    fail_event(held.fails);
    drop_event(held.failed);
    drop_event(held.fails);
    drop_event(first);
    drop_event(begins);
}

/* A command fails behind another queue's, which goes on for longer than the context. */
static void outlive_context(const struct rig *rig, bool in_a_callback)
{
    struct rig own;
    struct slow_work work;
    cl_event running = NULL;
    if (!rig_open(&own, rig->api, 0))
        return;
    if (slow_open(&own, &work)) {
        cl_command_queue other = make_queue(&own, own.context, 0);
        running = long_work(&work, in_a_callback ? own.queue : other);
        if (in_a_callback)
            fail_in_callback(&own, other);
        else
            fail_beside(&own, running);
        slow_close(&work);
        CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    }
    rig_close(&own);
    if (!running)
        return;
    CHECK_INT(clWaitForEvents(1, &running), CL_SUCCESS);
    pause_ms(10); /* the driver's thread goes on */
    drop_event(running);
}

SHARING_CASE(longer_than_the_context, 0)
{
    outlive_context(rig, false);
}

SHARING_CASE(longer_than_the_context_in_a_callback, 0)
{
    outlive_context(rig, true);
}

/* The second of two commands that fail waits for one of another queue besides, and for the first. Nothing of them outlives the
 * context. */
SHARING_CASE(with_the_context, 0)
{
    struct rig own;
    struct slow_work work;
    if (!rig_open(&own, rig->api, 0))
        return;
    const cl_context below = keep_below(own.context);
    if (slow_open(&own, &work)) {
        cl_command_queue other = make_queue(&own, own.context, 0);
        cl_event running = slow_start(&work, other), fails = user_event(own.context);
        cl_event first = marker(own.queue, 1, &fails), second = marker(own.queue, 1, &running);
        fail_event(fails);
        CHECK_INT(clFlush(own.queue), CL_SUCCESS); /* rusticl 22.3 never gives back what is not flushed */
        drop_event(second);
        drop_event(first);
        drop_event(fails);
        CHECK_INT(clWaitForEvents(1, &running), CL_SUCCESS);
        drop_event(running);
        slow_close(&work);
        CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    }
    rig_close(&own);
    gone_above(below);
}

/* Two commands that fail, the later one first. */
SHARING_CASE(in_the_other_order, 0)
{
    struct rig own;
    if (!rig_open(&own, rig->api, 0))
        return;
    const cl_context below = keep_below(own.context);
    cl_event fails[] = {user_event(own.context), user_event(own.context)};
    cl_event first = marker(own.queue, 1, &fails[0]), second = marker(own.queue, 1, &fails[1]);
    fail_event(fails[1]);
    fail_event(fails[0]);
    CHECK_INT(clFlush(own.queue), CL_SUCCESS); /* rusticl 22.3 never gives back what is not flushed */
    const cl_event all[] = {second, first, fails[1], fails[0]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        drop_event(all[i]);
    rig_close(&own);
    gone_above(below);
}

/* ---- beside commands that run ---- */

static void fail_alone(const struct rig *rig, cl_command_queue queue)
{
    cl_event fails = user_event(rig->context), failed = marker(queue, 1, &fails);
    fail_event(fails);
    drop_event(failed);
    drop_event(fails);
}

/* A context goes whose queue the program still uses, and then another one. */
SHARING_CASE(contexts_beside_a_command, 0)
{
    static struct pending pending;
    struct rig own, other;
    if (!rig_open(&own, rig->api, 0))
        return;
    if (rig_open(&other, rig->api, 0)) {
        cl_command_queue queue = make_queue(&own, own.context, 0);
        fail_alone(&own, queue);
        pending_start(&own, queue, &pending);
        rig_close(&own);
        rig_close(&other);
        pending_end(rig, &pending);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    rig_close(&own);
}

/* Many commands have failed in a queue in which one runs, and go on to fail in another one. */
SHARING_CASE(many_beside_a_command, 0)
{
    enum { MANY = 300 };
    static struct pending pending;
    struct rig own;
    if (!rig_open(&own, rig->api, 0))
        return;
    cl_command_queue other = make_queue(&own, own.context, 0);
    for (int i = 0; i < MANY; i++)
        fail_alone(&own, own.queue);
    pending_start(&own, own.queue, &pending);
    for (int i = 0; i < MANY; i++)
        fail_alone(&own, other);
    pending_end(rig, &pending);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    rig_close(&own);
}

/* Events of failed commands are kept for a while, of one queue too, and do not become ever more. */
SHARING_CASE(kept_events_are_bounded, 0)
{
    enum { FAILURES = 3000, MOST = 2500 };
    cl_uint refs = 0;
    for (int i = 0; i < FAILURES; i++) {
        cl_event fails = user_event(rig->context), failed = marker(rig->queue, 1, &fails);
        fail_event(fails);
        drop_event(failed);
        drop_event(fails);
        clFlush(rig->queue); /* rusticl holds a queue for commands that it has not begun */
        if (i % 2)
            pause_ms(1);
    }
    CHECK_INT(clGetCommandQueueInfo(rig->queue, CL_QUEUE_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    if (!CHECK(refs < MOST))
        printf("# %u references\n", refs);
}

#ifndef _WIN32
/* ---- two threads ---- */

static void give_back_event(void *data)
{
    drop_event(data);
}

/* One thread asks whether the command may fail, and gives its event back; between the two another one lets it fail. */
SHARING_CASE(given_back_meanwhile, 0)
{
    static const cl_uint zero = 0;
    cl_int status = 1;
    cl_event fails, event = NULL;
    test_thread thread;
    if (!getenv(BELOW_AT_WORK)) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!is_pocl(rig->platform))
        return; /* other drivers need no more references */
    fails = user_event(rig->context);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status);
    CHECK_INT(clEnqueueWriteBuffer(rig->queue, buffer, CL_FALSE, 0, sizeof(zero), &zero, 1, &fails, &event),
              CL_SUCCESS);
    struct test_job job = {give_back_event, event};
    order_below(rig->queue, BELOW_HOLD, BELOW_HOLD_QUERY);
    if (CHECK(test_thread_start(&thread, &job))) {
        held_below(rig->queue);
        fail_event(fails);
        order_below(rig->queue, BELOW_HOLD, BELOW_HOLD_NONE);
        test_thread_join(thread);
    }
    CHECK_INT(order_below(rig->queue, BELOW_EARLY, 0), 0);
    drop_event(fails);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

static void fail_only(void *data)
{
    fail_event(data);
}

/* Who sees that a user event is set gives it back, while the thread that sets it is still in its call. */
SHARING_CASE(given_back_while_set, 0)
{
    struct shared shared;
    cl_event released = NULL;
    test_thread thread;
    if (!getenv(BELOW_AT_WORK)) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    cl_event user = user_event(rig->context), held = marker(rig->queue, 1, &user);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
    struct test_job job = {fail_only, user};
    if (CHECK(test_thread_start(&thread, &job))) {
        for (int i = 0; i < 50000 && rig_event_status(user) > CL_COMPLETE; i++)
            pause_ms(1);
        drop_event(user);
        test_thread_join(thread);
    }
    for (int i = 0; i < 5000 && rig_event_status(released) > CL_COMPLETE; i++)
        pause_ms(1);
    CHECK(rig_event_status(released) <= CL_COMPLETE);
    drop_event(released);
    drop_event(held);
    shared_close(&shared);
}

static void while_at_work(void)
{
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv(BELOW_AT_WORK, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "two threads: "), 4);
    test_setenv(BELOW_AT_WORK, NULL);
}

/* ---- two threads set two user events ---- */

struct second_setter {
    cl_event event;
    cl_int status;
    atomic_int turn, done; /* the how many-th event is set; -1: no more */
};

static void set_each(void *data)
{
    struct second_setter *setter = data;
    int now;
    for (int turn = 1; (now = atomic_load(&setter->turn)) >= 0; let_others_run())
        if (now == turn) {
            CHECK_INT(clSetUserEventStatus(setter->event, setter->status), CL_SUCCESS);
            atomic_store(&setter->done, turn++);
        }
}

/* PoCL lets go of a command in the midst of failing it, and would end the process if the other thread met that moment. */
static void fail_beside_setter(struct rig *rig, struct second_setter *setter)
{
#ifdef __SANITIZE_ADDRESS__
    enum { TIMES = 200 }; /* it takes ten times as long */
#else
    enum { TIMES = 1500 };
#endif
    static const cl_uint zero = 0;
    cl_int status = 1;
    test_thread thread;
    struct test_job job = {set_each, setter};
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, sizeof(zero), NULL, &status);
    if (!CHECK(test_thread_start(&thread, &job)))
        return;
    for (int i = 1; i <= TIMES; i++) {
        cl_event users[] = {user_event(rig->context), user_event(rig->context)}, event = NULL;
        CHECK_INT(clEnqueueWriteBuffer(rig->queue, buffer, CL_FALSE, 0, sizeof(zero), &zero, 2, users, &event),
                  CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        setter->event = users[1];
        setter->status = i % 2 ? -5 : CL_COMPLETE;
        atomic_store(&setter->turn, i);
        fail_event(users[0]);
        while (atomic_load(&setter->done) < i)
            let_others_run();
        CHECK(clWaitForEvents(1, &event) != CL_SUCCESS);
        drop_event(event);
        drop_event(users[0]);
        drop_event(users[1]);
    }
    atomic_store(&setter->turn, -1);
    test_thread_join(thread);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

SHARING_CASE(two_setters, RIG_OUT_OF_ORDER)
{
    struct second_setter setter = {.turn = 0};
    if (!is_pocl(rig->platform)) {
        SKIP("it is PoCL that ends");
        return;
    }
    fail_beside_setter(rig, &setter);
}

/* ---- commands that cld3d does not see ---- */

/* A marker that goes to the driver past cld3d, as a command of an extension does. */
static cl_event unseen_marker(cl_command_queue queue, cl_event wait)
{
    const struct {
        const cl_icd_dispatch *table;
    } *const object = (const void *)queue;
    cl_event event = NULL;
    CHECK_INT(object->table->clEnqueueMarkerWithWaitList(queue, 1, &wait, &event), CL_SUCCESS);
    return event;
}

/* A user event fails, and another one, which this thread sets later, holds a command that cld3d has not seen. */
SHARING_CASE(unseen_commands, 0)
{
    if (!getenv("CLD3D_COPY_BACK")) {
        SKIP("only as a part of the case above");
        return;
    }
    cl_event fails = user_event(rig->context), begins = user_event(rig->context);
    cl_event held = unseen_marker(rig->queue, begins);
    fail_event(fails);
    cl_event next = marker(rig->queue, 0, NULL);
    set_event(begins);
    CHECK_INT(clWaitForEvents(1, &next), CL_SUCCESS);
    const cl_event all[] = {held, next, begins, fails};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        drop_event(all[i]);
}

/* When the context goes each failed event waits for a marker in its queue, and not for one of its own. */
SHARING_CASE(failures_share_a_marker, 0)
{
    enum { MANY = 100, FEW = 8 };
    struct rig own;
    if (!getenv("CLD3D_COPY_BACK")) {
        SKIP("only as a part of the case above");
        return;
    }
    if (!rig_open(&own, rig->api, 0))
        return;
    for (int i = 0; i < MANY; i++)
        fail_alone(&own, own.queue);
    const cl_uint before = order_below(rig->queue, BELOW_MARKERS, 0);
    rig_close(&own);
    CHECK(order_below(rig->queue, BELOW_MARKERS, 0) - before <= FEW);
}

/* So that cld3d reckons with commands that it does not see. */
static void with_unseen_commands(void)
{
    if (!takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv("CLD3D_COPY_BACK", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "unseen:"), 4);
    test_setenv("CLD3D_COPY_BACK", NULL);
}
#endif

static const struct tap_test tests[] = {
    /* The first: the loader cuts OPENCL_LAYERS into its parts. */
    {"over a layer that refuses to finish", short_of_something},
#ifndef _WIN32
    {"where commands of extensions may be", with_unseen_commands},
    {"over a layer that is at work on a failed command for a while", while_at_work},
#endif
    SHARING_TESTS("commands without events", without_events),
    SHARING_TESTS("events that are given back at once", events_dropped_at_once),
    SHARING_TESTS("one of two events fails", one_of_two_fails),
    SHARING_TESTS("a later command fails first", later_one_fails),
    SHARING_TESTS("acquires", acquires),
    SHARING_TESTS("cycles", cycles),
    SHARING_TESTS("releases", releases),
    SHARING_TESTS("the order of a queue", order_is_kept),
    SHARING_TESTS("order with two releases", two_releases_keep_it),
    SHARING_TESTS("an error in a callback", fails_in_a_callback),
    SHARING_TESTS("the order of a queue: commands", commands_keep_order),
    SHARING_TESTS("the order of two queues", kept_through_another),
    SHARING_TESTS("other queues go on", other_queues_go_on),
    SHARING_TESTS("at the end of the command before", when_the_queue_ends),
    SHARING_TESTS("at the end of a command of the list", when_the_list_ends),
    SHARING_TESTS("at the end of a command of the list, out of order", when_the_list_ends_in_any_order),
    SHARING_TESTS("the order of a queue: an acquire", acquires_keep_order),
    SHARING_TESTS("while the driver tells", while_the_driver_tells),
    SHARING_TESTS("nothing outlives the context", with_the_context),
    SHARING_TESTS("nothing outlives the context, the later one first", in_the_other_order),
    SHARING_TESTS("longer than the context", longer_than_the_context),
    SHARING_TESTS("longer than the context, in a callback", longer_than_the_context_in_a_callback),
    SHARING_TESTS("contexts beside a command", contexts_beside_a_command),
    SHARING_TESTS("many beside a command", many_beside_a_command),
    SHARING_TESTS("many, one after the other", kept_events_are_bounded),
#ifndef _WIN32
    SHARING_TESTS("the order behind an acquire that fails", kept_behind_a_failed_acquire),
    SHARING_TESTS("unseen: a command that a user event holds", unseen_commands),
    SHARING_TESTS("unseen: failed commands share a marker", failures_share_a_marker),
    SHARING_TESTS("two threads: an event is given back while its command fails", given_back_meanwhile),
    SHARING_TESTS("two threads: a user event is given back while it is set", given_back_while_set),
    SHARING_TESTS("two threads set two user events of one command", two_setters),
#endif
};

TAP_MAIN(tests)
