/* clEnqueueAcquire...KHR and clEnqueueRelease...KHR: arguments, who owns what when, events and their times. What has to do
 * with waiting is in test_waits.c. */
#include "sharing.h"

/* ---- arguments ---- */

struct arguments {
    cl_command_queue queue;
    cl_uint count;
    const cl_mem *objects;
    cl_uint wait_count;
    const cl_event *wait;
    cl_int code;
};

/* Both functions take the same arguments and check them alike. */
static rig_enqueue function_of(const struct rig *rig, int which)
{
    return which ? rig->release : rig->acquire;
}

/* Calls with these arguments fail, and make no event. */
static void both_refuse(const struct rig *rig, struct arguments a)
{
    for (int which = 0; which < 2; which++) {
        cl_event none = (cl_event)&a, event = none;
        CHECK_INT(function_of(rig, which)(a.queue, a.count, a.objects, a.wait_count, a.wait, &event), a.code);
        CHECK(event == none);
        CHECK_INT(function_of(rig, which)(a.queue, a.count, a.objects, a.wait_count, a.wait, NULL), a.code);
    }
}

/* The wrong object at each place of a list. */
static void refuse_in_lists(const struct rig *rig, const struct shared good[KINDS], cl_mem bad, cl_int code)
{
    for (int at = 0; at < 4; at++) {
        cl_mem list[4];
        for (int i = 0, g = 0; i < 4; i++)
            list[i] = i == at ? bad : good[g++].object;
        both_refuse(rig, (struct arguments){rig->queue, 4, list, 0, NULL, code});
    }
    both_refuse(rig, (struct arguments){rig->queue, 1, &bad, 0, NULL, code});
}

/* What is not the context's, or not shared by this API. */
struct strangers {
    struct rig other; /* of the other API */
    struct shared of_other;
    struct rig second; /* a context of the same device */
    struct shared of_second;
    cl_mem buffer, image, part;
    cl_context plain;
    cl_command_queue queue; /* of `plain` */
    cl_event event;
};

static bool strangers_open(const struct rig *rig, const struct shared all[KINDS], struct strangers *s)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    const cl_buffer_region region = {0, 16};
    if (!rig_open(&s->other, other_api(rig), 0) || !shared_open(&s->other, KIND_BUFFER, 1, &s->of_other))
        return false;
    IUnknown_AddRef((IUnknown *)rig->device);
    s->second = rig_on(rig, rig->device);
    if (!shared_open(&s->second, KIND_2D, 1, &s->of_second))
        return false;
    s->buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    s->image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    s->part = clCreateSubBuffer(all[KIND_BUFFER].object, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    s->plain = plain_context(rig);
    s->queue = make_queue(rig, s->plain, 0);
    s->event = user_event(s->plain);
    return CHECK(s->buffer && s->image && s->part);
}

