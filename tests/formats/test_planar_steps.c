/* Planar video textures (planar.h): planes that are acquired and released in any order, in several contexts and threads. */
#include "planar.h"

/* ---- planes acquired and released one by one ---- */

/* Runs steps on one slice, each a letter and a digit:
 *
 *     a acquire, r release, c check that OpenCL finds what it must, w write from OpenCL; the same in capitals with the
 *         objects of a second context
 *     o Direct3D writes the slice that lies so many behind
 *
 * The digit is the plane; 2 both in one call, 3 both with plane 1 first. */
struct player {
    struct pool *pool;
    int slice;
    unsigned seed; /* the last one used */
    cl_command_queue queues[2];
    cl_mem (*objects[2])[PLANE_COUNT];
};

static void play_one(struct player *player, char what, int plane, int context)
{
    struct pool *pool = player->pool;
    cl_command_queue queue = player->queues[context];
    cl_mem object = player->objects[context][player->slice][plane];
    if (what == 'w')
        cl_write_plane(queue, pool, object, player->slice, plane, ++player->seed);
    else
        cl_plane_has(queue, pool, object, player->slice, plane, pool->seeds[player->slice][plane]);
}

static void play_step(struct player *player, char letter, int digit)
{
    const int context = letter < 'a';
    const char what = (char)(letter | 0x20);
    const struct rig *rig = player->pool->rig;
    const cl_mem *planes = player->objects[context][player->slice];
    const cl_mem list[PLANE_COUNT] = {planes[digit & 1], planes[!(digit & 1)]};
    const cl_uint count = digit > 1 ? 2 : 1;
    switch (what) {
    case 'a': CHECK_INT(rig->acquire(player->queues[context], count, list, 0, NULL, NULL), CL_SUCCESS); break;
    case 'r': CHECK_INT(rig->release(player->queues[context], count, list, 0, NULL, NULL), CL_SUCCESS); break;
    case 'o':
        player->seed += 2;
        d3d_write_slice(player->pool, (player->slice + digit) % SLICE_COUNT, player->seed - 1);
        break;
    default:
        play_one(player, what, digit & 1, context);
        if (count == 2)
            play_one(player, what, !(digit & 1), context);
        break;
    }
}

static void play(struct player *player, const char *steps)
{
    const int before = atomic_load(&tap_case.failures);
    for (const char *step = steps; *step; step += step[2] ? 3 : 2)
        play_step(player, step[0], step[1] - '0');
    CHECK(d3d_is_right(player->pool));
    if (atomic_load(&tap_case.failures) == before)
        return;
    char remark[128];
    snprintf(remark, sizeof(remark), "# that was in the steps %s", steps);
    tap_line(remark);
}

