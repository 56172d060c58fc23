/* Functions that a program asks for by name where a driver gives them: a core function does what it does when it is called
 * directly, a pointer takes the place of what an argument named before, and queues of an extension acquire. Run again over a
 * layer that is such a driver (below.c). */
#include "below.h"
#include "sharing.h"

#include <CL/cl_icd.h>

typedef cl_int(CL_API_CALL *set_pointer_fn)(cl_kernel, cl_uint, const void *);

CASE("functions that a driver gives by name", again)
{
    CHECK_INT(run_child_over("CLD3D_TEST_BELOW", "named:", "CLD3D_TEST_BELOW_NAMES"), 4);
}

SHARING_CASE("named: core functions", core_functions, 0)
{
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    __typeof__(&clEnqueueReadBuffer) read;
    if (!is_child("CLD3D_TEST_BELOW_NAMES") || !shared_open(rig, KIND_BUFFER, 1, &shared))
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

SHARING_CASE("named: pointers as arguments", pointers, 0)
{
    const size_t one = 1;
    struct shared shared;
    set_pointer_fn set_pointer;
    if (!is_child("CLD3D_TEST_BELOW_NAMES") || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    cl_kernel kernel = rig_kernel(rig, "kernel void use(global uint *to) { to[0] = 1; }", "use");
    void *address = clGetExtensionFunctionAddressForPlatform(rig->platform, "clSetKernelArgMemPointerINTEL");
    if (CHECK(address != NULL)) {
        memcpy(&set_pointer, &address, sizeof(address));
        CHECK_INT(clSetKernelArg(kernel, 0, sizeof(cl_mem), &shared.object), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(set_pointer(kernel, 0, NULL), CL_INVALID_ARG_VALUE);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
                  rig->api->not_acquired);
        CHECK_INT(set_pointer(kernel, 0, &one), CL_SUCCESS);
        CHECK_INT(clEnqueueNDRangeKernel(rig->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    }
    queue_wait(rig->queue);
    CHECK_INT(clReleaseKernel(kernel), CL_SUCCESS);
    shared_close(&shared);
}

TAP_MAIN
