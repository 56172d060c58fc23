/* A release that has no command to enqueue: with PoCL it waits until its queue is empty, and enqueues no marker, as long as no other
 * thread can have commands there that the program has yet to unblock. Over below.c, which counts the markers. */
#include "sharing.h"

/* What a release enqueues, as far as it is markers. */
static cl_uint markers_of_release(const struct rig *rig, cl_command_queue queue, cl_mem object)
{
    const cl_uint before = order_below(queue, BELOW_MARKERS, 0);
    CHECK_INT(rig->release(queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
    return order_below(queue, BELOW_MARKERS, 0) - before;
}

/* An acquire and a read; the release follows. */
static void acquire_and_read(const struct rig *rig, cl_command_queue queue, const struct shared *shared)
{
    static unsigned char bytes[SHARED_BYTES];
    CHECK_INT(rig->acquire(queue, 1, &shared->object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(cl_read(queue, shared, bytes, NULL), CL_SUCCESS);
}

/* A frame that is only read, by this thread. */
static cl_uint markers_of_frame(const struct rig *rig, cl_command_queue queue, const struct shared *shared)
{
    acquire_and_read(rig, queue, shared);
    return markers_of_release(rig, queue, shared->object);
}

static cl_uint most(const struct rig *rig)
{
    return is_pocl(rig->platform) ? 0 : 1;
}

/* Each kind, read and written: the bytes are there when the release returns. */
static void nothing_enqueued(const struct rig *rig)
{
    struct shared all[KINDS];
    unsigned char bytes[SHARED_BYTES], found[SHARED_BYTES] = {0};
    rig_pattern(bytes, sizeof(bytes), 90);
    if (!shared_open_all(rig, 80, all))
        return;
    for (int i = 0; i < KINDS; i++) {
        CHECK_INT(acquire_one(rig, all[i].object), CL_SUCCESS);
        CHECK_INT(cl_read(rig->queue, &all[i], found, NULL), CL_SUCCESS);
        CHECK_INT(markers_of_release(rig, rig->queue, all[i].object), most(rig));
        rig_pattern(bytes, sizeof(bytes), 80 + (unsigned)i);
        CHECK_MEM(found, bytes, sizeof(bytes));
        rig_pattern(bytes, sizeof(bytes), 90);
        CHECK_INT(acquire_one(rig, all[i].object), CL_SUCCESS);
        CHECK_INT(cl_write(rig->queue, &all[i], bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK(markers_of_release(rig, rig->queue, all[i].object) <= 1);
        d3d_has(rig, &all[i], 90);
    }
    shared_close_all(all);
}

/* The release waits for work that takes its time. */
static void slow_commands(const struct rig *rig)
{
    struct shared shared;
    struct slow_work work;
    if (!slow_open(rig, &work) || !shared_open(rig, KIND_2D, 81, &shared))
        return;
    acquire_and_read(rig, rig->queue, &shared);
    cl_event event = slow_start(&work, rig->queue);
    CHECK_INT(markers_of_release(rig, rig->queue, shared.object), most(rig));
    CHECK_INT(rig_event_status(event), CL_COMPLETE);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

/* An event, a wait list, an order that is not the queue's, and a pending user event need the marker. */
static void with_more_to_tell(const struct rig *rig)
{
    struct shared shared;
    cl_event event = NULL, ended = NULL;
    if (!shared_open(rig, KIND_2D, 82, &shared))
        return;
    acquire_and_read(rig, rig->queue, &shared);
    cl_uint before = order_below(rig->queue, BELOW_MARKERS, 0);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(order_below(rig->queue, BELOW_MARKERS, 0) - before, 2); /* one more for the event */
    finish_event(event);
    acquire_and_read(rig, rig->queue, &shared);
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &ended), CL_SUCCESS);
    before = order_below(rig->queue, BELOW_MARKERS, 0);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 1, &ended, NULL), CL_SUCCESS);
    CHECK_INT(order_below(rig->queue, BELOW_MARKERS, 0) - before, 1);
    finish_event(ended);
    cl_event user = user_event(rig->context);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    if (out_of_order_mode(rig)) {
        cl_command_queue queue = make_queue(rig, rig->context, out_of_order_mode(rig));
        CHECK_INT(markers_of_frame(rig, queue, &shared), 1);
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), most(rig));
    shared_close(&shared);
}

/* ---- several threads ---- */

struct visitor {
    const struct rig *rig;
    cl_command_queue queue;
    const struct shared *shared;
    cl_event user;
    atomic_int comes, has_enqueued;
};

static void enqueue_marker(void *data)
{
    struct visitor *visitor = data;
    atomic_store(&visitor->comes, 1);
    CHECK_INT(
        clEnqueueMarkerWithWaitList(visitor->queue, visitor->user ? 1 : 0, visitor->user ? &visitor->user : NULL, NULL),
        CL_SUCCESS);
    atomic_store(&visitor->has_enqueued, 1);
}

static void run_frame(void *data)
{
    struct visitor *visitor = data;
    markers_of_frame(visitor->rig, visitor->queue, visitor->shared);
}

static void hand_over(void *data)
{
    struct visitor *visitor = data;
    const struct rig *rig = visitor->rig;
    CHECK_INT(rig->acquire(visitor->queue, 1, &visitor->shared->object, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(rig->release(visitor->queue, 1, &visitor->shared->object, 0, NULL, NULL), CL_SUCCESS);
}

static void used_by_another(const struct rig *rig, const struct shared *shared, void (*use)(void *visitor))
{
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    struct visitor visitor = {.rig = rig, .queue = queue, .shared = shared};
    struct test_job job = {use, &visitor};
    test_thread thread;
    CHECK_INT(markers_of_frame(rig, queue, shared), most(rig));
    if (test_thread_start(&thread, &job))
        test_thread_join(thread);
    CHECK_INT(markers_of_frame(rig, queue, shared), 1);
    CHECK_INT(markers_of_frame(rig, rig->queue, shared), most(rig));
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

/* Once another thread has used the queue, it may do so at any time. */
static void used_by_two(const struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 83, &shared))
        return;
    used_by_another(rig, &shared, enqueue_marker);
    used_by_another(rig, &shared, hand_over);
    shared_close(&shared);
}

/* Another thread comes with a blocked command while the release waits. A release that waits for the whole queue would wait for that
 * command too, so it comes after. One that waits for a marker keeps nobody. */
static void visited_meanwhile(const struct rig *rig)
{
    const bool pocl = is_pocl(rig->platform);
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 84, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    struct visitor visitor = {.rig = rig, .queue = queue, .shared = &shared};
    struct test_job frame = {run_frame, &visitor}, marker = {enqueue_marker, &visitor};
    test_thread releases, enqueues;
    order_below(queue, BELOW_HOLD, pocl ? BELOW_HOLD_FINISH : BELOW_HOLD_WAIT);
    if (test_thread_start(&releases, &frame)) {
        held_below(queue);
        visitor.user = user_event(rig->context);
        const bool started = test_thread_start(&enqueues, &marker);
        while (started && !atomic_load(&visitor.comes))
            pause_ms(1);
        for (int i = 0; i < (pocl ? 50 : 50000) && !atomic_load(&visitor.has_enqueued); i++)
            pause_ms(1);
        CHECK_INT(atomic_load(&visitor.has_enqueued), !pocl);
        order_below(queue, BELOW_HOLD, BELOW_HOLD_NONE);
        CHECK_INT(clSetUserEventStatus(visitor.user, CL_COMPLETE), CL_SUCCESS);
        test_thread_join(releases);
        if (started)
            test_thread_join(enqueues);
        CHECK_INT(clReleaseEvent(visitor.user), CL_SUCCESS);
    }
    order_below(queue, BELOW_HOLD, BELOW_HOLD_NONE);
    queue_wait(queue);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    shared_close(&shared);
}

/* ---- callbacks ---- */

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_store((atomic_int *)data, 1);
}

/* From now on threads of the driver may enqueue commands: the last case in its process. */
static void called_back(const struct rig *rig)
{
    struct shared shared;
    static atomic_int called;
    cl_event marker = NULL;
    if (!shared_open(rig, KIND_2D, 85, &shared))
        return;
    CHECK_INT(clEnqueueMarkerWithWaitList(rig->queue, 0, NULL, &marker), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(marker, CL_COMPLETE, on_end, &called), CL_SUCCESS);
    finish_event(marker);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    while (!atomic_load(&called))
        pause_ms(1);
    shared_close(&shared);
}

/* The same for a failure: from now on commands may fail. */
static void command_failed(const struct rig *rig)
{
    struct shared shared;
    cl_event user = user_event(rig->context), marker = NULL;
    if (!shared_open(rig, KIND_2D, 86, &shared))
        return;
    cl_command_queue queue = make_queue(rig, rig->context, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 1, &user, &marker), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -1), CL_SUCCESS);
    CHECK(clWaitForEvents(1, &marker) != CL_SUCCESS);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    CHECK_INT(clReleaseEvent(marker), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    shared_close(&shared);
}

static void CL_CALLBACK do_nothing(void *arguments)
{
    (void)arguments;
}

/* The same for a function of the program that is a command. */
static void function_enqueued(const struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 88, &shared))
        return;
    if (runs_functions(rig))
        CHECK_INT(clEnqueueNativeKernel(rig->queue, do_nothing, NULL, 0, 0, NULL, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), runs_functions(rig) ? 1 : most(rig));
    shared_close(&shared);
}

