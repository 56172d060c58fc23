/* clEnqueueAcquire...KHR and clEnqueueRelease...KHR: arguments, who owns what when, events and their times. What has to do
 * with waiting is in test_waits.c. */
#include "sharing.h"

/* ---- arguments ---- */

/* Both functions take the same arguments and check them alike. */
static rig_enqueue function_of(const struct rig *rig, int which)
{
    return which ? rig->release : rig->acquire;
}

static cl_event no_event(void)
{
    static int place;
    return (cl_event)&place; /* whoever overwrites it is seen */
}

/* Calls with these arguments fail with `code`, and make no event. */
static void both_refuse(const struct rig *rig, cl_command_queue queue, cl_uint count, const cl_mem *objects,
                        cl_uint wait_count, const cl_event *wait, cl_int code)
{
    for (int which = 0; which < 2; which++) {
        cl_event event = no_event();
        CHECK_INT(function_of(rig, which)(queue, count, objects, wait_count, wait, &event), code);
        CHECK(event == no_event());
        CHECK_INT(function_of(rig, which)(queue, count, objects, wait_count, wait, NULL), code);
    }
}

OBJECT_CASE("arguments: no objects", no_objects, 0, KIND_BUFFER)
{
    for (int which = 0; which < 2; which++)
        CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 0, NULL, NULL), CL_SUCCESS);
    both_refuse(rig, rig->queue, 0, &shared->object, 0, NULL, CL_INVALID_VALUE);
    both_refuse(rig, rig->queue, 1, NULL, 0, NULL, CL_INVALID_VALUE);
    both_refuse(rig, rig->queue, 0xFFFFFFFFu, NULL, 0, NULL, CL_INVALID_VALUE);
    /* It was not acquired by any of them. */
    CHECK_INT(release_one(rig, shared->object), rig->api->not_acquired);
}

static void check_event(const struct rig *rig, cl_event event, cl_command_type type, cl_command_queue queue)
{
    cl_command_queue of_queue = NULL;
    cl_context of_context = NULL;
    cl_uint refs = 0;
    size_t size = 0;
    CHECK_INT(rig_event_type(event), type);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, 0, NULL, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(cl_command_type));
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, 1, &refs, NULL), CL_INVALID_VALUE);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(of_queue), &of_queue, &size), CL_SUCCESS);
    CHECK_INT(size, sizeof(cl_command_queue));
    CHECK(of_queue == queue);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(of_context), &of_context, NULL), CL_SUCCESS);
    CHECK(of_context == rig->context);
    for (cl_uint i = 0; i < 3; i++) {
        CHECK_INT(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
        CHECK_INT(refs, i == 1 ? 2 : 1);
        if (i < 2)
            CHECK_INT(i == 0 ? clRetainEvent(event) : clReleaseEvent(event), CL_SUCCESS);
    }
    CHECK_INT(clGetEventInfo(event, 0x1234, sizeof(refs), &refs, NULL), CL_INVALID_VALUE);
}

/* A call without objects has an event as any other, and it waits for its list. */
SHARING_CASE("arguments: no objects, but an event", no_objects_but_an_event, 0)
{
    const cl_command_type types[] = {rig->api->command_acquire, rig->api->command_release};
    for (int which = 0; which < 2; which++) {
        cl_event event = NULL, user = user_event(rig->context);
        if (CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 0, NULL, &event), CL_SUCCESS)) {
            check_event(rig, event, types[which], rig->queue);
            CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
            CHECK_INT(rig_event_status(event), CL_COMPLETE);
            CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        }
        if (CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 1, &user, &event), CL_SUCCESS)) {
            check_event(rig, event, types[which], rig->queue);
            CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
            CHECK(rig_event_status(event) > CL_COMPLETE);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
            CHECK_INT(rig_event_status(event), CL_COMPLETE);
            CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        }
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    }
}

