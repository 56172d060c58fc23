/* The callbacks of OpenCL that cld3d has for Wine: each arrives, once, in order, with the right status, and may call
 * OpenCL. Natively, where drivers have their own (PoCL 3.1 and rusticl 22.3 call none for errors), this program runs
 * itself again with cld3d's. */
#include "sharing.h"

struct base {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
};

static bool open_base(struct base *base, cl_command_queue_properties properties)
{
    cl_int status = 1;
    memset(base, 0, sizeof(*base));
#ifndef _WIN32
    if (!getenv("CLD3D_CALLBACKS")) {
        SKIP("the driver's own");
        return false;
    }
#endif
    CHECK_INT(clGetPlatformIDs(1, &base->platform, NULL), CL_SUCCESS);
    CHECK_INT(clGetDeviceIDs(base->platform, CL_DEVICE_TYPE_ALL, 1, &base->device, NULL), CL_SUCCESS);
    base->context = clCreateContext(NULL, 1, &base->device, NULL, NULL, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return false;
    base->queue = clCreateCommandQueue(base->context, base->device, properties, &status);
    if (status == CL_SUCCESS)
        return true;
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        SKIP("the device has no out-of-order queues");
    else
        CHECK_INT(status, CL_SUCCESS);
    clReleaseContext(base->context);
    return false;
}

static void close_base(struct base *base)
{
    CHECK_INT(clReleaseCommandQueue(base->queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base->context), CL_SUCCESS);
}

static bool wait_until(atomic_uint *counter, unsigned count)
{
    for (unsigned i = 0; i < 10000 && atomic_load(counter) < count; i++)
        pause_ms(1);
    return CHECK_INT(atomic_load(counter), count);
}

/* What came, in its order. */
struct journal {
    atomic_uint count;
    struct {
        void *object;
        cl_int status;
        void *data;
    } entries[16];
};

static void write_down(struct journal *journal, void *object, cl_int status, void *data)
{
    const unsigned at = atomic_load(&journal->count);
    if (at < 16) {
        journal->entries[at].object = object;
        journal->entries[at].status = status;
        journal->entries[at].data = data;
    }
    atomic_fetch_add(&journal->count, 1);
}

static struct journal journal;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    write_down(&journal, event, status, data);
}

static cl_mem make_buffer(const struct base *base)
{
    cl_int status = 1;
    cl_mem buffer = clCreateBuffer(base->context, CL_MEM_READ_WRITE, 65536, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return buffer;
}

static cl_event fill(const struct base *base, cl_mem buffer, cl_uint wait_count, const cl_event *wait)
{
    cl_event event = NULL;
    const cl_uint pattern = 0x12345678;
    CHECK_INT(clEnqueueFillBuffer(base->queue, buffer, &pattern, sizeof(pattern), 0, 65536, wait_count, wait, &event),
              CL_SUCCESS);
    return event;
}

/* ---- events ---- */

static void arguments(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    cl_event user = user_event(base.context);
    CHECK_INT(clSetEventCallback(NULL, CL_COMPLETE, on_event, NULL), CL_INVALID_EVENT);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, CL_QUEUED, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetEventCallback(user, -1, on_event, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    close_base(&base);
}

/* For each of the three states, of a command that is delayed until all three are registered. */
static void states(void)
{
    struct base base;
    int data[3];
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, &data[CL_COMPLETE]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_RUNNING, on_event, &data[CL_RUNNING]), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_SUBMITTED, on_event, &data[CL_SUBMITTED]), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
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
    close_base(&base);
}

static void after_the_end(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 0, NULL);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, &base), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_COMPLETE);
        CHECK(journal.entries[0].data == &base);
    }
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

static void user_events(void)
{
    static const cl_int ends[] = {CL_COMPLETE, -4711};
    struct base base;
    if (!open_base(&base, 0))
        return;
    for (int i = 0; i < 2; i++) {
        atomic_store(&journal.count, 0);
        cl_event user = user_event(base.context), other = user_event(base.context);
        CHECK_INT(clSetEventCallback(other, CL_COMPLETE, on_event, &other), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, &base), CL_SUCCESS);
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
    close_base(&base);
}

