/* The callbacks of events and of the ends of memory objects: each arrives, once, with the right status, and what they may do with shared
 * objects. */
#include "callbacks.h"

/* ---- events ---- */

BASE_CASE("callbacks: arguments", arguments)
{
    cl_event user = user_event(base->context);
    CHECK_INT(clSetEventCallback(NULL, CL_COMPLETE, on_event, NULL), CL_INVALID_EVENT);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, CL_QUEUED, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, -1, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

/* For each of the three states, of a command that is delayed until all three are registered. */
BASE_CASE("callbacks: the three states", states)
{
    int data[3];
    cl_event user = user_event(base->context);
    cl_mem buffer = make_buffer(base);
    cl_event event = fill(base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, &data[CL_COMPLETE]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_RUNNING, on_event, &data[CL_RUNNING]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_SUBMITTED, on_event, &data[CL_SUBMITTED]), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    wait_until(&journal.count, 3);
    unsigned seen = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(journal.entries[i].object == event);
        CHECK(journal.entries[i].data == &data[journal.entries[i].status]);
        seen |= 1u << journal.entries[i].status;
    }
    CHECK_INT(seen, 7);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

/* The driver may have freed the queue, which its event still names. */
CASE("callbacks: of a command whose queue has gone", queue_has_gone)
{
    struct base base;
    if (!open_base(&base))
        return;
    cl_event event = NULL;
    atomic_store(&journal.count, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    wait_until(&journal.count, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
}

/* ---- acquires and releases ---- */

/* One that fails tells its callback what a query tells: now, behind a user event, and with an event that is given back. */
static void handovers_that_fail(struct rig *rig)
{
    struct shared shared;
    cl_event user = user_event(rig->context), events[4] = {NULL};
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    atomic_store(&journal.count, 0);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &events[0]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &events[1]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &events[2]), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(clSetEventCallback(events[i], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(events[2]), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &events[3]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(events[3], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    wait_until(&journal.count, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(journal.entries[i].status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

CASE("callbacks: acquires and releases that fail", failed_handovers)
{
    if (!callbacks_of_driver())
        sharing_run(&rig_d3d11, 0, handovers_that_fail);
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

BASE_CASE("callbacks: the end of a memory object", memory_ends)
{
    static int first, second;
    cl_int status = 1;
    cl_uint refs = 0;
    unsigned char *bytes = calloc(1, 65536);
    cl_uint seen = 0;
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_USE_HOST_PTR, 65536, bytes, &status);
    CHECK_INT(clSetMemObjectDestructorCallback(NULL, on_memory, &first), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, NULL, &first), CL_INVALID_VALUE);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &first), CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &second), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    CHECK_INT(refs, 1);
    CHECK_INT(clRetainMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    cl_event gate = user_event(base->context);
    CHECK_INT(clReleaseEvent(fill(base, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(base->queue, buffer, &seen);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    pause_ms(50);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    ends_when_set(gate, event);
    if (wait_until(&journal.count, 2)) {
        CHECK(journal.entries[0].data == &second && journal.entries[1].data == &first);
        CHECK(journal.entries[0].object == buffer);
    }
    CHECK_INT(seen, 0x12345678);
    free(bytes);
}

CASE("callbacks: ends before the context's release returns", ends_of_all_kinds)
{
    for (int i = 0; i < 8; i++) {
        struct base base;
        if (!open_base(&base))
            return;
        atomic_store(&journal.count, 0);
        cl_mem buffer = make_buffer(&base);
        CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &base), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
        close_base(&base);
        CHECK_INT(atomic_load(&journal.count), 1);
        wait_until(&journal.count, 1); /* none comes in a later case */
    }
}

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
    unsigned char bytes[SHARED_BYTES];
    if (callbacks_of_driver() || !slow_open(rig, &work) || !shared_open(rig, KIND_BUFFER, 1, &shared))
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

CASE("callbacks: a lock held around a release and taken in a callback", lock_around_a_release_d3d11)
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

CASE("callbacks: a release in one", releases_from_callbacks_d3d11)
{
    sharing_run(&rig_d3d11, 0, releases_from_callbacks);
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
    /* Which cannot wait for this callback. */
    CHECK_INT(clReleaseCommandQueue(make_queue(call->rig, call->rig->context, 0)), CL_SUCCESS);
    if (atomic_fetch_add(&call->went, 1) + 1 < CHAINED)
        chain(call); /* the driver may call back in it, or on another thread */
    atomic_fetch_add(&call->ended, 1);
}

/* Each of many frames is released and the next one begun in callbacks. */
static void frames_released_in_callbacks(struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    struct release_call call = {.rig = rig, .object = shared.object, .queue = rig->queue};
    chain(&call);
    wait_until(&call.ended, CHAINED);
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 1, 3));
    shared_close(&shared);
}

CASE("frames that callbacks release", frames_released_in_callbacks_d3d11)
{
    sharing_run(&rig_d3d11, 0, frames_released_in_callbacks);
}

#endif

TAP_MAIN
