/* Things are given back while work on them is pending: commands that wait, mappings, events that outlive what they belong
 * to. Nothing is lost, and nothing is blocked for longer than it takes. */
#include "below.h"
#include "lifetime.h"

#include "like_nvidia.h"

/* ---- work is pending ---- */

/* Whether the staging copy has been unmapped since the last reset; only the fake can tell. */
static void check_still_mapped(bool mapped)
{
#ifndef _WIN32
    CHECK(over_import() || (fake_d3d_calls("Unmap") == 0) == mapped);
#else
    (void)mapped;
#endif
}

static void forget_calls(void)
{
#ifndef _WIN32
    fake_d3d_reset();
#endif
}

/* What a queue is made with to be out of order, where the device has such. */
/* The bytes of the acquire are on their way when the object goes: what they are read from stays until they are through. */
SHARING_CASE(acquire_pending, 0)
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
            forget_calls();
            CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, !held_queue, held_queue ? NULL : &user, &acquired),
                      CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            check_still_mapped(true);
            /* The subresource is free all the same. */
            shared.object = create(rig, &shared);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            finish_event(acquired);
            check_still_mapped(false);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            CHECK(round_trip(rig, &shared, 1, 1));
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            counts_are_or_staged(rig, &shared, before, 0, 0);
        }
        shared_close(&shared);
    }
}

/* The release has failed already when what blocks its queue besides comes to its end. Threads of the driver may go on with it
 * then, and some never tell that a command has failed. */
SHARING_CASE(failed_release_goes_on, 0)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    for (int turn = 0; turn < 30; turn++) {
        cl_event held = user_event(rig->context), fails = user_event(rig->context), begun = NULL, acquired = NULL,
                 released = NULL;
        CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 1, &held, &begun), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
        CHECK_INT(rig->release(other, 1, &shared.object, 1, &fails, &released), CL_SUCCESS);
        CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(fails, -5), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
        clWaitForEvents(1, &released);
        CHECK(rig_event_status(released) < 0);
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(begun), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(fails), CL_SUCCESS);
    }
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
}

/* The release in the middle fails while the bytes of the first acquire are still held: the acquire behind it fails then, too,
 * and the call that makes them fail does not wait for the event that the program sets next. */
SHARING_CASE(acquire_behind_failed_release, 0)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue queues[] = {rig->queue, make_queue(rig, rig->context, 0), make_queue(rig, rig->context, 0)};
    cl_event first = user_event(rig->context), second = user_event(rig->context), released = NULL, acquired = NULL;
    CHECK_INT(rig->acquire(queues[0], 1, &shared.object, 1, &first, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(queues[1], 1, &shared.object, 1, &second, &released), CL_SUCCESS);
    CHECK_INT(rig->acquire(queues[2], 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(second, -5), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(first, CL_COMPLETE), CL_SUCCESS);
    clWaitForEvents(1, &released);
    CHECK(rig_event_status(released) < 0);
    clWaitForEvents(1, &acquired);
    CHECK(rig_event_status(acquired) < 0);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 1, 2));
    for (int i = 1; i < 3; i++)
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    const cl_event events[] = {first, second, released, acquired};
    for (int i = 0; i < 4; i++)
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    shared_close(&shared);
}

/* Nor is it taken for one whose wait list has ended well, if that failed before the release was over. Which thread goes on with
 * the acquire differs from time to time. */
SHARING_CASE(acquire_with_failed_list, 0)
{
    enum { TIMES = 20 };
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_command_queue second = make_queue(rig, rig->context, 0),
                     third = make_queue(rig, rig->context, out_of_order_mode(rig));
    for (int i = 0; i < TIMES; i++) {
        cl_event first = user_event(rig->context), fails = user_event(rig->context), acquired = NULL;
        CHECK_INT(rig->acquire(third, 1, &shared.object, 1, &first, NULL), CL_SUCCESS);
        CHECK_INT(rig->release(second, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(rig->acquire(third, 1, &shared.object, 1, &fails, &acquired), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(fails, -5), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(first, CL_COMPLETE), CL_SUCCESS);
        clWaitForEvents(1, &acquired);
        CHECK_INT(rig_event_status(acquired), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
        const cl_event events[] = {first, fails, acquired};
        for (int e = 0; e < 3; e++)
            CHECK_INT(clReleaseEvent(events[e]), CL_SUCCESS);
    }
    CHECK(round_trip(rig, &shared, 1, 2));
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(third), CL_SUCCESS);
    shared_close(&shared);
}

/* The same with a user event that fails. */
SHARING_CASE(acquire_fails_later, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count_kept(rig, &shared);
        cl_event user = user_event(rig->context), acquired = NULL;
        shared.object = create(rig, &shared);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &acquired), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        shared.object = NULL;
        CHECK_INT(clSetUserEventStatus(user, -1), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, 0);
        CHECK(rig_event_status(acquired) < 0);
        go_on(rig);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&shared);
    }
}