SHARING_CASE("arguments: queues", queues, 0)
{
    struct shared shared;
    struct rig other;
    cl_context plain = plain_context(rig);
    cl_command_queue plain_queue = make_queue(rig, plain, 0);
    if (shared_open(rig, KIND_2D, 1, &shared)) {
        both_refuse(rig, NULL, 1, &shared.object, 0, NULL, CL_INVALID_COMMAND_QUEUE);
        both_refuse(rig, plain_queue, 1, &shared.object, 0, NULL, CL_INVALID_CONTEXT);
        if (rig_open(&other, other_api(rig), 0)) {
            both_refuse(rig, other.queue, 1, &shared.object, 0, NULL, CL_INVALID_CONTEXT);
            both_refuse(rig, other.queue, 0, NULL, 0, NULL, CL_INVALID_CONTEXT);
            rig_close(&other);
        }
        shared_close(&shared);
    }
    both_refuse(rig, NULL, 0, NULL, 0, NULL, CL_INVALID_COMMAND_QUEUE);
    both_refuse(rig, plain_queue, 0, NULL, 0, NULL, CL_INVALID_CONTEXT);
    CHECK_INT(clReleaseCommandQueue(plain_queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

/* By the function of OpenCL 2.0. */
OBJECT_CASE("arguments: a queue with a list of properties", queue_with_properties, 0, KIND_2D)
{
    static const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    struct rig other = *rig;
    cl_int status = 1;
    other.queue = clCreateCommandQueueWithProperties(rig->context, rig->cl_device, properties, &status);
    if (!other.queue && status == CL_INVALID_OPERATION) {
        SKIP("the OpenCL below has no such function");
        return;
    }
    if (CHECK_INT(status, CL_SUCCESS)) {
        CHECK(round_trip(&other, shared, 1, 2));
        CHECK_INT(clReleaseCommandQueue(other.queue), CL_SUCCESS);
    }
}

/* The wrong object at each place of a list: nothing happens to the others. */
static void refuse_in_lists(const struct rig *rig, const struct shared good[KINDS], cl_mem bad, cl_int code)
{
    for (int at = 0; at < 4; at++) {
        cl_mem list[4];
        for (int i = 0, g = 0; i < 4; i++)
            list[i] = i == at ? bad : good[g++].object;
        both_refuse(rig, rig->queue, 4, list, 0, NULL, code);
    }
    both_refuse(rig, rig->queue, 1, &bad, 0, NULL, code);
    for (int i = 0; i < KINDS; i++)
        CHECK_INT(release_one(rig, good[i].object), rig->api->not_acquired);
}

SHARING_CASE("arguments: objects not made by this API", objects_of_other_origin, 0)
{
    struct shared good[KINDS];
    struct rig other;
    struct shared of_other;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    if (!shared_open_all(rig, 1, good))
        return;
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    cl_mem image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    const cl_buffer_region region = {0, 16};
    cl_mem part =
        clCreateSubBuffer(good[KIND_BUFFER].object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    CHECK(buffer && image && part);
    refuse_in_lists(rig, good, NULL, CL_INVALID_MEM_OBJECT);
    refuse_in_lists(rig, good, buffer, CL_INVALID_MEM_OBJECT);
    refuse_in_lists(rig, good, image, CL_INVALID_MEM_OBJECT);
    refuse_in_lists(rig, good, part, CL_INVALID_MEM_OBJECT);
    if (rig_open(&other, other_api(rig), 0)) {
        if (shared_open(&other, KIND_BUFFER, 1, &of_other)) {
            refuse_in_lists(rig, good, of_other.object, CL_INVALID_MEM_OBJECT);
            shared_close(&of_other);
        }
        rig_close(&other);
    }
    CHECK_INT(clReleaseMemObject(part), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    shared_close_all(good);
}

SHARING_CASE("arguments: objects of another context", objects_of_another_context, 0)
{
    struct shared good[KINDS];
    cl_int status = 1;
    cl_context second = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    if (shared_open_all(rig, 1, good)) {
        cl_mem object = rig->create_2d(second, 0, good[KIND_2D].resource, 0, &status);
        if (CHECK_INT(status, CL_SUCCESS)) {
            refuse_in_lists(rig, good, object, CL_INVALID_CONTEXT);
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        }
        shared_close_all(good);
    }
    CHECK_INT(clReleaseContext(second), CL_SUCCESS);
}

SHARING_CASE("arguments: wait lists", wait_list_arguments, 0)
{
    struct shared shared;
    cl_context plain = plain_context(rig);
    cl_event foreign = user_event(plain), own = user_event(rig->context);
    const cl_event with_null[] = {own, NULL}, with_foreign[] = {own, foreign};
    CHECK_INT(clSetUserEventStatus(own, CL_COMPLETE), CL_SUCCESS);
    if (shared_open(rig, KIND_BUFFER, 1, &shared)) {
        for (int acquired = 0; acquired < 2; acquired++) {
            /* Both states, so that each function is in its turn stopped by the wait list alone. */
            both_refuse(rig, rig->queue, 1, &shared.object, 1, NULL, CL_INVALID_EVENT_WAIT_LIST);
            both_refuse(rig, rig->queue, 1, &shared.object, 0, &own, CL_INVALID_EVENT_WAIT_LIST);
            both_refuse(rig, rig->queue, 1, &shared.object, 2, with_null, CL_INVALID_EVENT_WAIT_LIST);
            both_refuse(rig, rig->queue, 1, &shared.object, 2, with_foreign, CL_INVALID_CONTEXT);
            both_refuse(rig, rig->queue, 1, &shared.object, 1, &foreign, CL_INVALID_CONTEXT);
            if (!acquired)
                CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        }
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        shared_close(&shared);
    }
    both_refuse(rig, rig->queue, 0, NULL, 1, NULL, CL_INVALID_EVENT_WAIT_LIST);
    both_refuse(rig, rig->queue, 0, NULL, 0, &own, CL_INVALID_EVENT_WAIT_LIST);
    CHECK_INT(clSetUserEventStatus(foreign, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(foreign), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(own), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

/* Where several things are wrong: queue, context, objects, wait list, state. */
SHARING_CASE("arguments: the order of the checks", order_of_checks, 0)
{
    struct shared shared;
    cl_context plain = plain_context(rig);
    cl_command_queue plain_queue = make_queue(rig, plain, 0);
    if (shared_open(rig, KIND_BUFFER, 1, &shared)) {
        const cl_mem bad[] = {shared.object, NULL};
        both_refuse(rig, NULL, 1, NULL, 1, NULL, CL_INVALID_COMMAND_QUEUE);
        both_refuse(rig, NULL, 2, bad, 1, NULL, CL_INVALID_COMMAND_QUEUE);
        both_refuse(rig, plain_queue, 1, NULL, 1, NULL, CL_INVALID_CONTEXT);
        both_refuse(rig, plain_queue, 2, bad, 1, NULL, CL_INVALID_CONTEXT);
        both_refuse(rig, rig->queue, 1, NULL, 1, NULL, CL_INVALID_VALUE);
        both_refuse(rig, rig->queue, 2, bad, 1, NULL, CL_INVALID_MEM_OBJECT);
        CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
        CHECK_INT(rig->acquire(rig->queue, 2, bad, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 2, bad, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
        shared_close(&shared);
    }
    CHECK_INT(clReleaseCommandQueue(plain_queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
}

/* ---- ownership ---- */

OBJECTS_CASE("ownership: acquired twice, released twice", twice, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        cl_event event = no_event();
        cl_mem object = all[kind].object;
        CHECK_INT(rig->release(rig->queue, 1, &object, 0, NULL, &event), rig->api->not_acquired);
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, 1, &object, 0, NULL, &event), rig->api->already_acquired);
        CHECK_INT(acquire_one(rig, object), rig->api->already_acquired);
        CHECK(cl_has(rig->queue, &all[kind], 1 + (unsigned)kind));
        CHECK_INT(release_one(rig, object), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &object, 0, NULL, &event), rig->api->not_acquired);
        CHECK(event == no_event());
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 9));
    }
}

OBJECTS_CASE("ownership: a list is acquired or released as a whole", all_or_nothing, 0)
{
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    for (int odd = 0; odd < KINDS; odd++) {
        cl_event event = no_event();
        CHECK_INT(acquire_one(rig, list[odd]), CL_SUCCESS);
        CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, &event), rig->api->already_acquired);
        for (int i = 0; i < KINDS; i++)
            if (i != odd)
                CHECK_INT(release_one(rig, list[i]), rig->api->not_acquired);
        for (int i = 0; i < KINDS; i++)
            if (i != odd)
                CHECK_INT(acquire_one(rig, list[i]), CL_SUCCESS);
        CHECK_INT(release_one(rig, list[odd]), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, &event), rig->api->not_acquired);
        CHECK(event == no_event());
        for (int i = 0; i < KINDS; i++) {
            if (i == odd)
                continue;
            CHECK_INT(acquire_one(rig, list[i]), rig->api->already_acquired);
            CHECK(cl_has(rig->queue, &all[i], 1 + (unsigned)i));
            CHECK_INT(release_one(rig, list[i]), CL_SUCCESS);
        }
    }
}

OBJECTS_CASE("ownership: the same object twice in a list", same_object_twice_in_a_list, 0)
{
    const cl_mem lists[][3] = {{all[0].object, all[0].object, all[1].object},
                               {all[0].object, all[1].object, all[0].object},
                               {all[1].object, all[0].object, all[0].object}};
    for (int i = 0; i < 3; i++)
        CHECK_INT(rig->acquire(rig->queue, 3, lists[i], 0, NULL, NULL), rig->api->already_acquired);
    CHECK_INT(release_one(rig, all[0].object), rig->api->not_acquired);
    CHECK_INT(release_one(rig, all[1].object), rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, all[0].object), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, all[1].object), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(rig->release(rig->queue, 3, lists[i], 0, NULL, NULL), rig->api->not_acquired);
    CHECK_INT(acquire_one(rig, all[0].object), rig->api->already_acquired);
    CHECK_INT(acquire_one(rig, all[1].object), rig->api->already_acquired);
    CHECK_INT(release_one(rig, all[0].object), CL_SUCCESS);
    CHECK_INT(release_one(rig, all[1].object), CL_SUCCESS);
}

/* All kinds in one call, in both directions. Later commands of the queue come after an acquire and earlier ones before a release, even in a
 * queue that may change the order of its commands. */
static void mixed_turns(const struct rig *rig)
{
    struct shared all[KINDS];
    unsigned char bytes[KINDS][SHARED_BYTES];
    if (!shared_open_all(rig, 1, all))
        return;
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    for (unsigned turn = 0; turn < 20; turn++) {
        CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, NULL), CL_SUCCESS);
        for (unsigned i = 0; i < KINDS; i++)
            CHECK_INT(cl_read(rig->queue, &all[i], bytes[i], NULL), CL_SUCCESS);
        CHECK_INT(clEnqueueBarrierWithWaitList(rig->queue, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(rig->queue);
        for (unsigned i = 0; i < KINDS; i++) {
            unsigned char expected[SHARED_BYTES];
            rig_pattern(expected, sizeof(expected), 1 + 3 * turn + i);
            CHECK_MEM(bytes[i], expected, SHARED_BYTES);
            rig_pattern(bytes[i], SHARED_BYTES, 1 + 3 * (turn + 1) + i);
            CHECK_INT(cl_write(rig->queue, &all[i], bytes[i], 0, NULL, NULL), CL_SUCCESS);
        }
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, NULL), CL_SUCCESS);
        for (unsigned i = 0; i < KINDS; i++)
            CHECK(d3d_has(rig, &all[i], 1 + 3 * (turn + 1) + i));
    }
    shared_close_all(all);
}

