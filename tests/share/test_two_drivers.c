/* Two OpenCL drivers in one process: devices, contexts, objects, transports and events are those of the driver that they belong to, and what
 * belongs to the other is refused. */
#include "two_drivers.h"

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    CHECK_INT(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), CL_SUCCESS);
    return platform;
}

static cl_device_id device_of(cl_context context)
{
    cl_device_id device = NULL;
    CHECK_INT(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL), CL_SUCCESS);
    return device;
}

/* ---- devices and contexts ---- */

/* Each platform tells devices of its own for the Direct3D device that both can share with. */
BOTH_CASE("devices: each platform tells its own", own_devices, RIG_NO_CONTEXT)
{
    IDXGIAdapter *adapter = adapter_of(sides);
    if (!adapter)
        return;
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        const struct rig_api *api = rig->api;
        const cl_uint sets[] = {api->all_set, api->preferred_set};
        for (int s = 0; s < 4; s++) {
            cl_device_id devices[MOST_DEVICES];
            cl_uint count = 0;
            const cl_int status =
                rig->get_device_ids(rig->platform, s < 2 ? api->device_source : api->adapter_source,
                                    s < 2 ? rig->device : adapter, sets[s % 2], MOST_DEVICES, devices, &count);
            /* On a machine with a GPU one of them may have none that is preferred. */
            if (status == CL_DEVICE_NOT_FOUND && sets[s % 2] == api->preferred_set)
                continue;
            CHECK_INT(status, CL_SUCCESS);
            CHECK(count >= 1 && count <= MOST_DEVICES);
            for (cl_uint d = 0; d < count && d < MOST_DEVICES; d++)
                CHECK(platform_of(devices[d]) == rig->platform);
        }
    }
    rig_release(adapter);
}

/* The devices say which driver is meant where no platform is named; by a type, the first has to do. */
BOTH_CASE("contexts: the driver of the devices, without a platform", contexts_without_platform, RIG_NO_CONTEXT)
{
    for (int i = 0; i < SIDES; i++) {
        const struct rig *rig = &sides[i];
        const cl_context_properties properties[] = {rig->api->context_device, (cl_context_properties)rig->device, 0};
        const cl_context_properties named[] = {rig->api->context_device, (cl_context_properties)rig->device,
                                               CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform, 0};
        cl_int status = 1;
        cl_context context = clCreateContext(properties, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        if (!CHECK(context != NULL))
            continue;
        CHECK(device_of(context) == rig->cl_device);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
        context = clCreateContextFromType(named, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
        CHECK_INT(status, CL_SUCCESS);
        if (!CHECK(context != NULL))
            continue;
        CHECK(platform_of(device_of(context)) == rig->platform);
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

/* ---- objects ---- */

/* The rule that a resource has one object is a context's. */
BOTH_CASE("objects: one resource in a context of each, in turns", one_resource, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared[SIDES];
        if (!shared_open(&sides[FIRST], (enum kind)kind, 1, &shared[FIRST]))
            return;
        if (join(&sides[SECOND], &shared[FIRST], &shared[SECOND])) {
            for (unsigned turn = 0; turn < 6; turn++)
                round_trip(&sides[turn % 2], &shared[turn % 2], 1 + turn, 2 + turn);
            shared_close(&shared[SECOND]);
        }
        round_trip(&sides[FIRST], &shared[FIRST], 7, 8);
        shared_close(&shared[FIRST]);
    }
}

/* ---- transports and workarounds ---- */

/* What cld3d tells of the way of the object that was made last. */
static const char *last_way(void)
{
    const char *(CL_API_CALL * report)(const char *);
    void *address = clGetExtensionFunctionAddress("cld3d_report");
    memcpy(&report, &address, sizeof(report));
    return CHECK(report != NULL) ? report("way") : "";
}

/* The ways of both devices, of which the second's object is made first in the process that the case below starts. */
static bool find_ways(const struct rig *sides, bool turned, char ways[SIDES][256])
{
    for (int turn = 0; turn < 2 * SIDES; turn++) {
        const int side = (turn % 2) ^ turned;
        struct shared shared;
        if (!shared_open(&sides[side], KIND_2D, 1, &shared))
            return false;
        if (turn < SIDES)
            snprintf(ways[side], sizeof(ways[side]), "%.255s", last_way());
        CHECK(strncmp(last_way(), ways[side], sizeof(ways[side]) - 1) == 0);
        shared_close(&shared);
    }
    return true;
}

/* The way of each object is that of its own device, whatever the other's is, and whichever came first. */
BOTH_CASE("transports: each device's own", own_ways, 0)
{
    static const char *const variables[SIDES] = {"CLD3D_TEST_FIRST_WAY", "CLD3D_TEST_SECOND_WAY"};
    const bool turned = getenv(variables[FIRST]) != NULL;
    char ways[SIDES][256], text[64];
    if (!find_ways(sides, turned, ways))
        return;
    for (int i = 0; i < SIDES; i++) {
        printf("# %s: %s\n", is_pocl(sides[i].platform) ? "PoCL" : "another driver", ways[i]);
        if (turned)
            CHECK_STR(ways[i], getenv(variables[i]));
        if (is_pocl(sides[i].platform) && !getenv("CLD3D_TRANSPORT") && !over_import())
            CHECK(strstr(ways[i], "in place") == ways[i]);
        if (!turned)
            test_setenv(variables[i], ways[i]);
    }
    if (turned)
        return;
    snprintf(text, sizeof(text), "Direct3D %d: transports: each", sides->api->version);
    CHECK_INT(run_again(text, "CLD3D_TEST_TURNED", "1"), 1);
    for (int i = 0; i < SIDES; i++)
        test_setenv(variables[i], NULL);
}

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

/* Lists with one of each, and the other's alone. */
static void refuse_lists(const struct rig *rig, rig_enqueue enqueue, cl_mem own, cl_mem foreign)
{
    const cl_mem list[] = {own, foreign, own};
    refuse(enqueue, rig, 2, list, 0, NULL);
    refuse(enqueue, rig, 2, list + 1, 0, NULL);
    refuse(enqueue, rig, 1, &foreign, 0, NULL);
}

BOTH_CASE("what belongs to the other: lists of objects", mixed_lists, 0)
{
    struct shared shared[SIDES];
    if (!open_both(sides, KIND_2D, 1, shared))
        return;
    for (int i = 0; i < SIDES; i++)
        refuse_lists(&sides[i], sides[i].acquire, shared[i].object, shared[!i].object);
    for (int i = 0; i < SIDES; i++)
        CHECK_INT(acquire_one(&sides[i], shared[i].object), CL_SUCCESS);
    for (unsigned i = 0; i < SIDES; i++) {
        refuse_lists(&sides[i], sides[i].release, shared[i].object, shared[!i].object);
        CHECK(cl_has(sides[i].queue, &shared[i], 1 + i));
        CHECK_INT(release_one(&sides[i], shared[i].object), CL_SUCCESS);
        round_trip(&sides[i], &shared[i], 1 + i, 5);
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