/* Large enough that the bytes are still on their way, if nobody waits for them. */
static const struct rig_desc large = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 1024, .height = 512};

SHARING_CASE(released_at_once, 0)
{
    void *texture = rig_make(rig, rig->device, &large, NULL);
    if (!CHECK(texture != NULL))
        return;
    const struct shared shared = {.resource = texture};
    struct counts before = {0, 0};
    for (int i = 0; i < 8; i++) {
        cl_int status = 1;
        cl_mem object = rig->create_2d(rig->context, 0, texture, 0, &status);
        CHECK_INT(status, CL_SUCCESS);
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        if (i > 0)
            counts_are(rig, &shared, before, 0, 0);
        before = count(rig, &shared);
    }
    queue_wait(rig->queue);
    rig_release(texture);
}

/* A written object waits for a user event on its way home when it goes; in a whole cycle an acquire behind it too, which has
 * not even begun and still needs the object. */
static void gone_before_its_bytes(const struct rig *rig, enum kind kind, bool cycle)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    if (!shared_resource(rig, kind, 1, &shared))
        return;
    const struct counts before = count_kept(rig, &shared);
    cl_event user = user_event(rig->context), last = NULL;
    rig_pattern(bytes, sizeof(bytes), 2);
    shared.object = create(rig, &shared);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, cycle ? NULL : &last), CL_SUCCESS);
    if (cycle)
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &last), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = NULL;
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 2));
    finish_event(last);
    counts_are(rig, &shared, before, 0, 0);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

SHARING_CASE(release_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        gone_before_its_bytes(rig, (enum kind)kind, false);
}

SHARING_CASE(cycle_pending, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        gone_before_its_bytes(rig, (enum kind)kind, true);
}