static void strangers_close(struct strangers *s)
{
    CHECK_INT(clSetUserEventStatus(s->event, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(s->event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(s->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(s->plain), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(s->part), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(s->image), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(s->buffer), CL_SUCCESS);
    shared_close(&s->of_second);
    rig_close(&s->second);
    shared_close(&s->of_other);
    rig_close(&s->other);
}

/* Where several things are wrong, the first of these counts: queue, context, objects, wait list, state. Nothing happens to the objects,
 * whichever side they belong to. */
OBJECTS_CASE("arguments that are wrong", wrong_arguments, 0)
{
    struct strangers s;
    if (!strangers_open(rig, all, &s))
        return;
    const cl_command_queue queue = rig->queue;
    const cl_event own = user_event(rig->context), null_event[] = {own, NULL}, foreign[] = {own, s.event};
    const cl_mem good[] = {all[0].object, all[1].object, all[2].object}, null_object[] = {good[0], NULL};
    const struct arguments wrong[] = {
        {NULL, 1, good, 0, NULL, CL_INVALID_COMMAND_QUEUE},
        {NULL, 0, NULL, 0, NULL, CL_INVALID_COMMAND_QUEUE},
        {NULL, 1, NULL, 1, NULL, CL_INVALID_COMMAND_QUEUE},
        {NULL, 2, null_object, 1, NULL, CL_INVALID_COMMAND_QUEUE},
        {s.queue, 1, good, 0, NULL, CL_INVALID_CONTEXT},
        {s.queue, 0, NULL, 0, NULL, CL_INVALID_CONTEXT},
        {s.queue, 1, NULL, 1, NULL, CL_INVALID_CONTEXT},
        {s.queue, 2, null_object, 1, NULL, CL_INVALID_CONTEXT},
        {s.other.queue, 1, good, 0, NULL, CL_INVALID_CONTEXT},
        {s.other.queue, 0, NULL, 0, NULL, CL_INVALID_CONTEXT},
        {queue, 0, good, 0, NULL, CL_INVALID_VALUE},
        {queue, 1, NULL, 1, NULL, CL_INVALID_VALUE},
        {queue, 0xFFFFFFFFu, NULL, 0, NULL, CL_INVALID_VALUE},
        {queue, 2, null_object, 1, NULL, CL_INVALID_MEM_OBJECT},
        {queue, 1, good, 1, NULL, CL_INVALID_EVENT_WAIT_LIST},
        {queue, 1, good, 0, &own, CL_INVALID_EVENT_WAIT_LIST},
        {queue, 1, good, 2, null_event, CL_INVALID_EVENT_WAIT_LIST},
        {queue, 0, NULL, 1, NULL, CL_INVALID_EVENT_WAIT_LIST},
        {queue, 0, NULL, 0, &own, CL_INVALID_EVENT_WAIT_LIST},
        {queue, 1, good, 2, foreign, CL_INVALID_CONTEXT},
        {queue, 1, good, 1, &s.event, CL_INVALID_CONTEXT},
    };
    const cl_mem strange[] = {NULL, s.buffer, s.image, s.part, s.of_other.object};
    CHECK_INT(clSetUserEventStatus(own, CL_COMPLETE), CL_SUCCESS);
    for (int acquired = 0; acquired < 2; acquired++) {
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            const int failures = atomic_load(&tap_case.failures);
            both_refuse(rig, wrong[i]);
            if (atomic_load(&tap_case.failures) != failures)
                printf("# with arguments %u\n", (unsigned)i);
        }
        for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
            refuse_in_lists(rig, all, strange[i], CL_INVALID_MEM_OBJECT);
        refuse_in_lists(rig, all, s.of_second.object, CL_INVALID_CONTEXT);
        for (int i = 0; i < KINDS; i++)
            CHECK_INT(acquired ? acquire_one(rig, good[i]) : release_one(rig, good[i]),
                      acquired ? rig->api->already_acquired : rig->api->not_acquired);
        CHECK_INT(function_of(rig, acquired)(queue, KINDS, good, 0, NULL, NULL), CL_SUCCESS);
    }
    CHECK_INT(clReleaseEvent(own), CL_SUCCESS);
    strangers_close(&s);
}

static void check_event(const struct rig *rig, cl_event event, cl_command_type type)
{
    cl_command_queue queue = NULL;
    cl_context context = NULL;
    cl_uint refs = 0;
    CHECK_INT(rig_event_type(event), type);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL), CL_SUCCESS);
    CHECK(queue == rig->queue);
    CHECK_INT(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL), CL_SUCCESS);
    CHECK(context == rig->context);
    for (cl_uint i = 0; i < 3; i++) {
        CHECK_INT(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
        CHECK_INT(refs, i == 1 ? 2 : 1);
        if (i < 2)
            CHECK_INT(i == 0 ? clRetainEvent(event) : clReleaseEvent(event), CL_SUCCESS);
    }
}

/* Waits for the event, which is the last reference to it. */
static void event_ends(const struct rig *rig, cl_event event, cl_command_type type)
{
    check_event(rig, event, type);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(rig_event_status(event), CL_COMPLETE);
    check_event(rig, event, type);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

/* A call without objects has an event as any other, and it waits for its list. */
SHARING_CASE("arguments: no objects", no_objects, 0)
{
    const cl_command_type types[] = {rig->api->command_acquire, rig->api->command_release};
    for (int which = 0; which < 2; which++) {
        cl_event event = NULL, user = user_event(rig->context);
        CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 0, NULL, NULL), CL_SUCCESS);
        if (CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 0, NULL, &event), CL_SUCCESS))
            event_ends(rig, event, types[which]);
        if (CHECK_INT(function_of(rig, which)(rig->queue, 0, NULL, 1, &user, &event), CL_SUCCESS)) {
            CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
            CHECK(rig_event_status(event) > CL_COMPLETE);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            event_ends(rig, event, types[which]);
        }
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    }
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

