/* The device of Direct3D is lost while an object is acquired, and while an acquire waits: commands fail with the code for that, and nothing
 * leaks. tests/fuzz loses it in each other call. And devices of a low feature level. */
#include "lifetime.h"

#include <d3d10_1.h>

/* The end of a command that may have failed in the call or by its event. */
static cl_int command_end(cl_int status, cl_event event)
{
    CHECK_INT(event != NULL, status == CL_SUCCESS);
    if (!event)
        return status;
    clWaitForEvents(1, &event);
    status = rig_event_status(event);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    return status;
}

/* ---- the device is lost ---- */

/* A rig of its own around a device that may be lost. */
static bool doomed_open(const struct rig *rig, enum kind kind, struct rig *doomed, struct shared *shared)
{
    *doomed = rig_on(rig, rig_another_device(rig));
    return shared_open(doomed, kind, 1, shared);
}

/* Everything is still there to be asked, fails with a clear code, and can be given back. */
static void doomed_close(struct rig *doomed, struct shared *shared)
{
    cl_event event = NULL;
    const struct counts before = count(doomed, shared);
    for (int i = 0; i < 2; i++) {
        const cl_int called = doomed->acquire(doomed->queue, 1, &shared->object, 0, NULL, &event);
        CHECK_INT(called, CL_SUCCESS);
        CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
        CHECK_INT(acquire_one(doomed, shared->object), CL_OUT_OF_RESOURCES);
        CHECK_INT(release_one(doomed, shared->object), doomed->api->not_acquired);
    }
    CHECK_INT(count(doomed, shared).resource - before.resource, 0);
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    CHECK_INT(rig_refs(shared->resource), 1);
    rig_release(shared->resource);
    CHECK_INT(rig_refs(doomed->device), 2);
    CHECK_INT(clReleaseCommandQueue(doomed->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(doomed->context), CL_SUCCESS);
    CHECK_INT(rig_refs(doomed->device), 1);
    rig_release(doomed->device);
}

/* While the object is acquired the bytes are OpenCL's: they can be used to the end. */
SHARING_CASE("lost: while acquired", lost_while_acquired, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct rig doomed;
        struct shared shared;
        cl_event event = NULL;
        if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
            continue;
        CHECK_INT(acquire_one(&doomed, shared.object), CL_SUCCESS);
        fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
        CHECK(cl_has(doomed.queue, &shared, 1));
        const cl_int called = doomed.release(doomed.queue, 1, &shared.object, 0, NULL, &event);
        CHECK_INT(called, CL_SUCCESS);
        CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
        CHECK(cl_read(doomed.queue, &shared, &(unsigned char[SHARED_BYTES]){0}, NULL) == rig->api->not_acquired);
        doomed_close(&doomed, &shared);
    }
}

/* An acquire waits for the GPU when the device is lost under it. */
struct loss {
    void *device;
    unsigned after_ms;
};

static void lose_later(void *data)
{
    const struct loss *loss = data;
    pause_ms(loss->after_ms);
    fake_d3d_remove(loss->device, DXGI_ERROR_DEVICE_HUNG);
}

SHARING_CASE("lost: while an acquire waits", lost_while_waiting, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct rig doomed;
        struct shared shared;
        test_thread thread;
        cl_event event = NULL;
        if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
            continue;
        struct loss loss = {doomed.device, 20};
        struct test_job job = {lose_later, &loss};
        fake_d3d_hold(true);
        if (test_thread_start(&thread, &job)) {
            const cl_int called = doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &event);
            CHECK_INT(called, CL_SUCCESS);
            CHECK_INT(command_end(called, event), CL_OUT_OF_RESOURCES);
            test_thread_join(thread);
        }
        fake_d3d_hold(false);
        doomed_close(&doomed, &shared);
    }
}

/* ---- low feature levels ---- */

/* Windows copies not all textures of a device of level 9.1, and reports no error: none is shared. Buffers are. */
SHARING_CASE("low feature levels share buffers alone", low_levels, 0)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_9_1;
    void *device = NULL;
    if (rig->api == &rig_d3d11)
        CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                                    (ID3D11Device **)&device, NULL, NULL),
                  S_OK);
    else
        CHECK_INT(D3D10CreateDevice1(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_FEATURE_LEVEL_9_1,
                                     D3D10_1_SDK_VERSION, (ID3D10Device1 **)&device),
                  S_OK);
    if (!device)
        return;
    struct rig low = rig_on(rig, device);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct rig_desc desc = kind_desc((enum kind)kind);
        void *resource = rig_make(&low, device, &desc, NULL);
        cl_int status = 1;
        cl_mem object = kind_create(&low, low.context, CL_MEM_READ_WRITE, (enum kind)kind, resource, 0, &status);
        CHECK_INT(status, kind == KIND_BUFFER ? CL_SUCCESS : rig->api->invalid_resource);
        if (object)
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        rig_release(resource);
    }
    rig_close(&low);
}

TAP_MAIN