SHARING_CASE("ownership: all kinds in one list", mixed_list, 0)
{
    mixed_turns(rig);
}

SHARING_CASE("ownership: all kinds in one list, in a queue out of order", out_of_order, RIG_OUT_OF_ORDER)
{
    mixed_turns(rig);
}

/* Lists longer than any that a small fixed array would hold. */
SHARING_CASE("ownership: a long list", long_list, 0)
{
    enum { MANY = 300 };
    static cl_mem objects[MANY];
    const struct rig_desc desc = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 2, .height = 2, .slices = MANY};
    cl_event event = NULL;
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!CHECK(texture != NULL))
        return;
    for (UINT i = 0; i < MANY; i++)
        CHECK((objects[i] = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, i, NULL)) != NULL);
    CHECK_INT(rig->acquire(rig->queue, MANY, objects, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, objects[MANY - 1]), rig->api->already_acquired);
    CHECK_INT(rig->release(rig->queue, MANY, objects, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(release_one(rig, objects[0]), rig->api->not_acquired);
    for (UINT i = 0; i < MANY; i++)
        CHECK_INT(clReleaseMemObject(objects[i]), CL_SUCCESS);
    rig_release(texture);
}

/* Ownership is the context's: one queue may acquire and another release, and use it in between. */
SHARING_CASE("ownership: from queue to queue", several_queues, 0)
{
    struct shared all[KINDS];
    unsigned char bytes[SHARED_BYTES];
    cl_command_queue second = make_queue(rig, rig->context, 0), third = make_queue(rig, rig->context, 0);
    if (shared_open_all(rig, 1, all)) {
        for (unsigned i = 0; i < KINDS; i++) {
            cl_event acquired = NULL, written = NULL;
            CHECK_INT(rig->acquire(rig->queue, 1, &all[i].object, 0, NULL, &acquired), CL_SUCCESS);
            CHECK_INT(rig->acquire(second, 1, &all[i].object, 0, NULL, NULL), rig->api->already_acquired);
            rig_pattern(bytes, sizeof(bytes), 50 + i);
            CHECK_INT(cl_write(second, &all[i], bytes, 1, &acquired, &written), CL_SUCCESS);
            CHECK_INT(rig->release(third, 1, &all[i].object, 1, &written, NULL), CL_SUCCESS);
            CHECK(d3d_has(rig, &all[i], 50 + i));
            CHECK_INT(rig->release(rig->queue, 1, &all[i].object, 0, NULL, NULL), rig->api->not_acquired);
            CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(written), CL_SUCCESS);
        }
        shared_close_all(all);
    }
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(third), CL_SUCCESS);
}