static void play_all(struct pool *pool, const char *const *sequences, size_t count, cl_command_queue second_queue,
                     cl_mem second[SLICE_COUNT][PLANE_COUNT])
{
    struct player player = {pool, 0, 5000, {pool->rig->queue, second_queue}, {pool->objects, second}};
    for (size_t i = 0; i < count; i++) {
        player.slice = (int)i % SLICE_COUNT;
        play(&player, sequences[i]);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

POOL_CASE("planes acquired and released in every order", interleaved)
{
    static const char *const sequences[] = {
        "a0 c0 w0 r0",
        "a1 c1 w1 r1",
        "a2 c2 w2 r2",
        "a3 c2 w2 r3",
        "a2 w2 r3",
        "a0 a1 w0 w1 r1 r0",
        "a0 a1 w0 w1 r0 r1",
        "a1 a0 w1 w0 r0 r1",
        "a1 a0 w0 w1 r1 r0",
        "a2 w2 r0 r1",
        "a2 w2 r1 r0",
        "a0 w0 a1 w1 r2",
        "a0 a1 w1 r1 w0 r0",
        "a0 a1 w0 r0 w1 r1",
        /* A plane comes back unchanged, after the other has. */
        "a2 w0 r0 r1",
        "a2 w1 r1 r0",
        "a2 w0 r2",
        /* A plane changes twice while the other is away. */
        "a2 w0 r0 a0 c0 w0 r0 w1 r1",
        "a2 w1 r1 a1 c1 w1 r1 c0 r0",
        "a0 w0 r0 a1 w1 a0 c0 w0 r1 r0",
    };
    play_all(pool, sequences, COUNT(sequences), NULL, NULL);
}

POOL_CASE("Direct3D writes other slices meanwhile", other_slices)
{
    static const char *const sequences[] = {
        "a0 o1 w0 r0",
        "a1 o1 o7 w1 r1",
        "a2 o1 c2 w2 o3 r0 o2 r1",
        "o1 a2 w2 o1 o2 o3 o4 o5 o6 o7 c2 r2",
        "a2 w0 o1 r0 o1 a0 o7 c0 r0 r1",
    };
    play_all(pool, sequences, COUNT(sequences), NULL, NULL);
}

/* ---- both planes of a slice released by one command ---- */

/* Each context has an object of each plane: that is no duplicate. */
POOL_CASE("two contexts with objects of one texture", two_contexts)
{
    static const char *const sequences[] = {
        "a2 w2 r2 A2 C2 W2 R2 a2 c2 r2",
        "a0 w0 r0 A1 W1 R1 a2 c2 r2 A2 C2 R2",
        "a0 A1 w0 W1 r0 R1",
        "a0 A1 w0 W1 R1 r0",
        "A0 a1 W0 w1 r1 o1 R0 a2 c2 r2",
        "a0 A1 w0 r0 A0 C0 W0 R3 a2 c2 r2",
    };
    struct rig *rig = pool->rig;
    cl_int status = 1;
    cl_mem objects[SLICE_COUNT][PLANE_COUNT] = {{NULL}};
    cl_context context = rig_make_context(rig, rig->device, false, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    cl_command_queue queue = make_queue(rig, context, 0);
    if (make_planes(pool, context, objects))
        play_all(pool, sequences, COUNT(sequences), queue, objects);
    release_planes(objects);
    CHECK_INT(clReleaseCommandQueue(queue), CL_SUCCESS);
    CHECK_INT(clReleaseContext(context), CL_SUCCESS);
}

/* ---- behind events ---- */

/* The planes of a slice are released behind events that come later, that of plane `first` first. Each in a queue of its
 * own: one queue, being in order, would make the second wait for the first. */
static void release_behind(struct pool *pool, int slice, int first)
{
    const struct rig *rig = pool->rig;
    cl_mem *planes = pool->objects[slice];
    cl_event gates[PLANE_COUNT], done[PLANE_COUNT];
    cl_command_queue queues[PLANE_COUNT];
    CHECK_INT(rig->acquire(rig->queue, PLANE_COUNT, planes, 0, NULL, NULL), CL_SUCCESS);
    for (int plane = 0; plane < PLANE_COUNT; plane++)
        cl_write_plane(rig->queue, pool, planes[plane], slice, plane, 7000u + (unsigned)(slice * 2 + plane));
    for (int plane = 0; plane < PLANE_COUNT; plane++) {
        gates[plane] = user_event(rig->context);
        queues[plane] = make_queue(rig, rig->context, 0);
        CHECK_INT(rig->release(queues[plane], 1, &planes[plane], 1, &gates[plane], &done[plane]), CL_SUCCESS);
    }
    for (int i = 0; i < PLANE_COUNT; i++) {
        const int plane = first ^ i;
        CHECK_INT(clSetUserEventStatus(gates[plane], CL_COMPLETE), CL_SUCCESS);
        CHECK_INT(clWaitForEvents(1, &done[plane]), CL_SUCCESS);
    }
    for (int plane = 0; plane < PLANE_COUNT; plane++) {
        CHECK_INT(clReleaseEvent(done[plane]), CL_SUCCESS);
        CHECK_INT(clReleaseEvent(gates[plane]), CL_SUCCESS);
        CHECK_INT(clReleaseCommandQueue(queues[plane]), CL_SUCCESS);
    }
}

POOL_CASE("planes released behind events", behind_events)
{
    for (int slice = 0; slice < 4; slice++) {
        release_behind(pool, slice, slice % 2);
        CHECK(d3d_is_right(pool));
    }
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 12 };

struct worker {
    struct pool *pool;
    cl_command_queue queue;
    struct meeting *meeting;
    int slice, plane;
};

static void work(void *data)
{
    const struct worker *worker = data;
    const struct rig *rig = worker->pool->rig;
    cl_mem object = worker->pool->objects[worker->slice][worker->plane];
    unsigned *seed = &worker->pool->seeds[worker->slice][worker->plane];
    for (unsigned round = 0; round < ROUNDS; round++) {
        meeting_wait(worker->meeting);
        CHECK_INT(rig->acquire(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        cl_plane_has(worker->queue, worker->pool, object, worker->slice, worker->plane, *seed);
        cl_write_plane(worker->queue, worker->pool, object, worker->slice, worker->plane, *seed + 100);
        meeting_wait(worker->meeting);
        CHECK_INT(rig->release(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        queue_wait(worker->queue);
    }
}

/* Each thread has one plane of one of four slices, so that the two planes of a slice come back at the same time. */
POOL_CASE("eight threads with a plane each", threads)
{
    struct meeting meeting = {.count = THREADS};
    struct worker workers[THREADS];
    struct test_job jobs[THREADS];
    test_thread running[THREADS];
#ifndef _WIN32
    fake_d3d_delay(1); /* between a thread's first copy and its last there is time for another's */
#endif
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){pool, make_queue(pool->rig, pool->rig->context, 0), &meeting, i / PLANE_COUNT + 2,
                                     i % PLANE_COUNT};
        jobs[i] = (struct test_job){work, &workers[i]};
    }
    for (int i = 0; i < THREADS; i++)
        test_thread_start(&running[i], &jobs[i]);
    for (int i = 0; i < THREADS; i++)
        test_thread_join(running[i]);
    CHECK(d3d_is_right(pool));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(clReleaseCommandQueue(workers[i].queue), CL_SUCCESS);
}

/* ---- a thread that holds the device ---- */

enum { HOLDER_ROUNDS = 50, PATIENCE_MS = 60000 };

struct holder {
    struct worker worker;
    bool holds; /* the device, around each release */
    atomic_uint rounds;
};

static void release_again_and_again(void *data)
{
    struct holder *holder = data;
    const struct worker *worker = &holder->worker;
    const struct rig *rig = worker->pool->rig;
    cl_mem object = worker->pool->objects[worker->slice][worker->plane];
    ID3D10Multithread *multithread = NULL;
    IUnknown_QueryInterface((IUnknown *)rig->device, &IID_ID3D10Multithread, (void **)&multithread);
    if (!CHECK(multithread != NULL))
        return;
    for (int round = 0; round < HOLDER_ROUNDS; round++) {
        CHECK_INT(rig->acquire(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        cl_write_plane(worker->queue, worker->pool, object, worker->slice, worker->plane, 8000u + (unsigned)round);
        meeting_wait(worker->meeting); /* the other one needs the device no more before its release */
        if (holder->holds)
            ID3D10Multithread_Enter(multithread);
        meeting_wait(worker->meeting);
        CHECK_INT(rig->release(worker->queue, 1, &object, 0, NULL, NULL), CL_SUCCESS);
        if (holder->holds)
            ID3D10Multithread_Leave(multithread);
        atomic_fetch_add(&holder->rounds, 1);
    }
    rig_release(multithread);
}

/* Two threads that hang each other can't be ended: then the program is. */
static void await_rounds(struct holder *holder)
{
    unsigned left = PATIENCE_MS, before = 0;
    while (atomic_load(&holder->rounds) < HOLDER_ROUNDS) {
        const unsigned rounds = atomic_load(&holder->rounds);
        left = rounds == before ? left - 1 : PATIENCE_MS;
        before = rounds;
        if (left == 0) {
            CHECK(!"the threads go on");
            exit(EXIT_FAILURE);
        }
        pause_ms(1);
    }
}

/* One thread releases its plane while it holds the device, the other one releases the other plane of the slice. */
POOL_CASE("a thread that holds the device releases a plane, another one the other", held_device)
{
    struct meeting meeting = {.count = PLANE_COUNT};
    struct holder holders[PLANE_COUNT];
    struct test_job jobs[PLANE_COUNT];
    test_thread running[PLANE_COUNT];
    for (int i = 0; i < PLANE_COUNT; i++) {
        holders[i] = (struct holder){.worker = {.pool = pool,
                                                .queue = make_queue(pool->rig, pool->rig->context, 0),
                                                .meeting = &meeting,
                                                .slice = 1,
                                                .plane = i},
                                     .holds = i == 0};
        jobs[i] = (struct test_job){release_again_and_again, &holders[i]};
    }
    for (int i = 0; i < PLANE_COUNT; i++)
        test_thread_start(&running[i], &jobs[i]);
    for (int i = 0; i < PLANE_COUNT; i++)
        await_rounds(&holders[i]);
    for (int i = 0; i < PLANE_COUNT; i++)
        test_thread_join(running[i]);
    CHECK(d3d_is_right(pool));
    for (int i = 0; i < PLANE_COUNT; i++)
        CHECK_INT(clReleaseCommandQueue(holders[i].worker.queue), CL_SUCCESS);
}

TAP_MAIN
