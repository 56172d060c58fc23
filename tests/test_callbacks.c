/* The callbacks of events that cld3d has for Wine: each arrives, once, in order, with the right status, and may call
 * OpenCL. */
#include "callbacks.h"

/* A case that gets a context with a queue, and an empty journal. */
#define BASE_CASE(text, name, properties)  \
    static void name(struct base *base);   \
    CASE("callbacks: " text, name##_alone) \
    {                                      \
        with_base((properties), name);     \
    }                                      \
    static void name(struct base *base)

static void with_base(cl_command_queue_properties properties, void (*body)(struct base *))
{
    struct base base;
    if (!open_base(&base, properties))
        return;
    atomic_store(&journal.count, 0);
    body(&base);
    close_base(&base);
}

/* ---- events ---- */

BASE_CASE("arguments", arguments, 0)
{
    cl_event user = user_event(base->context);
    CHECK_INT(clSetEventCallback(NULL, CL_COMPLETE, on_event, NULL), CL_INVALID_EVENT);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, CL_QUEUED, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, -1, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

/* For each of the three states, of a command that is delayed until all three are registered. */
BASE_CASE("the three states", states, 0)
{
    int data[3];
    cl_event user = user_event(base->context);
    cl_mem buffer = make_buffer(base);
    cl_event event = fill(base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, &data[CL_COMPLETE]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_RUNNING, on_event, &data[CL_RUNNING]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_SUBMITTED, on_event, &data[CL_SUBMITTED]), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    wait_until(&journal.count, 3);
    unsigned seen = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(journal.entries[i].object == event);
        CHECK(journal.entries[i].data == &data[journal.entries[i].status]);
        seen |= 1u << journal.entries[i].status;
    }
    CHECK_INT(seen, 7);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

BASE_CASE("registered after the end", after_the_end, 0)
{
    cl_mem buffer = make_buffer(base);
    cl_event event = fill(base, buffer, 0, NULL);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, base), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_COMPLETE);
        CHECK(journal.entries[0].data == base);
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
}

BASE_CASE("user events, complete and failed", user_events, 0)
{
    static const cl_int ends[] = {CL_COMPLETE, -4711};
    for (int i = 0; i < (callbacks_of_driver() ? 1 : 2); i++) {
        atomic_store(&journal.count, 0);
        cl_event user = user_event(base->context), other = user_event(base->context);
        CHECK_INT(clSetEventCallback(other, CL_COMPLETE, on_event, &other), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, base), CL_SUCCESS);
        pause_ms(20);
        CHECK_INT(atomic_load(&journal.count), 0);
        CHECK_INT(clSetUserEventStatus(user, ends[i]), CL_SUCCESS);
        if (wait_until(&journal.count, 1)) {
            CHECK(journal.entries[0].object == user);
            CHECK_INT(journal.entries[0].status, ends[i]);
        }
        CHECK_INT(clSetUserEventStatus(other, CL_COMPLETE), CL_SUCCESS);
        if (wait_until(&journal.count, 2))
            CHECK(journal.entries[1].object == other);
        CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(other), CL_SUCCESS);
    }
}

/* A user event is CL_SUBMITTED from its creation. */
CASE("callbacks: a user event is submitted from its creation", submitted_user_event)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    if (is_nvidia(base.platform)) {
        SKIP("NVIDIA's driver calls none for CL_SUBMITTED");
        close_base(&base);
        return;
    }
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(user, CL_SUBMITTED, on_event, &base), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_SUBMITTED);
        CHECK(journal.entries[0].data == &base);
    }
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 1);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    close_base(&base);
}