/* Where it is not known which commands there are, and so what they have written. Through the host a copy is enqueued. */
static void commands_unseen(const struct rig *rig)
{
    struct shared shared;
    const char *transport = getenv("CLD3D_TRANSPORT");
    const bool copies = !is_pocl(rig->platform) || (transport && strcmp(transport, "host") == 0);
    if (!shared_open(rig, KIND_2D, 87, &shared))
        return;
    acquire_and_read(rig, rig->queue, &shared);
    const cl_uint before = order_below(rig->queue, BELOW_MARKERS, 0);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(order_below(rig->queue, BELOW_MARKERS, 0) - before, copies ? 0 : 1);
    shared_close(&shared);
}

static void CL_CALLBACK on_memory_end(cl_mem memory, void *data)
{
    (void)memory;
    atomic_store((atomic_int *)data, 1);
}

/* The same for a function that a driver calls at the end of a memory object: it may enqueue commands. */
static void destructor_set(const struct rig *rig)
{
    struct shared shared;
    static atomic_int called;
    cl_int status = 1;
    if (!shared_open(rig, KIND_2D, 89, &shared))
        return;
    cl_mem buffer = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory_end, &called), CL_SUCCESS);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    while (!atomic_load(&called))
        pause_ms(1);
    shared_close(&shared);
}