/* Context and queue go too, and the user event last. */
SHARING_CASE(all_given_back_meanwhile, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second;
        unsigned char bytes[SHARED_BYTES];
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        const struct counts before = count(rig, &shared);
        if (second_open(rig, &second)) {
            cl_event user = user_event(second.context);
            rig_pattern(bytes, sizeof(bytes), 2);
            shared.object = create(&second, &shared);
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(cl_write(second.queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(release_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            second_close(&second);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK(d3d_has(rig, &shared, 2));
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        }
        counts_are(rig, &shared, before, 0, 0);
        shared_close(&shared);
    }
}

/* The driver is short of memory for markers, or no longer. */
static void refuse_markers(const struct rig *rig, bool refused)
{
    const char *code = getenv("CLD3D_TEST_NO_MARKERS");
    if (code)
        CHECK(like_nvidia_refuse(rig->queue, refused ? atoi(code) : CL_SUCCESS));
}

/* A kernel that runs, or waits to, keeps OpenCL's memory; the resource is Direct3D's alone from the last release on, unless that
 * memory is the resource's. */
SHARING_CASE(kernel_pending, 0)
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
        CHECK_INT(launch(rig->queue, kernel, 1, &user, &ran), CL_SUCCESS);
        refuse_markers(rig, true);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        counts_are(rig, &shared, before, 0, kind_is_kept(rig, kind));
        refuse_markers(rig, false);
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

/* The queue goes before the object. */
SHARING_CASE(kernel_pending_without_queue, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        struct rig second;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        if (second_open(rig, &second)) {
            cl_mem out = clCreateBuffer(second.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
            const struct counts before = count_kept(&second, &shared);
            shared.object = create(&second, &shared);
            cl_kernel kernel = kernel_for(&second, &shared, out);
            cl_event user = user_event(second.context), ran = NULL;
            CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
            CHECK_INT(launch(second.queue, kernel, 1, &user, &ran), CL_SUCCESS);
            refuse_markers(rig, true);
            CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
            second.queue = NULL;
            CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
            shared.object = NULL;
            counts_are(rig, &shared, before, 0, kind_is_kept(rig, kind));
            refuse_markers(rig, false);
            counts_are(rig, &shared, before, 0, kind_is_kept(rig, kind));
            CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            finish_event(ran);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
            if (kind_is_kept(rig, kind))
                counts_are(rig, &shared, before, 0, 0);
            second_close(&second);
        }
        shared_close(&shared);
    }
}

/* Whether the one event of a queue's commands counts. Else a queue that has had its last release is gone, or soon will be. */
static bool event_keeps_queue(cl_command_queue queue)
{
    cl_uint references = 0;
    CHECK_INT(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(references), &references, NULL),
              CL_SUCCESS);
    return references > 1;
}

/* The queue has come back from an event, after the last release or after one that was put off. */
SHARING_CASE(kernel_pending_in_a_queue_again, 0)
{
    struct shared shared;
    struct rig second;
    cl_event kept = NULL;
    if (!shared_resource(rig, KIND_BUFFER, 1, &shared) || !second_open(rig, &second))
        return;
    cl_mem out = clCreateBuffer(second.context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    const struct counts before = count_kept(&second, &shared);
    shared.object = create(&second, &shared);
    cl_kernel kernel = kernel_for(&second, &shared, out);
    cl_event user = user_event(second.context), ran = NULL;
    CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(second.queue, 0, NULL, &kept), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &kept), CL_SUCCESS);
    if (event_keeps_queue(second.queue)) {
        refuse_markers(rig, true);
        CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
        CHECK_INT(clRetainCommandQueue(second.queue), CL_SUCCESS);
        refuse_markers(rig, false);
    } else {
        SKIP("the driver deletes a queue though there are events of its commands");
    }
    cl_command_queue other = make_queue(&second, second.context, 0); /* which looks at what was put off */
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(launch(second.queue, kernel, 1, &user, &ran), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = NULL;
    counts_are(rig, &shared, before, 0, kind_is_kept(rig, KIND_BUFFER));
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    finish_event(ran);
    CHECK_INT(clReleaseEvent(kept), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(out), CL_SUCCESS);
    if (kind_is_kept(rig, KIND_BUFFER))
        counts_are(rig, &shared, before, 0, 0);
    second_close(&second);
    shared_close(&shared);
}

#ifndef _WIN32
/* A driver that does not count what commands use, as NVIDIA's does not. */
static void kernels_uncounted(void)
{
    char layers[1024];
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_LIKE_NVIDIA");
    if (!over_transport("export") || !before || !layer || getenv("CLD3D_TEST_OVER_LIKE_NVIDIA")) {
        SKIP("only where buffers are imported");
        return;
    }
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    test_setenv("CLD3D_TEST_OVER_LIKE_NVIDIA", "1");
    static const char *const codes[] = {"0", "-5", "-6"};
    for (int i = 0; i < 3; i++) {
        test_setenv("CLD3D_TEST_NO_MARKERS", codes[i]);
        CHECK_INT(run_again("pending: a kernel", "OPENCL_LAYERS", layers), 4);
        CHECK_INT(run_again("pending: a kernel whose queue is gone", "OPENCL_LAYERS", layers),
                  2); /* the first of a process */
        CHECK_INT(run_again("pending: a queue that comes again", "OPENCL_LAYERS", layers), 2);
    }
    test_setenv("CLD3D_TEST_NO_MARKERS", NULL);
    test_setenv("CLD3D_TEST_OVER_LIKE_NVIDIA", NULL);
}
#endif

/* A mapping is the driver's reference and not the application's. */
SHARING_CASE(mapped_and_made_again, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
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
    shared_close_all(all);
}

/* A command that waits holds the object in the driver, and its subresource is free all the same. */
SHARING_CASE(used_and_made_again, 0)
{
    if (skip_without_staging())
        return;
    struct shared all[KINDS];
    unsigned char seen[KINDS][SHARED_BYTES], expected[SHARED_BYTES];
    if (!shared_open_all(rig, 1, all))
        return;
    cl_event user = user_event(rig->context);
    cl_command_queue other = make_queue(rig, rig->context, 0);
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared *shared = &all[kind];
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK_INT(clEnqueueBarrierWithWaitList(other, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(cl_read(other, shared, seen[kind], NULL), CL_SUCCESS);
        CHECK_INT(mem_refs(shared->object), 1);
        refused(rig, rig->context, 0, (enum kind)kind, shared->resource, 0, rig->api->invalid_resource);
        CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
        shared->object = create(rig, shared);
        CHECK(round_trip(rig, shared, 1 + (unsigned)kind, 9));
    }
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    queue_wait(other);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rig_pattern(expected, sizeof(expected), 1 + kind);
        CHECK_MEM(seen[kind], expected, SHARED_BYTES);
    }
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close_all(all);
}

/* ---- events ---- */

enum { NEVER_SET = 32 };

/* What stands where those events were is not taken for one of them: a release that waits for it is not deferred. */
static void places_are_free(struct rig *rig, struct shared *shared, const cl_event *never)
{
    unsigned char bytes[SHARED_BYTES];
    unsigned again = 0;
    for (unsigned turn = 0; turn < NEVER_SET; turn++) {
        cl_event marks[NEVER_SET];
        rig_pattern(bytes, sizeof(bytes), 2 + turn);
        for (int i = 0; i < NEVER_SET; i++) {
            CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marks[i]), CL_SUCCESS);
            for (int k = 0; k < NEVER_SET; k++)
                again += marks[i] == never[k];
        }
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, shared, bytes, NEVER_SET, marks, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
        const bool there = d3d_has(rig, shared, 2 + turn);
        for (int i = 0; i < NEVER_SET; i++)
            CHECK_INT(clReleaseEvent(marks[i]), CL_SUCCESS);
        if (!there)
            break;
    }
    printf("# %u events have stood where one was that was never set\n", again);
}

