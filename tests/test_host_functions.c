/* Functions of the program that the driver calls when it comes to a command: native kernels, and what frees shared virtual memory. They
 * set user events, and release objects, in the thread that runs the command. */
#include "commands.h"

/* ---- a release that waits for such a function ---- */

struct scene_of {
    struct rig *rig;
    struct shared shared;
    cl_event user, gate, end;
    atomic_uint calls;
};

/* The object is acquired, and OpenCL writes it; what calls the function waits for `gate`. */
static bool open_scene(struct rig *rig, struct scene_of *scene)
{
    static unsigned char bytes[SHARED_BYTES];
    *scene = (struct scene_of){.rig = rig, .user = user_event(rig->context), .gate = user_event(rig->context)};
    if (!shared_open(rig, KIND_BUFFER, 1, &scene->shared))
        return false;
    rig_pattern(bytes, sizeof(bytes), 2);
    return CHECK_INT(acquire_one(rig, scene->shared.object), CL_SUCCESS) &&
           CHECK_INT(cl_write(rig->queue, &scene->shared, bytes, 0, NULL, NULL), CL_SUCCESS);
}

static void close_scene(struct scene_of *scene)
{
    if (CHECK(scene->end != NULL)) {
        CHECK_INT(clWaitForEvents(1, &scene->end), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(scene->end), CL_SUCCESS);
    }
    CHECK_INT(atomic_load(&scene->calls), 1);
    CHECK(d3d_has(scene->rig, &scene->shared, 2));
    CHECK(round_trip(scene->rig, &scene->shared, 2, 3));
    CHECK_INT(clReleaseEvent(scene->user), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(scene->gate), CL_SUCCESS);
    shared_close(&scene->shared);
}

/* When the call that sets the gate has given up what waits for the other event still. */
static void set_user(struct scene_of *scene)
{
    pause_ms(50);
    CHECK_INT(clSetUserEventStatus(scene->user, CL_COMPLETE), CL_SUCCESS);
    atomic_fetch_add(&scene->calls, 1);
}

static void release_and_open(struct scene_of *scene)
{
    struct rig *rig = scene->rig;
    CHECK_INT(rig->release(rig->queue, 1, &scene->shared.object, 1, &scene->user, &scene->end), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(scene->gate, CL_COMPLETE), CL_SUCCESS);
}

/* ---- native kernels ---- */

static bool has_native_kernels(const struct rig *rig)
{
    if (runs_native_kernels(rig))
        return true;
    SKIP("the device runs no native kernels");
    return false;
}

static void CL_CALLBACK native_sets(void *arguments)
{
    set_user(*(struct scene_of **)arguments);
}

static void CL_CALLBACK native_releases(void *arguments)
{
    struct scene_of *scene = *(struct scene_of **)arguments;
    struct rig *rig = scene->rig;
    CHECK_INT(rig->release(rig->queue, 1, &scene->shared.object, 0, NULL, &scene->end), CL_SUCCESS);
    atomic_fetch_add(&scene->calls, 1);
}

SHARING_CASE(set_in_native_kernel, 0)
{
    struct scene_of scene, *argument = &scene;
    if (!has_native_kernels(rig) || !open_scene(rig, &scene))
        return;
    CHECK_INT(clEnqueueNativeKernel(rig->queue, native_sets, &argument, sizeof(argument), 0, NULL, NULL, 1, &scene.gate,
                                    NULL),
              CL_SUCCESS);
    release_and_open(&scene);
    close_scene(&scene);
}

SHARING_CASE(release_in_native_kernel, 0)
{
    struct scene_of scene, *argument = &scene;
    cl_event native;
    if (!has_native_kernels(rig) || !open_scene(rig, &scene))
        return;
    CHECK_INT(clEnqueueNativeKernel(rig->queue, native_releases, &argument, sizeof(argument), 0, NULL, NULL, 0, NULL,
                                    &native),
              CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &native), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(native), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(scene.user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(scene.gate, CL_COMPLETE), CL_SUCCESS);
    close_scene(&scene);
}

/* What a native kernel is given. */
struct given {
    unsigned char *to; /* a memory object till it is called */
    double number;
    const unsigned char *from;
    atomic_uint *calls;
};

static void CL_CALLBACK copy(void *arguments)
{
    const struct given *given = arguments;
    CHECK(given->number == 0.5);
    CHECK_INT((uintptr_t)arguments % _Alignof(struct given), 0);
    memcpy(given->to, given->from, SHARED_BYTES);
    atomic_fetch_add(given->calls, 1);
}

static void CL_CALLBACK count_nothing(void *arguments)
{
    CHECK(arguments == NULL);
}