/* A command whose wait list fails: the callback gets an error. */
static void failed_command(void)
{
    struct base base;
    if (!open_base(&base, 0))
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

static void CL_CALLBACK on_one_of_many(cl_event event, cl_int status, void *data)
{
    const unsigned turn = atomic_fetch_add(&many_count, 1);
    (void)event;
    if (status != CL_COMPLETE || (size_t)data != turn)
        atomic_fetch_add(&many_wrong, 1);
}

#ifdef _WIN32
#include <tlhelp32.h>

static unsigned thread_count(void)
{
    THREADENTRY32 entry = {.dwSize = sizeof(entry)};
    unsigned count = 0;
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    for (BOOL more = Thread32First(all, &entry); more; more = Thread32Next(all, &entry))
        count += entry.th32OwnerProcessID == GetCurrentProcessId();
    CloseHandle(all);
    return count;
}
#else
static unsigned thread_count(void)
{
    return 0; /* the driver's own are among them */
}
#endif

/* All of them at once in one queue in order: each arrives once, in the order of the commands. */
static void ten_thousand(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&many_count, 0);
    atomic_store(&many_wrong, 0);
    const unsigned threads = thread_count();
    cl_event gate = user_event(base.context);
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 1, &gate, NULL), CL_SUCCESS);
    for (size_t i = 0; i < MANY; i++) {
        cl_event event = NULL;
        if (!CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &event), CL_SUCCESS))
            break;
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_one_of_many, (void *)i), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    CHECK_INT(atomic_load(&many_count), 0);
    CHECK(thread_count() <= threads + 6);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    wait_until(&many_count, MANY);
    CHECK_INT(atomic_load(&many_wrong), 0);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    close_base(&base);
}