/* User events that are given back without being set are nobody's any more. */
SHARING_CASE(user_events_never_set, 0)
{
    struct shared shared;
    if (!shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_event never[NEVER_SET];
    for (int i = 0; i < NEVER_SET; i++) {
        never[i] = user_event(rig->context);
        CHECK_INT(clRetainEvent(never[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(never[i]), CL_SUCCESS);
    }
    for (int i = 0; i < NEVER_SET; i++)
        CHECK_INT(clReleaseEvent(never[i]), CL_SUCCESS);
    places_are_free(rig, &shared, never);
    shared_close(&shared);
}

/* Nor are those that still blocked a command then, once it has failed with another one. */
SHARING_CASE(user_events_never_set_but_waited_for, 0)
{
    struct shared shared;
    if (!ends_with_first_failure(rig) || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_event never[NEVER_SET];
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    for (int i = 0; i < NEVER_SET; i++) {
        cl_event pair[] = {user_event(rig->context), user_event(rig->context)}, waits = NULL;
        never[i] = pair[0];
        CHECK_INT(clEnqueueMarkerWithWaitList(queue, 2, pair, &waits), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(pair[0]), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(pair[1], -5), CL_SUCCESS);
        CHECK(ends_soon(waits));
        CHECK_INT(clReleaseEvent(waits), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(pair[1]), CL_SUCCESS);
    }
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    places_are_free(rig, &shared, never);
    shared_close(&shared);
}

/* Events outlive what they belong to, also those of commands that failed. */
SHARING_CASE(events_last, 0)
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

/* The bytes of its acquire are on their way, which a callback must not wait for: it goes later, and nothing else has to be a
 * memory object for that. */
SHARING_CASE(given_back_in_a_callback, 0)
{
    struct shared shared;
    struct slow_work work;
    struct gift gift = {.given = 0};
    if (!shared_open(rig, KIND_2D, 1, &shared) || !slow_open(rig, &work))
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
        CHECK_INT(clRetainEvent(ends[0]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(ends[0]), CL_SUCCESS);
    }
    CHECK_INT(rig_refs(shared.resource), refs - 1);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
    slow_close(&work);
    shared_close(&shared);
}

/* A queue that was given back and comes from the event of a command that is held in it is the application's again. */
SHARING_CASE(queue_comes_again, 0)
{
    struct shared shared;
    struct rig second = *rig;
    cl_command_queue again = NULL;
    cl_uint refs = 0;
    cl_event held = NULL;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_event user = user_event(rig->context);
    second.queue = make_queue(rig, rig->context, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(second.queue, 1, &user, &held), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(held, CL_EVENT_COMMAND_QUEUE, sizeof(again), &again, NULL), CL_SUCCESS);
    CHECK(again == second.queue);
    CHECK_INT(clRetainCommandQueue(again), CL_SUCCESS);
    CHECK_INT(clGetCommandQueueInfo(again, CL_QUEUE_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    CHECK(refs >= 1);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK(round_trip(&second, &shared, 1, 2));
    CHECK_INT(clReleaseCommandQueue(again), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 2, 3));
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

/* A queue of which the event of a command is all that is left. */
static cl_event queue_is_left(const struct rig *rig, cl_command_queue *queue)
{
    cl_command_queue left = make_queue(rig, rig->context, 0);
    cl_event user = user_event(rig->context), event = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(left, 1, &user, &event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(left), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(*queue), queue, NULL), CL_SUCCESS);
    CHECK(*queue == left);
    return event;
}

/* It works without a reference of the application's, for as long as the event keeps it; a command that a user event blocks is
 * followed in it. */
SHARING_CASE(queue_is_only_left, 0)
{
    struct shared shared;
    struct rig second = *rig;
    unsigned char bytes[SHARED_BYTES];
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    for (unsigned turn = 0; turn < 4; turn++) {
        cl_event kept = queue_is_left(rig, &second.queue), user = user_event(rig->context), end = NULL;
        const struct rig *releases = turn % 2 ? rig : &second;
        rig_pattern(bytes, sizeof(bytes), 10 + turn);
        if (turn < 2)
            CHECK(round_trip(&second, &shared, turn ? 10 : 1, 9));
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        queue_wait(rig->queue);
        cl_event written = NULL;
        CHECK_INT(cl_write(second.queue, &shared, bytes, 1, &user, &written), CL_SUCCESS);
        CHECK_INT(rig->release(releases->queue, 1, &shared.object, 1, &written, &end), CL_SUCCESS);
        CHECK(rig_event_status(end) > CL_COMPLETE);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, 10 + turn));
        const cl_event events[] = {kept, user, written, end};
        for (int i = 0; i < 4; i++)
            CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    }
    shared_close(&shared);
}

#ifndef _WIN32
static cl_uint asked_by_markers(const struct rig *rig, cl_command_queue queue)
{
    const cl_uint before = order_below(rig->queue, BELOW_QUEUES_ASKED, 0);
    for (int i = 0; i < 4; i++)
        CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), CL_SUCCESS);
    return order_below(rig->queue, BELOW_QUEUES_ASKED, 0) - before;
}

/* An event tells of a queue that shares nothing: its commands are as quick as before. */
SHARING_CASE(queue_of_others, 0)
{
    cl_uint value = 0;
    cl_command_queue told = NULL;
    cl_event event = NULL;
    if (clGetCommandQueueInfo(rig->queue, BELOW_QUEUES_ASKED, sizeof(value), &value, NULL) != CL_SUCCESS) {
        SKIP("over a layer that counts questions");
        return;
    }
    cl_context context = plain_context(rig);
    cl_command_queue queue = make_queue(rig, context, 0);
    const cl_uint before = asked_by_markers(rig, queue);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(told), &told, NULL), CL_SUCCESS);
    CHECK(told == queue);
    CHECK_INT(asked_by_markers(rig, queue), before);
    CHECK_INT(clFinish(queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

static void others_asked(void)
{
    if (takes_layers("CLD3D_TEST_BELOW"))
        CHECK_INT(run_over("CLD3D_TEST_BELOW", "queues: of others"), 2);
}
#endif

/* A deferred release keeps its queue too, of which the application has no reference to give back. */
SHARING_CASE(queue_is_left_to_a_release, 0)
{
    struct shared shared;
    struct rig second = *rig;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_event user = user_event(rig->context), end = NULL;
    second.queue = make_queue(rig, rig->context, 0);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(rig->release(second.queue, 1, &shared.object, 1, &user, &end), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(clReleaseCommandQueue(second.queue), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(end, CL_EVENT_COMMAND_QUEUE, sizeof(second.queue), &second.queue, NULL), CL_SUCCESS);
    CHECK(round_trip(&second, &shared, 1, 2));
    CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

/* ---- callbacks when an object is deleted ---- */

struct deleted {
    atomic_int calls;
    atomic_int order;
    atomic_int *next;
};

static void CL_CALLBACK on_deleted(cl_mem object, void *data)
{
    struct deleted *deleted = data;
    (void)object;
    atomic_store(&deleted->order, atomic_fetch_add(deleted->next, 1));
    atomic_fetch_add(&deleted->calls, 1);
}

static int deleted_calls(struct deleted *deleted)
{
    for (int i = 0; i < 60000 && !atomic_load(&deleted->calls); i++)
        pause_ms(1);
    return atomic_load(&deleted->calls);
}

SHARING_CASE(destructor_callbacks, 0)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        atomic_int next = 0;
        struct deleted deleted[2] = {{.next = &next}, {.next = &next}};
        for (int i = 0; i < 2; i++)
            CHECK_INT(clSetMemObjectDestructorCallback(all[kind].object, on_deleted, &deleted[i]), CL_SUCCESS);
        CHECK_INT(clRetainMemObject(all[kind].object), CL_SUCCESS);
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 9));
        CHECK_INT(acquire_one(rig, all[kind].object), CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK_INT(atomic_load(&deleted[0].calls) + atomic_load(&deleted[1].calls), 0);
        CHECK_INT(clReleaseMemObject(all[kind].object), CL_SUCCESS);
        all[kind].object = NULL;
        CHECK_INT(deleted_calls(&deleted[0]), 1);
        CHECK_INT(deleted_calls(&deleted[1]), 1);
        CHECK(atomic_load(&deleted[1].order) <
              atomic_load(&deleted[0].order)); /* the last one registered is the first */
    }
    shared_close_all(all);
}

/* It takes long enough for a call that waits for it to be noticed: tens of milliseconds. */
static cl_kernel slow_kernel(const struct rig *rig, const struct shared *shared)
{
    static const char *const sources[KINDS] = {
        "kernel void use(global uint *in, uint times)\n"
        "{ uint x = in[get_global_id(0)]; while (times--) x = x * 1664525u + 1013904223u; in[get_global_id(0)] = x; "
        "}\n",
        "kernel void use(write_only image2d_t out, uint times)\n"
        "{ uint x = get_global_id(0); while (times--) x = x * 1664525u + 1013904223u;\n"
        "  write_imageui(out, (int2)(get_global_id(0), 0), (uint4)(x & 1)); }\n",
        "kernel void use(read_only image3d_t in, uint times)\n"
        "{ const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
        "  uint x = read_imageui(in, s, (int4)(get_global_id(0), 0, 0, 0)).x;\n"
        "  while (times--) x = x * 1664525u + 1013904223u;\n"
        "  if (x == times) printf(\"%u\", x); }\n",
    };
    const cl_uint times = 1 << 24;
    cl_kernel kernel = rig_kernel(rig, sources[shared->kind], "use");
    if (kernel) {
        CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared->object), CL_SUCCESS);
        CHECK_INT(clSetKernelArg(kernel, 1, sizeof(times), &times), CL_SUCCESS);
    }
    return kernel;
}