SHARING_CASE(native_kernel_arguments, 0)
{
    struct shared all[2];
    atomic_uint calls = 0;
    cl_event end;
    if (!has_native_kernels(rig) || !shared_open(rig, KIND_BUFFER, 1, &all[0]) ||
        !shared_open(rig, KIND_BUFFER, 2, &all[1]))
        return;
    struct given given = {(unsigned char *)all[0].object, 0.5, (unsigned char *)all[1].object, &calls};
    const cl_mem objects[] = {all[0].object, all[1].object};
    const void *places[] = {&given.to, &given.from};
    CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, &given, sizeof(given), 2, objects, places, 0, NULL, NULL),
              rig->api->not_acquired);
    CHECK_INT(rig->acquire(rig->queue, 2, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, &given, sizeof(given), 2, objects, places, 0, NULL, NULL),
              CL_SUCCESS);
    given.number = 1; /* the driver has a copy */
    CHECK_INT(rig->release(rig->queue, 2, objects, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(atomic_load(&calls), 1);
    CHECK(d3d_has(rig, &all[0], 2));
    CHECK(d3d_has(rig, &all[1], 2));
    CHECK_INT(clEnqueueNativeKernel(rig->queue, count_nothing, NULL, 0, 0, NULL, NULL, 0, NULL, &end), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(end), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        shared_close(&all[i]);
}

SHARING_CASE(wrong_native_kernels, 0)
{
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    unsigned char arguments[16] = {0};
    const void *place = arguments;
    if (has_native_kernels(rig)) {
        CHECK_INT(clEnqueueNativeKernel(NULL, count_nothing, NULL, 0, 0, NULL, NULL, 0, NULL, NULL),
                  CL_INVALID_COMMAND_QUEUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, NULL, 16, 0, NULL, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, arguments, 0, 0, NULL, NULL, 0, NULL, NULL),
                  CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, NULL, 0, 1, &buffer, &place, 0, NULL, NULL),
                  CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, arguments, 16, 1, &buffer, NULL, 0, NULL, NULL),
                  CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, arguments, 16, 1, NULL, &place, 0, NULL, NULL),
                  CL_INVALID_VALUE);
        CHECK_INT(clEnqueueNativeKernel(rig->queue, copy, arguments, 16, 0, &buffer, &place, 0, NULL, NULL),
                  CL_INVALID_VALUE);
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

/* ---- a user event that is set beside such functions ---- */

struct stop {
    atomic_bool began, may_end;
    unsigned patience_ms;
};

static void CL_CALLBACK stays(void *arguments)
{
    struct stop *stop = *(struct stop **)arguments;
    atomic_store(&stop->began, true);
    for (unsigned i = 0; i < stop->patience_ms && !atomic_load(&stop->may_end); i++)
        pause_ms(1);
}

struct to_set {
    cl_event users[2];
    atomic_bool set;
};

static void CL_CALLBACK set_both(cl_event event, cl_int status, void *data)
{
    struct to_set *to = data;
    (void)event;
    (void)status;
    for (int i = 0; i < 2; i++)
        CHECK_INT(clSetUserEventStatus(to->users[i], CL_COMPLETE), CL_SUCCESS);
    atomic_store(&to->set, true);
}

/* When another thread is in the call that sets the event. */
static void end_soon(void *data)
{
    struct stop *stop = data;
    pause_ms(100);
    atomic_store(&stop->may_end, true);
}

/* A callback begins two releases, each behind such a function. An acquire that its user event sets free waits for the second one, and
 * the call that sets the event does not wait for the first. */
