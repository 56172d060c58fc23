/* Where NVIDIA's driver answers otherwise than the specification says, contexts with interop answer as specified. The
 * driver is a real one under a layer (nvidia.c); the first case runs this program again over it. */
#include "below.h"
#include "lifetime.h"

#include <CL/cl_gl.h>

/* Over a device besides that has images of four channels alone. */
static unsigned run_over_few_formats(const char *cases)
{
    char layers[1024];
    const char *others = getenv("OPENCL_LAYERS"), *few = getenv("CLD3D_TEST_BELOW");
    if (!CHECK(others != NULL) || !CHECK(few != NULL))
        return 0;
    snprintf(layers, sizeof(layers), "%s:%s", few, others);
    test_setenv("OPENCL_LAYERS", layers);
    test_setenv(BELOW_FEW_FORMATS, "all");
    const unsigned passed = run_over("CLD3D_TEST_LIKE_NVIDIA", cases);
    test_setenv(BELOW_FEW_FORMATS, NULL);
    return passed;
}

CASE("over a driver that answers as NVIDIA's does", again)
{
    test_setenv("CLD3D_TEST_OVER_LIKE_NVIDIA", "1");
    CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "like NVIDIA:"), 10);
    test_setenv("CLD3D_TEST_NAMED_NVIDIA", "1"); /* for the workarounds that go by the name */
    CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "named NVIDIA:"), 2);
    test_setenv("CLD3D_TEST_NAMED_NVIDIA", NULL);
    CHECK_INT(run_over_few_formats("emulated over NVIDIA:"), 2);
    test_setenv("CLD3D_TEST_OVER_LIKE_NVIDIA", NULL);
    test_setenv("CLD3D_NO_QUIRKS", NULL);
}

/* Both functions with a list. */
static void make(const struct rig *rig, const cl_context_properties *list, cl_int code)
{
    for (int by_type = 0; by_type < 2; by_type++) {
        cl_int status = 1;
        cl_context context = by_type ? clCreateContextFromType(list, CL_DEVICE_TYPE_ALL, NULL, NULL, &status)
                                     : clCreateContext(list, 1, &rig->cl_device, NULL, NULL, &status);
        CHECK_INT(status, code);
        if (CHECK_INT(context != NULL, code == CL_SUCCESS) && context)
            CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    }
}

SHARING_CASE("like NVIDIA: no platform is named", no_platform, RIG_NO_CONTEXT)
{
    const cl_context_properties list[] = {rig->api->context_device, (cl_context_properties)rig->device, 0};
    if (is_child("CLD3D_TEST_OVER_LIKE_NVIDIA"))
        make(rig, list, CL_SUCCESS);
}

/* Handles about which the driver answers as if they were of the kind, or ends the process. */
static void others_refused(const struct rig *rig, void *handle, const struct shared *shared)
{
    const cl_context_properties list[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)rig->platform,
                                          rig->api->context_device, (cl_context_properties)rig->device, 0};
    const cl_queue_properties on_device[] = {CL_QUEUE_PROPERTIES,
                                             CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_event event = handle;
    const cl_device_id device = handle;
    cl_int status = 1;
    CHECK_INT(rig->acquire(handle, 1, &shared->object, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 1, &event, NULL), CL_INVALID_EVENT_WAIT_LIST);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 1, &event, NULL), CL_INVALID_EVENT_WAIT_LIST);
    CHECK_INT(clSetUserEventStatus(event, CL_COMPLETE), CL_INVALID_EVENT);
    CHECK_INT(clSetUserEventStatus(event, -5), CL_INVALID_EVENT);
    CHECK_INT(clBuildProgram(handle, 0, NULL, NULL, NULL, NULL), CL_INVALID_PROGRAM);
    CHECK(clCreateContext(list, 1, &device, NULL, NULL, &status) == NULL);
    CHECK_INT(status, CL_INVALID_DEVICE);
    CHECK(clCreateCommandQueueWithProperties(rig->context, device, on_device, &status) == NULL);
    CHECK_INT(status, CL_INVALID_DEVICE);
}

SHARING_CASE("like NVIDIA: handles of other kinds", handles_of_other_kinds, 0)
{
    struct shared shared, spare;
    cl_int status = 1;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA") || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_command_queue second = make_queue(rig, rig->context, 0); /* beside another, events are asked for their queue */
    others_refused(rig, rig->platform, &shared);
    others_refused(rig, rig->context, &shared);
    others_refused(rig, shared.object, &shared);
    if (shared_resource(rig, KIND_BUFFER, 1, &spare)) {
        CHECK(rig->create_buffer((cl_context)rig->platform, CL_MEM_READ_WRITE, spare.resource, &status) == NULL);
        CHECK_INT(status, CL_INVALID_CONTEXT);
        shared_close(&spare);
    }
    CHECK(round_trip(rig, &shared, 1, 2));
    CHECK_INT(clReleaseCommandQueue(second), CL_SUCCESS);
    shared_close(&shared);
}

