/* The callbacks of events that cld3d has for Wine: each arrives, once, in order, with the right status, and may call
 * OpenCL. */
#include "below.h"
#include "callbacks.h"
#include "driver_bugs.h"

#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

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

/* A user event is CL_SUBMITTED from its creation. */
static void submitted_user_event(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    CHECK_INT(clSetEventCallback(user, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(user, CL_RUNNING, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(user, CL_SUBMITTED, on_event, &base), CL_SUCCESS);
    if (wait_until(&journal.count, 1)) {
        CHECK_INT(journal.entries[0].status, CL_SUBMITTED);
        CHECK(journal.entries[0].data == &base);
    }
    pause_ms(20);
    CHECK_INT(atomic_load(&journal.count), 1);
    CHECK_INT(clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 3);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    close_base(&base);
}

static void CL_CALLBACK count_up(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* A command may be submitted while many before it in its queue have not ended. */
static void submitted_behind_many(void)
{
    enum { BEFORE = 100 };
    static atomic_uint ended, submitted;
    cl_event events[BEFORE + 1];
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&ended, 0);
    atomic_store(&submitted, 0);
    cl_event gate = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    for (int i = 0; i <= BEFORE; i++) {
        events[i] = fill(&base, buffer, i ? 0 : 1, i ? NULL : &gate);
        CHECK_INT(clSetEventCallback(events[i], i < BEFORE ? CL_COMPLETE : CL_SUBMITTED, count_up,
                                     i < BEFORE ? &ended : &submitted),
                  CL_SUCCESS);
    }
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(50);
    if (rig_event_status(events[BEFORE]) <= CL_SUBMITTED) /* as the driver has it */
        wait_until(&submitted, 1);
    CHECK_INT(atomic_load(&ended), 0);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&ended, BEFORE);
    wait_until(&submitted, 1);
    for (int i = 0; i <= BEFORE; i++)
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

/* Over below.c. PoCL alone is at work on events that nobody has. */
static void nothing_went_early(const struct base *base)
{
    cl_uint early = 0;
    if (!getenv(BELOW_AT_WORK) || !is_pocl(base->platform))
        return;
    CHECK_INT(clGetCommandQueueInfo(base->queue, BELOW_EARLY, sizeof(early), &early, NULL), CL_SUCCESS);
    CHECK_INT(early, 0);
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

/* A driver that fails the command may still be at work on it when the callback has been called. */
static void failed_and_released(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 1, &user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    if (wait_until(&journal.count, 1))
        CHECK(journal.entries[0].status < 0);
    nothing_went_early(&base);
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

enum { MANY_HELD = 100 };

static void CL_CALLBACK on_held(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* The driver may have freed the queue, which its event still names. */
static void queue_has_gone(void)
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

/* Waits for the main thread, but not for ever. */
struct held_callback {
    atomic_uint came, free, late, went;
};

static void CL_CALLBACK on_held_callback(cl_event event, cl_int status, void *data)
{
    enum { MOST_MS = 5000 };
    struct held_callback *held = data;
    (void)event;
    (void)status;
    atomic_fetch_add(&held->came, 1);
    for (int i = 0; i < MOST_MS && !atomic_load(&held->free); i++)
        pause_ms(1);
    atomic_store(&held->late, !atomic_load(&held->free));
    atomic_fetch_add(&held->went, 1);
}

/* References that the program copies, as C++ bindings do, come and go without a wait for callbacks. */
static void copied_references(void)
{
    enum { COPIES = 6 }; /* each would wait for a second */
    struct held_callback held = {0};
    struct base base;
    if (!open_base(&base, 0))
        return;
    cl_event event = NULL;
    CHECK_INT(clEnqueueMarkerWithWaitList(base.queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held_callback, &held), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    if (wait_until(&held.came, 1))
        for (int i = 0; i < COPIES; i++) {
            CHECK_INT(clRetainCommandQueue(base.queue), CL_SUCCESS);
            CHECK_INT(clReleaseCommandQueue(base.queue), CL_SUCCESS);
            CHECK_INT(clRetainContext(base.context), CL_SUCCESS);
            CHECK_INT(clReleaseContext(base.context), CL_SUCCESS);
        }
    atomic_store(&held.free, 1);
    wait_until(&held.went, 1);
    CHECK_INT(atomic_load(&held.late), 0);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    close_base(&base);
}

/* More commands than are looked at in a queue in order, and one that none of them holds. Whether NVIDIA's driver lets it go past them
 * is the driver's business. */
static void free_behind_many(const struct base *base)
{
    atomic_uint held = 0;
    atomic_store(&journal.count, 0);
    cl_event gate = user_event(base->context);
    cl_mem buffers[] = {make_buffer(base), make_buffer(base)};
    for (int i = 0; i < MANY_HELD; i++) {
        cl_event event = fill(base, buffers[0], 1, &gate);
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held, &held), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    }
    cl_event free_one = fill(base, buffers[1], 0, NULL);
    CHECK_INT(clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    if (has_ended(free_one)) {
        wait_until(&journal.count, 1);
        CHECK_INT(atomic_load(&held), 0);
    }
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&held, MANY_HELD);
    CHECK_INT(clReleaseEvent(free_one), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[0]), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffers[1]), CL_SUCCESS);
}

static void out_of_order_behind_many(void)
{
    struct base base;
    if (!open_base(&base, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    free_behind_many(&base);
    close_base(&base);
}

/* Queues in order whose callbacks have come, and which are gone. */
enum { FORMER = 12 };

static void make_former(const struct base *base, cl_command_queue queues[FORMER])
{
    cl_event events[FORMER], gate = user_event(base->context);
    cl_int status = 1;
    atomic_store(&journal.count, 0);
    for (int i = 0; i < FORMER; i++) {
        queues[i] = clCreateCommandQueue(base->context, base->device, 0, &status);
        CHECK_INT(clEnqueueMarkerWithWaitList(queues[i], 1, &gate, &events[i]), CL_SUCCESS);
        CHECK_INT(clSetEventCallback(events[i], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
        CHECK_INT(clFlush(queues[i]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    }
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, FORMER);
    pause_ms(50); /* the driver and the threads that waited let go of them */
    for (int i = FORMER; i-- > 0;)
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
}

/* A queue out of order at the address of one that was in order, and that a thread waited for: the first ones. */
static void address_again(void)
{
    enum { THREADS = 4 };
    struct base base;
    cl_command_queue former[FORMER], queues[2 * FORMER] = {NULL};
    cl_int status = 1;
    bool again = false;
    if (!open_base(&base, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    make_former(&base, former);
    for (int i = 0; i < 2 * FORMER; i++)
        queues[i] = clCreateCommandQueue(base.context, base.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    for (int i = 0; i < 2 * FORMER * THREADS && !again; i++) {
        again = queues[i / THREADS] == former[i % THREADS];
        if (again)
            free_behind_many(&(struct base){base.platform, base.device, base.context, queues[i / THREADS]});
    }
    if (!again)
        SKIP("no address came again");
    for (int i = 0; i < 2 * FORMER; i++)
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
    close_base(&base);
}

/* ---- queues that are given back ---- */

static void make_and_release_queue(const struct base *base)
{
    cl_int status = 1;
    cl_command_queue queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

/* A release waits for no command: one whose callback has come already may never end. */
static void release_beside_running(void)
{
    enum { QUEUES = 2, TIMES = 20, MOST_MS = 300 };
    const cl_uint turns = 400000000;
    struct base base;
    struct slow_work work;
    if (!open_base(&base, 0))
        return;
    const struct rig rig = {.context = base.context, .cl_device = base.device};
    if (!slow_open(&rig, &work))
        return;
    atomic_store(&journal.count, 0);
    CHECK_INT(clSetKernelArg(work.kernel, 1, sizeof(turns), &turns), CL_SUCCESS);
    cl_event event = slow_start(&work, base.queue);
    CHECK_INT(clSetEventCallback(event, CL_SUBMITTED, on_event, NULL), CL_SUCCESS);
    wait_until(&journal.count, 1);
    double least = 1;
    for (int i = 0; i < TIMES && least >= MOST_MS / 1000.0 && rig_event_status(event) > CL_COMPLETE; i++) {
        const double begun = test_now();
        for (int k = 0; k < QUEUES; k++)
            make_and_release_queue(&base);
        const double lasted = test_now() - begun;
        least = lasted < least ? lasted : least;
    }
    if (rig_event_status(event) > CL_COMPLETE)
        CHECK(least < MOST_MS / 1000.0);
    else if (least >= MOST_MS / 1000.0)
        SKIP("the command has ended meanwhile");
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    slow_close(&work);
    close_base(&base);
}

/* The callback of a command that has ended comes before its queue's release returns. */
static void due_before_release(void)
{
    enum { QUEUES = 100, CALLBACKS = 50 };
    struct base base;
    unsigned late = 0;
    cl_int status = 1;
    if (!open_base(&base, 0))
        return;
    atomic_uint came = 0;
    for (unsigned i = 0; i < QUEUES; i++) {
        cl_event event = NULL;
        cl_command_queue queue = clCreateCommandQueue(base.context, base.device, 0, &status);
        CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
        for (int j = 0; j < CALLBACKS; j++)
            CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held, &came), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        const double begun = test_now();
        CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
        late += atomic_load(&came) != CALLBACKS * (i + 1) && test_now() - begun < 0.9;
        wait_until(&came, CALLBACKS * (i + 1));
    }
    CHECK_INT(late, 0);
    close_base(&base);
}

static cl_uint event_refs(cl_event event)
{
    cl_uint refs = 0;
    CHECK_INT(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(refs), &refs, NULL), CL_SUCCESS);
    return refs;
}

/* A command that is going to fail, with a callback. */
static cl_event fill_to_fail(const struct base *base, cl_mem buffer, const cl_event *user,
                             void(CL_CALLBACK *notify)(cl_event, cl_int, void *))
{
    cl_event event = fill(base, buffer, 1, user);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, notify, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base->queue), CL_SUCCESS);
    return event;
}

static void CL_CALLBACK on_event_slowly(cl_event event, cl_int status, void *data)
{
    pause_ms(50);
    on_event(event, status, data);
}

/* What is kept of a command that has failed goes before the release returns, though its callback came last. */
static void CL_CALLBACK on_event_for_long(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    pause_ms(950);
    atomic_fetch_add((atomic_uint *)data, 1);
}

/* The threads that look for what is due have ended for lack of work, and the callback is not over. */
static void slow_before_release(void)
{
    struct base base;
    cl_int status = 1;
    atomic_uint came = 0;
    if (!open_base(&base, 0))
        return;
    cl_event event = NULL;
    cl_command_queue queue = clCreateCommandQueue(base.context, base.device, 0, &status);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event_for_long, &came), CL_SUCCESS);
    CHECK_INT(clFlush(queue), CL_SUCCESS);
    pause_ms(750);
    const double begun = test_now();
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK(atomic_load(&came) == 1 || test_now() - begun > 0.9);
    wait_until(&came, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    close_base(&base);
}

static void failed_before_release(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event user = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill_to_fail(&base, buffer, &user, on_event_slowly);
    CHECK_INT(clSetUserEventStatus(user, -4711), CL_SUCCESS);
    bool ended = false;
    for (int i = 0; i < 60 && !ended; i++)
        ended = has_ended(event);
    CHECK(ended);
    const double begun = test_now();
    make_and_release_queue(&base);
    const double lasted = test_now() - begun;
    const cl_uint refs = event_refs(event);
    pause_ms(300);
    if (lasted < 0.15) /* else the release did not wait for all */
        CHECK_INT(event_refs(event), refs);
    wait_until(&journal.count, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

struct release_time {
    const struct base *base;
    double lasted;
};

static void CL_CALLBACK on_event_release_queue(cl_event event, cl_int status, void *data)
{
    struct release_time *time = data;
    const double begun = test_now();
    make_and_release_queue(time->base);
    time->lasted = test_now() - begun;
    on_event(event, status, data);
}

static double release_in_callback_after_failure(const struct base *base)
{
    struct release_time time = {base, 0};
    atomic_store(&journal.count, 0);
    cl_event users[] = {user_event(base->context), user_event(base->context)};
    cl_mem buffer = make_buffer(base);
    cl_event event = fill_to_fail(base, buffer, users, on_event);
    CHECK_INT(clSetEventCallback(users[1], CL_COMPLETE, on_event_release_queue, &time), CL_SUCCESS);
    CHECK_INT(clSetUserEventStatus(users[0], -4711), CL_SUCCESS);
    wait_until(&journal.count, 1);
    CHECK_INT(clSetUserEventStatus(users[1], CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseEvent(users[i]), CL_SUCCESS);
    pause_ms(150); /* PoCL may be at work on the command */
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    return time.lasted;
}

/* No callback can come while one runs, so its calls wait for none. */
static void release_in_callback(void)
{
    enum { TIMES = 20, MOST_MS = 50 };
    struct base base;
    double least = 1;
    if (!open_base(&base, 0))
        return;
    for (int i = 0; i < TIMES && least >= MOST_MS / 1000.0; i++) {
        const double lasted = release_in_callback_after_failure(&base);
        least = lasted < least ? lasted : least;
    }
    CHECK(least < MOST_MS / 1000.0);
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
    return clEnqueueReadBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin, block_region, SIDE,
                                   0, SIDE, 0, bytes, 0, NULL, block->event);
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
    return read_after(
        block,
        clEnqueueWriteBuffer(block->queue, block->buffer, CL_TRUE, 0, BLOCK_BYTES, source, 0, NULL, block->event),
        source, bytes);
}

static cl_int by_written_rect(const struct block *block, unsigned char *bytes)
{
    unsigned char source[BLOCK_BYTES];
    memset(source, (unsigned char)~bytes[0], sizeof(source));
    return read_after(block,
                      clEnqueueWriteBufferRect(block->queue, block->buffer, CL_TRUE, block_origin, block_origin,
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

static const block_way block_ways[] = {by_buffer, by_rect,  by_image,        by_map,          by_image_map,
                                       by_finish, by_write, by_written_rect, by_written_image};
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
    CHECK_INT(clEnqueueWriteImage(block->queue, block->image, CL_FALSE, block_origin, block_region, SIDE, 0, bytes, 0,
                                  NULL, NULL),
              CL_SUCCESS);
    CHECK_INT(clEnqueueWriteBuffer(block->queue, block->buffer, CL_FALSE, 0, BLOCK_BYTES, bytes, 0, NULL, &sent),
              CL_SUCCESS);
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

#ifndef _WIN32
/* How many of the driver's reads are blocking in one of the program's. */
static cl_uint blocking_reads(const struct base *base, const struct block *block)
{
    unsigned char bytes[BLOCK_BYTES] = {0};
    const cl_uint before = order_below(base->queue, BELOW_BLOCKING, 0);
    CHECK_INT(by_rect(block, bytes), CL_SUCCESS);
    return order_below(base->queue, BELOW_BLOCKING, 0) - before;
}

/* The thread that waits for the first is about to flush the queue when another one has delivered them all. */
static void blocking_beside_wait(void)
{
    enum { SOME_MS = 10000, POLLED_MS = 1000, MOST_SENT = 30 };
    struct base base;
    struct block block;
    atomic_uint count = 0;
    cl_uint nothing;
    unsigned char bytes[BLOCK_BYTES] = {0};
    if (!open_base(&base, 0))
        return;
    if (clGetCommandQueueInfo(base.queue, BELOW_BLOCKING, sizeof(nothing), &nothing, NULL) != CL_SUCCESS) {
        SKIP("over a layer that holds a wait");
        close_base(&base);
        return;
    }
    if (!open_block(&base, &block))
        return;
    order_below(base.queue, BELOW_HOLD, BELOW_HOLD_WAIT);
    send(&block, bytes, &count);
    held_below(base.queue);
    /* Two are polled. The last one waits for the thread again if it is seen alone, on its way. */
    unsigned sent = 1;
    do {
        send(&block, bytes, &count);
        sent++;
        CHECK_INT(clFinish(base.queue), CL_SUCCESS);
        for (int i = 0; i < POLLED_MS && atomic_load(&count) < sent; i++)
            pause_ms(1);
    } while (atomic_load(&count) < sent && sent < MOST_SENT);
    CHECK_INT(atomic_load(&count), sent);
    CHECK(order_below(base.queue, BELOW_HELD, 0));
    CHECK_INT(blocking_reads(&base, &block), 0);
    order_below(base.queue, BELOW_HOLD, BELOW_HOLD_NONE);
    cl_uint blocking = 0;
    for (int i = 0; i < SOME_MS && !blocking; i++, pause_ms(1))
        blocking = blocking_reads(&base, &block);
    CHECK_INT(blocking, 1);
    close_block(&block);
    close_base(&base);
}
#endif

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
        CHECK(clEnqueueMapBuffer(base.queue, block.buffer, CL_TRUE, CL_MAP_READ, BLOCK_BYTES, 1, 0, NULL, NULL,
                                 &status) == NULL);
        CHECK_INT(status, CL_INVALID_VALUE);
        CHECK(clEnqueueMapBuffer(base.queue, NULL, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL, NULL) == NULL);
    }
    CHECK_INT(clFinish(base.queue), CL_SUCCESS);
    wait_until(&count, 200);
    close_block(&block);
    close_base(&base);
}

static void fail_later(void *data)
{
    enum { LATER_MS = 50 };
    pause_ms(LATER_MS);
    CHECK_INT(clSetUserEventStatus(data, -5), CL_SUCCESS);
}

static cl_uint map_count(cl_mem buffer)
{
    cl_uint count = 0;
    CHECK_INT(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

/* A read and a map, behind an event that fails while they wait. */
static void fail_blocking(const struct base *base, const struct block *block, bool map, cl_event *event)
{
    unsigned char bytes[BLOCK_BYTES] = {0};
    cl_int status = 1;
    cl_event user = user_event(base->context), marked = NULL;
    struct test_job job = {fail_later, user};
    test_thread thread;
    atomic_store(&journal.count, 0);
    CHECK_INT(clEnqueueMarkerWithWaitList(base->queue, 1, &user, &marked), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(marked, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    if (CHECK(test_thread_start(&thread, &job))) {
        if (map)
            CHECK(clEnqueueMapBuffer(base->queue, block->buffer, CL_TRUE, CL_MAP_READ, 0, BLOCK_BYTES, 1, &user, event,
                                     &status) == NULL);
        else
            status = clEnqueueReadBuffer(base->queue, block->buffer, CL_TRUE, 0, BLOCK_BYTES, bytes, 1, &user, event);
        CHECK_INT(status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        test_thread_join(thread);
    }
    wait_until(&journal.count, 1);
    clFinish(base->queue); /* which may tell of the failure */
    CHECK_INT(map_count(block->buffer), 0);
    CHECK_INT(clReleaseEvent(marked), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(user), CL_SUCCESS);
}

/* Also where the driver's wait for a failed event is no error. */
static void blocking_failures(void)
{
    struct base base;
    struct block block;
    if (!open_base(&base, 0) || !open_block(&base, &block))
        return;
    for (int i = 0; i < 4; i++) {
        cl_event event = NULL;
        fail_blocking(&base, &block, i % 2, i / 2 ? &event : NULL);
        if (i / 2 && CHECK(event != NULL)) {
            CHECK(rig_event_status(event) < 0);
            CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
        }
    }
    nothing_went_early(&base);
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

/* What has failed before is told as failed, whoever asks. */
static void told_after_failure(struct rig *rig)
{
    struct shared shared;
    cl_event events[2] = {user_event(rig->context), NULL};
    if (!shared_open(rig, KIND_2D, 1, &shared))
        return;
    CHECK_INT(clSetUserEventStatus(events[0], -4711), CL_SUCCESS);
    CHECK_INT(rig->acquire(rig->queue, 1, &shared.object, 1, &events[0], &events[1]), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        atomic_store(&journal.count, 0);
        CHECK_INT(clSetEventCallback(events[i], CL_COMPLETE, on_event, NULL), CL_SUCCESS);
        if (wait_until(&journal.count, 1))
            CHECK_INT(journal.entries[0].status, i ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : -4711);
        CHECK_INT(clReleaseEvent(events[i]), CL_SUCCESS);
    }
    shared_close(&shared);
}

static void told_after_failure_d3d11(void)
{
    sharing_run(&rig_d3d11, 0, told_after_failure);
}

static void failed_handovers(void)
{
#ifndef _WIN32
    if (!getenv("CLD3D_CALLBACKS")) {
        SKIP("the driver's own");
        return;
    }
#endif
    sharing_run(&rig_d3d11, 0, handovers_that_fail);
}

#ifndef _WIN32
struct other_queues {
    const struct base *base;
    atomic_bool stop;
    atomic_uint made, called;
};

static void call_back_for_another(struct other_queues *others)
{
    const struct base *base = others->base;
    cl_int status = 1;
    cl_event event = NULL;
    cl_command_queue queue = clCreateCommandQueue(base->context, base->device, 0, &status);
    CHECK_INT(status, CL_SUCCESS);
    CHECK_INT(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_sent, &others->called), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
}

static void call_back_for_others(void *data)
{
    struct other_queues *others = data;
    while (!atomic_load(&others->stop)) {
        call_back_for_another(others);
        atomic_fetch_add(&others->made, 1);
    }
}

static void load_and_unload(cl_command_queue queue)
{
    void *plugin = dlopen(getenv("CLD3D_TEST_RELEASES_AT_END"), RTLD_NOW);
    cl_command_queue *queue_to_release = plugin ? dlsym(plugin, "queue_to_release") : NULL;
    if (CHECK(queue_to_release != NULL) && CHECK_INT(clRetainCommandQueue(queue), CL_SUCCESS))
        *queue_to_release = queue;
    dlclose(plugin);
}

/* The loader's lock is held in the release, and the threads of other queues' callbacks start meanwhile. */
static void release_at_unloading(void)
{
    enum { TIMES = 300, TOO_LONG_S = 120 };
    struct base base;
    struct other_queues others = {&base, false, 0, 0};
    struct test_job job = {call_back_for_others, &others};
    test_thread thread;
    if (!open_base(&base, 0))
        return;
    alarm(TOO_LONG_S); /* each may wait for the other */
    if (test_thread_start(&thread, &job)) {
        for (unsigned i = 0; i < TIMES || atomic_load(&others.made) < TIMES; i++)
            load_and_unload(base.queue);
        atomic_store(&others.stop, true);
        test_thread_join(thread);
        wait_until(&others.called, atomic_load(&others.made)); /* a command may end after its queue's release */
    }
    alarm(0);
    close_base(&base);
}

/* ---- threads are short for a moment ---- */

static void no_thread_to_poll(void)
{
    struct base base;
    if (!open_base(&base, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    atomic_store(&journal.count, 0);
    cl_event gate = user_event(base.context);
    cl_mem buffers[2] = {make_buffer(&base), make_buffer(&base)};
    cl_event held = fill(&base, buffers[0], 1, &gate), free_one = fill(&base, buffers[1], 0, NULL);
    CHECK_INT(clSetEventCallback(held, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    let_threads_start(false);
    const cl_int status = clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL);
    let_threads_start(true);
    if (status != CL_SUCCESS) {
        CHECK_INT(status, CL_OUT_OF_HOST_MEMORY);
        CHECK_INT(clSetEventCallback(free_one, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    }
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    if (has_ended(free_one))
        wait_until(&journal.count, 1);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    wait_until(&journal.count, 2);
    CHECK_INT(clReleaseEvent(held), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(free_one), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_INT(clReleaseMemObject(buffers[i]), CL_SUCCESS);
    close_base(&base);
}

/* The thread that delivers has ended for lack of work when the command does. */
static void no_thread_to_deliver(void)
{
    struct base base;
    if (!open_base(&base, 0))
        return;
    atomic_store(&journal.count, 0);
    cl_event gate = user_event(base.context);
    cl_mem buffer = make_buffer(&base);
    cl_event event = fill(&base, buffer, 1, &gate);
    CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), CL_SUCCESS);
    CHECK_INT(clFlush(base.queue), CL_SUCCESS);
    pause_ms(1000);
    let_threads_start(false);
    CHECK_INT(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    CHECK_INT(clWaitForEvents(1, &event), CL_SUCCESS);
    pause_ms(100);
    let_threads_start(true);
    wait_until(&journal.count, 1);
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    CHECK_INT(clReleaseEvent(gate), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(buffer), CL_SUCCESS);
    close_base(&base);
}

static void ours(void)
{
    callbacks_ours(16);
}

/* The callback of a user event that is set already, from a driver that does not tell so at first. */
static void short_for_a_moment(void)
{
    static atomic_uint called;
    const cl_uint times = 3;
    struct base base;
    if (!open_base(&base, 0))
        return;
    cl_event event = user_event(base.context);
    atomic_store(&called, 0);
    CHECK_INT(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    if (clGetCommandQueueInfo(base.queue, BELOW_SHORT, sizeof(times), (void *)(uintptr_t)&times, NULL) == CL_SUCCESS) {
        CHECK_INT(clSetEventCallback(event, CL_COMPLETE, on_held, &called), CL_SUCCESS);
        wait_until(&called, 1);
    } else {
        SKIP("over a layer that is short of resources");
    }
    CHECK_INT(clReleaseEvent(event), CL_SUCCESS);
    close_base(&base);
}

static void waits_without_error(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs a case above");
        return;
    }
    test_setenv("CLD3D_CALLBACKS", "1");
    CHECK_INT(run_over("CLD3D_TEST_LIKE_NVIDIA", "callbacks: blocking commands that fail"), 1);
    test_setenv("CLD3D_CALLBACKS", NULL);
}

static void last_references(void)
{
    if (getenv("CLD3D_CALLBACKS")) {
        SKIP("runs a case above");
        return;
    }
    test_setenv("CLD3D_CALLBACKS", "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "blocking commands beside a wait"), 1);
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "a driver that is short for a moment"), 1);
    test_setenv(BELOW_SUBMITS, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "submitted behind many"), 1);
    test_setenv(BELOW_SUBMITS, NULL);
    test_setenv(BELOW_AT_WORK, "1");
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "commands that fail"), 1);
    CHECK_INT(run_over("CLD3D_TEST_BELOW", "released command that fails"), 1);
    test_setenv(BELOW_AT_WORK, NULL);
    test_setenv("CLD3D_CALLBACKS", NULL);
}
#endif

static const struct tap_test tests[] = {
    {"callbacks: arguments", arguments},
    {"callbacks: the three states", states},
    {"callbacks: registered after the end", after_the_end},
    {"callbacks: user events, complete and failed", user_events},
    {"callbacks: a user event is submitted from its creation", submitted_user_event},
    {"callbacks: a command that is submitted behind many", submitted_behind_many},
    {"callbacks: a command that fails", failed_command},
    {"callbacks: a released command that fails", failed_and_released},
    {"callbacks: ten thousand, in order", ten_thousand},
    {"callbacks: of a command whose queue has gone", queue_has_gone},
    {"callbacks: references that come and go meanwhile", copied_references},
    {"callbacks: many queues", many_queues},
    {"callbacks: a queue out of order", out_of_order},
    {"callbacks: a queue out of order, behind many", out_of_order_behind_many},
    {"callbacks: a queue out of order at the address of another", address_again},
    {"callbacks: a queue's release beside a long command", release_beside_running},
    {"callbacks: what is due comes before a queue's release returns", due_before_release},
    {"callbacks: a slow one comes to its end before a queue's release returns", slow_before_release},
    {"callbacks: what failed goes before a queue's release returns", failed_before_release},
    {"callbacks: a queue's release in one, after a failure", release_in_callback},
    {"callbacks: OpenCL called again", calls_again},
    {"callbacks: blocking commands beside them", blocking_commands},
    {"callbacks: blocking commands that are refused", blocking_refusals},
    {"callbacks: blocking commands that fail", blocking_failures},
    {"callbacks: acquires and releases that fail", failed_handovers},
    {"callbacks: what has failed before", told_after_failure_d3d11},
#ifndef _WIN32
    {"callbacks: blocking commands beside a wait for one that was called", blocking_beside_wait},
    {"callbacks: a queue's release as a library is unloaded", release_at_unloading},
    {"callbacks: no thread to poll for a moment", no_thread_to_poll},
    {"callbacks: no thread to deliver for a moment", no_thread_to_deliver},
    {"callbacks of a user event: a driver that is short for a moment", short_for_a_moment},
    {"cld3d's callbacks where the driver has its own", ours},
    {"cld3d's callbacks where the driver waits for a failed event without an error", waits_without_error},
    {"cld3d's callbacks where the driver is at work on a failed command for a while", last_references},
#endif
};

TAP_MAIN(tests)