SHARING_CASE(set_beside_native_kernels, 0)
{
    enum { LONG, SHORT, STOPS };
    struct stop stops[STOPS] = {[LONG] = {.patience_ms = 5000}, [SHORT] = {.patience_ms = 5000}};
    struct test_job job = {end_soon, &stops[SHORT]};
    test_thread thread;
    struct shared shared[STOPS];
    cl_command_queue queues[STOPS];
    struct to_set to = {.set = false};
    cl_event mine = user_event(rig->context), begins = user_event(rig->context), acquired = NULL, ends[STOPS];
    cl_uint units = 0;
    clGetDeviceInfo(rig->cl_device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    if (!has_native_kernels(rig))
        return;
    if (units < STOPS) {
        SKIP("the device runs one such function at a time");
        return;
    }
    for (int i = 0; i < STOPS; i++) {
        struct stop *argument = &stops[i];
        if (!shared_open(rig, KIND_BUFFER, 1, &shared[i]))
            return;
        queues[i] = make_queue(rig, rig->context, 0);
        to.users[i] = user_event(rig->context);
        CHECK_INT(rig->acquire(queues[i], 1, &shared[i].object, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(clFinish(queues[i]), CL_SUCCESS);
        CHECK_INT(
            clEnqueueNativeKernel(queues[i], stays, &argument, sizeof(argument), 0, NULL, NULL, 0, NULL, &ends[i]),
            CL_SUCCESS);
        CHECK_INT(clFlush(queues[i]), CL_SUCCESS);
        while (!atomic_load(&stops[i].began))
            pause_ms(1);
        CHECK_INT(rig->release(queues[i], 1, &shared[i].object, 1, &to.users[i], NULL), CL_SUCCESS);
    }
    CHECK_INT(clSetEventCallback(begins, CL_COMPLETE, set_both, &to), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(begins, CL_COMPLETE), CL_SUCCESS);
    while (!atomic_load(&to.set))
        pause_ms(1);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared[SHORT].object, 1, &mine, &acquired), CL_SUCCESS);
    if (!test_thread_start(&thread, &job))
        return;
    CHECK_INT(clSetUserEventStatus(mine, CL_COMPLETE), CL_SUCCESS);
    test_thread_join(thread);
    CHECK(rig_event_status(ends[LONG]) > CL_COMPLETE);
    atomic_store(&stops[LONG].may_end, true);
    CHECK_INT(clWaitForEvents(1, &acquired), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared[SHORT].object), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(acquired), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(mine), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(begins), CL_SUCCESS);
    for (int i = 0; i < STOPS; i++) {
        CHECK_INT(clFinish(queues[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(to.users[i]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
        shared_close(&shared[i]);
    }
}

/* ---- shared virtual memory ---- */

/* NULL: the device has none. */
static void *find_svm_memory(const struct rig *rig)
{
    cl_device_svm_capabilities can = 0;
    return clGetDeviceInfo(rig->cl_device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL) == CL_SUCCESS && can
               ? clSVMAlloc(rig->context, CL_MEM_READ_WRITE, 64, 0)
               : NULL;
}

static void *svm_memory(const struct rig *rig)
{
    void *memory = find_svm_memory(rig);
    if (!memory)
        SKIP("the device has no shared virtual memory");
    return memory;
}

static void CL_CALLBACK freeing_sets(cl_command_queue queue, cl_uint count, void **pointers, void *data)
{
    struct scene_of *scene = data;
    CHECK(queue == scene->rig->queue);
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(scene->rig->context, pointers[i]);
    set_user(scene);
}

SHARING_CASE(set_in_free, 0)
{
    struct scene_of scene;
    void *memory = svm_memory(rig);
    if (!memory || !open_scene(rig, &scene))
        return;
    CHECK_INT(clEnqueueSVMFree(rig->queue, 1, &memory, freeing_sets, &scene, 1, &scene.gate, NULL), CL_SUCCESS);
    release_and_open(&scene);
    close_scene(&scene);
}

static void CL_CALLBACK freeing_releases(cl_command_queue queue, cl_uint count, void **pointers, void *data)
{
    struct scene_of *scene = data;
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(scene->rig->context, pointers[i]);
    CHECK_INT(scene->rig->release(queue, 1, &scene->shared.object, 0, NULL, &scene->end), CL_SUCCESS);
    atomic_fetch_add(&scene->calls, 1);
}

SHARING_CASE(release_in_free, 0)
{
    struct scene_of scene;
    cl_event freed;
    void *memory = svm_memory(rig);
    if (!memory || !open_scene(rig, &scene))
        return;
    CHECK_INT(clEnqueueSVMFree(rig->queue, 1, &memory, freeing_releases, &scene, 0, NULL, &freed), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &freed), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(freed), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(scene.user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(scene.gate, CL_COMPLETE), CL_SUCCESS);
    close_scene(&scene);
}

/* A call that the driver refuses keeps nothing. */
SHARING_CASE(wrong_frees, 0)
{
    void *memory = svm_memory(rig);
    if (!memory)
        return;
    CHECK_INT(clEnqueueSVMFree(NULL, 1, &memory, freeing_sets, NULL, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    CHECK_INT(clEnqueueSVMFree(rig->queue, 1, NULL, freeing_sets, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
    clSVMFree(rig->context, memory);
}

/* How many of two cases, for native kernels and for freed memory, run over both versions of Direct3D. */
static const struct tap_test tests[] = {
    SHARING_TESTS("native kernels: sets a user event", set_in_native_kernel),
    SHARING_TESTS("native kernels: releases an object", release_in_native_kernel),
    SHARING_TESTS("native kernels: arguments", native_kernel_arguments),
    SHARING_TESTS("native kernels: wrong arguments", wrong_native_kernels),
    SHARING_TESTS("native kernels: a user event is set beside two", set_beside_native_kernels),
    SHARING_TESTS("freed memory: sets a user event", set_in_free),
    SHARING_TESTS("freed memory: releases an object", release_in_free),
    SHARING_TESTS("freed memory: wrong arguments", wrong_frees),
};

TAP_MAIN(tests)