/* An acquire behind an event that fails has failed, though the driver waits without an error. */
SHARING_CASE("like NVIDIA: an acquire behind a failed event", failed_event, 0)
{
    struct shared shared;
    cl_int status = 1;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA") || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_event gate = clCreateUserEvent(rig->context, &status), acquired = NULL;
    CHECK_INT(clSetUserEventStatus(gate, -5), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &gate, &acquired), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
    CHECK_INT(clGetEventInfo(acquired, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    CHECK_INT(status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
    CHECK(round_trip(rig, &shared, 1, 2));
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    shared_close(&shared);
}

/* Deferred commands behind a user event that fails: their events tell what became of the object. */
SHARING_CASE("like NVIDIA: a chain behind an event that fails", failed_chain, 0)
{
    struct shared shared;
    cl_event ends[3] = {NULL, NULL, NULL};
    bool acquired = true;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA") || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    cl_event user = user_event(rig->context);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &user, &ends[0]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &ends[1]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &ends[2]), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -5), CL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        clWaitForEvents(1, &ends[i]);
        if (rig_event_status(ends[i]) == CL_COMPLETE)
            acquired = i == 1;
        CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
    }
    go_on(rig);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, NULL),
              acquired ? rig->api->already_acquired : CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

/* Given back without being set, by the program's first reference or its last. One that is set is left as it is. */
SHARING_CASE("named NVIDIA: user events that are never set", unset_user_events, 0)
{
    struct rig second;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA") || !second_open(rig, &second))
        return;
    cl_event once = user_event(second.context), twice = user_event(second.context), set = user_event(second.context);
    CHECK_INT(clRetainEvent(twice), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(once), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(twice), CL_SUCCESS);
    CHECK_INT(rig_event_status(twice), CL_SUBMITTED);
    CHECK_INT(clReleaseEvent(twice), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(set, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(rig_event_status(set), CL_COMPLETE);
    CHECK_INT(clReleaseEvent(set), CL_SUCCESS);
    second_close(&second);
}

/* ---- programs ---- */

static void has_kernel(const struct rig *rig, cl_program program)
{
    char options[64] = "?";
    cl_int status = 1;
    CHECK_INT(clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_OPTIONS, sizeof(options), options, NULL),
              CL_SUCCESS);
    CHECK_STR(options, "-DX=1");
    cl_kernel kernel = clCreateKernel(program, "k", &status);
    if (CHECK_INT(status, CL_SUCCESS))
        CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
}

static const char no_arguments[] = "kernel void k(void) {}";

SHARING_CASE("like NVIDIA: a kernel without arguments", without_arguments, 0)
{
    const char *sources[] = {no_arguments, "kernel void k(void) { this is none }"};
    cl_int status;
    size_t size = 0;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA"))
        return;
    cl_program program = clCreateProgramWithSource(rig->context, 1, &sources[0], NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "-DX=1", NULL, NULL), CL_SUCCESS);
    has_kernel(rig, program);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    program = clCreateProgramWithSource(rig->context, 1, &sources[1], NULL, &status);
    CHECK_INT(clBuildProgram(program, 1, &rig->cl_device, "-DX=1", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
    CHECK_INT(clGetProgramBuildInfo(program, rig->cl_device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size), CL_SUCCESS);
    CHECK(size > 1);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
}

/* ---- commands of emulated images that fail ---- */

enum { SIDE = 4, EMULATED_BYTES = SIDE * SIDE * 2 };
static const size_t all_texels[3] = {SIDE, SIDE, 1};

static void fail_later(void *data)
{
    enum { LATER_MS = 20 };
    pause_ms(LATER_MS);
    CHECK_INT(clSetUserEventStatus(data, -5), CL_SUCCESS);
}

enum blocking_way { BY_READ, BY_MAP, BY_OVERWRITING_MAP, BY_WRITE, BLOCKING_WAYS };

static cl_int run_blocking(cl_command_queue queue, cl_mem image, enum blocking_way way, void *bytes, cl_event wait,
                           cl_event *event)
{
    const cl_map_flags flags = way == BY_MAP ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION;
    size_t pitch;
    cl_int status = 1;
    if (way == BY_READ)
        return clEnqueueReadImage(queue, image, CL_TRUE, no_origin(), all_texels, 0, 0, bytes, 1, &wait, event);
    if (way == BY_WRITE)
        return clEnqueueWriteImage(queue, image, CL_TRUE, no_origin(), all_texels, 0, 0, bytes, 1, &wait, event);
    void *mapped = clEnqueueMapImage(queue, image, CL_TRUE, flags, no_origin(), all_texels, &pitch, NULL, 1, &wait,
                                     event, &status);
    CHECK(mapped == NULL);
    return status;
}

static void fail_blocking(const struct rig *rig, cl_mem image, enum blocking_way way)
{
    unsigned char bytes[EMULATED_BYTES] = {0};
    cl_event user = user_event(rig->context), event = NULL;
    struct test_job job = {fail_later, user};
    test_thread thread;
    if (CHECK(test_thread_start(&thread, &job))) {
        CHECK_INT(run_blocking(rig->queue, image, way, bytes, user, &event),
                  CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        test_thread_join(thread);
    }
    CHECK(event == NULL);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

SHARING_CASE("emulated over NVIDIA: blocking commands behind an event that fails", failed_blocking, 0)
{
    const cl_image_format format = {CL_RG, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    cl_int status = 1;
    if (!is_child("CLD3D_TEST_OVER_LIKE_NVIDIA"))
        return;
    cl_mem image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    for (int way = 0; way < BLOCKING_WAYS; way++) {
        fail_blocking(rig, image, (enum blocking_way)way);
        go_on(rig);
    }
    CHECK_INT(clReleaseMemObject(image), CL_SUCCESS);
}

TAP_MAIN