/* The same for memory in which a kernel may wait for what the host writes. */
static void fine_grained_memory(const struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 92, &shared))
        return;
    void *memory = clSVMAlloc(rig->context, CL_MEM_READ_WRITE, 64, 0);
    clSVMFree(rig->context, memory);
    if (rig->api == &rig_d3d11) /* the first case of the process */
        CHECK_INT(markers_of_frame(rig, rig->queue, &shared), most(rig));
    memory = clSVMAlloc(rig->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 64, 0);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    clSVMFree(rig->context, memory);
    shared_close(&shared);
}

/* The same where the program has a command of an extension that cld3d does not see, though it writes to no object. */
static void command_by_name(const struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 90, &shared))
        return;
    CHECK(clGetExtensionFunctionAddressForPlatform(rig->platform, "clEnqueueSVMStrangeEXT") != NULL);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), 1);
    shared_close(&shared);
}

/* A driver that never finishes: the release says why, and changes nothing. */
static void finish_refused(const struct rig *rig)
{
    struct shared shared;
    if (!shared_open(rig, KIND_2D, 91, &shared))
        return;
    acquire_and_read(rig, rig->queue, &shared);
    test_setenv(BELOW_NO_FINISH, "all");
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, NULL),
              is_pocl(rig->platform) ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
    test_setenv(BELOW_NO_FINISH, NULL);
    CHECK_INT(release_one(rig, shared.object), is_pocl(rig->platform) ? CL_SUCCESS : rig->api->not_acquired);
    CHECK_INT(markers_of_frame(rig, rig->queue, &shared), most(rig));
    shared_close(&shared);
}

