/* Direct3D fails, or its device is lost, in every call that can see it: the command fails with the code for that, nothing
 * leaks, and everything stays as it was. */
#include "lifetime.h"

#include <d3d10_1.h>

/* ---- Direct3D fails ---- */

/* What the library may call of Direct3D and what can fail. */
static const char *const methods[] = {
    "QueryInterface",         "CreateBuffer", "CreateTexture2D", "CreateTexture3D",    "Map",
    "GetDeviceRemovedReason", "GetAdapter",   "GetDesc",         "CheckFormatSupport",
};
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

static const HRESULT failures[] = {E_OUTOFMEMORY, E_FAIL, DXGI_ERROR_DEVICE_REMOVED};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

/* One thing that a program does; it gives back what it made, and tells with what code it ended. */
typedef cl_int (*action)(const struct rig *rig, struct shared *shared);

static cl_int make_a_context(const struct rig *rig, struct shared *shared)
{
    cl_int status = 1;
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    (void)shared;
    CHECK_INT(context != NULL, status == CL_SUCCESS);
    if (context)
        CHECK_INT(clReleaseContext(context), CL_SUCCESS);
    return status;
}

static cl_int make_an_object(const struct rig *rig, struct shared *shared)
{
    cl_int status = 1;
    cl_mem object = kind_create(rig, rig->context, 0, shared->kind, shared->resource, 0, &status);
    CHECK_INT(object != NULL, status == CL_SUCCESS);
    if (object) {
        cl_int again = 1;
        CHECK(kind_create(rig, rig->context, 0, shared->kind, shared->resource, 0, &again) == NULL);
        CHECK(again != CL_SUCCESS);
        CHECK_INT(clReleaseMemObject(object), CL_SUCCESS);
    }
    return status;
}

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

/* A new object, acquired for the first time: with the staging copy. */
static cl_int acquire_first(const struct rig *rig, struct shared *shared)
{
    cl_event event = NULL;
    const cl_int called = rig->acquire(rig->queue, 1, &shared->object, 0, NULL, &event);
    const cl_int status = command_end(called, event);
    CHECK_INT(release_one(rig, shared->object), status == CL_SUCCESS ? CL_SUCCESS : rig->api->not_acquired);
    return status;
}

/* A release that fails is one all the same: Direct3D has the object again. */
static cl_int release_first(const struct rig *rig, struct shared *shared)
{
    cl_event event = NULL;
    const cl_int called = rig->release(rig->queue, 1, &shared->object, 0, NULL, &event);
    const cl_int status = command_end(called, event);
    CHECK_INT(release_one(rig, shared->object), rig->api->not_acquired);
    return status;
}

static bool clean_failure(cl_int status, const struct rig *rig)
{
    return status == CL_SUCCESS || status == rig->api->invalid_resource || status == rig->api->invalid_device ||
           status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY;
}

static unsigned failures_seen;

/* Runs an action with one call of Direct3D failing, and checks that nothing is left of it. A staging copy with which Direct3D has failed
 * may be gone. */
static void fail_once(const struct rig *rig, struct shared *shared, action act, const char *method, unsigned nth,
                      HRESULT code)
{
    struct counts before = count(rig, shared);
    const int failed = atomic_load(&tap_case.failures);
    before.device--;
    CHECK(fake_d3d_fail(method, nth, code) > 0);
    const cl_int status = act(rig, shared);
    fake_d3d_fail(method, 0, S_OK);
    failures_seen += status != CL_SUCCESS;
    if (!CHECK(clean_failure(status, rig)))
        printf("# status %d\n", status);
    counts_become(rig, shared, before, 0, 0, 1);
    if (atomic_load(&tap_case.failures) != failed)
        printf("# call %u of %s failed with 0x%08lx, kind %d\n", nth, method, (unsigned long)code, shared->kind);
}

