/* Measures how calls scale and for what they wait: natively, over the fake Direct3D of the tests. scripts/bench-scale runs it.
 *
 *     scale PART LOAD            with cld3d as a layer
 *     scale PART LOAD plain      without it: markers instead of acquires and releases, objects of the driver
 *
 * Prints "sample,FIGURE,MILLISECONDS" for each value, at once, since the program may be ended where something takes too long; lines that
 * begin with "#" tell of errors, and the last line is "done". */
#include "common/rig.h"
#include "tap.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 65536, GROUP = 256, FAILURE = -5, FRAMES = 101 };

struct tap_case tap_case;

static struct rig rig;
static cl_kernel kernel;
static cl_mem unshared; /* a buffer of the driver */
static unsigned load;
static bool is_plain;

/* ---- output ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void sample(double milliseconds, const char *figure, ...)
{
    va_list arguments;
    va_start(arguments, figure);
    printf("sample,");
    vprintf(figure, arguments);
    printf(",%.6f\n", milliseconds);
    fflush(stdout);
    va_end(arguments);
}

/* Ends the program if a call fails; the check has said which. */
#define MUST(call)                          \
    do {                                    \
        if (!CHECK_INT((call), CL_SUCCESS)) \
            exit(1);                        \
    } while (0)

static void *must_exist(void *object, const char *what)
{
    if (!object) {
        printf("# there is no %s\n", what);
        exit(1);
    }
    return object;
}

/* ---- objects ---- */

struct object {
    void *resource; /* one reference; plain: NULL */
    cl_mem memory;  /* one reference */
};

static void *make_resource(const struct rig_desc *desc)
{
    return is_plain ? NULL : must_exist(rig_make(&rig, rig.device, desc, NULL), "resource of Direct3D");
}

static cl_mem make_buffer(void *resource, size_t bytes)
{
    cl_int status;
    cl_mem memory = resource ? rig.create_buffer(rig.context, CL_MEM_READ_WRITE, resource, &status)
                             : clCreateBuffer(rig.context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    MUST(status);
    return memory;
}

static cl_mem make_slice(void *resource, const struct rig_desc *desc, unsigned slice)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc image = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = desc->width, .image_height = desc->height};
    cl_int status;
    cl_mem memory = resource ? rig.create_2d(rig.context, CL_MEM_READ_WRITE, resource, slice, &status)
                             : clCreateImage(rig.context, CL_MEM_READ_WRITE, &format, &image, NULL, &status);
    MUST(status);
    return memory;
}

static struct object open_object(void)
{
    static const struct rig_desc desc = {.width = BYTES};
    struct object object = {.resource = make_resource(&desc)};
    object.memory = make_buffer(object.resource, BYTES);
    return object;
}

static void close_object(struct object *object)
{
    MUST(clReleaseMemObject(object->memory));
    if (object->resource)
        rig_release(object->resource);
}

static cl_event user_event(void)
{
    cl_int status;
    cl_event event = clCreateUserEvent(rig.context, &status);
    MUST(status);
    return event;
}

static cl_command_queue make_queue(void)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(rig.context, rig.cl_device, 0, &status);
    MUST(status);
    return queue;
}

static cl_kernel make_kernel(cl_context context, const char *name)
{
    /* The second one works for long in one work group, which a single thread of a driver on the CPU runs. */
    static const char source[] = "kernel void touch(global uint *to, uint value)\n"
                                 "{\n"
                                 "    to[get_global_id(0)] += value;\n"
                                 "}\n"
                                 "kernel void slow(global uint *to, uint turns)\n"
                                 "{\n"
                                 "    uint x = get_global_id(0) + 1;\n"
                                 "    for (uint i = 0; i < turns; i++)\n"
                                 "        for (int j = 0; j < 32; j++)\n"
                                 "            x = (x ^ x << 13) * 69069 + i;\n"
                                 "    to[get_global_id(0)] = x;\n"
                                 "}\n";
    const cl_uint one = 1;
    struct rig other = rig;
    other.context = context;
    cl_kernel made = must_exist(rig_kernel(&other, source, name), "kernel");
    MUST(clSetKernelArg(made, 1, sizeof(one), &one));
    return made;
}

