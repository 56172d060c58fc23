/* Acquire and release with events before them: wait lists whose events are complete, pending, or have failed; and commands that
 * wait for a user event, which the same thread sets later. */
#include "commands.h"

static const cl_int failed_wait = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

static void end_event(cl_event event)
{
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

/* An event that has completed or failed already. */
static cl_event settled_event(const struct rig *rig, cl_int status)
{
    cl_event event = user_event(rig->context);
    CHECK_INT(clSetUserEventStatus(event, status), CL_SUCCESS);
    return event;
}

/* Waits until an event has completed or failed; what then is its status. */
static cl_int outcome(cl_event event)
{
    for (int i = 0; i < 60000; i++) {
        const cl_int status = rig_event_status(event);
        if (status <= CL_COMPLETE)
            return status;
        pause_ms(1);
    }
    return rig_event_status(event);
}

/* ---- an acquire behind a user event ---- */

/* The call returns at once and the object is acquired from then on; the event tells when its bytes are there. */
OBJECTS_CASE("acquire behind a user event", acquire_waits, 0)
{
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    unsigned char bytes[KINDS][SHARED_BYTES], expected[SHARED_BYTES];
    cl_event user = user_event(rig->context), acquired = NULL;
    if (CHECK_INT(rig->acquire(rig->queue, KINDS, list, 1, &user, &acquired), CL_SUCCESS)) {
        CHECK_INT(rig_event_type(acquired), rig->api->command_acquire);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        pause_ms(20);
        CHECK(rig_event_status(acquired) > CL_COMPLETE);
        CHECK_INT(acquire_one(rig, list[0]), rig->api->already_acquired);
        for (unsigned i = 0; i < KINDS; i++)
            CHECK_INT(cl_read(rig->queue, &all[i], bytes[i], NULL), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
        CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
        queue_wait(rig->queue);
        for (unsigned i = 0; i < KINDS; i++) {
            rig_pattern(expected, sizeof(expected), 1 + i);
            CHECK_MEM(bytes[i], expected, SHARED_BYTES);
        }
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, NULL), CL_SUCCESS);
        end_event(acquired);
    }
    end_event(user);
}

/* ---- wait lists with an event that has failed ---- */

/* The call is fine, its event is not, and the objects belong to Direct3D as before. */
OBJECTS_CASE("acquire after a failure", acquire_after_a_failure, 0)
{
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    const cl_event wait[] = {settled_event(rig, CL_COMPLETE), settled_event(rig, -17)};
    cl_event acquired = NULL;
    if (CHECK_INT(rig->acquire(rig->queue, KINDS, list, 2, wait, &acquired), CL_SUCCESS)) {
        CHECK_INT(rig_event_status(acquired), failed_wait);
        CHECK_INT(rig_event_type(acquired), rig->api->command_acquire);
        /* As the driver says of events of its own; NVIDIA's takes a failed one for a complete one. */
        CHECK_INT(clWaitForEvents(1, &acquired), clWaitForEvents(1, &wait[1]));
        end_event(acquired);
    }
    CHECK_INT(rig->acquire(rig->queue, KINDS, list, 2, wait, NULL), CL_SUCCESS);
    for (unsigned i = 0; i < KINDS; i++) {
        unsigned char bytes[SHARED_BYTES];
        CHECK_INT(cl_read(rig->queue, &all[i], bytes, NULL), rig->api->not_acquired);
        CHECK_INT(release_one(rig, list[i]), rig->api->not_acquired);
        CHECK(round_trip(rig, &all[i], 1 + i, 30 + i));
    }
    /* Without objects as well. */
    if (CHECK_INT(rig->acquire(rig->queue, 0, NULL, 2, wait, &acquired), CL_SUCCESS)) {
        CHECK_INT(outcome(acquired), failed_wait);
        end_event(acquired);
    }
    end_event(wait[0]);
    end_event(wait[1]);
}

