/* Two OpenCL drivers in one process, used at once: what belongs to the other is refused, and events are those of the driver that they
 * belong to. */
#include "common/dx9.h"
#include "two_drivers.h"

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

BOTH_CASE("what belongs to the other: lists of objects", mixed_lists, 0)
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

BOTH_CASE("what belongs to the other: wait lists", mixed_wait_lists, 0)
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
BOTH_CASE("what belongs to the other: commands of OpenCL", mixed_commands, 0)
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

/* ---- user events ---- */

/* A user event of one driver holds an acquire, a write and a release there, which is all deferred; the other driver goes on. Then it is set,
 * and each has its own bytes. */
BOTH_CASE("user events: one driver is held, the other goes on", one_is_held, 0)
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

TAP_MAIN