static void works(struct rig *rig)
{
    struct shared all[KINDS];
    if (!shared_open_all(rig, 1, all))
        return;
    for (unsigned i = 0; i < KINDS; i++) {
        CHECK(round_trip(rig, &all[i], 1 + i, 20 + i));
        CHECK(round_trip(rig, &all[i], 20 + i, 30 + i));
        /* Direct3D writes in between. */
        d3d_fill(rig, &all[i], 40 + i);
        CHECK(round_trip(rig, &all[i], 40 + i, 50 + i));
    }
    shared_close_all(all);
}

SHARING_CASE("synchronisation: by the user", user_sync, RIG_USER_SYNC)
{
    works(rig);
}

SHARING_CASE("synchronisation: a single-threaded device", single_threaded, RIG_SINGLE_THREADED)
{
    works(rig);
}

/* ---- events ---- */

OBJECTS_CASE("events: what they answer", events, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        cl_event acquired = NULL, released = NULL;
        if (CHECK_INT(rig->acquire(rig->queue, 1, &all[kind].object, 0, NULL, &acquired), CL_SUCCESS)) {
            check_event(rig, acquired, rig->api->command_acquire, rig->queue);
            CHECK(rig_event_status(acquired) >= CL_COMPLETE);
            CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
            CHECK_INT(rig_event_status(acquired), CL_COMPLETE);
            CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        }
        if (CHECK_INT(rig->release(rig->queue, 1, &all[kind].object, 0, NULL, &released), CL_SUCCESS)) {
            check_event(rig, released, rig->api->command_release, rig->queue);
            CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
            CHECK_INT(rig_event_status(released), CL_COMPLETE);
            CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
        }
    }
}