/* Each call that the action makes fails once in turn, in each way. */
static void fail_each(const struct rig *rig, struct shared *shared, action act)
{
    unsigned calls[METHODS];
    fake_d3d_reset();
    CHECK_INT(act(rig, shared), CL_SUCCESS);
    for (int m = 0; m < METHODS; m++)
        calls[m] = fake_d3d_calls(methods[m]);
    for (int m = 0; m < METHODS; m++)
        for (unsigned nth = 1; nth <= calls[m]; nth++)
            for (int f = 0; f < FAILURES; f++)
                fail_once(rig, shared, act, methods[m], nth, failures[f]);
    CHECK_INT(act(rig, shared), CL_SUCCESS);
}

SHARING_CASE(failing_contexts, 0)
{
    struct shared shared;
    if (!shared_resource(rig, KIND_BUFFER, 1, &shared))
        return;
    failures_seen = 0;
    fail_each(rig, &shared, make_a_context);
    CHECK(failures_seen > 0);
    shared_close(&shared);
}

SHARING_CASE(failing_objects, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!shared_resource(rig, (enum kind)kind, 1, &shared))
            continue;
        failures_seen = 0;
        fail_each(rig, &shared, make_an_object);
        CHECK(failures_seen > 0);
        shared.object = create(rig, &shared);
        CHECK(round_trip(rig, &shared, 1, 2));
        shared_close(&shared);
    }
}

static void try_failing_acquire(const struct rig *rig, struct shared *shared, const char *method, unsigned nth,
                                HRESULT code)
{
    /* An object of a context of its own each time, since its staging copy stays with them. */
    struct rig second;
    if (!second_open(rig, &second))
        return;
    shared->object = create(&second, shared);
    const struct counts before = count(rig, shared);
    CHECK(fake_d3d_fail(method, nth, code) > 0);
    cl_event event = NULL;
    const cl_int called = second.acquire(second.queue, 1, &shared->object, 0, NULL, &event);
    fake_d3d_fail(method, 0, S_OK);
    const cl_int status = command_end(called, event);
    failures_seen += status != CL_SUCCESS;
    CHECK_INT(called, CL_SUCCESS);
    CHECK(status == CL_SUCCESS || status == CL_OUT_OF_RESOURCES);
    CHECK_INT(count(rig, shared).resource - before.resource, 0);
    CHECK_INT(release_one(&second, shared->object), status == CL_SUCCESS ? CL_SUCCESS : rig->api->not_acquired);
    CHECK(round_trip(&second, shared, 1, 1));
    CHECK_INT(clReleaseMemObject(shared->object), CL_SUCCESS);
    shared->object = NULL;
    second_close(&second);
}

SHARING_CASE(failing_acquires, 0)
{
    if (skip_without_staging())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        unsigned calls[METHODS];
        if (!shared_open(rig, (enum kind)kind, 1, &shared))
            continue;
        fake_d3d_reset();
        CHECK_INT(acquire_first(rig, &shared), CL_SUCCESS);
        for (int m = 0; m < METHODS; m++)
            calls[m] = fake_d3d_calls(methods[m]);
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
        const struct counts before = count(rig, &shared);
        failures_seen = 0;
        for (int m = 0; m < METHODS; m++)
            for (unsigned nth = 1; nth <= calls[m]; nth++)
                for (int f = 0; f < FAILURES; f++)
                    try_failing_acquire(rig, &shared, methods[m], nth, failures[f]);
        /* In place the copy may be there since the object was made. */
        CHECK(failures_seen >= (lies_in_staging() ? FAILURES : FAILURES * 2));
        counts_are(rig, &shared, before, 0, 0);
        shared.object = NULL;
        shared_close(&shared);
    }
}

/* A dynamic resource gets its bytes through a map, which can fail. */
static bool dynamic_open(const struct rig *rig, enum kind kind, struct shared *shared)
{
    unsigned char bytes[SHARED_BYTES];
    *shared = (struct shared){.kind = kind, .desc = kind_desc(kind)};
    shared->desc.usage = RIG_DYNAMIC;
    shared->desc.bind = D3D11_BIND_SHADER_RESOURCE;
    shared->resource = rig_make(rig, rig->device, &shared->desc, NULL);
    if (!CHECK(shared->resource != NULL))
        return false;
    rig_pattern(bytes, sizeof(bytes), 1);
    rig_write(rig, shared->resource, &shared->desc, 0, bytes);
    shared->object = create(rig, shared);
    return CHECK(shared->object != NULL);
}

