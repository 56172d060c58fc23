/* What is known of a handle without a query, and for how long: nothing that is released proves anything, since the driver may give its
 * address to an object of another kind. */
#include "tap.h"

#include "emulate/emulate.h"
#include "emulate/fence.h"
#include "emulate/known_devices.h"
#include "next/handle.h"
#include "handles/handle_kind.h"
#include "handles/registry.h"
#include "handles/handles.h"

/* Things at addresses, for handles. */
static char things[8];

static void *thing(int i)
{
    return &things[i];
}

enum { KINDS = HANDLE_PROGRAM + 1 };

/* Other than each kind but one. */
static void is_alone(const void *handle, enum handle_kind kind)
{
    for (int other = 0; other < KINDS; other++)
        CHECK_INT(handle_is_other((enum handle_kind)other, handle), other != (int)kind);
}

static void is_unknown(const void *handle)
{
    for (int other = 0; other < KINDS; other++)
        CHECK(!handle_is_other((enum handle_kind)other, handle));
}

/* ---- records ---- */

static void destroy(struct record *record)
{
    (void)record;
}

static void rests(enum record_kind record_kind, enum handle_kind kind)
{
    struct record record = {.kind = record_kind, .handle = thing(0), .destroy = destroy};
    CHECK(registry_add(&record));
    is_alone(thing(0), kind);
    registry_app_retain(record_kind, thing(0));
    CHECK(!registry_app_weaken(record_kind, thing(0)));
    is_alone(thing(0), kind);
    CHECK(registry_app_weaken(record_kind, thing(0)));
    is_unknown(thing(0));
    registry_leave(&record);
    is_unknown(thing(0));
}

static void records(void)
{
    is_unknown(thing(0));
    is_unknown(NULL);
    rests(RECORD_CONTEXT, HANDLE_CONTEXT);
    rests(RECORD_QUEUE, HANDLE_QUEUE);
    rests(RECORD_OBJECT, HANDLE_MEMORY);
}

static void leaves(enum record_kind record_kind, bool proves, enum handle_kind kind)
{
    struct record record = {.kind = record_kind, .handle = thing(0), .destroy = destroy};
    CHECK(registry_add(&record));
    if (proves)
        is_alone(thing(0), kind);
    else
        is_unknown(thing(0));
    registry_app_release(record_kind, thing(0));
    is_unknown(thing(0));
}

/* What does not follow the application's references alone proves nothing. */
static void other_records(void)
{
    leaves(RECORD_IMAGE, true, HANDLE_MEMORY);
    leaves(RECORD_BLOCKER, true, HANDLE_EVENT);
    leaves(RECORD_EVENT, false, HANDLE_EVENT);
    leaves(RECORD_KERNEL, false, HANDLE_EVENT);
    leaves(RECORD_COMMAND_BUFFER, false, HANDLE_EVENT);
}

/* Another thread's last release comes between the driver's retain and the record's. */
static void retained_late(void)
{
    struct record record = {.kind = RECORD_OBJECT, .handle = thing(0), .destroy = destroy};
    CHECK(registry_add(&record));
    struct record *held = registry_get(RECORD_OBJECT, thing(0));
    CHECK(held == &record);
    CHECK(registry_app_weaken(RECORD_OBJECT, thing(0)));
    CHECK(registry_app_retain(RECORD_OBJECT, thing(0))); /* the caller gives back what it has too much */
    CHECK(!registry_is_weak(&record));
    CHECK(!registry_app_retain(RECORD_OBJECT, thing(0)));
    CHECK(!registry_app_weaken(RECORD_OBJECT, thing(0)));
    CHECK(registry_app_weaken(RECORD_OBJECT, thing(0)));
    record_release(held);
    registry_leave(&record);
    is_unknown(thing(0));
}

/* ---- queues that share nothing ---- */

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *status)
{
    (void)context, (void)device, (void)properties;
    *status = CL_SUCCESS;
    return thing(1);
}

