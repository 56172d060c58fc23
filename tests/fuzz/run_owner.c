/* Direct3D's writes and reads, objects, acquires and releases. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* ---- Direct3D ---- */

bool is_free(const struct run *run, const struct target *t)
{
    return !model_in_motion(&run->model, t->d3d) &&
           (!t->object || model_owner(&run->model, t->shared) == MAY_BE_IDLE) &&
           !(t->direct && model_in_use(&run->model, t->d3d));
}

void run_d3d_write(struct run *run, const struct op *op)
{
    struct target *first = world_first(&run->world.targets[op->target % TARGETS]);
    unsigned char *bytes = run_memory(run, world_bytes(first)), *at = bytes;
    for (unsigned p = 0; p < first->planes; p++)
        if (!is_free(run, &first[p]))
            return;
    for (unsigned p = 0; p < first->planes; p++) {
        struct memory *memory = &run->model.memories[first[p].d3d];
        const struct box all = box_all(memory);
        unsigned char *pattern = run_pattern(run, first[p].format, memory->size);
        memcpy(at, pattern, memory->size);
        box_write(memory, &all, pattern);
        at += memory->size;
    }
    say(run, "    writes surface %u", (unsigned)(first - run->world.targets));
    world_d3d_write(&run->world, first, bytes);
}

static void compare_surface(struct run *run, struct target *first)
{
    unsigned char *bytes = malloc(world_bytes(first)), *at = bytes;
    world_d3d_read(&run->world, first, bytes);
    for (unsigned p = 0; p < first->planes; p++) {
        const struct memory *memory = &run->model.memories[first[p].d3d];
        if (is_free(run, &first[p]) && !memory->unknown)
            run_compare("wrong bytes in Direct3D", at, memory->bytes, memory->size);
        at += memory->size;
    }
    free(bytes);
}

void run_d3d_read(struct run *run, const struct op *op)
{
    struct target *first = world_first(&run->world.targets[op->target % TARGETS]);
    if (!is_free(run, &run->world.targets[op->target % TARGETS]))
        return;
    say(run, "    reads surface %u", (unsigned)(first - run->world.targets));
    compare_surface(run, first);
}

/* ---- objects ---- */