/* References of the application; the answers stay right as long as there is one. */
OBJECT_CASE("events: references", event_references, 0, KIND_2D)
{
    cl_event event = NULL;
    if (CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &event), CL_SUCCESS)) {
        CHECK_INT(clRetainEvent(event), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        check_event(rig, event, rig->api->command_acquire, rig->queue);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    /* Given back before the command is over, and a queue's next command is not shown as ours. */
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    for (int i = 0; i < 50; i++) {
        cl_event marker = NULL;
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marker), CL_SUCCESS);
        CHECK_INT(rig_event_type(marker), CL_COMMAND_MARKER);
        CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    }
    queue_wait(rig->queue);
}

/* A release comes after all that is in its queue, also after what does not use its objects. */
SHARING_CASE("events: other work of a queue out of order", out_of_order_work, RIG_OUT_OF_ORDER)
{
    struct shared shared;
    struct slow_work work;
    unsigned char bytes[SHARED_BYTES];
    if (!slow_open(rig, &work) || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    rig_pattern(bytes, sizeof(bytes), 2);
    for (int written = 0; written < 2; written++) {
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        if (written)
            CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
        cl_event worked = slow_start(&work, rig->queue);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(rig_event_status(worked), CL_COMPLETE);
        CHECK_INT(clReleaseEvent(worked), CL_SUCCESS);
        CHECK(d3d_has(rig, &shared, 1 + (unsigned)written));
    }
    shared_close(&shared);
    slow_close(&work);
}

/* ---- times ---- */

struct times {
    cl_ulong queued, submit, start, end;
};

static bool get_times(cl_event event, struct times *times)
{
    return CHECK_INT(
               clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(cl_ulong), &times->queued, NULL),
               CL_SUCCESS) &&
           CHECK_INT(
               clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_SUBMIT, sizeof(cl_ulong), &times->submit, NULL),
               CL_SUCCESS) &&
           CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(cl_ulong), &times->start, NULL),
                     CL_SUCCESS) &&
           CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(cl_ulong), &times->end, NULL),
                     CL_SUCCESS) &&
           CHECK(times->queued != 0) && CHECK(times->queued <= times->submit) && CHECK(times->submit <= times->start) &&
           CHECK(times->start <= times->end);
}

