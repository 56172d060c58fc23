/* What a user event delays, and what not: the bytes of a release are with Direct3D when the call returns, unless the
 * release waits, directly or behind any command, for a user event that is still pending. */
#include "commands.h"

/* An object that is acquired, and written with the pattern of `seed` behind its own acquire. */
static bool open_written(struct rig *rig, struct shared *shared, unsigned seed)
{
    static unsigned char bytes[SHARED_BYTES];
    rig_pattern(bytes, sizeof(bytes), seed);
    if (!shared_open(rig, KIND_2D, 1, shared) || !CHECK_INT(acquire_one(rig, shared->object), CL_SUCCESS) ||
        !CHECK_INT(cl_write(rig->queue, shared, bytes, 0, NULL, NULL), CL_SUCCESS))
        return false;
    queue_wait(rig->queue);
    return true;
}

static void drop(cl_event event)
{
    if (event)
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
}

static void set(cl_event user)
{
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    drop(user);
}

static void release_behind(struct rig *rig, struct shared *shared, cl_event wait)
{
    CHECK_INT(rig->release(rig->queue, 1, &shared->object, wait != NULL, wait ? &wait : NULL, NULL), CL_SUCCESS);
}

/* ---- each command ---- */

/* What the commands work with, none of which is shared. */
struct tools {
    struct rig *rig;
    cl_mem from, to, image;
    cl_kernel kernel;
};

static bool tools_open(struct rig *rig, struct tools *t)
{
    static const char source[] = "kernel void one(global uint *to) { to[0] = 1; }\n";
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
    t->rig = rig;
    t->from = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    t->to = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, SHARED_BYTES, NULL, NULL);
    t->image = clCreateImage(rig->context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    t->kernel = rig_kernel(rig, source, "one");
    return CHECK(t->from && t->to && t->image && t->kernel) &&
           CHECK_INT(clSetKernelArg(t->kernel, 0, sizeof(t->to), &t->to), CL_SUCCESS);
}

static void tools_close(const struct tools *t)
{
    queue_wait(t->rig->queue);
    CHECK_INT(clReleaseMemObject(t->from), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(t->to), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(t->image), CL_SUCCESS);
    CHECK_INT(clReleaseKernel(t->kernel), CL_SUCCESS);
}

/* Enqueues a command behind a user event, which does not block and whose event nobody wants. */
typedef cl_int (*enqueuer)(const struct tools *t, const cl_event *user);

static cl_int held_read_rect(const struct tools *t, const cl_event *user)
{
    return clEnqueueReadBufferRect(t->rig->queue, t->from, CL_FALSE, no_origin(), no_origin(), rect, 16, 0, 16, 0,
                                   scratch, 1, user, NULL);
}

static cl_int held_write_rect(const struct tools *t, const cl_event *user)
{
    return clEnqueueWriteBufferRect(t->rig->queue, t->to, CL_FALSE, no_origin(), no_origin(), rect, 16, 0, 16, 0,
                                    scratch, 1, user, NULL);
}

static cl_int held_copy_rect(const struct tools *t, const cl_event *user)
{
    return clEnqueueCopyBufferRect(t->rig->queue, t->from, t->to, no_origin(), no_origin(), rect, 16, 0, 16, 0, 1, user,
                                   NULL);
}

static cl_int held_migrate(const struct tools *t, const cl_event *user)
{
    return clEnqueueMigrateMemObjects(t->rig->queue, 1, &t->to, 0, 1, user, NULL);
}

static cl_int held_task(const struct tools *t, const cl_event *user)
{
    return clEnqueueTask(t->rig->queue, t->kernel, 1, user, NULL);
}

static cl_int held_native(const struct tools *t, const cl_event *user)
{
    return clEnqueueNativeKernel(t->rig->queue, native_body, scratch, sizeof(scratch), 0, NULL, NULL, 1, user, NULL);
}

