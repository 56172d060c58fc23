/* Objects that lie in the staging copy or beside it (transport/in_place.c): which devices they are for, what an application
 * sees of them, and what becomes of one whose memory moves, or is still in use when the application has released it. What
 * CLD3D_TEST_IN_PLACE says is expected of the driver. The data tests go this way too. */
#include "lifetime.h"
#include "sharing.h"

/* What cld3d tells of the way of the object that was made last. */
static const char *last_way(void)
{
    const char *(CL_API_CALL * report)(const char *);
    void *address = clGetExtensionFunctionAddress("cld3d_report");
    memcpy(&report, &address, sizeof(report));
    return CHECK(report != NULL) ? report("way") : "";
}

static bool goes_in_place(void)
{
    return strncmp(last_way(), "in place", 8) == 0;
}

static bool in_place(void)
{
    const char *expected = getenv("CLD3D_TEST_IN_PLACE");
    return expected && strcmp(expected, "1") == 0;
}

/* Over a driver that does not work in the host's memory. */
static bool over_copies(void)
{
    return getenv("CLD3D_TEST_COPIES") || getenv("CLD3D_TEST_DRIVER");
}

static bool computes_in_place(void)
{
    if (in_place() && !over_copies())
        return true;
    SKIP("the device does not compute in the host's memory");
    return false;
}

/* ---- which devices ---- */

/* Drivers may move the rows of an image that is migrated to the host, whose pitch the application does not know: rows of
 * 12 bytes, of which more than one fit into a pitch. */
