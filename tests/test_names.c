/* Functions that a program asks for by name where a driver gives them: a core function does what it does when it is called
 * directly, the setters of pointers take the place of what an argument named before, and queues of extensions acquire. Besides, a queue
 * changes its properties. Run again over a layer that is such a driver (below.c). */
#include "below.h"
#include "sharing.h"

#include <CL/cl_icd.h>

typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);
typedef cl_int(CL_API_CALL *set_address_fn)(cl_kernel, cl_uint, cl_ulong);

static bool over_below(void)
{
    if (getenv("CLD3D_TEST_BELOW_NAMES"))
        return true;
    SKIP("only as a part of the first case");
    return false;
}

static void again(void)
{
    if (getenv("CLD3D_TEST_BELOW_NAMES")) {
        SKIP("runs the cases below");
        return;
    }
    test_setenv("CLD3D_TEST_BELOW_NAMES", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "named:"), 10);
    test_setenv(BELOW_OLD, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "named: queues"), 4);
    test_setenv(BELOW_OLD, NULL);
    test_setenv("CLD3D_TEST_BELOW_NAMES", NULL);
}

SHARING_CASE(core_functions, 0)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    cl_api_clEnqueueReadBuffer read;
    if (!over_below() || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clEnqueueReadBuffer");
    if (CHECK(address != NULL)) {
        memcpy(&read, &address, sizeof(read));
        CHECK_INT(read(rig->queue, shared.object, CL_TRUE, 0, SHARED_BYTES, bytes, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
        CHECK_INT(read(rig->queue, shared.object, CL_TRUE, 0, SHARED_BYTES, bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    }
    /* What the driver does not give by name, nobody does. */
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "clNoSuchFunctionKHR") == NULL);
    shared_close(&shared);
}

SHARING_CASE(pointers, 0)
{
    static const char *const names[] = {"clSetKernelArgMemPointerINTEL", "clSetKernelArgSVMPointerARM",
                                        "clSetKernelArgDevicePointerEXT"};
    const size_t one = 1;
    struct shared shared;
    set_pointer_fn set_pointer;
    set_address_fn set_address;
    if (!over_below() || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_kernel kernel = rig_kernel(rig, "kernel void use(global uint *to) { to[0] = 1; }", "use");
    for (unsigned i = 0; i < 3; i++) {
        void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, names[i]);
        if (!CHECK(address != NULL))
            continue;
        memcpy(&set_pointer, &address, sizeof(address));
        memcpy(&set_address, &address, sizeof(address));
        CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared.object), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(i < 2 ? set_pointer(kernel, 0, NULL) : set_address(kernel, 0, 0), CL_INVALID_ARG_VALUE);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(i < 2 ? set_pointer(kernel, 0, names) : set_address(kernel, 0, 4096), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    }
    queue_wait(rig->queue);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    shared_close(&shared);
}

/* A queue of the extension acquires, with the driver of an older OpenCL too. */
SHARING_CASE(queues, 0)
{
    typedef cl_command_queue(CL_API_CALL * create_fn)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *);
    struct shared shared;
    create_fn create;
    cl_int status = 1;
    if (!over_below() || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clCreateCommandQueueWithPropertiesKHR");
    if (CHECK(address != NULL)) {
        memcpy(&create, &address, sizeof(create));
        cl_command_queue queue = create(rig->context, rig->cl_device, NULL, &status), own = rig->queue;
        if (CHECK_INT(status, CL_SUCCESS)) {
            rig->queue = queue;
            CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
            CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
            rig->queue = own;
            CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        }
    }
    shared_close(&shared);
}

static cl_command_queue counting_queue(struct rig *rig, cl_command_queue_properties properties)
{
    typedef cl_command_queue(CL_API_CALL * create_fn)(cl_context, cl_device_id, cl_command_queue_properties, cl_uint,
                                                      cl_int *);
    create_fn create;
    cl_int status = 1;
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clCreatePerfCountersCommandQueueINTEL");
    if (!CHECK(address != NULL))
        return NULL;
    memcpy(&create, &address, sizeof(create));
    cl_command_queue queue = create(rig->context, rig->cl_device, properties, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    return queue;
}

/* It is like others: a release waits for what was enqueued before the first acquire, and may keep the queue. */
SHARING_CASE(counting_queues, 0)
{
    struct shared shared;
    struct rig second = *rig;
    cl_event end = NULL;
    if (!over_below() || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    second.queue = counting_queue(rig, 0);
    if (second.queue) {
        cl_event user = user_event(rig->context);
        CHECK_INT(clEnqueueMarkerWithWaitList(second.queue, 1, &user, NULL), CL_SUCCESS);
        CHECK_INT(acquire_one(&second, shared.object), CL_SUCCESS);
        CHECK_INT(rig->release(second.queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS);
        CHECK(rig_event_status(end) > CL_COMPLETE);
        CHECK_INT(clReleaseCommandQueue(second.queue), CL_SUCCESS);
        CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
    }
    shared_close(&shared);
}

static cl_uint barriers_of_an_acquire(const struct rig *rig, const struct shared *shared)
{
    cl_event event = NULL; /* without one, an acquire may do without commands */
    const cl_uint before = order_below(rig->queue, BELOW_BARRIERS, 0);
    if (CHECK_INT(rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &event), CL_SUCCESS))
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    const cl_uint after = order_below(rig->queue, BELOW_BARRIERS, 0);
    CHECK_INT(release_one(rig, shared->object), CL_SUCCESS);
    return after - before;
}

/* A queue of OpenCL 1.0 may become out of order: later commands still come after the acquire. */
SHARING_CASE(changed_queues, 0)
{
    struct shared shared;
    if (!over_below() || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    CHECK_INT(barriers_of_an_acquire(rig, &shared), 0);
    CHECK_INT(clSetCommandQueueProperty(rig->queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE, NULL), CL_SUCCESS);
    CHECK(barriers_of_an_acquire(rig, &shared) > 0);
    CHECK_INT(clSetCommandQueueProperty(rig->queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_FALSE, NULL),
              CL_SUCCESS);
    CHECK_INT(barriers_of_an_acquire(rig, &shared), 0);
    shared_close(&shared);
}

static const struct tap_test tests[] = {
    {"functions that a driver gives by name", again},
    SHARING_TESTS("named: core functions", core_functions),
    SHARING_TESTS("named: pointers as arguments", pointers),
    SHARING_TESTS("named: queues", queues),
    SHARING_TESTS("named: a queue changes its properties", changed_queues),
    SHARING_TESTS("named: queues that count", counting_queues),
};

TAP_MAIN(tests)
