/* The device of Direct3D is lost, at each time that it can be: commands fail with the code for that, and nothing leaks. tests/faults
 * lets each single call fail. And devices of a low feature level. */
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
    cl_int status = 1;
    *doomed = *rig;
    doomed->device = rig_another_device(rig);
    doomed->context = rig_make_context(doomed, doomed->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS)) {
        rig_release(doomed->device);
        return false;
    }
    doomed->queue = make_queue(doomed, doomed->context, 0);
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

/* Commands that wait for a user event when the device is lost: their events fail, and nobody waits for ever. */
SHARING_CASE("lost: while commands are deferred", lost_while_deferred, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int cycles = 0; cycles < 2; cycles++) {
            struct rig doomed;
            struct shared shared;
            cl_event released = NULL, acquired = NULL;
            if (!doomed_open(rig, (enum kind)kind, &doomed, &shared))
                continue;
            cl_event user = user_event(doomed.context);
            CHECK_INT(acquire_one(&doomed, shared.object), CL_SUCCESS);
            CHECK_INT(clEnqueueBarrierWithWaitList(doomed.queue, 1, &user, NULL), CL_SUCCESS);
            CHECK_INT(doomed.release(doomed.queue, 1, &shared.object, 0, NULL, &released), CL_SUCCESS);
            if (cycles)
                CHECK_INT(doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &acquired), CL_SUCCESS);
            fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
            CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
            CHECK_INT(command_end(CL_SUCCESS, released), CL_OUT_OF_RESOURCES);
            if (cycles)
                CHECK(command_end(CL_SUCCESS, acquired) < 0);
            CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
            doomed_close(&doomed, &shared);
        }
    }
}

/* A device that is lost already makes no context, or one that works as far as it can. */
SHARING_CASE("lost: before", lost_before, 0)
{
    struct rig doomed = *rig;
    cl_int status = 1;
    doomed.device = rig_another_device(rig);
    const ULONG before = rig_refs(doomed.device);
    fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
    cl_context context = rig_make_context(rig, doomed.device, false, &status);
    CHECK_INT(context != NULL, status == CL_SUCCESS);
    CHECK(status == CL_SUCCESS || status == rig->api->invalid_device || status == CL_OUT_OF_RESOURCES);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    CHECK_INT(rig_refs(doomed.device), before);
    rig_release(doomed.device);
}

/* ---- low feature levels ---- */

/* A rig of its own around a device of level 9.1. */
static bool low_open(const struct rig *rig, struct rig *low)
{
    static const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_9_1;
    cl_int status = 1;
    *low = *rig;
    low->device = NULL;
    if (rig->api == &rig_d3d11)
        CHECK_INT(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                                    (ID3D11Device **)&low->device, NULL, NULL),
                  S_OK);
    else
        CHECK_INT(D3D10CreateDevice1(NULL, D3D10_DRIVER_TYPE_HARDWARE, NULL, 0, D3D10_FEATURE_LEVEL_9_1,
                                     D3D10_1_SDK_VERSION, (ID3D10Device1 **)&low->device),
                  S_OK);
    if (!low->device)
        return false;
    low->context = rig_make_context(low, low->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS)) {
        rig_release(low->device);
        return false;
    }
    low->queue = make_queue(low, low->context, 0);
    return true;
}

static void low_close(const struct rig *low)
{
    CHECK_INT(clReleaseCommandQueue(low->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(low->context), CL_SUCCESS);
    rig_release(low->device);
}

/* Windows copies not all textures of such a device, and reports no error: none is shared. Buffers are. */
SHARING_CASE("low feature levels share buffers alone", low_levels, 0)
{
    static const enum kind kinds[] = {KIND_BUFFER, KIND_2D, KIND_3D};
    struct rig low;
    if (!low_open(rig, &low))
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct rig_desc desc = kind_desc(kinds[i]);
        void *resource = rig_make(&low, low.device, &desc, NULL);
        cl_int status = 1;
        cl_mem object = kind_create(&low, low.context, CL_MEM_READ_WRITE, kinds[i], resource, 0, &status);
        CHECK_INT(status, kinds[i] == KIND_BUFFER ? CL_SUCCESS : rig->api->invalid_resource);
        if (object)
            CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
        rig_release(resource);
    }
    low_close(&low);
}

TAP_MAIN