/* More queues than a handful of threads could wait for, and each delayed; the last is freed first. */
static void many_queues(void)
{
    enum { QUEUES = 12 };
    struct base base;
    cl_int status;
    cl_command_queue queues[QUEUES];
    cl_event gates[QUEUES], events[QUEUES];
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = clCreateCommandQueue(base.context, base.device, 0, &status);
        gates[i] = user_event(base.context);
        CHECK_INT(clEnqueueMarkerWithWaitList(queues[i], 1, &gates[i], &events[i]), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(events[i], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
        CHECK_INT(clFlush(queues[i]), CL_SUCCESS);
    }
    for (int i = QUEUES; i-- > 0;) {
        CHECK_INT(clSetUserEventStatus(gates[i], CL_COMPLETE), CL_SUCCESS);
        if (wait_until(&journal.count, (unsigned)(QUEUES - i)))
            CHECK(journal.entries[QUEUES - 1 - i].object == events[i]);
    }
    for (int i = 0; i < QUEUES; i++) {
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(gates[i]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    }
    close_base(&base);
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
static void out_of_order(void)
{
    struct base base;
    if (!open_base(&base, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    atomic_store(&journal.count, 0);
    cl_event gate = user_event(base.context);
    cl_mem buffers[] = {make_buffer(&base), make_buffer(&base)};
    cl_event held = fill(&base, buffers[0], 1, &gate), free_one = fill(&base, buffers[1], 0, NULL);
    CHECK_INT(clSetEventCallback(held, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    if (has_ended(free_one) && wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == free_one);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(free_one), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[0]), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[1]), CL_SUCCESS);
    close_base(&base);
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
    if (atomic_fetch_add(&relay->turns, 1) + 1 >= TURNS)
        return;
    cl_event next = fill(&relay->base, relay->buffer, 0, NULL);
    CHECK_INT(clSetEventCallback(next, CL_COMPLETE, on_turn, relay), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(next), CL_SUCCESS);
    CHECK_INT(clFlush(relay->base.queue), CL_SUCCESS);
}

static void calls_again(void)
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

enum { SIDE = 8, BLOCK_BYTES = SIDE * SIDE };

static const size_t block_origin[3] = {0, 0, 0}, block_region[3] = {SIDE, SIDE, 1};

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
    return clEnqueueReadBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin, block_region, SIDE, 0,
                                   SIDE, 0, bytes, 0, NULL, block->event);
}

static cl_int by_image(const struct block *block, unsigned char *bytes)
{
    return clEnqueueReadImage(block->queue, block->image, CL_TRUE, block_origin, block_region, SIDE, 0, bytes, 0, NULL,
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
    const char *mapped = clEnqueueMapImage(block->queue, block->image, CL_TRUE, CL_MAP_READ, block_origin, block_region,
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
static cl_int read_after(const struct block *block, cl_int written, unsigned char *source, unsigned char *bytes)
{
    memset(source, 0xAA, BLOCK_BYTES);
    return written == CL_SUCCESS ? by_finish(&(struct block){block->queue, block->buffer, NULL, NULL}, bytes) : written;
}

static cl_int by_write(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    return read_after(block, clEnqueueWriteBuffer(block->queue, block->buffer, CL_TRUE, 0, BLOCK_BYTES, source, 0, NULL,
                                                  block->event), source, bytes);
}

static cl_int by_written_rect(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    return read_after(block, clEnqueueWriteBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin,
                                                      block_region, SIDE, 0, SIDE, 0, source, 0, NULL, block->event),
                      source, bytes);
}

static cl_int by_written_image(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    const cl_int status = clEnqueueWriteImage(block->queue, block->image, CL_TRUE, block_origin, block_region, SIDE, 0,
                                              source, 0, NULL, block->event);
    memset(source, 0xAA, sizeof(source));
    return status == CL_SUCCESS ? by_image(&(struct block){block->queue, NULL, block->image, NULL}, bytes) : status;
}

static const block_way block_ways[] = {by_buffer, by_rect,         by_image,        by_map,           by_image_map, by_finish,
                                       by_write,  by_written_rect, by_written_image};
enum { BLOCK_WAYS = sizeof(block_ways) / sizeof(block_ways[0]) };

static bool open_block(const struct base *base, struct block *block)
{
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
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
    CHECK_INT(clEnqueueWriteImage(block->queue, block->image, CL_FALSE, block_origin, block_region, SIDE, 0, bytes, 0, NULL,
                                  NULL), CL_SUCCESS);
    CHECK_INT(clEnqueueWriteBuffer(block->queue, block->buffer, CL_FALSE, 0, BLOCK_BYTES, bytes, 0, NULL, &sent), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(sent, CL_COMPLETE, on_sent, count), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(sent), CL_SUCCESS);
}

/* rusticl 22.3 lets a blocking command return early if another thread flushes or waits for its queue at that moment:
 * nothing of ours may do that because of a callback. */
static void blocking_commands(void)
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

/* What they return is what they would by themselves. */
static void blocking_refusals(void)
{
    struct base base;
    struct block block;
    atomic_uint count = 0;
    unsigned char bytes[BLOCK_BYTES] = {0};
    cl_int status = 1;
    if (!open_base(&base, 0) || !open_block(&base, &block))
        return;
    for (unsigned i = 0; i < 200; i++) {
        send(&block, bytes, &count);
        CHECK_INT(clEnqueueReadBuffer(base.queue, block.buffer, CL_TRUE, BLOCK_BYTES, 1, bytes, 0, NULL, NULL),
                  CL_INVALID_VALUE);
        CHECK(clEnqueueMapBuffer(base.queue, block.buffer, CL_TRUE, CL_MAP_READ, BLOCK_BYTES, 1, 0, NULL, NULL, &status) ==
              NULL);
        CHECK_INT(status, CL_INVALID_VALUE);
        CHECK(clEnqueueMapBuffer(base.queue, NULL, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL, NULL) == NULL);
    }
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    wait_until(&count, 200);
    close_block(&block);
    close_base(&base);
}

/* ---- programs ---- */

static void CL_CALLBACK on_program(cl_program program, void *data)
{
    write_down(&journal, program, 0, data);
}

static cl_program make_program(const struct base *base, const char *source)
{
    cl_int status = 1;
    cl_program program = clCreateProgramWithSource(base->context, 1, &source, NULL, &status);
    CHECK_INT(status, CL_SUCCESS);
    return program;
}

static cl_build_status build_status(const struct base *base, cl_program program)
{
    cl_build_status status = 4711;
    CHECK_INT(clGetProgramBuildInfo(program, base->device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL),
              CL_SUCCESS);
    return status;
}

static void builds(void)
{
    static const char *const sources[] = {"kernel void f(global int *p) { p[0] = 1; }",
                                          "kernel void f(global int *p) { p[0] = nothing; }"};
    struct base base;
    if (!open_base(&base, 0))
        return;
    for (int i = 0; i < 2; i++) {
        atomic_store(&journal.count, 0);
        cl_program program = make_program(&base, sources[i]);
        const cl_int status = clBuildProgram(program, 1, &base.device, "", on_program, &base);
        CHECK(status == CL_SUCCESS || (i == 1 && status == CL_BUILD_PROGRAM_FAILURE));
        if (wait_until(&journal.count, 1)) {
            CHECK(journal.entries[0].object == program);
            CHECK(journal.entries[0].data == &base);
        }
        CHECK_INT(build_status(&base, program), i ? CL_BUILD_ERROR : CL_BUILD_SUCCESS);
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    }
    atomic_store(&journal.count, 0);
    CHECK_INT(clBuildProgram(NULL, 0, NULL, "", on_program, NULL), CL_INVALID_PROGRAM);
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 0);
    close_base(&base);
}

static void compiles_and_links(void)
{
    struct base base;
    cl_int status = 1;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_program program = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
    status = clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, NULL, NULL);
    if (status == CL_INVALID_OPERATION) {
        CHECK_INT(clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, on_program, &base), status);
        CHECK(clLinkProgram(base.context, 1, &base.device, "", 1, &program, on_program, &base, &status) == NULL);
        CHECK_INT(status, CL_INVALID_OPERATION);
        SKIP("the OpenCL below compiles no programs apart (Wine 8's)");
        CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
        close_base(&base);
        return;
    }
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clCompileProgram(program, 1, &base.device, "", 0, NULL, NULL, on_program, &base), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == program);
    cl_program linked = clLinkProgram(base.context, 1, &base.device, "", 1, &program, on_program, &base, &status);
    CHECK_INT(status, CL_SUCCESS);
    if (wait_until(&journal.count, 2))
        CHECK(journal.entries[1].object == linked);
    if (CHECK(linked != NULL))
        CHECK_INT(clReleaseProgram(linked), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    close_base(&base);
}

/* ---- the ends of objects ---- */

static void CL_CALLBACK on_memory(cl_mem memory, void *data)
{
    write_down(&journal, memory, 0, data);
}

/* A command that reads the first bytes. */
static cl_event see(cl_command_queue queue, cl_mem buffer, cl_uint *seen)
{
    cl_event event = NULL;
    CHECK_INT(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(*seen), seen, 0, NULL, &event), CL_SUCCESS);
    return event;
}

