/* Threads that share queues, and enqueue acquires and releases behind user events at random: no call hangs, and each frame is right. */
#include "sharing.h"

enum { LONGEST_MS = 120000 };

static bool ends_well(cl_event event)
{
    for (int i = 0; i < LONGEST_MS && rig_event_status(event) > CL_COMPLETE; i++)
        pause_ms(1);
    return rig_event_status(event) == CL_COMPLETE;
}

/* ---- many threads in two queues ---- */

enum { THREADS = 6, FRAMES = 75, CYCLES = 2 };

struct worker {
    const struct rig *rig;
    const cl_command_queue *queues;
    unsigned chance;
    struct shared shared;
};

static unsigned draw(struct worker *worker, unsigned count)
{
    worker->chance = worker->chance * 1664525u + 1013904223u;
    return (worker->chance >> 8) % count;
}

/* An acquire, a write and a release, each in one of the queues, the first and last behind a user event or not. Barriers come between. */
struct cycle {
    cl_event users[2], acquired, written, released;
    unsigned char bytes[SHARED_BYTES]; /* are written when the acquire is over */
};

static bool enqueue_cycle(struct worker *worker, unsigned seed, struct cycle *cycle)
{
    const struct rig *rig = worker->rig;
    const cl_command_queue queues[] = {worker->queues[draw(worker, 2)], worker->queues[draw(worker, 2)],
                                       worker->queues[draw(worker, 2)]};
    cl_event ends[2];
    *cycle = (struct cycle){.users = {NULL}};
    for (unsigned i = 0; i < 2; i++)
        cycle->users[i] = draw(worker, 2) ? user_event(rig->context) : NULL;
    rig_pattern(cycle->bytes, sizeof(cycle->bytes), seed);
    if (!CHECK_INT(rig->acquire(queues[0], 1, &worker->shared.object, cycle->users[0] != NULL,
                                cycle->users[0] ? cycle->users : NULL, &cycle->acquired),
                   CL_SUCCESS))
        return false;
    if (!draw(worker, 4))
        CHECK_INT(clEnqueueBarrierWithWaitList(queues[0], 0, NULL, NULL), CL_SUCCESS);
    CHECK_INT(cl_write(queues[1], &worker->shared, cycle->bytes, 1, &cycle->acquired, &cycle->written), CL_SUCCESS);
    if (!draw(worker, 4))
        CHECK_INT(clEnqueueBarrierWithWaitList(queues[2], 1, &cycle->acquired, NULL), CL_SUCCESS);
    ends[0] = cycle->written;
    ends[1] = cycle->users[1];
    return CHECK_INT(rig->release(queues[2], 1, &worker->shared.object, 1 + (ends[1] != NULL), ends, &cycle->released),
                     CL_SUCCESS);
}

static void close_cycle(const struct cycle *cycle)
{
    const cl_event all[] = {cycle->users[0], cycle->users[1], cycle->acquired, cycle->written, cycle->released};
    for (unsigned i = 0; i < 5; i++)
        CHECK(!all[i] || clReleaseEvent(all[i]) == CL_SUCCESS);
}

/* Cycles of one object, one behind the other. User events are set in any order when all are enqueued: a call that sets one waits for nothing
 * that another one blocks. */
static bool frame(struct worker *worker, unsigned seed)
{
    struct cycle cycles[CYCLES];
    unsigned count = 0;
    bool over = true;
    for (; count < CYCLES && over; count++)
        over = enqueue_cycle(worker, seed * CYCLES + count, &cycles[count]);
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(clFlush(worker->queues[i]), CL_SUCCESS);
    const unsigned first = draw(worker, 2 * CYCLES);
    for (unsigned i = 0; i < 2 * count; i++) {
        cl_event user = cycles[(first + i) / 2 % count].users[(first + i) % 2];
        CHECK(!user || clSetUserEventStatus(user, CL_COMPLETE) == CL_SUCCESS);
    }
    over = over && CHECK(ends_well(cycles[CYCLES - 1].released)) &&
           CHECK(d3d_has(worker->rig, &worker->shared, seed * CYCLES + CYCLES - 1));
    for (unsigned i = 0; i < count; i++)
        close_cycle(&cycles[i]);
    return over;
}

static atomic_uint frames_over;

static void work(void *data)
{
    struct worker *worker = data;
    for (unsigned i = 1; i <= FRAMES && frame(worker, i); i++)
        atomic_fetch_add(&frames_over, 1);
}

static void end_hanging(void *data)
{
    const unsigned *wanted = data;
    unsigned before = 0;
    for (int still = 0; still < LONGEST_MS && atomic_load(&frames_over) < *wanted; still++) {
        if (atomic_load(&frames_over) != before)
            still = 0;
        before = atomic_load(&frames_over);
        pause_ms(1);
    }
    if (!CHECK(atomic_load(&frames_over) == *wanted))
        exit(1); /* a thread hangs in a call */
}

SHARING_CASE("many threads in two queues", many_threads, 0)
{
    unsigned wanted = THREADS * FRAMES;
    cl_command_queue queues[2] = {make_queue(rig, rig->context, 0),
                                  make_queue(rig, rig->context, out_of_order_mode(rig))};
    struct worker workers[THREADS];
    struct test_job jobs[THREADS + 1];
    test_thread threads[THREADS + 1];
    atomic_store(&frames_over, 0);
    jobs[THREADS] = (struct test_job){end_hanging, &wanted};
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.rig = rig, .queues = queues, .chance = i + 1};
        jobs[i] = (struct test_job){work, &workers[i]};
        if (!shared_open(rig, (enum kind)(i % KINDS), 1, &workers[i].shared))
            return;
    }
    for (unsigned i = 0; i <= THREADS; i++)
        test_thread_start(&threads[i], &jobs[i]);
    for (unsigned i = 0; i <= THREADS; i++)
        test_thread_join(threads[i]);
    for (unsigned i = 0; i < THREADS; i++)
        shared_close(&workers[i].shared);
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(clReleaseCommandQueue(queues[i]), CL_SUCCESS);
}

TAP_MAIN