/* The call says so, and the objects stay acquired. */
OBJECTS_CASE("release after a failure", release_after_a_failure, 0)
{
    unsigned char bytes[KINDS][SHARED_BYTES];
    int place;
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    const cl_event wait[] = {settled_event(rig, -1), settled_event(rig, CL_COMPLETE)};
    cl_event none = (cl_event)&place;
    CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, KINDS, list, 2, wait, &none), failed_wait);
    CHECK(none == (cl_event)&place);
    CHECK_INT(rig->release(rig->queue, KINDS, list, 2, wait, NULL), failed_wait);
    for (unsigned i = 0; i < KINDS; i++) {
        CHECK_INT(acquire_one(rig, list[i]), rig->api->already_acquired);
        CHECK(cl_has(rig->queue, &all[i], 1 + i));
        rig_pattern(bytes[i], SHARED_BYTES, 30 + i);
        CHECK_INT(cl_write(rig->queue, &all[i], bytes[i], 0, NULL, NULL), CL_SUCCESS);
    }
    CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, NULL), CL_SUCCESS);
    for (unsigned i = 0; i < KINDS; i++)
        CHECK(d3d_has(rig, &all[i], 30 + i));
    end_event(wait[0]);
    end_event(wait[1]);
}

/* ---- a release behind a user event ---- */

/* The ways in which a user event can hold a release back. */
enum way {
    WAY_LIST,    /* it is in the release's own list */
    WAY_ACQUIRE, /* the acquire before waits for it */
    WAY_COMMAND, /* a command of the queue waits for it */
    WAY_BARRIER, /* a barrier of the queue */
    WAY_QUEUE,   /* the list names a command of another queue that waits for it */
    WAY_QUEUES,  /* through two other queues */
    WAY_GONE,    /* as WAY_QUEUE, but the other queue has been given back: its commands live on */
    WAYS
};

static const char *const way_names[] = {"list", "acquire", "command", "barrier", "queue", "queues", "gone"};

struct elsewhere {
    cl_command_queue queue; /* NULL: given back */
    cl_event marker;
};

/* A marker in another queue. */
static struct elsewhere wait_elsewhere(const struct rig *rig, cl_event after, bool give_back)
{
    struct elsewhere there = {make_queue(rig, rig->context, 0), NULL};
    CHECK_INT(clEnqueueMarkerWithWaitList(there.queue, 1, &after, &there.marker), CL_SUCCESS);
    if (give_back) {
        CHECK_INT(clFlush(there.queue), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(there.queue), CL_SUCCESS);
        there.queue = NULL;
    }
    return there;
}

static void end_elsewhere(const struct elsewhere *there)
{
    if (there->marker)
        end_event(there->marker);
    if (there->queue)
        CHECK_INT(clReleaseCommandQueue(there->queue), CL_SUCCESS);
}

/* Acquires, writes `bytes` and releases, all behind `user`. Returns the release's event. */
static cl_event release_behind(const struct rig *rig, const struct shared *shared, enum way way, cl_event user,
                               const void *bytes, struct elsewhere there[2])
{
    cl_event released = NULL, wait = user;
    const bool acquire_waits = way == WAY_ACQUIRE;
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, acquire_waits, acquire_waits ? &user : NULL, NULL),
              CL_SUCCESS);
    if (way == WAY_BARRIER)
        CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, way == WAY_COMMAND, way == WAY_COMMAND ? &user : NULL, NULL),
              CL_SUCCESS);
    if (way >= WAY_QUEUE) {
        there[0] = wait_elsewhere(rig, user, way == WAY_GONE);
        wait = there[0].marker;
    }
    if (way == WAY_QUEUES) {
        there[1] = wait_elsewhere(rig, there[0].marker, false);
        wait = there[1].marker;
    }
    const bool release_waits = way >= WAY_QUEUE || way == WAY_LIST;
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, release_waits, release_waits ? &wait : NULL, &released),
              CL_SUCCESS);
    return released;
}

