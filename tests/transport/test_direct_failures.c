/* Objects that are Direct3D's memory itself (direct.h): what fails when they are acquired and released, and callbacks of the
 * driver, in which nothing may wait. Nothing is left behind then. */
#include "direct.h"

/* ---- failures on the way ---- */

/* The resource lies elsewhere: OpenCL would see nothing of it. */
SHARING_CASE("direct: a resource that has moved", moved, 0)
{
    struct shared shared, again;
    cl_event event = NULL;
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    CHECK(round_trip(rig, &shared, 1, 2));
    fake_d3d_vulkan_move();
    CHECK_INT(acquire_one(rig, shared.object), CL_OUT_OF_RESOURCES);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &event), CL_SUCCESS);
    CHECK(rig_event_status(event) < 0);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), rig->api->not_acquired);
    CHECK(d3d_has(rig, &shared, 2));
    again = shared;
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    again.object = rig->create_2d(rig->context, 0, again.resource, 0, NULL);
    CHECK(round_trip(rig, &again, 2, 3));
    shared_close(&again);
    nothing_left(rig);
}

/* The same while OpenCL has it: what OpenCL has written is lost, and the release says so. */
static void moves_meanwhile(const struct rig *rig, void *texture, const struct rig_desc *desc, UINT level)
{
    static const unsigned char bytes[1024];
    const size_t region[3] = {desc->width >> level, desc->height >> level, 1};
    for (int turn = 0; turn < 3; turn++) {
        cl_mem object = rig->create_2d(rig->context, CL_MEM_READ_WRITE, texture, level, NULL);
        if (!CHECK(object != NULL))
            return;
        CHECK_INT(acquire_one(rig, object), CL_SUCCESS);
        if (turn < 2)
            fake_d3d_vulkan_move();
        CHECK_INT(clEnqueueWriteImage(rig->queue, object, CL_TRUE, no_origin(), region, 0, 0, bytes, 0, NULL, NULL),
                  CL_SUCCESS);
        CHECK_INT(release_one(rig, object), turn < 2 ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
        CHECK_INT(acquire_one(rig, object), turn < 2 ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
        CHECK_INT(release_one(rig, object), turn < 2 ? rig->api->not_acquired : CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    }
}

SHARING_CASE("direct: a resource that moves while OpenCL has it", moved_meanwhile, 0)
{
    const struct rig_desc whole = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 16, .height = 8};
    const struct rig_desc levels = {.format = DXGI_FORMAT_R8G8B8A8_UINT, .width = 16, .height = 8, .levels = 2};
    void *textures[2] = {rig_make(rig, rig->device, &whole, NULL), rig_make(rig, rig->device, &levels, NULL)};
    if (!CHECK(textures[0] != NULL) || !CHECK(textures[1] != NULL))
        return;
    moves_meanwhile(rig, textures[0], &whole, 0);
    if (!exports()) /* rows, which stay */
        moves_meanwhile(rig, textures[1], &levels, 1);
    rig_release(textures[0]);
    rig_release(textures[1]);
    nothing_left(rig);
}

DX9_CASE("direct: a surface of a lost device", surface_lost, 0)
{
    struct dx9_surface s;
    if (!dx9_open_surface(&s, dx9, dx9_format_of(D3DFMT_A8R8G8B8), DX9_TARGET, 64, 64))
        return;
    dx9_fill(&s, 1);
    dx9_acquire(&s);
    fake_d3d_remove(dx9->device, D3DERR_DEVICELOST);
    CHECK_INT(dx9->release(s.queue, 1, s.planes, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
    fake_d3d_remove(dx9->device, D3D_OK);
    dx9_close_surface(&s);
    nothing_left(&dx9->rig);
}

/* One of the commands for a list fails: what the driver has acquired by the others it is told to release. What a release leaves with
 * the driver the application has still, and releases again. The driver's own numbers are none of OpenCL's. */
static void list_in_part(const struct rig *rig, cl_uint count, const cl_mem *objects, int number)
{
    const cl_int code = number > 0 ? CL_OUT_OF_RESOURCES : number;
    fake_d3d_vulkan_fault(FAKE_VULKAN_ACQUIRE_REST_FAILS, number);
    CHECK_INT(rig->acquire(rig->queue, count, objects, 0, NULL, NULL), code);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK_INT(fake_d3d_vulkan_acquired(), 0);
    CHECK_INT(fake_d3d_vulkan_passed(), 0);
    CHECK_INT(release_one(rig, objects[0]), rig->api->not_acquired);
    CHECK_INT(rig->acquire(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), count);
    fake_d3d_vulkan_fault(FAKE_VULKAN_RELEASE_REST_FAILS, number);
    CHECK_INT(rig->release(rig->queue, count, objects, 0, NULL, NULL), code);
    fake_d3d_vulkan_fault(FAKE_VULKAN_NO_FAULT, 0);
    CHECK_INT(rig->release(rig->queue, count, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), 0);
}

SHARING_CASE("direct: a list of which the driver takes or gives a part", lists_in_part, 0)
{
    enum { COUNT = 70 };
    static const int numbers[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, 1, 999};
    struct shared all[COUNT];
    cl_mem objects[COUNT];
    if (!exports()) {
        SKIP("no command of the driver's is needed");
        return;
    }
    if (!open_many(rig, COUNT, all, objects))
        return;
    for (int i = 0; i < 4; i++)
        list_in_part(rig, COUNT, objects, numbers[i]);
    all_go_on(rig, COUNT, all, objects);
}

/* ---- in a callback of the driver's, where nothing may wait: the layer of tests/vulkan tells of it ---- */

struct task {
    const struct rig *rig;
    void (*act)(struct task *task);
    struct shared shared;
    cl_event event;
    atomic_bool done;
};

static void CL_CALLBACK act_there(cl_event event, cl_int status, void *data)
{
    struct task *task = data;
    (void)event, (void)status;
    task->act(task);
    atomic_store(&task->done, true);
}

static void run_in_callback(struct task *task)
{
    cl_command_queue queue = make_queue(task->rig, task->rig->context, 0);
    cl_event end = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &end), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(end, CL_COMPLETE, act_there, task), CL_SUCCESS);
    queue_wait(queue);
    for (int i = 0; i < 10000 && !atomic_load(&task->done); i++)
        pause_ms(1);
    CHECK(atomic_load(&task->done));
    CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

static void drop_object(struct task *task)
{
    shared_close(&task->shared);
}

static void make_object(struct task *task)
{
    shared_open(task->rig, task->shared.kind, 1, &task->shared);
}

static void acquire_object(struct task *task)
{
    const struct rig *rig = task->rig;
    cl_event before = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &before), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &task->shared.object, 1, &before, &task->event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(before), CL_SUCCESS);
}

static void set_event(struct task *task)
{
    CHECK_INT(clSetUserEventStatus(task->event, CL_COMPLETE), CL_SUCCESS);
}

SHARING_CASE("direct: an object dropped in a callback", dropped_in_a_callback, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct task task = {.rig = rig, .act = drop_object};
        if (!shared_open(rig, (enum kind)kind, 1, &task.shared))
            return;
        CHECK_INT(acquire_one(rig, task.shared.object), CL_SUCCESS);
        queue_wait(rig->queue);
        run_in_callback(&task);
    }
    nothing_left(rig);
}