void run_create(struct run *run, const struct op *op)
{
    static const cl_mem_flags flags[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    struct target *t = &run->world.targets[op->target % TARGETS];
    cl_int status = 1;
    if (!t->object && model_in_motion(&run->model, t->d3d))
        return; /* nothing orders a new object's acquire behind an old one's release */
    cl_mem object = TRY_MAKE(world_create(&run->world, t, flags[op->data % 4], &status));
    if (fault_excuses(STEP_OBJECT, status, run->world.api->invalid_resource)) {
        say(run, "    fails: %d", status);
        if (object)
            fuzz_fail("clCreateFrom... gives an object and an error", "object %p with status %d", (void *)object,
                      status);
        return;
    }
    const bool duplicate = t->object && !run->world.dx9;
    say(run, "    creates object %u: %d", op->target % TARGETS, status);
    expect("clCreateFrom...", status, duplicate ? run->world.api->invalid_resource : CL_SUCCESS,
           duplicate ? run->world.api->invalid_resource : CL_SUCCESS);
    if ((object == NULL) != (status != CL_SUCCESS))
        fuzz_fail("clCreateFrom... gives an object and an error", "object %p with status %d", (void *)object, status);
    if (!object)
        return;
    const int memory = t->object ? -1 : t->direct ? t->d3d : model_memory(&run->model, t->extent, t->texel, NULL);
    const int shared = model_shared(&run->model, memory, t->d3d);
    if (shared < 0) {
        MUST(clReleaseMemObject(object));
        return;
    }
    t->object = object;
    t->refs = 1;
    t->flags = flags[op->data % 4];
    t->shared = shared;
}

void run_retain(struct run *run, const struct op *op)
{
    struct target *t = &run->world.targets[op->target % TARGETS];
    cl_command_queue queue = run->world.queues[op->queue % QUEUES];
    if (t->object)
        t->refs += TRIED(clRetainMemObject(t->object));
    else if (TRIED(clRetainCommandQueue(queue)))
        TRIED(clReleaseCommandQueue(queue));
}

void run_drop(struct run *run, const struct op *op)
{
    struct target *t = &run->world.targets[op->target % TARGETS];
    if (!t->object || (t->refs == 1 && is_mapped(run, t->object)))
        return;
    say(run, "    drops object %u, %u references", op->target % TARGETS, t->refs);
    TRIED(clReleaseMemObject(t->object));
    if (--t->refs == 0)
        t->object = NULL;
}

/* ---- acquire and release ---- */

static bool pick_objects(struct call *call)
{
    struct world *w = &call->run->world;
    const bool all = call->op->more % 32 == 31; /* more than a call has room for without memory */
    const unsigned count = all ? TARGETS : 1 + call->op->more % 3u, step = all ? 1 : 1 + call->op->more / 4u % 7u;
    for (unsigned i = 0; i < count; i++) {
        struct target *t = &w->targets[(call->op->target + i * step) % TARGETS];
        bool there = !t->object;
        for (unsigned k = 0; k < call->shared_count && call->op->more < 240; k++)
            there = there || call->shared[k] == t;
        if (there)
            continue;
        call->objects[call->shared_count] = t->object;
        call->shared[call->shared_count++] = t;
    }
    return call->shared_count > 0;
}

/* MAY_BE_...: whether all objects are in a state, the same object twice not being in it the second time. */
static unsigned all_are(const struct call *call, unsigned owner)
{
    unsigned answers = 1; /* 1: all may be; 2: one may not be */
    for (unsigned i = 0; i < call->shared_count; i++) {
        const unsigned found = model_owner(&call->run->model, call->shared[i]->shared);
        for (unsigned k = 0; k < i; k++)
            if (call->shared[k] == call->shared[i])
                return 2;
        if (found == owner)
            continue;
        answers = found & owner ? answers | 2 : 2;
        if (answers == 2)
            return 2;
    }
    return answers;
}

static void learn_all(const struct call *call, cl_int code, unsigned owner)
{
    for (unsigned i = 0; i < call->shared_count; i++) {
        if (code == CL_SUCCESS)
            model_learn(&call->run->model, call->shared[i]->shared, owner);
        else if (call->shared_count == 1)
            model_learn(&call->run->model, call->shared[i]->shared, owner ^ (MAY_BE_IDLE | MAY_BE_ACQUIRED));
    }
}

static void say_objects(const struct call *call, cl_int code)
{
    char list[64] = "";
    for (unsigned i = 0; i < call->shared_count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), " %u",
                 (unsigned)(call->shared[i] - call->run->world.targets));
    say(call->run, "    objects%s: %d", list, code);
}

static void add_ownership(struct call *call, enum effect_kind kind)
{
    const struct model *m = &call->run->model;
    for (unsigned i = 0; i < call->shared_count; i++) {
        const struct shared_object *shared = &m->shared[call->shared[i]->shared];
        const bool acquire = kind == EFFECT_ACQUIRE;
        struct effect *effect = node_effect(call->node, kind, acquire ? shared->memory : shared->d3d,
                                            acquire ? shared->d3d : shared->memory);
        effect->shared = call->shared[i]->shared;
        effect->takes_memory = !acquire && released_in_place(call->shared[i]);
    }
}

