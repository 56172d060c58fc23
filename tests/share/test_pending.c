/* Things are given back while work on them is pending: commands that wait, mappings, events that outlive what they belong
 * to. Nothing is lost, and nothing is blocked for longer than it takes. */
#include "lifetime.h"

/* ---- work is pending ---- */

#ifndef _WIN32
/* A driver that does not count what commands use, as NVIDIA's does not. The fake's Direct3D 10 does not tell where buffers lie. */
CASE("a driver that does not count: kernels", kernels_uncounted)
{
    if (!over_transport("export"))
        SKIP("only where buffers are imported");
    else if (takes_layers("CLD3D_TEST_LIKE_NVIDIA"))
        CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "Direct3D 11: pending: a kernel"), 2);
}
#endif

/* The bytes of the acquire are on their way when the object goes: what they are read from stays until they are through. */
SHARING_CASE("pending: an acquire", acquire_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        for (int held_queue = 0; held_queue < 2; held_queue++) {
            cl_event user = user_event(rig->context), acquired = NULL;
            shared.object = create(rig, &shared);
            if (held_queue)
                CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, !held_queue, held_queue ? NULL : &user, &acquired),
                      CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            /* The subresource is free all the same. */
            shared.object = create(rig, &shared);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            finish_event(acquired);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            CHECK(round_trip(rig, &shared, 1, 1));
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            counts_are_or_staged(rig, &shared, before, 0, 0);
        }
        shared_close(&shared);
    }
}

/* A written object waits for a user event on its way home when it goes; in a whole cycle an acquire behind it too, which has
 * not even begun and still needs the object. With `all` context and queue go too, and the user event last. */
static void gone_before_its_bytes(const struct rig *rig, enum kind kind, bool cycle, bool all)
{
    struct shared shared;
    struct rig second;
    unsigned char bytes[SHARED_BYTES];
    if (!shared_resource(rig, kind, 1, &shared))
        return;
    const struct counts before = count(rig, &shared);
    if (!second_open(rig, &second))
        return;
    cl_event user = user_event(second.context), last = NULL;
    rig_pattern(bytes, sizeof(bytes), 2);
    shared.object = create(&second, &shared);
    CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(second.queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(second.queue, 1, &shared.object, 0, NULL, cycle ? NULL : &last), CL_SUCCESS);
    if (cycle)
        CHECK_INT(rig->acquire(second.queue, 1, &shared.object, 0, NULL, &last), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = NULL;
    if (all)
        second_close(&second);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    finish_event(last);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    if (!all) {
        counts_become(rig, &shared, before, 1, 0, 1);
        second_close(&second);
    }
    counts_are(rig, &shared, before, 0, 0);
    shared_close(&shared);
}

SHARING_CASE("pending: a release, and a whole cycle", release_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int how = 0; how < 4; how++)
            gone_before_its_bytes(rig, (enum kind)kind, how % 2, how / 2);
}

/* A kernel that runs, or waits to, keeps OpenCL's memory; the resource is Direct3D's alone from the last release on, unless that
 * memory is the resource's. */
static void pending_kernel(const struct rig *rig, bool mapped)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        cl_uint values[4] = {0}, expected[4];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_mem out = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
        shared.object = create(rig, &shared);
        cl_kernel kernel = kernel_for(rig, &shared, out);
        cl_event user = user_event(rig->context), ran = NULL;
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        queue_wait(rig->queue);
        void *bytes_mapped = mapped ? map_whole(rig, &shared) : NULL;
        CHECK_INT(launch(rig->queue, kernel, 1, &user, &ran), CL_SUCCESS);
        if (mapped)
            CHECK_INT(clEnqueueUnmapMemObject(rig->queue, shared.object, bytes_mapped, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, kind_is_kept(rig, kind));
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        finish_event(ran);
        CHECK_INT(clEnqueueReadBuffer(rig->queue, out, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL), CL_SUCCESS);
        unsigned char bytes[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), 1);
        for (int i = 0; i < 4; i++)
            expected[i] = kind == KIND_BUFFER ? ((cl_uint *)(void *)bytes)[i] : bytes[4 * i];
        CHECK_MEM(values, expected, sizeof(values));
        shared.object = NULL;
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
        if (kind_is_kept(rig, kind))
            counts_are(rig, &shared, before, 0, 0);
        shared_close(&shared);
    }
}

SHARING_CASE("pending: a kernel", kernel_pending, 0)
{
    pending_kernel(rig, false);
}

SHARING_CASE("pending: a kernel and an unmap behind it", unmap_pending, 0)
{
    pending_kernel(rig, true);
}

/* A mapping is the driver's reference and not the application's. */
OBJECTS_CASE("mapped: made again", mapped_and_made_again, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared *shared = &all[kind];
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK(map_whole(rig, shared) != NULL);
        CHECK_INT(mem_refs(shared->object), 1);
        refused(rig, rig->context, 0, (enum kind)kind, shared->resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
        shared->object = create(rig, shared);
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 9));
    }
}