static cl_int held_fill_image(const struct tools *t, const cl_event *user)
{
    static const cl_uint colour[4] = {1, 2, 3, 4};
    return clEnqueueFillImage(t->rig->queue, t->image, colour, no_origin(), kind_region(KIND_2D), 1, user, NULL);
}

struct held_command {
    const char *name;
    enqueuer enqueue;
};

/* The release of an object behind the command is held with it. */
static void held_behind(struct rig *rig, const struct tools *t, const struct held_command *command)
{
    struct shared shared;
    cl_event end = NULL;
    if (!open_written(rig, &shared, 9))
        return;
    cl_event user = user_event(rig->context);
    bool fine = CHECK_INT(command->enqueue(t, &user), CL_SUCCESS);
    fine = CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &end), CL_SUCCESS) && fine;
    fine = CHECK(rig_event_status(end) > CL_COMPLETE) && fine;
    fine = CHECK(over_import() || d3d_has(rig, &shared, 1)) && fine;
    set(user);
    fine = CHECK(d3d_has(rig, &shared, 9)) && fine;
    CHECK_INT(clWaitForEvents(1, &end), CL_SUCCESS);
    fine = CHECK_INT(rig_event_status(end), CL_COMPLETE) && fine;
    if (!fine)
        printf("# behind %s\n", command->name);
    drop(end);
    shared_close(&shared);
}

SHARING_CASE("held behind each command", behind_each_command, 0)
{
    static const struct held_command commands[] = {
        {"clEnqueueReadBufferRect", held_read_rect},
        {"clEnqueueWriteBufferRect", held_write_rect},
        {"clEnqueueCopyBufferRect", held_copy_rect},
        {"clEnqueueMigrateMemObjects", held_migrate},
        {"clEnqueueTask", held_task},
        {"clEnqueueFillImage", held_fill_image},
        {"clEnqueueNativeKernel", held_native}, /* the last: not every device runs them */
    };
    const size_t count = sizeof(commands) / sizeof(commands[0]) - !runs_native_kernels(rig);
    struct tools tools;
    if (!tools_open(rig, &tools))
        return;
    for (size_t i = 0; i < count; i++)
        held_behind(rig, &tools, &commands[i]);
    tools_close(&tools);
}

/* ---- barriers and threads ---- */

/* A command that blocks its thread holds the queue as well, before the driver has taken it. */
struct blocked {
    cl_command_queue queue;
    cl_mem buffer;
    cl_event user;
    cl_int status;
};

static void read_blocking(void *data)
{
    struct blocked *blocked = data;
    char byte;
    blocked->status =
        clEnqueueReadBuffer(blocked->queue, blocked->buffer, CL_TRUE, 0, 1, &byte, 1, &blocked->user, NULL);
}

SHARING_CASE("a release beside a blocked thread", beside_a_blocked_thread, 0)
{
    struct shared shared;
    char name[128] = "";
    CHECK_INT(clGetPlatformInfo(rig->platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), CL_SUCCESS);
    if (strcmp(name, "rusticl") == 0) {
        SKIP("rusticl keeps its queue locked in a blocking command");
        return;
    }
    if (!open_written(rig, &shared, 8))
        return;
    struct blocked blocked = {rig->queue, clCreateBuffer(rig->context, CL_MEM_READ_WRITE, 64, NULL, NULL),
                              user_event(rig->context), 1};
    struct test_job job = {read_blocking, &blocked};
    test_thread thread;
    if (!test_thread_start(&thread, &job))
        return;
    release_behind(rig, &shared, NULL); /* before or after the read */
    CHECK_INT(clSetUserEventStatus(blocked.user, CL_COMPLETE), CL_SUCCESS);
    test_thread_join(thread);
    CHECK_INT(blocked.status, CL_SUCCESS);
    CHECK(d3d_has(rig, &shared, 8));
    drop(blocked.user);
    CHECK_INT(clReleaseMemObject(blocked.buffer), CL_SUCCESS);
    shared_close(&shared);
}

TAP_MAIN