/* The event is asked what it is at once. It is known as a marker where no memory was left for more. */
static void check_type(const struct call *call, cl_command_type right)
{
    cl_command_type type = 0;
    if (!call->place || fault_met() == FAULT_OF_OPENCL)
        return;
    MUST(clGetEventInfo(call->event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    if (type != right)
        fuzz_fail("an event has the wrong type", "the event's type is 0x%x, not 0x%x", type, right);
}

/* A command that is still queued beside the release before finds the bytes of the next acquire, where OpenCL works in rows of the
 * library's: these get Direct3D's bytes in the call, whatever the acquire waits for. */
static bool used_beside_release(const struct call *call)
{
    const struct model *m = &call->run->model;
    bool used = false;
    for (unsigned i = 0; i < call->shared_count; i++) {
        const struct shared_object *shared = &m->shared[call->shared[i]->shared];
        used = used || (model_in_use(m, shared->memory) && !model_in_motion(m, shared->d3d));
    }
    return used;
}

void run_acquire(struct run *run, const struct op *op)
{
    struct call call;
    if (!call_open(&call, run, op, NODE_ACQUIRE) || !pick_objects(&call))
        return;
    if (all_are(&call, MAY_BE_IDLE) == 1 && used_beside_release(&call)) {
        call_drop(&call);
        return;
    }
    add_ownership(&call, EFFECT_ACQUIRE);
    if (!call_order(&call))
        return;
    call_want_event(&call);
    const unsigned fits = all_are(&call, MAY_BE_IDLE);
    const cl_int code = TRY(run->world.acquire(run->world.queues[call.queue], call.shared_count, call.objects,
                                               call.wait_count, call_waits(&call), call.place));
    say_objects(&call, code);
    if (fault_failed(&call, code, false))
        return;
    expect("acquire", code, fits & 1 ? CL_SUCCESS : run->world.api->already_acquired,
           fits & 2 ? run->world.api->already_acquired : CL_SUCCESS);
    learn_all(&call, code, MAY_BE_IDLE);
    if (code != CL_SUCCESS) {
        call_drop(&call);
        return;
    }
    check_type(&call, run->world.api->command_acquire);
    call_succeed(&call);
    for (unsigned i = 0; i < call.shared_count; i++)
        mappings_acquired(run, call.shared[i]->shared);
}

/* What the call waits for itself is over when it returns. */
static void release_is_over(struct run *run, int node)
{
    if (run->model.nodes[node].fate != PENDING)
        model_known(&run->model, node);
    run_compare_reads(run);
}

void run_release(struct run *run, const struct op *op)
{
    struct call call;
    if (!call_open(&call, run, op, NODE_RELEASE) || !pick_objects(&call))
        return;
    add_ownership(&call, EFFECT_RELEASE);
    if (!call_order(&call))
        return;
    call_want_event(&call);
    const unsigned fits = all_are(&call, MAY_BE_ACQUIRED);
    /* One that is deferred knows of an event's failure when the driver does (rusticl 22.3: later, in a thread of its own). */
    const bool fails = call.wait_told || (call.wait_failed && !call.pending);
    const cl_int failed = fails ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
    const cl_int code = TRY(run->world.release(run->world.queues[call.queue], call.shared_count, call.objects,
                                               call.wait_count, call_waits(&call), call.place));
    say_objects(&call, code);
    if (fault_failed(&call, code, true))
        return;
    if ((fits == 3 || (fits == 1 && call.wait_may_fail)) && code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
        call_drop(&call); /* the acquire, or an event of the list, has failed meanwhile */
        return;
    }
    expect("release", code, fits & 1 ? failed : run->world.api->not_acquired,
           fits & 2 ? run->world.api->not_acquired : failed);
    learn_all(&call, code == failed ? CL_SUCCESS : code, MAY_BE_ACQUIRED);
    if (code != CL_SUCCESS) {
        call_drop(&call);
        return;
    }
    check_type(&call, run->world.api->command_release);
    for (unsigned i = 0; i < call.shared_count; i++)
        mappings_released(run, call.shared[i]->shared);
    release_is_over(run, call_succeed(&call));
}

/* ---- the end ---- */

static void release_rest(struct run *run)
{
    for (unsigned i = 0; i < TARGETS; i++) {
        struct target *t = &run->world.targets[i];
        if (t->object && model_owner(&run->model, t->shared) & MAY_BE_ACQUIRED)
            run_release(run, &(struct op){.kind = OP_RELEASE, .target = (uint8_t)i});
    }
}

/* An object goes from one side to the other, and back, as if nothing had been. */
static void use_again(struct run *run, uint8_t target)
{
    const struct target *t = &run->world.targets[target];
    const struct op op = {.target = target, .more = 0};
    if (!t->object || is_mapped(run, t->object))
        return;
    for (int round = 0; round < 2; round++) {
        if (model_owner(&run->model, t->shared) & MAY_BE_ACQUIRED)
            run_release(run, &op);
        if (model_owner(&run->model, t->shared) & MAY_BE_ACQUIRED)
            run_release(run, &op); /* the first has told that it was */
        run_d3d_read(run, &op);
        run_d3d_write(run, &op);
        run_acquire(run, &op);
        run_read(run, &op);
        run_write(run, &op);
    }
    run_release(run, &op);
    run_finish(run, 0);
}

static void drop_rest(struct run *run)
{
    for (unsigned i = 0; i < TARGETS; i++)
        while (run->world.targets[i].object)
            run_drop(run, &(struct op){.kind = OP_DROP, .target = (uint8_t)i});
    children_end(run);
    notices_settle(run);
    for (unsigned i = 0; i < SLOTS; i++)
        if (run->slots[i].event)
            drop_slot(run, i);
    for (int i = 0; i < run->model.node_count; i++)
        if (run->kept[i])
            MUST(clReleaseEvent(run->kept[i]));
}

void run_end(struct run *run)
{
    const unsigned end = run->sequence->setting.end;
    end_user_events(run, end);
    run_settle(run);
    for (int i = 0; i < QUEUES; i++)
        run_finish(run, i);
    mappings_end(run);
    if (end & 0x80)
        release_rest(run);
    for (unsigned i = 0; i < TARGETS && fault_layers(); i += run->world.targets[i].planes)
        compare_surface(run, &run->world.targets[i]);
    for (unsigned i = 0; i < TARGETS && fault_layers(); i++)
        use_again(run, (uint8_t)i);
    for (unsigned i = 0; i < TARGETS; i += run->world.targets[i].planes)
        compare_surface(run, &run->world.targets[i]);
    for (unsigned i = 0; i < TARGETS; i++)
        if (run->world.targets[i].object && is_mapped(run, run->world.targets[i].object))
            fuzz_fail("a mapping is left in the end", "object %u", i);
    drop_rest(run);
}

/* Without a device nothing can be right, but nothing may hang, and all is given back. */
void run_end_lost(struct run *run)
{
    const struct world *w = &run->world;
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct node *node = &run->model.nodes[run->slots[i].node];
        if (run->slots[i].event && node->fate == PENDING && node->kind == NODE_USER)
            clSetUserEventStatus(run->slots[i].event, CL_COMPLETE);
    }
    for (int i = 0; i < QUEUES; i++)
        run_wait_for_queue(run, i);
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (run->mappings[i].pointer && !run->mappings[i].unmapped)
            clEnqueueUnmapMemObject(w->queues[0], run->mappings[i].object, run->mappings[i].pointer, 0, NULL, NULL);
    memset(run->mappings, 0, sizeof(run->mappings));
    run_wait_for_queue(run, 0);
    for (unsigned i = 0; i < TARGETS; i++) {
        const cl_mem object = w->targets[i].object;
        if (!object)
            continue;
        const cl_int acquired = w->acquire(w->queues[0], 1, &object, 0, NULL, NULL);
        if (acquired != CL_SUCCESS || !run->other) /* which may have another device */
            expect("an acquire without a device", acquired, CL_OUT_OF_RESOURCES, w->api->already_acquired);
        const cl_int code = w->release(w->queues[0], 1, &object, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            expect("a release without a device", code, CL_OUT_OF_RESOURCES, w->api->not_acquired);
    }
    drop_rest(run);
}