/* It returns at once; when clSetUserEventStatus returns, Direct3D sees the data. */
static void held_release(const struct rig *rig, const struct shared *shared, enum way way, unsigned from)
{
    unsigned char bytes[SHARED_BYTES];
    struct elsewhere there[2] = {{NULL, NULL}, {NULL, NULL}};
    const int failures = atomic_load(&tap_case.failures);
    cl_event user = user_event(rig->context);
    rig_pattern(bytes, sizeof(bytes), from + 1);
    cl_event released = release_behind(rig, shared, way, user, bytes, there);
    if (CHECK(released != NULL)) {
        CHECK(rig_event_status(released) > CL_COMPLETE);
        CHECK_INT(rig_event_type(released), rig->api->command_release);
        CHECK_INT(release_one(rig, shared->object), rig->api->not_acquired);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK(d3d_has(rig, shared, from + 1));
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
        CHECK_INT(rig_event_status(released), CL_COMPLETE);
        end_event(released);
        CHECK(round_trip(rig, shared, from + 1, from + 2));
    }
    end_elsewhere(&there[0]);
    end_elsewhere(&there[1]);
    end_event(user);
    if (atomic_load(&tap_case.failures) != failures)
        printf("# the way: %s\n", way_names[way]);
}

OBJECTS_CASE("release behind a user event, in each way", release_waits, 0)
{
    for (unsigned i = 0; i < KINDS; i++) {
        for (int way = 0; way < WAYS; way++) {
            d3d_fill(rig, &all[i], 10 * (unsigned)way + i);
            held_release(rig, &all[i], (enum way)way, 10 * (unsigned)way + i);
        }
    }
}

/* Cycles that are enqueued while the queue is blocked run in their order, in the call that sets it free: more than cld3d
 * tells apart. */
OBJECTS_CASE("whole cycles behind a user event", cycles_meanwhile, 0)
{
    enum { CYCLES = 40 };
    static unsigned char bytes[KINDS][CYCLES][SHARED_BYTES], seen[KINDS][CYCLES][SHARED_BYTES];
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    cl_event user = user_event(rig->context), acquired[CYCLES], released[CYCLES];
    CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &user, NULL), CL_SUCCESS);
    for (unsigned c = 0; c < CYCLES; c++) {
        CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, &acquired[c]), CL_SUCCESS);
        for (unsigned i = 0; i < KINDS; i++) {
            rig_pattern(bytes[i][c], SHARED_BYTES, 10 + 3 * c + i);
            CHECK_INT(cl_read(rig->queue, &all[i], seen[i][c], NULL), CL_SUCCESS);
            CHECK_INT(cl_write(rig->queue, &all[i], bytes[i][c], 0, NULL, NULL), CL_SUCCESS);
        }
        CHECK_INT(acquire_one(rig, list[0]), rig->api->already_acquired);
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, &released[c]), CL_SUCCESS);
        CHECK_INT(release_one(rig, list[0]), rig->api->not_acquired);
    }
    for (unsigned c = 0; c < CYCLES; c++)
        CHECK(rig_event_status(released[c]) > CL_COMPLETE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    for (unsigned i = 0; i < KINDS; i++)
        CHECK(d3d_has(rig, &all[i], 10 + 3 * (CYCLES - 1) + i));
    queue_wait(rig->queue);
    for (unsigned c = 0; c < CYCLES; c++) {
        CHECK_INT(rig_event_status(acquired[c]), CL_COMPLETE);
        CHECK_INT(rig_event_status(released[c]), CL_COMPLETE);
        CHECK_INT(rig_event_type(acquired[c]), rig->api->command_acquire);
        CHECK_INT(rig_event_type(released[c]), rig->api->command_release);
        for (unsigned i = 0; i < KINDS; i++) {
            unsigned char expected[SHARED_BYTES];
            rig_pattern(expected, sizeof(expected), c ? 10 + 3 * (c - 1) + i : 1 + i);
            CHECK_MEM(seen[i][c], expected, SHARED_BYTES);
        }
        end_event(acquired[c]);
        end_event(released[c]);
    }
    end_event(user);
    for (unsigned i = 0; i < KINDS; i++)
        CHECK(round_trip(rig, &all[i], 10 + 3 * (CYCLES - 1) + i, 90 + i));
}

/* So many user events that cld3d does not tell all of them apart: what waits for one of those may wait for the
 * others, but not for those that are made after it. */
