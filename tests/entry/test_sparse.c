/* Handles of a driver whose dispatch table has holes, as AMD's has: they are as good as any. The driver is a real one
 * under a layer (amd.c); the first case runs this program again over it. */
#include "sharing.h"

static bool is_sparse(const void *handle)
{
    return **(void *const *const *)handle == NULL;
}

static bool over_sparse(const struct rig *rig)
{
    if (getenv("CLD3D_TEST_OVER_SPARSE"))
        return CHECK(is_sparse(rig->platform));
    SKIP("only as a part of the first case");
    return false;
}

CASE("a driver's dispatch table may have holes", again)
{
    CHECK_INT(run_child_over("CLD3D_TEST_SPARSE", "sparse:", "CLD3D_TEST_OVER_SPARSE"), 4);
}

SHARING_CASE("sparse: frames with events", frames, 0)
{
    struct shared all[KINDS];
    unsigned char bytes[SHARED_BYTES];
    if (!over_sparse(rig) || !shared_open_all(rig, 1, all))
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        cl_event acquired = NULL, written = NULL, released = NULL;
        rig_pattern(bytes, sizeof(bytes), 9);
        CHECK_INT(rig->acquire(rig->queue, 1, &all[kind].object, 0, NULL, &acquired), CL_SUCCESS);
        CHECK(is_sparse(acquired));
        CHECK_INT(cl_write(rig->queue, &all[kind], bytes, 1, &acquired, &written), CL_SUCCESS);
        CHECK_INT(rig->release(rig->queue, 1, &all[kind].object, 1, &written, &released), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &released), CL_SUCCESS);
        CHECK(d3d_has(rig, &all[kind], 9));
        CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(written), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(released), CL_SUCCESS);
    }
    shared_close_all(all);
}

/* Of a context without interop each handle is refused for what it is, not as garbage. */
SHARING_CASE("sparse: handles of a plain context", handles_of_others, 0)
{
    struct shared shared;
    cl_int status;
    if (!over_sparse(rig) || !shared_open(rig, KIND_2D, 1, &shared))
        return;
    cl_context plain = clCreateContext(NULL, 1, &rig->cl_device, NULL, NULL, &status);
    cl_command_queue queue = make_queue(rig, plain, 0);
    cl_event event = user_event(plain);
    CHECK_INT(rig->acquire(queue, 1, &shared.object, 0, NULL, NULL), CL_INVALID_CONTEXT);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &event, NULL), CL_INVALID_CONTEXT);
    CHECK(rig->create_2d(plain, CL_MEM_READ_WRITE, shared.resource, 0, &status) == NULL);
    CHECK_INT(status, rig->api->invalid_resource);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(plain), CL_SUCCESS);
    shared_close(&shared);
}

TAP_MAIN