/* ---- commands; those without an event for the program if `event` is NULL ---- */

static cl_int CL_API_CALL plain_command(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                        cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    (void)count;
    (void)objects;
    return clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
}

static void acquire(cl_command_queue queue, cl_mem memory, cl_event wait)
{
    MUST(rig.acquire(queue, 1, &memory, wait != NULL, wait ? &wait : NULL, NULL));
}

static void release(cl_command_queue queue, cl_mem memory, cl_event wait, cl_event *event)
{
    MUST(rig.release(queue, 1, &memory, wait != NULL, wait ? &wait : NULL, event));
}

static void fill(cl_command_queue queue, cl_mem memory, cl_event wait, cl_event *event)
{
    static const cl_uint pattern = 0x12345678;
    MUST(clEnqueueFillBuffer(queue, memory, &pattern, sizeof(pattern), 0, BYTES, wait != NULL, wait ? &wait : NULL,
                             event));
}

static void run_kernel(cl_command_queue queue, cl_kernel which, cl_mem memory, size_t size, cl_event *event)
{
    MUST(clSetKernelArg(which, 0, sizeof(memory), &memory));
    MUST(clEnqueueNDRangeKernel(queue, which, 1, NULL, &size, &(size_t){GROUP}, 0, NULL, event));
}

static void set_and_release(cl_event event, cl_int status)
{
    MUST(clSetUserEventStatus(event, status));
    MUST(clReleaseEvent(event));
}