static cl_int CL_API_CALL count_queue(cl_command_queue queue)
{
    return queue == thing(1) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static void queues(void)
{
    cl_icd_dispatch table = {.clCreateCommandQueue = create_queue,
                             .clRetainCommandQueue = count_queue,
                             .clReleaseCommandQueue = count_queue};
    cl_int status = 1;
    fence_install(&table);
    cl_command_queue queue = table.clCreateCommandQueue(thing(2), NULL, 0, &status);
    CHECK(queue == thing(1));
    CHECK_INT(table.clRetainCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(table.clReleaseCommandQueue(queue), CL_SUCCESS);
    is_alone(queue, HANDLE_QUEUE);
    is_alone(thing(2), HANDLE_CONTEXT);
    CHECK_INT(table.clReleaseCommandQueue(queue), CL_SUCCESS);
    is_unknown(queue);
    is_unknown(thing(2));
    is_unknown(NULL);
}

/* What another thread does while the end of a queue is looked for. */
static cl_icd_dispatch tracked;
static int retains_meanwhile, releases_meanwhile;

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)count, (void)wait, (void)event;
    for (; retains_meanwhile > 0; retains_meanwhile--)
        CHECK_INT(tracked.clRetainCommandQueue(queue), CL_SUCCESS);
    while (releases_meanwhile > 0) {
        releases_meanwhile--;
        CHECK_INT(tracked.clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    return CL_INVALID_COMMAND_QUEUE;
}

static cl_int CL_API_CALL know_nothing(cl_context context, cl_context_info name, size_t room, void *to, size_t *size)
{
    (void)context, (void)name, (void)room, (void)to, (void)size;
    return CL_INVALID_CONTEXT;
}

static void queue_released_twice(void)
{
    cl_int status = 1;
    tracked = (cl_icd_dispatch){.clCreateCommandQueue = create_queue,
                                .clRetainCommandQueue = count_queue,
                                .clReleaseCommandQueue = count_queue};
    underlying.clEnqueueMarkerWithWaitList = enqueue_marker;
    underlying.clGetContextInfo = know_nothing;
    fence_install(&tracked);
    CHECK(!fence_counted_below(thing(2))); /* from now on ends are looked for */
    cl_command_queue queue = tracked.clCreateCommandQueue(thing(2), NULL, 0, &status);
    retains_meanwhile = 1;
    CHECK_INT(tracked.clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(retains_meanwhile, 0);
    is_alone(queue, HANDLE_QUEUE);
    retains_meanwhile = releases_meanwhile = 1;
    CHECK_INT(tracked.clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(releases_meanwhile, 0);
    is_unknown(queue);
    is_unknown(thing(2));
}

/* ---- queues that await others ---- */

/* thing(0) and thing(1) are queues of the context thing(2), and the event is of a command of thing(1) that is not flushed. */
static unsigned flushes[2];

static cl_int CL_API_CALL count_flush(cl_command_queue queue)
{
    flushes[queue == thing(1)]++;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_any(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL tell_properties(cl_command_queue queue, cl_command_queue_info name, size_t room, void *to,
                                          size_t *size)
{
    (void)queue, (void)name, (void)size;
    memset(to, 0, room);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL tell_queued(cl_event event, cl_event_info name, size_t room, void *to, size_t *size)
{
    const cl_command_queue queue = thing(1);
    const cl_int status = CL_QUEUED;
    (void)event, (void)size;
    memcpy(to, name == CL_EVENT_COMMAND_QUEUE ? (const void *)&queue : &status, room);
    return CL_SUCCESS;
}

static void awaits_and_flushes(cl_event event, cl_icd_dispatch *table, bool released)
{
    cl_int status = 1;
    flushes[0] = flushes[1] = 0;
    queue_waits(thing(0), 1, &event);
    if (released) {
        CHECK_INT(table->clReleaseCommandQueue(thing(1)), CL_SUCCESS);
        CHECK(queue_followed("test", thing(2), thing(1), &status) == thing(1));
    }
    struct queue_record *queue = queue_get(thing(0));
    queue_flush(queue);
    record_release(queue);
    CHECK_INT(flushes[0], 1);
    CHECK_INT(flushes[1], 1); /* by its release, or for the other; and not what comes at its address */
}

static void awaited_queues(void)
{
    const void *marks[sizeof(cl_icd_dispatch) / sizeof(void *)] = {(const void *)(uintptr_t)0x4F50454E434C3331};
    const void *const object = marks;
    struct context_record context = {
        .head = {.kind = RECORD_CONTEXT, .handle = thing(2), .destroy = destroy, .references = 1}};
    cl_icd_dispatch table = {0};
    cl_int status = 1;
    tier_formats_table = (cl_icd_dispatch){.clReleaseCommandQueue = release_any,
                                           .clGetCommandQueueInfo = tell_properties,
                                           .clFlush = count_flush,
                                           .clGetEventInfo = tell_queued};
    queue_install(&table);
    CHECK(registry_add(&context.head));
    for (int i = 0; i < 2; i++)
        CHECK(queue_followed("test", thing(2), thing(i), &status) == thing(i));
    for (int turn = 0; turn < 4; turn++)
        awaits_and_flushes((cl_event)&object, &table, turn % 2 == 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(table.clReleaseCommandQueue(thing(i)), CL_SUCCESS);
    registry_forget(RECORD_CONTEXT, thing(2));
}

/* ---- platforms and devices ---- */

static cl_int one(void *handle, cl_uint room, void *list, cl_uint *count)
{
    if (list && room)
        *(void **)list = handle;
    if (count)
        *count = 1;
    return list || count ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *list, cl_uint *count)
{
    return one(thing(3), room, list, count);
}

/* thing(4), and thing(5) that no list of all has; the platform itself where GPUs are asked for. */
static cl_int CL_API_CALL get_devices(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *list,
                                      cl_uint *count)
{
    const int which = type == CL_DEVICE_TYPE_CUSTOM ? 5 : type == CL_DEVICE_TYPE_GPU ? 3 : 4;
    return platform == thing(3) ? one(thing(which), room, list, count) : CL_INVALID_PLATFORM;
}

static cl_int CL_API_CALL get_parts(cl_device_id device, const cl_device_partition_property *properties, cl_uint room,
                                    cl_device_id *list, cl_uint *count)
{
    (void)properties;
    return device == thing(4) ? one(thing(6), room, list, count) : CL_INVALID_DEVICE;
}

static void lists(void)
{
    cl_icd_dispatch table = {0};
    cl_platform_id platform = NULL;
    cl_device_id part = NULL;
    cl_uint count = 0;
    underlying.clGetPlatformIDs = get_platforms;
    underlying.clGetDeviceIDs = get_devices;
    underlying.clCreateSubDevices = get_parts;
    known_devices_install(&table);
    CHECK_INT(table.clGetPlatformIDs(0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(table.clGetPlatformIDs(0, NULL, &count), CL_SUCCESS);
    CHECK_INT(count, 1);
    is_unknown(thing(3));
    CHECK_INT(table.clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    CHECK(known_platform(platform));
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(handle_is_other((enum handle_kind)kind, platform));
    is_unknown(thing(4));
    CHECK(known_may_be_device(thing(4))); /* which lists it */
    CHECK(known_may_be_device(thing(5)));
    is_alone(thing(4), HANDLE_DEVICE);
    CHECK(!known_may_be_device(thing(6)));
    CHECK_INT(table.clCreateSubDevices(thing(4), NULL, 1, &part, NULL), CL_SUCCESS);
    CHECK(known_may_be_device(part));
    is_unknown(part); /* it may go, and its address come again */
    CHECK(!known_may_be_device(thing(7)));
    CHECK(!known_may_be_device((cl_device_id)platform));
    CHECK_INT(table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &part, NULL), CL_SUCCESS);
    is_alone(platform, HANDLE_DEVICE); /* one object for both */
}

/* ---- what may be a handle ---- */

/* Drivers with cl_khr_icd 2.0 may have a mark where others have functions. */
static void marked_tables(void)
{
    static const uintptr_t mark = (uintptr_t)0x4F50454E434C3331;
    const void *table[sizeof(cl_icd_dispatch) / sizeof(void *)] = {(const void *)mark};
    const void *const object = table;
    CHECK(handle_may_be(&object, clGetContextInfo));
    table[0] = (const void *)(mark + 1);
    CHECK(!handle_may_be(&object, clGetContextInfo));
    CHECK(!handle_may_be((const char *)&object + 1, clGetContextInfo));
    CHECK(!handle_may_be(NULL, clGetContextInfo));
}

static const struct tap_test tests[] = {
    {"what the application holds is of its kind, and of none when it rests", records},
    {"records of images and blocked commands tell, those of events and kernels do not", other_records},
    {"a record that another thread has let go of is held again", retained_late},
    {"queues that share nothing, and their contexts", queues},
    {"a queue that is retained and released while its end is looked for", queue_released_twice},
    {"queues that come at the address of one that is awaited", awaited_queues},
    {"platforms, devices and sub-devices", lists},
    {"a table with the mark of cl_khr_icd 2.0", marked_tables},
};

TAP_MAIN(tests)