/* The program waits for the callback, and calls nothing meanwhile that could look for the end of the kernel. When it has waited for the
 * kernel or for its queue, nothing holds the resource. */
static void delete_while_used(const struct rig *rig, struct shared *shared, bool by_event)
{
    atomic_int next = 0;
    struct deleted deleted = {.next = &next};
    cl_event ran = NULL;
    const struct counts before = count_kept(rig, shared);
    shared->object = create(rig, shared);
    cl_kernel kernel = slow_kernel(rig, shared);
    CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK_INT(launch(rig->queue, kernel, 0, NULL, NULL), CL_SUCCESS);
    /* rusticl's event of the kernel itself would keep the object */
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &ran), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(shared->object, on_deleted, &deleted), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    CHECK_INT(deleted_calls(&deleted), 1);
    CHECK_INT(by_event ? clWaitForEvents(1, &ran) : clFinish(rig->queue), CL_SUCCESS);
    CHECK_INT(rig_refs(shared->resource), before.resource);
    shared->object = NULL;
    CHECK_INT(clReleaseEvent(ran), CL_SUCCESS);
}

SHARING_CASE(deleted_while_used, 0)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int by_event = 0; by_event < 2; by_event++) {
            struct shared shared;
            if (!shared_resource(rig, (enum kind)kind, 1, &shared))
                continue;
            delete_while_used(rig, &shared, by_event);
            shared_close(&shared);
        }
}