/* What an ordinary command of the queue answers: some drivers have no times, and say 0 always. */
static cl_int ordinary_time(cl_command_queue queue, cl_ulong *time)
{
    cl_event marker = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &marker), CL_SUCCESS);
    const cl_int status = clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_QUEUED, sizeof(*time), time, NULL);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    return status;
}

static bool has_times(const struct rig *rig)
{
    cl_ulong time = 0;
    if (!CHECK_INT(ordinary_time(rig->queue, &time), CL_SUCCESS) || time != 0)
        return true;
    SKIP("the driver has no profiling times");
    return false;
}

OBJECTS_CASE("times: with profiling", profiling, RIG_PROFILING)
{
    if (!has_times(rig))
        return;
    unsigned char bytes[SHARED_BYTES] = {0};
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    for (int turn = 0; turn < 3; turn++) {
        cl_event acquired = NULL, written = NULL, released = NULL;
        struct times acquire, write, release;
        size_t size = 0;
        CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, &acquired), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &all[KIND_BUFFER], bytes, 0, NULL, &written), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, &released), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
        CHECK_INT(clGetEventProfilingInfo(acquired, CL_PROFILING_COMMAND_START, 0, NULL, &size), CL_SUCCESS);
        CHECK_INT(size, sizeof(cl_ulong));
        CHECK_INT(clGetEventProfilingInfo(acquired, CL_PROFILING_COMMAND_START, 4, &acquire, NULL), CL_INVALID_VALUE);
        CHECK_INT(clGetEventProfilingInfo(acquired, 0x1234, sizeof(cl_ulong), &acquire, NULL), CL_INVALID_VALUE);
        if (get_times(acquired, &acquire) && get_times(written, &write) && get_times(released, &release)) {
            /* One after the other in the queue, so in time as well. */
            CHECK(acquire.queued <= write.queued);
            CHECK(write.queued <= release.queued);
            CHECK(acquire.end <= write.start);
            CHECK(write.end <= release.start);
            CHECK(write.end <= release.end);
        }
        check_event(rig, acquired, rig->api->command_acquire, rig->queue);
        check_event(rig, released, rig->api->command_release, rig->queue);
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(written), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    }
}

OBJECT_CASE("times: without profiling", no_profiling, 0, KIND_2D)
{
    cl_event events[2];
    cl_ulong time = 0;
    const cl_int expected = ordinary_time(rig->queue, &time);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &events[0]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, 0, NULL, &events[1]), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(2, events), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        /* CL_PROFILING_INFO_NOT_AVAILABLE, if the driver knows its rules. */
        CHECK_INT(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof(time), &time, NULL), expected);
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    }
}

TAP_MAIN
