/* The callbacks of events that cld3d has for Wine: each arrives, once, in order, with the right status, and may call
 * OpenCL. */
#include "callbacks.h"

/* ---- events ---- */

BASE_CASE("callbacks: arguments", arguments, 0)
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
BASE_CASE("callbacks: the three states", states, 0)
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

BASE_CASE("callbacks: registered after the end", after_the_end, 0)
{
    cl_mem buffer = make_buffer(base);
    cl_event event = fill(base, buffer, 0, NULL);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, base), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_COMPLETE);
        CHECK(journal.entries[0].data == base);
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

BASE_CASE("callbacks: user events, complete and failed", user_events, 0)
{
    static const cl_int ends[] = {CL_COMPLETE, -4711};
    for (int i = 0; i < (callbacks_of_driver() ? 1 : 2); i++) {
        atomic_store(&journal.count, 0);
        cl_event user = user_event(base->context), other = user_event(base->context);
        CHECK_INT(clSetEventCallback(other, CL_COMPLETE, on_event, &other), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, base), CL_SUCCESS);
        pause_ms(20);
        CHECK_INT(atomic_load(&journal.count), 0);
        CHECK_INT(clSetUserEventStatus(user, ends[i]), CL_SUCCESS);
        if (wait_until(&journal.count, 1)) {
            CHECK(journal.entries[0].object == user);
            CHECK_INT(journal.entries[0].status, ends[i]);
        }
        CHECK_INT(clSetUserEventStatus(other, CL_COMPLETE), CL_SUCCESS);
        if (wait_until(&journal.count, 2))
            CHECK(journal.entries[1].object == other);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(other), CL_SUCCESS);
    }
}

/* A user event is CL_SUBMITTED from its creation. */
BASE_CASE("callbacks: a user event is submitted from its creation", submitted_user_event, 0)
{
    if (is_nvidia(base->platform)) {
        SKIP("NVIDIA's driver calls none for CL_SUBMITTED");
        return;
    }
    cl_event user = user_event(base->context);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(user, CL_SUBMITTED, on_event, base), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_SUBMITTED);
        CHECK(journal.entries[0].data == base);
    }
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 1);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

/* A command whose wait list fails: the callback gets an error. */
CASE("callbacks: a command that fails", failed_command)
{
    struct base base;
    if (callbacks_of_driver() || !open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].status < 0);
    /* PoCL 3.1 forgets the queue's last command if it failed: another one first. */
    cl_event after = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &after), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(50);
    CHECK_INT(clReleaseEvent(after), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

/* In a queue out of order the later command ends first. */
static bool has_ended(cl_event event)
{
    cl_int status = CL_QUEUED;
    for (unsigned i = 0; i < 1000 && status > CL_COMPLETE; i++) {
        CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
        pause_ms(status > CL_COMPLETE);
    }
    return status <= CL_COMPLETE;
}

/* NVIDIA's driver lets no command go past one that a user event blocks. */
BASE_CASE("callbacks: a queue out of order", out_of_order, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
{
    cl_event gate = user_event(base->context);
    cl_mem buffers[] = {make_buffer(base), make_buffer(base)};
    cl_event held = fill(base, buffers[0], 1, &gate), free_one = fill(base, buffers[1], 0, NULL);
    CHECK_INT(clSetEventCallback(held, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    if (has_ended(free_one) && wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == free_one);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(free_one), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[0]), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[1]), CL_SUCCESS);
}

static void CL_CALLBACK on_held(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* The driver may have freed the queue, which its event still names. */
CASE("callbacks: of a command whose queue has gone", queue_has_gone)
{
    static atomic_uint called;
    struct base base;
    if (!open_base(&base, 0))
        return;
    cl_event event = NULL;
    atomic_store(&called, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held, &called), CL_SUCCESS);
    wait_until(&called, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
}

static void make_and_release_queue(const struct base *base)
{
    cl_int status = 1;
    cl_command_queue queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

/* ---- a callback that calls OpenCL ---- */

struct relay {
    struct base base;
    cl_mem buffer;
    atomic_uint turns;
};

enum { TURNS = 20 };

/* Enqueues the next command, as programs do that keep a device busy. */
static void CL_CALLBACK on_turn(cl_event event, cl_int status, void *data)
{
    struct relay *relay = data;
    (void)event;
    CHECK_INT(status, CL_COMPLETE);
    make_and_release_queue(&relay->base); /* which cannot wait for this callback */
    if (atomic_fetch_add(&relay->turns, 1) + 1 >= TURNS)
        return;
    cl_event next = fill(&relay->base, relay->buffer, 0, NULL);
    CHECK_INT(clSetEventCallback(next, CL_COMPLETE, on_turn, relay), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(next), CL_SUCCESS);
    CHECK_INT(clFlush(relay->base.queue), CL_SUCCESS);
}

CASE("callbacks: OpenCL called again", calls_again)
{
    static struct relay relay;
    atomic_store(&relay.turns, 0);
    if (!open_base(&relay.base, 0))
        return;
    relay.buffer = make_buffer(&relay.base);
    cl_event event = fill(&relay.base, relay.buffer, 0, NULL);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_turn, &relay), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clFlush(relay.base.queue), CL_SUCCESS);
    wait_until(&relay.turns, TURNS);
    CHECK_INT(clFinish(relay.base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(relay.buffer), CL_SUCCESS);
    close_base(&relay.base);
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

TAP_MAIN