/* ---- ownership ---- */

OBJECTS_CASE("ownership: a list is acquired or released as a whole", all_or_nothing, 0)
{
    const cl_mem list[] = {all[0].object, all[1].object, all[2].object};
    for (int odd = 0; odd < KINDS; odd++) {
        cl_event none = (cl_event)&list, event = none;
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
        CHECK(event == none);
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

OBJECTS_CASE("a single-threaded device", single_threaded, RIG_SINGLE_THREADED)
{
    for (unsigned i = 0; i < KINDS; i++) {
        CHECK(round_trip(rig, &all[i], 1 + i, 20 + i));
        d3d_fill(rig, &all[i], 40 + i); /* Direct3D writes in between */
        CHECK(round_trip(rig, &all[i], 40 + i, 50 + i));
    }
}

/* ---- events ---- */

OBJECTS_CASE("events: what they answer", events, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        cl_event acquired = NULL, released = NULL;
        if (CHECK_INT(rig->acquire(rig->queue, 1, &all[kind].object, 0, NULL, &acquired), CL_SUCCESS))
            event_ends(rig, acquired, rig->api->command_acquire);
        if (CHECK_INT(rig->release(rig->queue, 1, &all[kind].object, 0, NULL, &released), CL_SUCCESS))
            event_ends(rig, released, rig->api->command_release);
    }
    /* One that is given back before its command is over does not make a later command's event look like it. */
    CHECK_INT(rig->acquire(rig->queue, 1, &all[0].object, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < 50; i++) {
        cl_event marker = NULL, event = NULL;
        CHECK_INT(function_of(rig, 1 - i % 2)(rig->queue, 1, &all[0].object, 0, NULL, &event), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marker), CL_SUCCESS);
        CHECK_INT(rig_event_type(marker), CL_COMMAND_MARKER);
        CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    }
    CHECK_INT(release_one(rig, all[0].object), CL_SUCCESS);
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

enum { QUEUED, SUBMIT, START, END, TIMES };

static bool get_times(cl_event event, cl_ulong times[TIMES])
{
    for (cl_uint i = 0; i < TIMES; i++)
        if (!CHECK_INT(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof(*times), &times[i], NULL),
                       CL_SUCCESS) ||
            !CHECK(i ? times[i] >= times[i - 1] : times[i] != 0))
            return false;
    return true;
}

/* Some drivers have no times, and say 0 always. */
static bool has_times(const struct rig *rig)
{
    cl_ulong time = 0;
    cl_event marker = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marker), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &marker), CL_SUCCESS);
    const cl_int status = clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_QUEUED, sizeof(time), &time, NULL);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    if (!CHECK_INT(status, CL_SUCCESS) || time != 0)
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
        enum { ACQUIRE, WRITE, RELEASE };
        cl_event events[3] = {NULL};
        cl_ulong times[3][TIMES];
        CHECK_INT(rig->acquire(rig->queue, KINDS, list, 0, NULL, &events[ACQUIRE]), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &all[KIND_BUFFER], bytes, 0, NULL, &events[WRITE]), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, KINDS, list, 0, NULL, &events[RELEASE]), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &events[RELEASE]), CL_SUCCESS);
        if (get_times(events[0], times[0]) && get_times(events[1], times[1]) && get_times(events[2], times[2])) {
            /* One after the other in the queue, so in time as well. */
            CHECK(times[ACQUIRE][QUEUED] <= times[WRITE][QUEUED]);
            CHECK(times[WRITE][QUEUED] <= times[RELEASE][QUEUED]);
            CHECK(times[ACQUIRE][END] <= times[WRITE][START]);
            CHECK(times[WRITE][END] <= times[RELEASE][START]);
        }
        for (int i = 0; i < 3; i++)
            CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    }
}

TAP_MAIN