/* ---- events ---- */

/* A user event that is released without being set blocks nothing any more, also if its handle comes again as another event. */
OBJECT_CASE("events: never set", user_events_never_set, 0, KIND_BUFFER)
{
    for (int i = 0; i < 32; i++) {
        cl_event event = user_event(rig->context), released = NULL;
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &shared->object, 1, &event, &released), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS); /* a deferred one would not end */
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
}

/* Events outlive what they belong to, also those of commands that failed. */
SHARING_CASE("events: last of all", events_last, 0)
{
    struct shared shared;
    struct rig second;
    if (!shared_resource(rig, KIND_2D, 1, &shared))
        return;
    const struct counts before = count(rig, &shared);
    for (int failing = 0; failing < 2 && second_open(rig, &second); failing++) {
        cl_event events[2] = {NULL, NULL}, user = user_event(second.context);
        shared.object = create(&second, &shared);
        CHECK_INT(second.acquire(second.queue, 1, &shared.object, 1, &user, &events[0]), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, failing ? -5 : CL_COMPLETE), CL_SUCCESS);
        if (!failing) {
            CHECK_INT(second.release(second.queue, 1, &shared.object, 0, NULL, &events[1]), CL_SUCCESS);
            CHECK_INT(clWaitForEvents(1, &events[1]), CL_SUCCESS);
        }
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        second_close(&second);
        counts_are(rig, &shared, before, 0, 0);
        CHECK_INT(rig_event_type(events[0]), rig->api->command_acquire);
        CHECK_INT(rig_event_status(events[0]) < 0, failing);
        CHECK_INT(clReleaseEvent(events[0]), CL_SUCCESS);
        if (events[1]) {
            CHECK_INT(rig_event_type(events[1]), rig->api->command_release);
            CHECK_INT(clReleaseEvent(events[1]), CL_SUCCESS);
        }
    }
    shared.object = NULL;
    shared_close(&shared);
}

/* ---- given back in a callback ---- */

struct gift {
    cl_mem object;
    atomic_int given;
};

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    struct gift *gift = data;
    (void)event, (void)status;
    CHECK_INT(clReleaseMemObject(gift->object), CL_SUCCESS);
    atomic_store(&gift->given, 1);
}

/* The bytes of its acquire are on their way, which a callback must not wait for: it goes later, in another call. */
SHARING_CASE("given back in a callback", given_back_in_a_callback, 0)
{
    struct shared shared, other;
    struct slow_work work;
    struct gift gift = {.given = 0};
    if (!shared_open(rig, KIND_2D, 1, &shared) || !shared_open(rig, KIND_BUFFER, 1, &other) || !slow_open(rig, &work))
        return;
    const ULONG refs = rig_refs(shared.resource);
    cl_event ends[2] = {slow_start(&work, rig->queue), slow_start(&work, rig->queue)};
    gift.object = shared.object;
    shared.object = NULL;
    CHECK_INT(acquire_one(rig, gift.object), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(ends[0], CL_COMPLETE, on_end, &gift), CL_SUCCESS);
    queue_wait(rig->queue);
    while (!atomic_load(&gift.given))
        pause_ms(1);
    for (int i = 0; i < 5000 && rig_refs(shared.resource) == refs; i++) {
        pause_ms(1);
        CHECK(round_trip(rig, &other, 1, 1)); /* looks for what can go */
    }
    CHECK_INT(rig_refs(shared.resource), refs - 1);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
    slow_close(&work);
    shared_close(&other);
    shared_close(&shared);
}

/* ---- callbacks when an object is deleted ---- */

struct deleted {
    atomic_int calls, order;
    atomic_int *next;
};

static void CL_CALLBACK on_deleted(cl_mem object, void *data)
{
    struct deleted *deleted = data;
    (void)object;
    atomic_store(&deleted->order, atomic_fetch_add(deleted->next, 1));
    atomic_fetch_add(&deleted->calls, 1);
}

/* The last one registered is the first. */
OBJECT_CASE("callbacks when an object is deleted", destructor_callbacks, 0, KIND_2D)
{
    atomic_int next = 0;
    struct deleted deleted[2] = {{.next = &next}, {.next = &next}};
    for (int i = 0; i < 2; i++)
        CHECK_INT(clSetMemObjectDestructorCallback(shared->object, on_deleted, &deleted[i]), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    queue_wait(rig->queue);
    CHECK_INT(atomic_load(&next), 0);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
    for (int i = 0; i < 60000 && atomic_load(&next) < 2; i++)
        pause_ms(1);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(atomic_load(&deleted[i].calls), 1);
        CHECK_INT(atomic_load(&deleted[i].order), 1 - i);
    }
}

TAP_MAIN