/* A command whose wait list fails: the callback gets an error. */
CASE("callbacks: a command that fails", failed_command)
{
    struct base base;
    if (callbacks_of_driver() || !open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].status < 0);
    /* PoCL 3.1 forgets the queue's last command if it failed: another one first. */
    cl_event after = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &after), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(50);
    CHECK_INT(clReleaseEvent(after), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

enum { MANY = 10000 };

static atomic_uint many_count, many_wrong;
static atomic_bool many_came[MANY];

static void CL_CALLBACK on_one_of_many(cl_event event, cl_int status, void *data)
{
    (void)event;
    if (status != CL_COMPLETE || atomic_exchange(&many_came[(size_t)data], true))
        atomic_fetch_add(&many_wrong, 1);
    atomic_fetch_add(&many_count, 1);
}

/* All of them at once in one queue in order: each arrives once. Drivers call in any order. */
BASE_CASE("ten thousand", ten_thousand, 0)
{
    atomic_store(&many_count, 0);
    atomic_store(&many_wrong, 0);
    for (size_t i = 0; i < MANY; i++)
        atomic_store(&many_came[i], false);
    cl_event gate = user_event(base->context);
    CHECK_INT(clEnqueueMarkerWithWaitList(base->queue, 1, &gate, NULL), CL_SUCCESS);
    for (size_t i = 0; i < MANY; i++) {
        cl_event event = NULL;
        if (!CHECK_INT(clEnqueueMarkerWithWaitList(base->queue, 0, NULL, &event), CL_SUCCESS))
            break;
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_one_of_many, (void *)i), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    CHECK_INT(atomic_load(&many_count), 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clFinish(base->queue), CL_SUCCESS);
    wait_until(&many_count, MANY);
    CHECK_INT(atomic_load(&many_wrong), 0);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
}

/* In a queue out of order the later command ends first. */
static bool has_ended(cl_event event)
{
    cl_int status = CL_QUEUED;
    for (unsigned i = 0; i < 1000 && status > CL_COMPLETE; i++) {
        CHECK_INT(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
        pause_ms(status > CL_COMPLETE);
    }
    return status <= CL_COMPLETE;
}

/* NVIDIA's driver lets no command go past one that a user event blocks. */
BASE_CASE("a queue out of order", out_of_order, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
{
    cl_event gate = user_event(base->context);
    cl_mem buffers[] = {make_buffer(base), make_buffer(base)};
    cl_event held = fill(base, buffers[0], 1, &gate), free_one = fill(base, buffers[1], 0, NULL);
    CHECK_INT(clSetEventCallback(held, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    if (has_ended(free_one) && wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == free_one);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(free_one), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[0]), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[1]), CL_SUCCESS);
}

static void CL_CALLBACK on_held(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* The driver may have freed the queue, which its event still names. */
CASE("callbacks: of a command whose queue has gone", queue_has_gone)
{
    static atomic_uint called;
    struct base base;
    if (!open_base(&base, 0))
        return;
    cl_event event = NULL;
    atomic_store(&called, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held, &called), CL_SUCCESS);
    wait_until(&called, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
}

static void make_and_release_queue(const struct base *base)
{
    cl_int status = 1;
    cl_command_queue queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

/* ---- a callback that calls OpenCL ---- */

struct relay {
    struct base base;
    cl_mem buffer;
    atomic_uint turns;
};

enum { TURNS = 20 };

/* Enqueues the next command, as programs do that keep a device busy. */
static void CL_CALLBACK on_turn(cl_event event, cl_int status, void *data)
{
    struct relay *relay = data;
    (void)event;
    CHECK_INT(status, CL_COMPLETE);
    make_and_release_queue(&relay->base); /* which cannot wait for this callback */
    if (atomic_fetch_add(&relay->turns, 1) + 1 >= TURNS)
        return;
    cl_event next = fill(&relay->base, relay->buffer, 0, NULL);
    CHECK_INT(clSetEventCallback(next, CL_COMPLETE, on_turn, relay), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(next), CL_SUCCESS);
    CHECK_INT(clFlush(relay->base.queue), CL_SUCCESS);
}

CASE("callbacks: OpenCL called again", calls_again)
{
    static struct relay relay;
    atomic_store(&relay.turns, 0);
    if (!open_base(&relay.base, 0))
        return;
    relay.buffer = make_buffer(&relay.base);
    cl_event event = fill(&relay.base, relay.buffer, 0, NULL);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_turn, &relay), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clFlush(relay.base.queue), CL_SUCCESS);
    wait_until(&relay.turns, TURNS);
    CHECK_INT(clFinish(relay.base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(relay.buffer), CL_SUCCESS);
    close_base(&relay.base);
}

/* ---- commands that wait, beside callbacks ---- */

/* In texels of the one format that all drivers have. */
enum { SIDE = 8, BLOCK_BYTES = SIDE * SIDE, TEXEL = 4 };

static const size_t block_origin[3] = {0, 0, 0}, block_region[3] = {SIDE, SIDE, 1},
                    image_region[3] = {SIDE / TEXEL, SIDE, 1};

/* A memory object of so many bytes, in rows of SIDE; `event` may be NULL. */
struct block {
    cl_command_queue queue;
    cl_mem buffer, image;
    cl_event *event;
};

typedef cl_int (*block_way)(const struct block *block, unsigned char *bytes);

static cl_int by_buffer(const struct block *block, unsigned char *bytes)
{
    return clEnqueueReadBuffer(block->queue, block->buffer, CL_TRUE, 0, BLOCK_BYTES, bytes, 0, NULL, block->event);
}

static cl_int by_rect(const struct block *block, unsigned char *bytes)
{
    return clEnqueueReadBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin, block_region, SIDE,
                                   0, SIDE, 0, bytes, 0, NULL, block->event);
}

static cl_int by_image(const struct block *block, unsigned char *bytes)
{
    return clEnqueueReadImage(block->queue, block->image, CL_TRUE, block_origin, image_region, SIDE, 0, bytes, 0, NULL,
                              block->event);
}

static cl_int by_map(const struct block *block, unsigned char *bytes)
{
    cl_int status = 1;
    void *mapped = clEnqueueMapBuffer(block->queue, block->buffer, CL_TRUE, CL_MAP_READ, 0, BLOCK_BYTES, 0, NULL,
                                      block->event, &status);
    if (status != CL_SUCCESS)
        return status;
    memcpy(bytes, mapped, BLOCK_BYTES);
    return clEnqueueUnmapMemObject(block->queue, block->buffer, mapped, 0, NULL, NULL);
}

static cl_int by_image_map(const struct block *block, unsigned char *bytes)
{
    cl_int status = 1;
    size_t row = 0;
    const char *mapped = clEnqueueMapImage(block->queue, block->image, CL_TRUE, CL_MAP_READ, block_origin, image_region,
                                           &row, NULL, 0, NULL, block->event, &status);
    if (status != CL_SUCCESS)
        return status;
    for (size_t y = 0; y < SIDE; y++)
        memcpy(bytes + y * SIDE, mapped + y * row, SIDE);
    return clEnqueueUnmapMemObject(block->queue, block->image, (void *)mapped, 0, NULL, NULL);
}

static cl_int by_finish(const struct block *block, unsigned char *bytes)
{
    const cl_int status =
        clEnqueueReadBuffer(block->queue, block->buffer, CL_FALSE, 0, BLOCK_BYTES, bytes, 0, NULL, block->event);
    return status == CL_SUCCESS ? clFinish(block->queue) : status;
}

/* A blocking write has taken its bytes when it returns. */
static cl_int by_write(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    const cl_int status =
        clEnqueueWriteBuffer(block->queue, block->buffer, CL_TRUE, 0, BLOCK_BYTES, source, 0, NULL, block->event);
    memset(source, 0xAA, sizeof(source));
    return status == CL_SUCCESS ? by_finish(&(struct block){block->queue, block->buffer, NULL, NULL}, bytes) : status;
}

static cl_int by_written_rect(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    const cl_int status = clEnqueueWriteBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin,
                                                   block_region, SIDE, 0, SIDE, 0, source, 0, NULL, block->event);
    memset(source, 0xAA, sizeof(source));
    return status == CL_SUCCESS ? by_finish(&(struct block){block->queue, block->buffer, NULL, NULL}, bytes) : status;
}

static cl_int by_written_image(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    const cl_int status = clEnqueueWriteImage(block->queue, block->image, CL_TRUE, block_origin, image_region, SIDE, 0,
                                              source, 0, NULL, block->event);
    memset(source, 0xAA, sizeof(source));
    return status == CL_SUCCESS ? by_image(&(struct block){block->queue, NULL, block->image, NULL}, bytes) : status;
}

static const block_way block_ways[] = {by_buffer, by_rect,  by_image,        by_map,          by_image_map,
                                       by_finish, by_write, by_written_rect, by_written_image};
enum { BLOCK_WAYS = sizeof(block_ways) / sizeof(block_ways[0]) };

static bool open_block(const struct base *base, struct block *block)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE / TEXEL, .image_height = SIDE};
    *block = (struct block){.queue = base->queue};
    block->buffer = clCreateBuffer(base->context, CL_MEM_READ_WRITE, BLOCK_BYTES, NULL, NULL);
    block->image = clCreateImage(base->context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL);
    return CHECK(block->buffer != NULL) && CHECK(block->image != NULL);
}