static void finish_and_release(cl_command_queue queue)
{
    MUST(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
}

/* A frame, in milliseconds. */
static double frame(cl_mem memory)
{
    const double before = now();
    acquire(rig.queue, memory, NULL);
    run_kernel(rig.queue, kernel, memory, BYTES / sizeof(cl_uint), NULL);
    release(rig.queue, memory, NULL, NULL);
    MUST(clFinish(rig.queue));
    return now() - before;
}

/* Whether another value may be measured: at most `most`, and none but the first after so many seconds. */
static bool has_time(unsigned done, unsigned most, double since, int seconds)
{
    return done < most && (done == 0 || now() - since < seconds * 1e3);
}

static void tell_if_less(unsigned done)
{
    if (done < load)
        printf("# %u of %u in 10 s\n", done, load);
}

/* ---- deferred: other calls while LOAD frames of 100 commands are deferred ---- */

static atomic_bool measures_arguments, is_over;
static _Atomic double longest;

/* Sets the argument of a kernel of another context again and again. */
static void *set_arguments(void *own_kernel)
{
    const cl_uint value = 1;
    while (!atomic_load(&is_over)) {
        const bool counts = atomic_load(&measures_arguments);
        const double before = now();
        MUST(clSetKernelArg(own_kernel, 1, sizeof(value), &value));
        const double taken = now() - before;
        if ((counts || atomic_load(&measures_arguments)) && taken > atomic_load(&longest))
            atomic_store(&longest, taken);
    }
    return NULL;
}

static void enqueue_frame(cl_command_queue queue, cl_mem memory, cl_event blocker)
{
    acquire(queue, memory, blocker);
    for (int i = 0; i < 100; i++)
        if (i % 2)
            fill(queue, memory, NULL, NULL);
        else
            run_kernel(queue, kernel, memory, BYTES / sizeof(cl_uint), NULL);
    release(queue, memory, NULL, NULL);
}

static void sample_set(void)
{
    cl_event event = user_event();
    pause_ms(10);
    atomic_store(&longest, 0);
    atomic_store(&measures_arguments, true);
    const double before = now();
    MUST(clSetUserEventStatus(event, CL_COMPLETE));
    sample(now() - before, "set");
    while (atomic_load(&longest) == 0) /* at least one call of the other thread counts */
        pause_ms(1);
    atomic_store(&measures_arguments, false);
    pause_ms(10); /* a call that was held up has ended */
    sample(atomic_load(&longest), "argument");
    MUST(clReleaseEvent(event));
}

/* The frames never run: cycles() measures how long that takes. */
static void deferred(void)
{
    enum { OBJECTS = 4, SETS = 15 };
    struct object objects[OBJECTS];
    pthread_t thread;
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = open_object();
    cl_context other = must_exist(clCreateContext(NULL, 1, &rig.cl_device, NULL, NULL, NULL), "context");
    cl_kernel own_kernel = make_kernel(other, "touch");
    cl_command_queue queue = make_queue();
    cl_event blocker = user_event();
    const double before = now();
    unsigned count = 0;
    for (; has_time(count, load, before, 10); count++)
        enqueue_frame(queue, objects[count % OBJECTS].memory, count == 0 ? blocker : NULL);
    MUST(clFlush(queue));
    sample(now() - before, "enqueue");
    tell_if_less(count);
    MUST(pthread_create(&thread, NULL, set_arguments, own_kernel));
    const double since = now();
    for (unsigned i = 0; has_time(i, SETS, since, 5); i++)
        sample_set();
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
}

/* ---- cycles: LOAD deferred cycles of one object, from their first call to the end of the last ---- */

static double run_cycles(cl_mem memory)
{
    cl_command_queue queue = make_queue();
    cl_event blocker = user_event(), last = NULL;
    const double before = now();
    for (unsigned i = 0; i < load; i++) {
        acquire(queue, memory, i == 0 ? blocker : NULL);
        fill(queue, memory, NULL, NULL);
        release(queue, memory, NULL, i + 1 == load ? &last : NULL);
    }
    MUST(clSetUserEventStatus(blocker, CL_COMPLETE));
    MUST(clWaitForEvents(1, &last));
    const double taken = now() - before;
    MUST(clReleaseEvent(last));
    MUST(clReleaseEvent(blocker));
    finish_and_release(queue);
    return taken;
}

static void cycles(void)
{
    struct object object = open_object();
    const double since = now();
    for (unsigned i = 0; has_time(i, 5, since, 5); i++)
        sample(run_cycles(object.memory), "total");
    close_object(&object);
}

/* ---- buffers, slices: LOAD objects ---- */

enum { SLICES = 2000 }; /* of a texture */

static void create_and_release(const struct rig_desc *desc, void **resources, cl_mem *objects)
{
    const double before = now();
    for (unsigned i = 0; i < load; i++)
        objects[i] =
            desc->slices ? make_slice(resources[i / SLICES], desc, i % SLICES) : make_buffer(resources[i], desc->width);
    sample(now() - before, "create");
    const double middle = now();
    for (unsigned i = 0; i < load; i++)
        MUST(clReleaseMemObject(objects[i]));
    sample(now() - middle, "release");
}

static void many_objects(const struct rig_desc *desc)
{
    const unsigned count = desc->slices ? (load + SLICES - 1) / SLICES : load;
    void **resources = must_exist(calloc(count, sizeof(*resources)), "memory");
    cl_mem *objects = must_exist(calloc(load, sizeof(cl_mem)), "memory");
    for (unsigned i = 0; i < count; i++)
        resources[i] = make_resource(desc);
    const double since = now();
    for (unsigned i = 0; has_time(i, 3, since, 5); i++)
        create_and_release(desc, resources, objects);
}

static void buffers(void)
{
    many_objects(&(struct rig_desc){.width = 64});
}

static void slices(void)
{
    many_objects(&(struct rig_desc){DXGI_FORMAT_R8G8B8A8_UINT, .width = 4, .height = 4, .slices = SLICES});
}

/* ---- frames: LOAD of them as usual, and as many while a user event blocks another queue ---- */

static void frames(void)
{
    struct object object = open_object();
    cl_command_queue other = make_queue();
    frame(object.memory);
    const double since = now();
    for (unsigned i = 0; has_time(i, load, since, 5); i++) {
        sample(frame(object.memory), "usual");
        cl_event blocker = user_event();
        MUST(clEnqueueMarkerWithWaitList(other, 1, &blocker, NULL));
        MUST(clFlush(other));
        sample(frame(object.memory), "pending");
        set_and_release(blocker, CL_COMPLETE);
        MUST(clFinish(other));
    }
    MUST(clReleaseCommandQueue(other));
    close_object(&object);
}

/* ---- used: calls while a command of another queue uses a shared object that has been released, or an unshared one ---- */

enum call { FINISH, SET, RELEASE_QUEUE, RELEASE_EVENT, CALLS };
static const char *const call_names[CALLS] = {"finish", "set", "queue", "event"};

static double time_call(enum call call, cl_command_queue queue, cl_event event)
{
    const double before = now();
    switch (call) {
    case FINISH: MUST(clFinish(rig.queue)); break;
    case SET: MUST(clSetUserEventStatus(event, CL_COMPLETE)); break;
    case RELEASE_QUEUE: MUST(clReleaseCommandQueue(queue)); break;
    default: MUST(clReleaseEvent(event)); break;
    }
    return now() - before;
}

/* The command that uses the object is a slow kernel, or if that is NULL one that a user event blocks. What the call needs is made
 * before, since a driver may run the commands of all queues one after the other. */
static void call_while_used(enum call call, bool is_shared, cl_kernel slow)
{
    cl_command_queue queue = make_queue(), other = make_queue();
    cl_event event = NULL, user, blocker = slow ? NULL : user_event();
    struct object object = {NULL, NULL};
    if (is_shared) {
        object = open_object();
        acquire(rig.queue, object.memory, NULL);
        MUST(clFinish(rig.queue));
    } else {
        object.memory = make_buffer(NULL, BYTES);
    }
    fill(other, unshared, NULL, call == RELEASE_EVENT ? &event : NULL);
    MUST(clFinish(other));
    if (slow)
        run_kernel(queue, slow, object.memory, GROUP, &user);
    else
        fill(queue, object.memory, blocker, &user);
    MUST(clFlush(queue));
    close_object(&object);
    if (call == SET)
        event = user_event();
    sample(time_call(call, other, event), "%s %s %s", call_names[call], slow ? "running" : "blocked",
           is_shared ? "shared" : "unshared");
    if (call == SET)
        MUST(clReleaseEvent(event));
    if (call != RELEASE_QUEUE)
        MUST(clReleaseCommandQueue(other));
    if (blocker)
        set_and_release(blocker, CL_COMPLETE);
    MUST(clWaitForEvents(1, &user)); /* rusticl's clFinish may return earlier */
    MUST(clReleaseEvent(user));
    MUST(clReleaseCommandQueue(queue));
}

static double run_slow(cl_kernel slow, cl_uint turns)
{
    MUST(clSetKernelArg(slow, 1, sizeof(turns), &turns));
    const double before = now();
    run_kernel(rig.queue, slow, unshared, GROUP, NULL);
    MUST(clFinish(rig.queue));
    return now() - before;
}

static void used(void)
{
    enum { FEW = 5000, MOST = 60000, WANTED_MS = 120 }; /* llvmpipe ends a loop after 65,535 turns */
    cl_kernel slow = make_kernel(rig.context, "slow");
    run_slow(slow, FEW); /* it is compiled */
    const double turns = FEW * WANTED_MS / run_slow(slow, FEW);
    run_slow(slow, (cl_uint)(turns < MOST ? turns : MOST));
    const double since = now();
    for (unsigned i = 0; has_time(i, load * CALLS, since, 10); i++)
        for (int is_shared = 0; is_shared < 2; is_shared++) {
            call_while_used(i % CALLS, is_shared, NULL);
            call_while_used(i % CALLS, is_shared, slow);
        }
}

/* ---- callbacks: the release of a queue while a callback waits for a lock that the releasing thread holds ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint entered, left;

/* Waits 5 s at most, so that no driver hangs. */
static void CL_CALLBACK wait_for_lock(cl_event event, cl_int status, void *data)
{
    struct timespec until;
    (void)event;
    (void)status;
    (void)data;
    atomic_fetch_add(&entered, 1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    if (pthread_mutex_timedlock(&lock, &until) == 0)
        pthread_mutex_unlock(&lock);
    atomic_fetch_add(&left, 1);
}

/* The callback's own queue, or another one. */
static void release_while_called(const char *figure, bool own)
{
    const unsigned before = atomic_load(&entered);
    cl_command_queue queue = make_queue(), other = make_queue();
    cl_event blocker = user_event(), event;
    fill(queue, unshared, blocker, &event);
    MUST(clSetEventCallback(event, CL_COMPLETE, wait_for_lock, NULL));
    MUST(clFlush(queue));
    pthread_mutex_lock(&lock);
    MUST(clSetUserEventStatus(blocker, CL_COMPLETE));
    while (atomic_load(&entered) == before)
        pause_ms(1);
    const double since = now();
    MUST(clReleaseCommandQueue(own ? queue : other));
    sample(now() - since, figure);
    pthread_mutex_unlock(&lock);
    while (atomic_load(&left) == before)
        pause_ms(1);
    MUST(clReleaseEvent(event));
    MUST(clReleaseEvent(blocker));
    MUST(clReleaseCommandQueue(own ? other : queue));
}

static void callbacks(void)
{
    for (unsigned i = 0; i < load; i++) {
        release_while_called("own", true);
        release_while_called("other", false);
    }
}

/* ---- failed: frames before and after LOAD frames whose user event fails ---- */

/* A frame behind a user event that gets `status`, in a queue of its own, since some drivers' queues do not go on behind a failed
 * command. */
static double blocked_frame(cl_mem memory, cl_int status)
{
    cl_command_queue queue = make_queue();
    cl_event blocker = user_event(), released;
    const double before = now();
    acquire(rig.queue, memory, NULL);
    fill(queue, memory, blocker, NULL);
    release(queue, memory, blocker, &released);
    MUST(clFlush(queue));
    MUST(clSetUserEventStatus(blocker, status));
    clWaitForEvents(1, &released);
    const double taken = now() - before;
    CHECK(is_plain || (rig_event_status(released) < 0) == (status < 0));
    MUST(clReleaseEvent(released));
    MUST(clReleaseEvent(blocker));
    MUST(clReleaseCommandQueue(queue));
    if (status < 0)
        release(rig.queue, memory, NULL, NULL); /* it has stayed acquired */
    return taken;
}

static void failed(void)
{
    struct object object = open_object();
    frame(object.memory);
    for (int i = 0; i < FRAMES; i++) {
        sample(frame(object.memory), "frame before");
        sample(blocked_frame(object.memory, CL_COMPLETE), "blocked before");
    }
    const double since = now();
    unsigned count = 0;
    for (; has_time(count, load, since, 10); count++)
        sample(blocked_frame(object.memory, FAILURE), "failed");
    tell_if_less(count);
    for (int i = 0; i < FRAMES; i++) {
        sample(frame(object.memory), "frame after");
        sample(blocked_frame(object.memory, CL_COMPLETE), "blocked after");
    }
    close_object(&object);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"deferred", deferred}, {"cycles", cycles}, {"buffers", buffers},     {"slices", slices},
    {"frames", frames},     {"used", used},     {"callbacks", callbacks}, {"failed", failed},
};

static bool open_plain(void)
{
    rig.acquire = rig.release = plain_command;
    if (!rig_find_device(&rig, NULL))
        return false;
    rig.context = must_exist(clCreateContext(NULL, 1, &rig.cl_device, NULL, NULL, NULL), "context");
    return rig_open_queue(&rig, 0);
}

int main(int argc, char **argv)
{
    const struct part *part = NULL;
    for (size_t i = 0; argc > 2 && i < sizeof(parts) / sizeof(*parts); i++)
        part = strcmp(argv[1], parts[i].name) == 0 ? &parts[i] : part;
    if (!part) {
        fprintf(stderr, "usage: scale PART LOAD [plain]; bench/scale.c has the parts\n");
        return 2;
    }
    load = (unsigned)strtoul(argv[2], NULL, 10);
    is_plain = argc > 3;
    if (!(is_plain ? open_plain() : rig_open(&rig, &rig_d3d11, 0)))
        return 1;
    kernel = make_kernel(rig.context, "touch");
    unshared = make_buffer(NULL, BYTES);
    part->run();
    printf("done\n");
    fflush(stdout);
    _exit(atomic_load(&tap_case.failures) != 0); /* what is still blocked stays so */
}