/* ---- the runs ---- */

/* Set in the process that runs the cases over the layer. */
#define COUNTED "CLD3D_TEST_COUNTED"

#define COUNTED_CASE(name)                          \
    SHARING_CASE(name##_counted, 0)                 \
    {                                               \
        if (getenv(COUNTED))                        \
            name(rig);                              \
        else                                        \
            SKIP("only as a part of another case"); \
    }

COUNTED_CASE(nothing_enqueued)
COUNTED_CASE(slow_commands)
COUNTED_CASE(with_more_to_tell)
COUNTED_CASE(used_by_two)
COUNTED_CASE(visited_meanwhile)
COUNTED_CASE(called_back)
COUNTED_CASE(command_failed)
COUNTED_CASE(function_enqueued)
COUNTED_CASE(commands_unseen)
COUNTED_CASE(destructor_set)
COUNTED_CASE(command_by_name)
COUNTED_CASE(fine_grained_memory)
COUNTED_CASE(finish_refused)

static void run(const char *text, unsigned passed, const char *variable)
{
    if (getenv(COUNTED) || !takes_layers("CLD3D_TEST_BELOW"))
        return;
    test_setenv(COUNTED, "1");
    test_setenv(variable, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", text), passed);
    test_setenv(variable, NULL);
    test_setenv(COUNTED, NULL);
}

static void over_the_layer(void)
{
    run("counted: ", 12, COUNTED);
    run("failed: ", 2, COUNTED);
    run("functions: ", 2, COUNTED);
    run("destructor: ", 2, COUNTED);
    run("by name: ", 2, COUNTED);
    run("memory: ", 2, COUNTED);
    run("refused: ", 2, COUNTED);
}

/* A driver that is out of resources is asked again. */
static void over_one_that_refuses(void)
{
    run("counted: ", 12, BELOW_NO_FINISH);
}

/* Then the objects that OpenCL has read go back to Direct3D as well. */
static void with_unseen_commands(void)
{
    run("unseen: ", 2, "CLD3D_COPY_BACK");
}

static const struct tap_test tests[] = {
    {"over a layer that counts", over_the_layer},
    {"over a layer that refuses to finish at first", over_one_that_refuses},
    {"where commands of extensions may be", with_unseen_commands},
    SHARING_TESTS("counted: nothing is enqueued", nothing_enqueued_counted),
    SHARING_TESTS("counted: work that takes its time", slow_commands_counted),
    SHARING_TESTS("counted: what needs a marker", with_more_to_tell_counted),
    SHARING_TESTS("counted: a queue of two threads", used_by_two_counted),
    SHARING_TESTS("counted: a thread that comes meanwhile", visited_meanwhile_counted),
    SHARING_TESTS("counted: a callback has been set", called_back_counted),
    SHARING_TESTS("failed: a command has failed", command_failed_counted),
    SHARING_TESTS("functions: a function of the program is a command", function_enqueued_counted),
    SHARING_TESTS("destructor: a memory object has a callback", destructor_set_counted),
    SHARING_TESTS("by name: a command of an extension", command_by_name_counted),
    SHARING_TESTS("memory: a kernel may wait for the host", fine_grained_memory_counted),
    SHARING_TESTS("refused: a driver that cannot finish", finish_refused_counted),
    SHARING_TESTS("unseen: which commands there are is not known", commands_unseen_counted),
};

TAP_MAIN(tests)