SHARING_CASE("objects that are migrated to the host", migrated, 0)
{
    enum { WIDTH = 3, HEIGHT = 100, BYTES = WIDTH * HEIGHT * 4 };
    struct rig_desc desc = kind_desc(KIND_2D);
    unsigned char written[BYTES], found[BYTES];
    const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
    cl_int status = 1;
    desc.width = WIDTH;
    desc.height = HEIGHT;
    fake_d3d_stays(true);
    void *texture = rig_make(rig, rig->device, &desc, NULL);
    if (!CHECK(texture != NULL))
        return;
    cl_mem image = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    rig_pattern(written, BYTES, 1);
    CHECK_INT(acquire_one(rig, image), CL_SUCCESS);
    CHECK_INT(clEnqueueWriteImage(rig->queue, image, CL_TRUE, origin, region, 0, 0, written, 0, NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(clEnqueueMigrateMemObjects(rig->queue, 1, &image, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueReadImage(rig->queue, image, CL_TRUE, origin, region, 0, 0, found, 0, NULL, NULL), CL_SUCCESS);
    CHECK_MEM(found, written, BYTES);
    CHECK_INT(release_one(rig, image), CL_SUCCESS);
    rig_read(rig, texture, &desc, 0, found);
    CHECK_MEM(found, written, BYTES);
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
    rig_release(texture);
}

/* Of a driver that nothing is known of it is expected that it stays with what it has said. */
SHARING_CASE("chosen for devices that compute in the host's memory", chosen, 0)
{
    struct shared all[KINDS];
    fake_d3d_stays(true);
    if (!shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(round_trip(rig, &all[kind], 1 + (unsigned)kind, 20 + (unsigned)kind));
    shared_close_all(all);
    if (!getenv("CLD3D_TEST_IN_PLACE"))
        test_setenv("CLD3D_TEST_IN_PLACE", goes_in_place() ? "1" : "0");
    CHECK_INT(goes_in_place(), in_place() && !over_copies());
}

/* What can be wrong with a driver, so that nothing is made over the host's memory (copies.c). Objects work all the same. */
CASE("not for a driver that is wrong for it, in each way", wrong_drivers)
{
    static const char *const wrongs[][2] = {
        {"CLD3D_TEST_COPIES", "images"},
        {"CLD3D_TEST_COPIES", "buffers"},
        {"CLD3D_TEST_DRIVER", "has memory of its own"},
        {"CLD3D_TEST_DRIVER", "aligns to nothing"},
        {"CLD3D_TEST_DRIVER", "aligns to 12 bytes"},
        {"CLD3D_TEST_DRIVER", "aligns to 8192 bytes"},
        {"CLD3D_TEST_DRIVER", "does not answer"},
        {"CLD3D_TEST_DRIVER", "fills late"},
        {"CLD3D_TEST_DRIVER", "has no compiler"},
        {"CLD3D_TEST_DRIVER", "runs no kernels"},
        {"CLD3D_TEST_DRIVER", "counts no commands"},
        {"CLD3D_TEST_DRIVER", "counts what is over"},
    };
    if (over_copies() || !in_place()) {
        SKIP("needs a driver that computes in the host's memory");
        return;
    }
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        test_setenv(wrongs[i][0], wrongs[i][1]);
        if (!CHECK_INT(run_over("CLD3D_TEST_COPIES_LAYER", "chosen"), 2))
            printf("# with a driver that %s\n", wrongs[i][1]);
        test_setenv(wrongs[i][0], NULL);
    }
}

/* ---- several devices ---- */

/* Bytes go to each device and back, through a queue of its own, and from one device to the next. */
static void use_devices(const struct rig *rig, cl_uint count, const cl_device_id *devices)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                                rig->api->context_device, (cl_context_properties)rig->device, 0};
    struct rig many = *rig;
    struct shared all[KINDS];
    cl_command_queue queues[2] = {NULL};
    cl_int status = 1;
    many.context = clCreateContext(properties, count, devices, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    for (cl_uint d = 0; d < count; d++) {
        queues[d] = clCreateCommandQueue(many.context, devices[d], 0, &status);
        CHECK_INT(status, CL_SUCCESS);
    }
    if (shared_open_all(&many, 1, all)) {
        CHECK(goes_in_place());
        for (int kind = 0; kind < KINDS; kind++)
            for (unsigned turn = 0; turn < 2 * count; turn++) {
                many.queue = queues[turn % count];
                many.cl_device = devices[turn % count];
                CHECK(round_trip(&many, &all[kind], turn ? 10 * turn + (unsigned)kind : 1 + (unsigned)kind,
                                 10 * (turn + 1) + (unsigned)kind));
            }
        shared_close_all(all);
    }
    for (cl_uint d = 0; d < count; d++)
        CHECK_INT(clReleaseCommandQueue(queues[d]), CL_SUCCESS);
    CHECK_INT(clReleaseContext(many.context), CL_SUCCESS);
}

SHARING_CASE("both devices", both_devices, RIG_NO_CONTEXT)
{
    cl_device_id devices[2];
    cl_uint count = 0;
    if (!is_child("CLD3D_TEST_BOTH"))
        return;
    CHECK_INT(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 2, devices, &count), CL_SUCCESS);
    CHECK_INT(count, 2);
    for (int stays = 0; stays < 2; stays++) {
        fake_d3d_stays(stays);
        use_devices(rig, 2, devices);
        use_devices(rig, 1, &devices[1]);
    }
}

CASE("two devices in a context", two_alike)
{
    if (over_copies() || !in_place()) {
        SKIP("needs a driver that makes several devices, and computes in the host's memory");
        return;
    }
    test_setenv("POCL_DEVICES", "pthread pthread");
    CHECK_INT(run_again("both devices", "CLD3D_TEST_BOTH", "1"), 2);
    test_setenv("POCL_DEVICES", NULL);
}

/* ---- memory that moves ---- */

/* Direct3D breaks what it is known for. Nothing is lost, and a new object works. */
SHARING_CASE("memory that has moved against all knowledge", moved, 0)
{
    struct shared shared;
    cl_event event = NULL;
    cl_int status;
    if (!computes_in_place())
        return;
    fake_d3d_stays(true);
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    CHECK(round_trip(rig, &shared, 1, 2));
    fake_d3d_move();
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(rig_event_status(event), CL_OUT_OF_RESOURCES);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(acquire_one(rig, shared.object), CL_OUT_OF_RESOURCES);
    CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
    CHECK(d3d_has(rig, &shared, 2));
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    shared.object = kind_create(rig, rig->context, CL_MEM_READ_WRITE, KIND_2D, shared.resource, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 2, 3));
    fake_d3d_move();
    CHECK(round_trip(rig, &shared, 3, 4));
    shared_close(&shared);
}