OBJECT_CASE("more user events than are told apart", many_user_events, 0, KIND_2D)
{
    enum { EVENTS = 80, WAITED = 75 };
    unsigned char bytes[SHARED_BYTES];
    cl_event users[EVENTS], released = NULL;
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    for (int i = 0; i <= WAITED; i++)
        users[i] = user_event(rig->context);
    rig_pattern(bytes, sizeof(bytes), 7);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 1, &users[WAITED], NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 0, NULL, &released), CL_SUCCESS);
    for (int i = WAITED + 1; i < EVENTS; i++)
        users[i] = user_event(rig->context);
    CHECK(rig_event_status(released) > CL_COMPLETE);
    for (int i = 0; i < WAITED; i++)
        CHECK_INT(clSetUserEventStatus(users[i], CL_COMPLETE), CL_SUCCESS);
    CHECK(rig_event_status(released) > CL_COMPLETE);
    CHECK_INT(clSetUserEventStatus(users[WAITED], CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_has(rig, shared, 7));
    CHECK_INT(outcome(released), CL_COMPLETE);
    for (int i = WAITED + 1; i < EVENTS; i++)
        CHECK_INT(clSetUserEventStatus(users[i], CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < EVENTS; i++)
        end_event(users[i]);
    end_event(released);
}

/* A release in another queue than its acquire's comes behind that, though nothing says so in OpenCL. */
SHARING_CASE("release in another queue than the acquire", release_in_another_queue, 0)
{
    struct shared all[KINDS];
    cl_command_queue other = make_queue(rig, rig->context, 0);
    if (shared_open_all(rig, 1, all)) {
        for (unsigned i = 0; i < KINDS; i++) {
            cl_event user = user_event(rig->context), released = NULL;
            CHECK_INT(rig->acquire(rig->queue, 1, &all[i].object, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(rig->release(other, 1, &all[i].object, 0, NULL, &released), CL_SUCCESS);
            CHECK(rig_event_status(released) > CL_COMPLETE);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK(d3d_has(rig, &all[i], 1 + i));
            CHECK_INT(outcome(released), CL_COMPLETE);
            end_event(released);
            end_event(user);
            CHECK(round_trip(rig, &all[i], 1 + i, 30 + i));
        }
        shared_close_all(all);
    }
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
}

static bool copies_all(void)
{
    if (getenv("CLD3D_COPY_BACK"))
        return true;
    SKIP("only as a part of the case below");
    return false;
}

/* The same where nothing but time keeps the acquire from its end. */
SHARING_CASE("release in another queue than a slow acquire", release_beside_a_slow_acquire, 0)
{
    struct shared shared;
    struct slow_work work;
    if (!copies_all() || !shared_open(rig, KIND_2D, 1, &shared) || !slow_open(rig, &work))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    cl_event slow = slow_start(&work, rig->queue), acquired = NULL;
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
    CHECK_INT(rig->release(other, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
    CHECK(d3d_has(rig, &shared, 1));
    end_event(acquired);
    end_event(slow);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    slow_close(&work);
    shared_close(&shared);
}

/* What comes later in the queue sees what Direct3D wrote, though no wait list says so. */
SHARING_CASE("acquire in a queue out of order", acquire_out_of_order, RIG_OUT_OF_ORDER)
{
    struct shared shared;
    struct slow_work work;
    if (!copies_all() || !shared_open(rig, KIND_2D, 1, &shared) || !slow_open(rig, &work))
        return;
    cl_event slow = slow_start(&work, rig->queue);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &slow, NULL), CL_SUCCESS);
    CHECK(cl_has(rig->queue, &shared, 1));
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    end_event(slow);
    slow_close(&work);
    shared_close(&shared);
}

/* Both where bytes are copied, and go back whether they were written or not. */
CASE("acquires that copy", acquires_that_copy)
{
    test_setenv("CLD3D_COPY_BACK", "1");
    CHECK_INT(run_again("release in another queue than a slow acquire", "CLD3D_TRANSPORT", "host"), 2);
    const unsigned passed = run_again("acquire in a queue out of order", "CLD3D_TRANSPORT", "host");
    test_setenv("CLD3D_COPY_BACK", NULL);
    CHECK(passed == 0 || passed == 2); /* none: the device has no such queues */
}

/* A command that was refused, by cld3d or the driver, waits for nothing: what comes after it in the queue is not held by its list. */
OBJECT_CASE("commands that are refused hold nothing", refused_commands_hold_nothing, 0, KIND_2D)
{
    cl_int status = CL_SUCCESS;
    char bytes[16];
    cl_event user = user_event(rig->context);
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, sizeof(bytes), NULL, &status);
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 1, &user, NULL), rig->api->not_acquired);
    CHECK_INT(clEnqueueReadBuffer(rig->queue, buffer, CL_FALSE, 0, 4096, bytes, 1, &user, NULL), CL_INVALID_VALUE);
    CHECK(clEnqueueMapBuffer(rig->queue, buffer, CL_FALSE, CL_MAP_READ, 0, 4096, 1, &user, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_VALUE);
    CHECK(round_trip(rig, shared, 1, 2));
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    end_event(user);
}

/* Only user events can be set: the event of a command that one holds is none, also where it is the driver's user event. */
static void stays_queued(cl_event held)
{
    const cl_int statuses[] = {CL_COMPLETE, -5};
    for (int i = 0; i < 2; i++)
        CHECK(clSetUserEventStatus(held, statuses[i]) != CL_SUCCESS);
    CHECK(rig_event_status(held) > CL_COMPLETE);
}

OBJECT_CASE("events of commands can't be set", commands_are_no_user_events, 0, KIND_2D)
{
    cl_event events[3] = {NULL};
    cl_event user = user_event(rig->context);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 1, &user, &events[0]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 1, &user, &events[1]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 0, NULL, &events[2]), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        stays_queued(events[i]);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(3, events), CL_SUCCESS);
    CHECK(clSetUserEventStatus(events[1], CL_COMPLETE) != CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_INVALID_OPERATION);
    CHECK_INT(clSetUserEventStatus(NULL, CL_COMPLETE), CL_INVALID_EVENT);
    cl_event failed = user_event(rig->context), behind = NULL;
    CHECK_INT(clSetUserEventStatus(failed, -5), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 1, &failed, &behind), CL_SUCCESS);
    CHECK(clSetUserEventStatus(behind, CL_COMPLETE) != CL_SUCCESS);
    end_event(behind);
    end_event(failed);
    CHECK(round_trip(rig, shared, 1, 2));
    for (int i = 0; i < 3; i++)
        end_event(events[i]);
    end_event(user);
}