SHARING_CASE(failing_releases, 0)
{
    if (skip_without_staging())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct shared shared;
        if (!dynamic_open(rig, (enum kind)kind, &shared))
            continue;
        failures_seen = 0;
        for (unsigned nth = 1; nth <= 2; nth++) {
            for (int f = 0; f < FAILURES; f++) {
                CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
                fail_once(rig, &shared, release_first, "Map", nth, failures[f]);
                CHECK(round_trip(rig, &shared, 1, 1));
            }
        }
        CHECK_INT(failures_seen, 2 * FAILURES);
        shared_close(&shared);
    }
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

/* Every call of the first acquire and release in turn finds the device lost. */
static bool lose_in_call(const struct rig *rig, enum kind kind, unsigned nth)
{
    struct rig doomed;
    struct shared shared;
    cl_event event = NULL;
    if (!doomed_open(rig, kind, &doomed, &shared))
        return false;
    fake_d3d_remove_after(doomed.device, nth, DXGI_ERROR_DEVICE_REMOVED);
    cl_int called = doomed.acquire(doomed.queue, 1, &shared.object, 0, NULL, &event);
    cl_int status = command_end(called, event);
    const bool acquired = status == CL_SUCCESS;
    CHECK_INT(called, CL_SUCCESS);
    CHECK(acquired || status == CL_OUT_OF_RESOURCES);
    event = NULL;
    called = doomed.release(doomed.queue, 1, &shared.object, 0, NULL, acquired ? &event : NULL);
    status = acquired ? command_end(called, event) : called;
    CHECK(acquired || status == rig->api->not_acquired);
    const bool lost = status != CL_SUCCESS;
    fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_HUNG);
    doomed_close(&doomed, &shared);
    return lost;
}

SHARING_CASE(lost_in_each_call, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned nth = 1;
        while (lose_in_call(rig, (enum kind)kind, nth) && nth < 100)
            nth++;
        CHECK(nth > (over_import() ? 2 : 4)); /* the staging copy, the copy, the map, and the way back; or both steps */
        CHECK(nth < 100);
    }
}

/* While the object is acquired the bytes are OpenCL's: they can be used to the end. */
SHARING_CASE(lost_while_acquired, 0)
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

SHARING_CASE(lost_while_waiting, 0)
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
SHARING_CASE(lost_while_deferred, 0)
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
SHARING_CASE(lost_before, 0)
{
    struct rig doomed = *rig;
    cl_int status = 1;
    doomed.device = rig_another_device(rig);
    const ULONG before = rig_refs(doomed.device);
    fake_d3d_remove(doomed.device, DXGI_ERROR_DEVICE_REMOVED);
    cl_context context = rig_make_context(rig, doomed.device, false, &status);
    CHECK_INT(context != NULL, status == CL_SUCCESS);
    CHECK(clean_failure(status, rig));
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
SHARING_CASE(low_levels, 0)
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

static const struct tap_test tests[] = {
    SHARING_TESTS("failures: contexts", failing_contexts),
    SHARING_TESTS("failures: objects", failing_objects),
    SHARING_TESTS("failures: acquires", failing_acquires),
    SHARING_TESTS("failures: releases", failing_releases),
    SHARING_TESTS("lost: in each call", lost_in_each_call),
    SHARING_TESTS("lost: while acquired", lost_while_acquired),
    SHARING_TESTS("lost: while an acquire waits", lost_while_waiting),
    SHARING_TESTS("lost: while commands are deferred", lost_while_deferred),
    SHARING_TESTS("lost: before", lost_before),
    SHARING_TESTS("low feature levels share buffers alone", low_levels),
};

TAP_MAIN(tests)