struct told {
    atomic_bool done;
    cl_command_type type;
    cl_command_queue queue;
};

static void CL_CALLBACK ask_in_callback(cl_event event, cl_int status, void *data)
{
    struct told *told = data;
    (void)status;
    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(told->type), &told->type, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(told->queue), &told->queue, NULL);
    atomic_store(&told->done, true);
}

/* A program that has set a callback may release the event: the callback gets it all the same. */
static void ask_when_released(const struct rig *rig, cl_mem object, rig_enqueue enqueue, cl_command_type type)
{
    struct told told = {0};
    cl_event user = user_event(rig->context), event = NULL;
    CHECK_INT(enqueue(rig->queue, 1, &object, 1, &user, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, ask_in_callback, &told), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < 1000 && !atomic_load(&told.done); i++)
        pause_ms(10);
    if (CHECK(atomic_load(&told.done))) {
        CHECK_INT(told.type, type);
        CHECK(told.queue == rig->queue);
    }
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

SHARING_CASE(released_before_its_callback, 0)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    ask_when_released(rig, shared.object, rig->acquire, rig->api->command_acquire);
    ask_when_released(rig, shared.object, rig->release, rig->api->command_release);
    shared_close(&shared);
}

static const struct tap_test tests[] = {
#ifndef _WIN32
    {"a driver that does not count: kernels", kernels_uncounted}, /* the loader takes the list of layers apart */
    {"questions about queues that share nothing", others_asked},
    SHARING_TESTS("queues: of others", queue_of_others),
#endif
    SHARING_TESTS("a release that has failed ends when what holds its queue besides does", failed_release_goes_on),
    SHARING_TESTS("pending: an acquire", acquire_pending),
    SHARING_TESTS("pending: an acquire that fails", acquire_fails_later),
    SHARING_TESTS("pending: an acquire behind a release that fails", acquire_behind_failed_release),
    SHARING_TESTS("pending: an acquire whose wait list fails behind a release", acquire_with_failed_list),
    SHARING_TESTS("pending: an acquire's bytes", released_at_once),
    SHARING_TESTS("pending: a release", release_pending),
    SHARING_TESTS("pending: a whole cycle", cycle_pending),
    SHARING_TESTS("pending: a cycle without context, queue and object", all_given_back_meanwhile),
    SHARING_TESTS("pending: a kernel", kernel_pending),
    SHARING_TESTS("pending: a kernel whose queue is gone", kernel_pending_without_queue),
    SHARING_TESTS("pending: a queue that comes again", kernel_pending_in_a_queue_again),
    SHARING_TESTS("mapped: made again", mapped_and_made_again),
    SHARING_TESTS("used: made again", used_and_made_again),
    SHARING_TESTS("events: never set", user_events_never_set),
    SHARING_TESTS("events: never set, but waited for", user_events_never_set_but_waited_for),
    SHARING_TESTS("events: last of all", events_last),
    SHARING_TESTS("given back in a callback", given_back_in_a_callback),
    SHARING_TESTS("given back and retained again: a queue", queue_comes_again),
    SHARING_TESTS("given back: a queue that an event keeps", queue_is_only_left),
    SHARING_TESTS("given back: a queue that a deferred release keeps", queue_is_left_to_a_release),
    SHARING_TESTS("callbacks when an object is deleted", destructor_callbacks),
    SHARING_TESTS("callbacks when an object is deleted while a kernel runs", deleted_while_used),
    SHARING_TESTS("an event is released before its callback", released_before_its_callback),
};

TAP_MAIN(tests)