/* ---- behind each command ---- */

/* Commands that others than this program do not hold. */
enum held { READ_RECT, WRITE_RECT, COPY_RECT, MIGRATE, TASK, FILL_IMAGE, NATIVE, HELD };

/* What the commands work with, none of which is shared. */
struct tools {
    cl_mem from, to, image;
    cl_kernel kernel;
};

static cl_int enqueue_held(cl_command_queue queue, const struct tools *t, enum held command, const cl_event *user)
{
    static const cl_uint colour[4] = {1, 2, 3, 4};
    switch (command) {
    case READ_RECT:
        return clEnqueueReadBufferRect(queue, t->from, CL_FALSE, no_origin(), no_origin(), rect, 16, 0, 16, 0, scratch,
                                       1, user, NULL);
    case WRITE_RECT:
        return clEnqueueWriteBufferRect(queue, t->to, CL_FALSE, no_origin(), no_origin(), rect, 16, 0, 16, 0, scratch,
                                        1, user, NULL);
    case COPY_RECT:
        return clEnqueueCopyBufferRect(queue, t->from, t->to, no_origin(), no_origin(), rect, 16, 0, 16, 0, 1, user,
                                       NULL);
    case MIGRATE: return clEnqueueMigrateMemObjects(queue, 1, &t->to, 0, 1, user, NULL);
    case TASK: return clEnqueueTask(queue, t->kernel, 1, user, NULL);
    case FILL_IMAGE:
        return clEnqueueFillImage(queue, t->image, colour, no_origin(), kind_region(KIND_2D), 1, user, NULL);
    default: return clEnqueueNativeKernel(queue, native_body, scratch, sizeof(scratch), 0, NULL, NULL, 1, user, NULL);
    }
}

/* What is written is acquired. */
static bool acquire_written(const struct rig *rig, const struct shared *shared, unsigned seed)
{
    static unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), seed);
    if (!CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS) ||
        !CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS))
        return false;
    queue_wait(rig->queue);
    return true;
}