/* Wine's Direct3D leaves all staging copies in their place but those of 3D textures. A trial on the device tells it, and
 * those objects lie in rows beside. */
SHARING_CASE("3D textures whose memory moves", volumes, 0)
{
    struct shared all[KINDS];
    if (!computes_in_place())
        return;
    fake_d3d_stays(true);
    fake_d3d_moves_volumes(true);
    if (!shared_open_all(rig, 1, all))
        return;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned i = 0; i < 4; i++)
            CHECK(round_trip(rig, &all[kind], i ? 10 * i + kind : 1 + kind, 10 * (i + 1) + kind));
    CHECK(goes_in_place());
    shared_close_all(all);
    fake_d3d_moves_volumes(false);
}

/* ---- memory in use ---- */

/* The same while the driver can't tell who uses the object: what the command writes reaches no later object of the same shape. */
static void released_uncounted(struct rig *rig, enum kind kind)
{
    struct shared shared, later;
    unsigned char bytes[SHARED_BYTES];
    if (!shared_open(rig, kind, 1, &shared))
        return;
    rig_pattern(bytes, sizeof(bytes), 9);
    cl_event user = user_event(rig->context);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 1, &user, NULL), CL_SUCCESS);
    test_setenv("CLD3D_TEST_NO_COUNTS", "1");
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    test_setenv("CLD3D_TEST_NO_COUNTS", NULL);
    shared.object = NULL;
    if (shared_open(rig, kind, 2, &later)) {
        cl_command_queue free_queue = make_queue(rig, rig->context, 0);
        CHECK_INT(rig->acquire(free_queue, 1, &later.object, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(free_queue);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        queue_wait(rig->queue);
        CHECK(cl_has(free_queue, &later, 2));
        CHECK_INT(clReleaseCommandQueue(free_queue), CL_SUCCESS);
        shared_close(&later);
    }
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 1));
    shared_close(&shared);
}

SHARING_CASE("without counts: an object that is released while a command waits", uncounted, 0)
{
    if (!is_child("CLD3D_TEST_UNCOUNTED"))
        return;
    for (int stays = 0; stays < 2; stays++) {
        fake_d3d_stays(stays);
        for (int kind = 0; kind < KINDS; kind++)
            released_uncounted(rig, (enum kind)kind);
    }
}

CASE("an object that is released while a command waits and the driver can't tell", no_counts)
{
    CHECK_INT(run_child_over("CLD3D_TEST_COPIES_LAYER", "without counts: ", "CLD3D_TEST_UNCOUNTED"), 2);
}

/* A callback may be one of the driver's threads, in which no trial of the device can be awaited. */
struct maker {
    const struct rig *rig;
    struct shared shared;
    cl_int status;
    atomic_bool made;
};

static void CL_CALLBACK make_there(cl_event event, cl_int status, void *data)
{
    struct maker *maker = data;
    struct shared *shared = &maker->shared;
    (void)event, (void)status;
    shared->object = kind_create(maker->rig, maker->rig->context, CL_MEM_READ_WRITE, shared->kind, shared->resource, 0,
                                 &maker->status);
    atomic_store(&maker->made, true);
}

SHARING_CASE("objects made in a callback", made_in_a_callback, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct maker maker = {.rig = rig, .status = 1, .made = false};
        if (!shared_resource(rig, (enum kind)kind, 1, &maker.shared))
            return;
        cl_event user = user_event(rig->context);
        CHECK_INT(clSetEventCallback(user, CL_COMPLETE, make_there, &maker), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        for (int i = 0; i < 10000 && !atomic_load(&maker.made); i++)
            pause_ms(1);
        if (CHECK(atomic_load(&maker.made)) && CHECK_INT(maker.status, CL_SUCCESS)) {
            CHECK(round_trip(rig, &maker.shared, 1, 2));
        }
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        shared_close(&maker.shared);
    }
}

TAP_MAIN