static void memory_ends(void)
{
    static int first, second;
    struct base base;
    cl_int status = 1;
    cl_uint refs = 0;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    unsigned char *bytes = calloc(1, 65536);
    cl_uint seen = 0;
    cl_mem buffer = clCreateBuffer(base.context, CL_MEM_USE_HOST_PTR, 65536, bytes, &status);
    CHECK_INT(clSetMemObjectDestructorCallback(NULL, on_memory, &first), CL_INVALID_MEM_OBJECT);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, NULL, &first), CL_INVALID_VALUE);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &first), CL_SUCCESS);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &second), CL_SUCCESS);
    CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    CHECK_INT(refs, 1);
    CHECK_INT(clRetainMemObject(buffer), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    cl_event gate = user_event(base.context);
    CHECK_INT(clReleaseEvent(fill(&base, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(base.queue, buffer, &seen);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(50);
    CHECK_INT(atomic_load(&journal.count), 0);
    /* A command still uses it, and so the application's memory. */
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    pause_ms(100);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    if (wait_until(&journal.count, 2)) {
        CHECK(journal.entries[0].data == &second && journal.entries[1].data == &first);
        CHECK(journal.entries[0].object == buffer);
    }
    CHECK_INT(seen, 0x12345678);
    close_base(&base);
    free(bytes);
}

/* ---- a lock of the application's ---- */

/* A lock that the program holds while it enqueues, and that its callback takes. */
struct held_lock {
    atomic_flag taken;
    atomic_uint came, went; /* into the callback, and through the lock */
};

static void take(struct held_lock *lock)
{
    while (atomic_flag_test_and_set(&lock->taken))
        let_others_run();
}

static void CL_CALLBACK on_event_with_lock(cl_event event, cl_int status, void *data)
{
    struct held_lock *lock = data;
    (void)event;
    (void)status;
    atomic_fetch_add(&lock->came, 1);
    take(lock);
    atomic_flag_clear(&lock->taken);
    atomic_fetch_add(&lock->went, 1);
}

/* With callbacks in the driver's threads this hangs in PoCL: the release waits for a command that such a thread would
 * run, the thread waits for the lock. */
static void lock_around_a_release(struct rig *rig)
{
    struct held_lock lock = {.taken = ATOMIC_FLAG_INIT};
    struct slow_work work;
    struct shared shared;
#ifndef _WIN32
    if (!getenv("CLD3D_CALLBACKS")) {
        SKIP("hangs with the driver's own");
        return;
    }
#endif
    unsigned char bytes[SHARED_BYTES];
    if (!slow_open(rig, &work) || !shared_open(rig, KIND_BUFFER, 1, &shared))
        return;
    rig_pattern(bytes, sizeof(bytes), 2);
    take(&lock);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    cl_event event = slow_start(&work, rig->queue);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event_with_lock, &lock), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
    /* While the callback waits, all goes on. */
    wait_until(&lock.came, 1);
    CHECK(round_trip(rig, &shared, 2, 3));
    CHECK_INT(clFinish(rig->queue), CL_SUCCESS);
    CHECK_INT(atomic_load(&lock.went), 0);
    atomic_flag_clear(&lock.taken);
    wait_until(&lock.went, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

static void lock_around_a_release_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, lock_around_a_release);
}

#ifndef _WIN32
/* ---- a release in a callback ---- */

struct release_call {
    const struct rig *rig;
    cl_mem object;
    cl_command_queue queue;
    cl_event end;
    cl_int status;
    atomic_uint went;
};

static void CL_CALLBACK on_event_release(cl_event event, cl_int status, void *data)
{
    struct release_call *call = data;
    (void)event;
    (void)status;
    call->status = call->rig->release(call->queue, 1, &call->object, 0, NULL, &call->end);
    atomic_fetch_add(&call->went, 1);
}

/* With the queue empty, with a command behind the one that ends, which a driver may not begin before its callback has
 * returned, and in another queue. */
enum release_place { RELEASE_LAST, RELEASE_BEFORE_ANOTHER, RELEASE_ELSEWHERE, RELEASE_PLACES };

static void release_from_callback(const struct rig *rig, enum kind kind, enum release_place place)
{
    struct slow_work work;
    struct shared shared;
    unsigned char bytes[SHARED_BYTES];
    if (!slow_open(rig, &work) || !shared_open(rig, kind, 1, &shared))
        return;
    cl_command_queue other = make_queue(rig, rig->context, 0);
    struct release_call call = {.rig = rig, .object = shared.object, .status = 1,
                                .queue = place == RELEASE_ELSEWHERE ? other : rig->queue};
    rig_pattern(bytes, sizeof(bytes), 2);
    CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS);
    CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    cl_event ends[2] = {slow_start(&work, rig->queue), NULL};
    if (place == RELEASE_BEFORE_ANOTHER)
        ends[1] = slow_start(&work, rig->queue);
    CHECK_INT(clSetEventCallback(ends[0], CL_COMPLETE, on_event_release, &call), CL_SUCCESS);
    CHECK_INT(clFlush(rig->queue), CL_SUCCESS);
    if (wait_until(&call.went, 1) && CHECK_INT(call.status, CL_SUCCESS)) {
        CHECK_INT(clWaitForEvents(1, &call.end), CL_SUCCESS);
        CHECK_INT(rig_event_status(call.end), CL_COMPLETE);
        CHECK(d3d_has(rig, &shared, 2));
        CHECK(round_trip(rig, &shared, 2, 3));
        CHECK_INT(clReleaseEvent(call.end), CL_SUCCESS);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i])
            CHECK_INT(clReleaseEvent(ends[i]), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    shared_close(&shared);
    slow_close(&work);
}

static void releases_from_callbacks(struct rig *rig)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int place = 0; place < RELEASE_PLACES; place++)
            release_from_callback(rig, (enum kind)kind, (enum release_place)place);
}