CASE("direct: a buffer made in a callback", first_in_a_callback)
{
    if (getenv("CLD3D_TEST_UNTRIED"))
        return;
    test_setenv("OPENCL_LAYERS", direct_layers);
    CHECK_INT(run_again("untried: ", "CLD3D_TEST_UNTRIED", "1"), 2);
}

/* Of a driver that was not tried before. */
SHARING_CASE("untried: a buffer made in a callback", made_in_a_callback, 0)
{
    struct task task = {.rig = rig, .act = make_object, .shared = {.kind = KIND_BUFFER}};
    if (!is_child("CLD3D_TEST_UNTRIED"))
        return;
    run_in_callback(&task);
    if (!task.shared.object)
        return;
    CHECK(round_trip(rig, &task.shared, 1, 2));
    shared_close(&task.shared);
    nothing_left(rig);
}

/* The task acquires its object, and gives an event behind that. */
static void acquire_in_callback(struct task *task)
{
    run_in_callback(task);
    CHECK_INT(clWaitForEvents(1, &task->event), CL_SUCCESS);
    CHECK_INT(fake_d3d_vulkan_acquired(), exports());
    cl_has(task->rig->queue, &task->shared, 1);
    CHECK_INT(release_one(task->rig, task->shared.object), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(task->event), CL_SUCCESS);
}

SHARING_CASE("direct: an acquire in a callback", acquired_in_a_callback, 0)
{
    for (int pending = 0; pending < 2; pending++) {
        struct task task = {.rig = rig, .act = acquire_object};
        cl_event user = pending ? user_event(rig->context) : NULL;
        if (!shared_open(rig, KIND_2D, 1, &task.shared))
            return;
        acquire_in_callback(&task);
        CHECK_INT(pending ? clSetUserEventStatus(user, CL_COMPLETE) : CL_SUCCESS, CL_SUCCESS);
        CHECK_INT(pending ? clReleaseEvent(user) : CL_SUCCESS, CL_SUCCESS);
        CHECK(round_trip(rig, &task.shared, 1, 2));
        shared_close(&task.shared);
    }
    nothing_left(rig);
}

/* A release runs in callbacks of the driver, and maybe an acquire behind it. */
SHARING_CASE("direct: deferred commands in a callback", deferred_in_a_callback, 0)
{
    for (cl_uint again = 0; again < 2; again++) {
        struct task task = {.rig = rig, .act = set_event, .event = user_event(rig->context)};
        struct shared *shared = &task.shared;
        cl_event ends[2] = {NULL, NULL};
        if (!shared_open(rig, KIND_2D, 1, shared))
            return;
        CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &shared->object, 1, &task.event, &ends[0]), CL_SUCCESS);
        if (again)
            CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &ends[1]), CL_SUCCESS);
        run_in_callback(&task);
        CHECK_INT(clWaitForEvents(1 + again, ends), CL_SUCCESS);
        CHECK_INT(fake_d3d_vulkan_acquired(), again && exports());
        if (again) {
            cl_has(rig->queue, shared, 1);
            CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
            CHECK_INT(clReleaseEvent(ends[1]), CL_SUCCESS);
        }
        CHECK_INT(clReleaseEvent(ends[0]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(task.event), CL_SUCCESS);
        CHECK(round_trip(rig, shared, 1, 2));
        shared_close(shared);
    }
    nothing_left(rig);
}

struct tap_case tap_case;

int main(int argc, char **argv)
{
    return direct_main(argc, argv);
}