static void close_block(struct block *block)
{
    CHECK_INT(clReleaseMemObject(block->buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(block->image), CL_SUCCESS);
}

static void CL_CALLBACK on_sent(cl_event event, cl_int status, void *count)
{
    (void)event;
    if (CHECK_INT(status, CL_COMPLETE))
        atomic_fetch_add((atomic_uint *)count, 1);
}

/* Bytes that are on their way into buffer and image, and a callback that is due. */
static void send(const struct block *block, const unsigned char *bytes, atomic_uint *count)
{
    cl_event sent = NULL;
    CHECK_INT(clEnqueueWriteImage(block->queue, block->image, CL_FALSE, block_origin, image_region, SIDE, 0, bytes, 0,
                                  NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(clEnqueueWriteBuffer(block->queue, block->buffer, CL_FALSE, 0, BLOCK_BYTES, bytes, 0, NULL, &sent),
              CL_SUCCESS);
    CHECK_INT(clSetEventCallback(sent, CL_COMPLETE, on_sent, count), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(sent), CL_SUCCESS);
}

/* rusticl 22.3 lets a blocking command return early if another thread flushes or waits for its queue at that moment:
 * nothing of ours may do that because of a callback. */
CASE("callbacks: blocking commands beside them", blocking_commands)
{
    enum { TURNS = 2000 };
    struct base base;
    struct block block;
    atomic_uint count = 0;
    unsigned early[BLOCK_WAYS] = {0};
    if (!open_base(&base, 0) || !open_block(&base, &block))
        return;
    for (unsigned i = 0; i < TURNS; i++) {
        unsigned char given[BLOCK_BYTES], got[BLOCK_BYTES];
        cl_event event = NULL;
        memset(given, (int)i, sizeof(given));
        memset(got, (int)~i, sizeof(got));
        block.event = i % 2 ? &event : NULL;
        send(&block, given, &count);
        CHECK_INT(block_ways[i % BLOCK_WAYS](&block, got), CL_SUCCESS);
        early[i % BLOCK_WAYS] += memcmp(got, given, sizeof(got)) != 0;
        if (block.event && CHECK(event != NULL))
            CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    }
    for (unsigned way = 0; way < BLOCK_WAYS; way++)
        CHECK_INT(early[way], 0);
    wait_until(&count, TURNS);
    close_block(&block);
    close_base(&base);
}

/* ---- acquires and releases ---- */

/* One that fails tells its callback what a query tells: now, behind a user event, and with an event that is given back. */
static void handovers_that_fail(struct rig *rig)
{
    struct shared shared;
    cl_event user = user_event(rig->context), events[4] = {NULL};
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    atomic_store(&journal.count, 0);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &events[0]), CL_SUCCESS);
    CHECK_INT(rig->release(rig->queue, 1, &shared.object, 0, NULL, &events[1]), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 0, NULL, &events[2]), CL_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(clSetEventCallback(events[i], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(events[2]), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &user, &events[3]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(events[3], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    wait_until(&journal.count, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(journal.entries[i].status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    shared_close(&shared);
}

CASE("callbacks: acquires and releases that fail", failed_handovers)
{
    if (!callbacks_of_driver())
        sharing_run(&rig_d3d11, 0, handovers_that_fail);
}

TAP_MAIN
