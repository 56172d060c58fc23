/* Many threads at once: they make, acquire, use and release objects over one context and over their own, and fight for the same
 * object. CLD3D_TEST_SECONDS says how long the program runs. */
#include "sharing.h"

enum { THREADS = 8 };

/* ---- time ---- */

/* How long one case may take: its part of the whole. Of three tests with both APIs, of which one runs once per kind. */
enum { CASES = 2 * (3 + KINDS - 1) };

static double case_seconds(void)
{
    const char *text = getenv("CLD3D_TEST_SECONDS");
    const double all = text ? atof(text) : 0;
    return (all > 0 ? all : 3) / CASES;
}

/* ---- crews ---- */

/* The threads of a case. */
struct crew;

struct worker {
    struct crew *crew;
    unsigned number;
    struct rig rig; /* the context may be its own; the queue is */
    unsigned turns;
};

struct crew {
    const struct rig *rig;
    void (*turn)(struct worker *); /* runs again and again until the time is over or a check failed */
    void *data;
    double until;
    int failures; /* before */
    struct worker workers[THREADS];
};

static bool time_is_over(const struct crew *crew)
{
    return test_now() > crew->until || atomic_load(&tap_case.failures) != crew->failures;
}

static void work(void *data)
{
    struct worker *worker = data;
    struct crew *crew = worker->crew;
    do {
        crew->turn(worker);
        worker->turns++;
    } while (!time_is_over(crew));
}

static void run_crew(struct crew *crew)
{
    test_thread threads[THREADS];
    struct test_job jobs[THREADS];
    unsigned started = 0, turns = 0;
    crew->failures = atomic_load(&tap_case.failures);
    crew->until = test_now() + case_seconds();
    for (; started < THREADS; started++) {
        jobs[started] = (struct test_job){work, &crew->workers[started]};
        if (!test_thread_start(&threads[started], &jobs[started]))
            break;
    }
    for (unsigned i = 0; i < started; i++) {
        test_thread_join(threads[i]);
        CHECK(crew->workers[i].turns > 0);
        turns += crew->workers[i].turns;
    }
    printf("# %u turns\n", turns);
}

/* Prepares the workers: each with a queue of its own, and with a context of its own if `contexts`. */
static bool open_crew(struct crew *crew, const struct rig *rig, bool contexts, void (*turn)(struct worker *))
{
    *crew = (struct crew){.rig = rig, .turn = turn};
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *worker = &crew->workers[i];
        cl_int status = CL_SUCCESS;
        *worker = (struct worker){.crew = crew, .number = i, .rig = *rig};
        if (contexts)
            worker->rig.context = rig_make_context(rig, rig->device, false, &status);
        if (!CHECK_INT(status, CL_SUCCESS))
            return false;
        worker->rig.queue = make_queue(rig, worker->rig.context, 0);
    }
    return true;
}

static void close_crew(struct crew *crew)
{
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *worker = &crew->workers[i];
        CHECK_INT(clReleaseCommandQueue(worker->rig.queue), CL_SUCCESS);
        if (worker->rig.context != crew->rig->context)
            CHECK_INT(clReleaseContext(worker->rig.context), CL_SUCCESS);
    }
}

/* ---- a thread's own subresources ---- */

/* A subresource that one thread has for itself. The 2D texture is common to all, with a slice for each. */
struct place {
    enum kind kind;
    struct rig_desc desc;
    void *resource;
    UINT subresource;
};

struct places {
    struct place of[THREADS][KINDS];
};

static bool open_places(const struct rig *rig, struct places *places)
{
    struct rig_desc slices = kind_desc(KIND_2D);
    slices.slices = THREADS;
    slices.bind = D3D11_BIND_SHADER_RESOURCE;
    void *texture = rig_make(rig, rig->device, &slices, NULL);
    bool made = CHECK(texture != NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            struct place *place = &places->of[i][kind];
            *place = (struct place){.kind = (enum kind)kind, .desc = kind_desc((enum kind)kind)};
            if (kind == KIND_2D)
                *place = (struct place){KIND_2D, slices, texture, i};
            else
                place->resource = rig_make(rig, rig->device, &place->desc, NULL);
            made = made && CHECK(place->resource != NULL);
        }
    }
    return made;
}

