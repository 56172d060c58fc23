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

/* ---- shared virtual memory ---- */

static void *svm_memory(const struct rig *rig)
{
    cl_device_svm_capabilities can = 0;
    void *memory = NULL;
    if (clGetDeviceInfo(rig->cl_device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL) == CL_SUCCESS && can)
        memory = clSVMAlloc(rig->context, CL_MEM_READ_WRITE, 64, 0);
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

/* Where callbacks are cld3d's these functions are the driver's still. */
static void callbacks_ours(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs the cases above");
        return;
    }
    run_again("releases an object", "CLD3D_CALLBACKS", "1");
    run_again("sets a user event", "CLD3D_CALLBACKS", "1");
}

static const struct tap_test tests[] = {
    SHARING_TESTS("native kernels: sets a user event", set_in_native_kernel),
    SHARING_TESTS("native kernels: releases an object", release_in_native_kernel),
    SHARING_TESTS("native kernels: arguments", native_kernel_arguments),
    SHARING_TESTS("native kernels: wrong arguments", wrong_native_kernels),
    SHARING_TESTS("freed memory: sets a user event", set_in_free),
    SHARING_TESTS("freed memory: releases an object", release_in_free),
    SHARING_TESTS("freed memory: wrong arguments", wrong_frees),
    {"cld3d's callbacks", callbacks_ours},
};

TAP_MAIN(tests)
