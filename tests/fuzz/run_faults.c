#include "run.h"

#include "fake_d3d.h"
#include "faults/faults.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what is armed and met ---- */

static const struct kind {
    const char *name;
    enum fault means; /* FAULT_NONE: what is late or slow changes nothing */
    bool of_direct3d;
    int kind; /* enum fake_d3d_fault or enum fault_kind */
} kinds[] = {
    {"Direct3D fails", FAULT_OF_DIRECT3D, true, FAKE_D3D_FAILS},
    {"Direct3D has no memory", FAULT_OF_DIRECT3D, true, FAKE_D3D_NO_MEMORY},
    {"an allocation fails", FAULT_OF_OPENCL, false, FAULT_ALLOCATION},
    {"OpenCL fails", FAULT_OF_OPENCL, false, FAULT_OPENCL},
    {"OpenCL has no memory", FAULT_OF_OPENCL, false, FAULT_OPENCL_MEMORY},
    {"a command fails", FAULT_OF_EVENT, false, FAULT_EVENT_FAILS},
    {"a command is late", FAULT_NONE, false, FAULT_EVENT_LATE},
    {"OpenCL is slow", FAULT_NONE, false, FAULT_OPENCL_SLOW},
    {"Direct3D is slow", FAULT_NONE, true, FAKE_D3D_SLOW},
    {"Direct3D is lost", FAULT_OF_DIRECT3D, true, FAKE_D3D_LOST},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *armed; /* or NULL */

void fault_begin(void)
{
    layer_own(false);
    fake_d3d_own_calls(false);
}

static void end(void)
{
    layer_own(true);
    fake_d3d_own_calls(true);
}

cl_int fault_end(cl_int code)
{
    end();
    return code;
}

void *fault_made(void *handle)
{
    end();
    return handle;
}

/* The loader takes the variable apart. */
bool fault_layers(void)
{
    static enum { UNKNOWN, NO, YES } there;
    const char *layers = getenv("OPENCL_LAYERS");
    if (there == UNKNOWN)
        there = layers && strstr(layers, "libfaults.so") ? YES : NO;
    return there == YES;
}

void fault_disarm(void)
{
    armed = NULL;
    layer_arm(FAULT_ALLOCATION, 0);
    fake_d3d_any_fault(FAKE_D3D_FAILS, 0);
    end();
}

static unsigned number_of(const struct op *op)
{
    return 1 + op->extra % (2u << op->more % 5);
}

static void arm(const struct kind *kind, unsigned n)
{
    fault_disarm();
    armed = kind;
    if (armed->of_direct3d)
        fake_d3d_any_fault((enum fake_d3d_fault)armed->kind, n);
    else
        layer_arm((enum fault_kind)armed->kind, n);
}

void run_fault(struct run *run, const struct op *op)
{
    if (armed)
        return;
    arm(&kinds[fault_layers() ? op->data % KINDS : op->data % 2], number_of(op));
    say(run, "    in call %u from here: %s", number_of(op), armed->name);
}

void fault_arm_early(const struct op *op)
{
    arm(&kinds[op->data % (KINDS - 1)], 1 + op->extra % (8u << op->more % 6));
}

static const char *struck(void)
{
    return !armed ? NULL : armed->of_direct3d ? fake_d3d_any_struck() : layer_struck();
}

enum fault fault_met(void)
{
    const char *name = struck();
    if (!name)
        return FAULT_NONE;
    /* A command of the driver that imports may have failed in the call, or in what follows from it. */
    return strncmp(name, "external ", 9) == 0 ? FAULT_OF_IMPORT : armed->means;
}

bool fault_excuses(enum step step, cl_int code, cl_int by_direct3d)
{
    const enum fault met = fault_met();
    if (met == FAULT_NONE)
        return false;
    switch (code) {
    case CL_SUCCESS: return false;
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY: return true;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return step != STEP_OWNER; /* no code of acquires and releases */
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return step != STEP_CONTEXT && step != STEP_OBJECT;
    case CL_DEVICE_NOT_AVAILABLE: return step == STEP_CONTEXT;
    case CL_DEVICE_NOT_FOUND: return step == STEP_DEVICES;
    case CL_MAP_FAILURE: return step == STEP_MAP;
    default: return met == FAULT_OF_DIRECT3D && code == by_direct3d;
    }
}

/* ---- what became of bytes ---- */

/* They are the old ones or the new ones. */
static void decide(struct memory *memory, const unsigned char *found, const char *side)
{
    if (memcmp(found, memory->bytes, memory->size) != 0) {
        run_compare(side, found, memory->other, memory->size);
        memcpy(memory->bytes, memory->other, memory->size);
    }
    memory->unknown = false;
}

static void decide_in_opencl(struct run *run, const struct target *t, struct memory *memory, cl_mem object)
{
    unsigned char *found = malloc(memory->size);
    if (world_move(&run->world, t, object, found, false))
        decide(memory, found, "wrong bytes in OpenCL after a fault");
    free(found);
}

static void decide_in_direct3d(struct run *run, struct target *first)
{
    unsigned char *found = malloc(world_bytes(first)), *at = found;
    world_d3d_read(&run->world, first, found);
    for (unsigned p = 0; p < first->planes; p++) {
        struct memory *memory = &run->model.memories[first[p].d3d];
        if (memory->other && is_free(run, &first[p]))
            decide(memory, at, "wrong bytes in Direct3D after a fault");
        at += memory->size;
    }
    free(found);
}

/* Where nothing is pending and nothing mapped all can be seen; else what is not known stays so. */
static void decide_all(struct run *run)
{
    struct model *m = &run->model;
    bool idle = true;
    for (int i = 0; i < QUEUES; i++)
        idle = idle && !model_held(m, i);
    for (int i = 0; i < QUEUES && idle; i++)
        run_finish(run, i);
    for (unsigned i = 0; i < TARGETS && idle; i++) {
        struct target *t = &run->world.targets[i];
        struct memory *memory = t->object ? &m->memories[m->shared[t->shared].memory] : NULL;
        if (memory && memory->other && !t->direct && model_owner(m, t->shared) == MAY_BE_ACQUIRED &&
            !is_mapped(run, t->object))
            decide_in_opencl(run, t, memory, t->object);
        if (t->twin && m->memories[t->twin_memory].other && !is_mapped(run, t->twin))
            decide_in_opencl(run, t, &m->memories[t->twin_memory], t->twin);
        if (m->memories[t->d3d].other && is_free(run, t))
            decide_in_direct3d(run, world_first(t));
    }
}

bool fault_over(struct run *run)
{
    const char *name = struck();
    const bool lost = name && armed->kind == FAKE_D3D_LOST && armed->of_direct3d;
    if (name) {
        say(run, "    met: %s, %s", armed->name, name);
        layer_settle();
        if (armed->means != FAULT_NONE && !lost)
            decide_all(run);
        fault_disarm();
    }
    model_undecided(&run->model);
    return !lost;
}

/* ---- acquires and releases ---- */

bool fault_failed(struct call *call, cl_int code, bool release)
{
    struct run *run = call->run;
    const enum fault met = fault_met();
    if (!fault_excuses(STEP_OWNER, code, CL_SUCCESS))
        return false;
    say(run, "    fails, by %s", struck());
    if (met == FAULT_OF_DIRECT3D && call->place && code == CL_OUT_OF_RESOURCES)
        fuzz_fail("a fault is not in the event", "the call with an event gives %d", code);
    for (unsigned i = 0; i < call->shared_count; i++) {
        const int shared = call->shared[i]->shared;
        if (release && met == FAULT_OF_DIRECT3D)
            model_lost(&run->model, shared);
        else if (release && met == FAULT_OF_IMPORT)
            model_doubted(&run->model, shared);
    }
    call_drop(call);
    return true;
}

/* ---- what is left ---- */

/* And of Direct3D's objects. */
enum { LIVE_OF_DIRECT3D = LIVES, LEVELS };

struct level {
    int live[LEVELS];
};

static struct level level(void)
{
    struct level now = {{0}};
    for (int i = 0; i < LIVES; i++)
        now.live[i] = layer_live((enum live)i);
    now.live[LIVE_BLOCKS] -= (int)notices_due(); /* cld3d keeps a block for each */
    now.live[LIVE_OF_DIRECT3D] = (int)fake_d3d_live();
    return now;
}

static int growth(const struct level *from, const struct level *to)
{
    int most = 0;
    for (int i = 0; i < LEVELS; i++)
        most = to->live[i] - from->live[i] > most ? to->live[i] - from->live[i] : most;
    return most;
}

/* Threads of the driver, and cld3d's for callbacks, may still give something back. */
static struct level settled(const struct level *wanted)
{
    static const struct timespec pause = {0, 1000 * 1000};
    struct level now = level();
    for (int i = 0; i < 200 && growth(wanted, &now) > 0; i++, now = level())
        nanosleep(&pause, NULL);
    return now;
}

static struct level run_once(const struct sequence *s, bool verbose, const struct level *before)
{
    run_sequence(s, verbose);
    base_close_all();
    layer_forget();
    return settled(before);
}

void run_whole(const struct sequence *s, bool verbose)
{
    enum { REPEATS = 4 };
    if (!fault_layers()) {
        run_sequence(s, verbose);
        return;
    }
    const struct level before = level();
    struct level first = run_once(s, verbose, &before), now = first;
    /* What a process keeps, it keeps once; what each run leaves is lost. */
    for (int i = 0; i < REPEATS && growth(&before, &first) > 0 && growth(&first, &now) >= i; i++)
        now = run_once(s, false, &first);
    static const char *const names[LEVELS] = {"contexts", "queues", "memory objects", "programs",
                                              "kernels",  "events", "blocks",         "objects of Direct3D"};
    for (int i = 0; i < LEVELS && growth(&before, &first) > 0 && growth(&first, &now) >= REPEATS; i++)
        if (now.live[i] - first.live[i] >= REPEATS)
            fuzz_fail("something is left", "%d %s are left by %d runs", now.live[i] - first.live[i], names[i], REPEATS);
}