static void releases_from_callbacks_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, releases_from_callbacks);
}
#endif

/* The application gives the queue away before its commands have ended. */
static void memory_ends_after_queue(void)
{
    struct base base;
    cl_int status = 1;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    unsigned char *bytes = calloc(1, 65536);
    cl_uint seen = 0;
    cl_mem buffer = clCreateBuffer(base.context, CL_MEM_USE_HOST_PTR, 65536, bytes, &status);
    CHECK_INT(clSetMemObjectDestructorCallback(buffer, on_memory, &base), CL_SUCCESS);
    cl_command_queue other = clCreateCommandQueue(base.context, base.device, 0, &status);
    cl_event gate = user_event(base.context);
    CHECK_INT(clReleaseEvent(fill(&(struct base){.queue = other}, buffer, 1, &gate)), CL_SUCCESS);
    cl_event event = see(other, buffer, &seen);
    CHECK_INT(clRetainCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(other), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    pause_ms(100);
    CHECK_INT(atomic_load(&journal.count), 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    wait_until(&journal.count, 1);
    CHECK_INT(seen, 0x12345678);
    close_base(&base);
    free(bytes);
}

#ifdef _WIN32
static void CL_CALLBACK on_context(cl_context context, void *data)
{
    write_down(&journal, context, 0, data);
}

/* Natively only OpenCL 3.0 loaders have it. */
static void contexts_end(void)
{
    struct base base;
    cl_uint refs = 0;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    CHECK_INT(clSetContextDestructorCallback(NULL, on_context, NULL), CL_INVALID_CONTEXT);
    CHECK_INT(clSetContextDestructorCallback(base.context, NULL, NULL), CL_INVALID_VALUE);
    CHECK_INT(clSetContextDestructorCallback(base.context, on_context, &base), CL_SUCCESS);
    CHECK_INT(clRetainContext(base.context), CL_SUCCESS);
    CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
    CHECK_INT(clGetContextInfo(base.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 0);
    close_base(&base);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].data == &base);
}

static void programs_end(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_program program = make_program(&base, "kernel void f(global int *p) { p[0] = 1; }");
    CHECK_INT(clSetProgramReleaseCallback(program, on_program, &base), CL_SUCCESS);
    CHECK_INT(clReleaseProgram(program), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].object == program);
    close_base(&base);
}
#else
/* The cases of this program over cld3d's own callbacks, whose names begin alike. */
static void ours(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("these are cld3d's own");
        return;
    }
    CHECK(run_again("callbacks: ", "CLD3D_CALLBACKS", "1") >= 15);
}