/* The release of an object behind the command is held with it. */
static void held_behind(struct rig *rig, const struct tools *t, enum held command)
{
    struct shared shared;
    cl_event end = NULL;
    if (!shared_open(rig, KIND_2D, 1, &shared) || !acquire_written(rig, &shared, 9))
        return;
    cl_event user = user_event(rig->context);
    bool fine = CHECK_INT(enqueue_held(rig->queue, t, command, &user), CL_SUCCESS);
    fine = CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS) && fine;
    fine = CHECK(rig_event_status(end) > CL_COMPLETE) && fine;
    fine = CHECK(over_import() || d3d_has(rig, &shared, 1)) && fine;
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    end_event(user);
    fine = CHECK(d3d_has(rig, &shared, 9)) && fine;
    CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
    if (!CHECK_INT(rig_event_status(end), CL_COMPLETE) || !fine)
        printf("# behind command %d\n", command);
    end_event(end);
    shared_close(&shared);
}

SHARING_CASE("held behind each command", behind_each_command, 0)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    const struct tools tools = {
        .from = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL),
        .to = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL),
        .image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL),
        .kernel = rig_kernel(rig, "kernel void one(global uint *to) { to[0] = 1; }\n", "one"),
    };
    const int count = HELD - !runs_native_kernels(rig);
    CHECK_INT(clSetKernelArg(tools.kernel, 0, sizeof(tools.to), &tools.to), CL_SUCCESS);
    for (int command = 0; command < count; command++)
        held_behind(rig, &tools, (enum held)command);
    queue_wait(rig->queue);
    CHECK_INT(clReleaseMemObject(tools.from), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(tools.to), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(tools.image), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(tools.kernel), CL_SUCCESS);
}

/* ---- threads ---- */

struct waiter {
    cl_command_queue queue;
    cl_mem buffer;
    cl_event user;
};

static void set_later(void *data)
{
    const struct waiter *waiter = data;
    pause_ms(20);
    CHECK_INT(clSetUserEventStatus(waiter->user, CL_COMPLETE), CL_SUCCESS);
}

/* A thread waits in the driver for the queue of a deferred release; rusticl 22.3 keeps others from that queue as long. */
OBJECT_CASE("a thread waits for the queue of a deferred release", finished_meanwhile, 0, KIND_2D)
{
    unsigned char bytes[SHARED_BYTES];
    cl_event released = NULL;
    struct waiter waiter = {.user = user_event(rig->context)};
    rig_pattern(bytes, sizeof(bytes), 2);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, shared, bytes, 1, &waiter.user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 0, NULL, &released), CL_SUCCESS);
    struct test_job job = {set_later, &waiter};
    test_thread thread;
    if (CHECK(test_thread_start(&thread, &job))) {
        CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
        test_thread_join(thread);
    }
    CHECK_INT(outcome(released), CL_COMPLETE);
    CHECK(d3d_has(rig, shared, 2));
    end_event(released);
    end_event(waiter.user);
}

static void read_blocking(void *data)
{
    const struct waiter *waiter = data;
    char byte;
    CHECK_INT(clEnqueueReadBuffer(waiter->queue, waiter->buffer, CL_TRUE, 0, 1, &byte, 1, &waiter->user, NULL),
              CL_SUCCESS);
}

/* A command that blocks its thread holds the queue as well, before the driver has taken it. */
OBJECT_CASE("a release beside a blocked thread", beside_a_blocked_thread, 0, KIND_2D)
{
    char name[128] = "";
    CHECK_INT(clGetPlatformInfo(rig->platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), CL_SUCCESS);
    if (strcmp(name, "rusticl") == 0) {
        SKIP("rusticl keeps its queue locked in a blocking command");
        return;
    }
    struct waiter waiter = {rig->queue, clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL),
                            user_event(rig->context)};
    struct test_job job = {read_blocking, &waiter};
    test_thread thread;
    if (!acquire_written(rig, shared, 8) || !test_thread_start(&thread, &job))
        return;
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS); /* before or after the read */
    CHECK_INT(clSetUserEventStatus(waiter.user, CL_COMPLETE), CL_SUCCESS);
    test_thread_join(thread);
    CHECK(d3d_has(rig, shared, 8));
    end_event(waiter.user);
    CHECK_INT(clReleaseMemObject(waiter.buffer), CL_SUCCESS);
}

TAP_MAIN