static void close_places(struct places *places)
{
    for (unsigned i = 0; i < THREADS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            if (kind != KIND_2D || i == 0)
                rig_release(places->of[i][kind].resource);
}

/* ---- own subresources ---- */

/* One object's life: made, acquired, looked at, changed, released, given back; with a reference more at times. */
static void live_once(struct worker *worker, const struct place *place)
{
    const struct rig *rig = &worker->rig;
    const unsigned seed = worker->turns * 2 * THREADS + worker->number;
    unsigned char bytes[SHARED_BYTES];
    struct shared shared = {.kind = place->kind};
    cl_int status = 1;
    rig_pattern(bytes, sizeof(bytes), seed);
    rig_write(rig, place->resource, &place->desc, place->subresource, bytes);
    shared.object = kind_create(rig, rig->context, 0, place->kind, place->resource, place->subresource, &status);
    if (!CHECK_INT(status, CL_SUCCESS))
        return;
    const bool retained = worker->turns % 2 && CHECK_INT(clRetainMemObject(shared.object), CL_SUCCESS);
    if (CHECK_INT(acquire_one(rig, shared.object), CL_SUCCESS) && cl_has(rig->queue, &shared, seed)) {
        unsigned char found[SHARED_BYTES];
        rig_pattern(bytes, sizeof(bytes), seed + THREADS);
        CHECK_INT(cl_write(rig->queue, &shared, bytes, 0, NULL, NULL), CL_SUCCESS);
        CHECK_INT(release_one(rig, shared.object), CL_SUCCESS);
        rig_read(rig, place->resource, &place->desc, place->subresource, found);
        CHECK_MEM(found, bytes, sizeof(bytes));
    }
    if (retained)
        CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
    CHECK_INT(clReleaseMemObject(shared.object), CL_SUCCESS);
}

/* Every third turn with a queue that lives no longer than it. */
static void own_turn(struct worker *worker)
{
    const struct places *places = worker->crew->data;
    cl_command_queue own = worker->rig.queue;
    const bool fresh = worker->turns % 3 == 0;
    if (fresh)
        worker->rig.queue = make_queue(&worker->rig, worker->rig.context, 0);
    live_once(worker, &places->of[worker->number][(worker->turns + worker->number) % KINDS]);
    if (fresh)
        CHECK_INT(clReleaseCommandQueue(worker->rig.queue), CL_SUCCESS);
    worker->rig.queue = own;
}

static void own_subresources(const struct rig *rig, bool contexts)
{
    struct crew crew;
    struct places places;
    if (!open_places(rig, &places))
        return;
    if (open_crew(&crew, rig, contexts, own_turn)) {
        crew.data = &places;
        run_crew(&crew);
    }
    close_crew(&crew);
    close_places(&places);
}

SHARING_CASE("own subresources in one context", one_context, 0)
{
    own_subresources(rig, false);
}

SHARING_CASE("own subresources in own contexts", own_contexts, 0)
{
    own_subresources(rig, true);
}

/* ---- the same object ---- */

struct prize {
    struct shared shared;
    atomic_int owners;
    unsigned seed; /* what the object has; only its owner looks here */
};

/* Whoever acquires the object has it alone, and finds what the owner before has left. */
static void fight_turn(struct worker *worker)
{
    struct prize *prize = worker->crew->data;
    const struct rig *rig = &worker->rig;
    unsigned char bytes[SHARED_BYTES];
    const cl_int status = acquire_one(rig, prize->shared.object);
    if (status != CL_SUCCESS) {
        CHECK_INT(status, rig->api->already_acquired);
        let_others_run();
        return;
    }
    CHECK_INT(atomic_fetch_add(&prize->owners, 1), 0);
    CHECK(cl_has(rig->queue, &prize->shared, prize->seed));
    rig_pattern(bytes, sizeof(bytes), ++prize->seed);
    CHECK_INT(cl_write(rig->queue, &prize->shared, bytes, 0, NULL, NULL), CL_SUCCESS);
    queue_wait(rig->queue);
    CHECK_INT(atomic_fetch_sub(&prize->owners, 1), 1);
    CHECK_INT(release_one(rig, prize->shared.object), CL_SUCCESS);
}

SHARING_CASE("all want the same object", fight_for_one, 0)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct crew crew;
        struct prize prize = {.seed = 1};
        if (!shared_open(rig, (enum kind)kind, 1, &prize.shared))
            continue;
        if (open_crew(&crew, rig, false, fight_turn)) {
            crew.data = &prize;
            run_crew(&crew);
        }
        CHECK(prize.seed > 1);
        CHECK(d3d_has(rig, &prize.shared, prize.seed));
        close_crew(&crew);
        shared_close(&prize.shared);
    }
}

/* ---- Direct3D beside it ---- */

/* A thread of the program that draws, in a resource which nobody shares. */
struct drawer {
    const struct rig *rig;
    struct shared resource;
    unsigned drawn;
    atomic_bool stop;
};

static void keep_drawing(void *data)
{
    struct drawer *drawer = data;
    do
        d3d_fill(drawer->rig, &drawer->resource, ++drawer->drawn % 100);
    while (!atomic_load(&drawer->stop));
}

/* The queue of Direct3D has work of others before, between and behind what changes hands. */
SHARING_CASE("Direct3D draws in another thread", drawn_meanwhile, 0)
{
    enum { TURNS = 40 };
    struct shared ours[KINDS];
    struct drawer drawer = {.rig = rig};
    struct test_job job = {keep_drawing, &drawer};
    test_thread thread;
    if (!shared_open_all(rig, 1, ours))
        return;
    if (CHECK(shared_resource(rig, KIND_2D, 0, &drawer.resource)) && CHECK(test_thread_start(&thread, &job))) {
        for (unsigned turn = 0; turn < TURNS; turn++)
            for (unsigned kind = 0; kind < KINDS; kind++)
                CHECK(round_trip(rig, &ours[kind], 1 + kind + turn, 2 + kind + turn));
        atomic_store(&drawer.stop, true);
        test_thread_join(thread);
        CHECK(d3d_has(rig, &drawer.resource, drawer.drawn % 100));
    }
    shared_close(&drawer.resource);
    shared_close_all(ours);
}

TAP_MAIN