/* Over a driver that leaves queued commands out of an object's count. */
static void uncounted(void)
{
    char layers[1024];
    const char *before = getenv("OPENCL_LAYERS"), *layer = getenv("CLD3D_TEST_LIKE_NVIDIA");
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs the cases above");
        return;
    }
    if (!CHECK(before != NULL) || !CHECK(layer != NULL))
        return;
    snprintf(layers, sizeof(layers), "%s:%s", layer, before); /* the first is the lowest */
    test_setenv("CLD3D_CALLBACKS", "1");
    CHECK_INT(run_again("the end of a memory object", "OPENCL_LAYERS", layers), 2);
    test_setenv("CLD3D_CALLBACKS", NULL);
}
#endif

static const struct tap_test tests[] = {
    {"callbacks: arguments", arguments},
    {"callbacks: the three states", states},
    {"callbacks: registered after the end", after_the_end},
    {"callbacks: user events, complete and failed", user_events},
    {"callbacks: a command that fails", failed_command},
    {"callbacks: ten thousand, in order", ten_thousand},
    {"callbacks: many queues", many_queues},
    {"callbacks: a queue out of order", out_of_order},
    {"callbacks: OpenCL called again", calls_again},
    {"callbacks: blocking commands beside them", blocking_commands},
    {"callbacks: blocking commands that are refused", blocking_refusals},
    {"callbacks: clBuildProgram", builds},
    {"callbacks: clCompileProgram and clLinkProgram", compiles_and_links},
    {"callbacks: the end of a memory object", memory_ends},
    {"callbacks: the end of a memory object after its queue's", memory_ends_after_queue},
    {"callbacks: a lock held around a release and taken in a callback", lock_around_a_release_d3d11},
#ifdef _WIN32
    {"callbacks: the end of a context", contexts_end},
    {"callbacks: the end of a program", programs_end},
#else
    {"callbacks: a release in one", releases_from_callbacks_d3d11},
    {"cld3d's callbacks where the driver has its own", ours},
    {"cld3d's callbacks where the driver counts no queued commands", uncounted},
#endif
};

TAP_MAIN(tests)
