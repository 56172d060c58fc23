/* Arguments that are wrong, in every place of acquire, release and creation, alone and together: the code is that of the
 * first in the order of checks (docs/behaviour.md), and nothing changes. And calls with no objects. */
#include "run.h"

/* What looks like nothing that a driver or Direct3D made. */
static void *zeros[64];
static void *const garbage[] = {NULL, (void *)1, (void *)(size_t)0x10000, (void *)~(size_t)7, zeros};

enum { GARBAGE = sizeof(garbage) / sizeof(garbage[0]) };

/* A call whose arguments are chosen one by one; `code` is that of the first wrong one. */
struct bad_call {
    struct run *run;
    cl_int code; /* CL_SUCCESS: nothing is wrong so far */
    cl_command_queue queue;
    bool foreign_queue; /* of the other context, which has the same family */
    cl_mem objects[2];
    cl_uint object_count;
    bool no_objects; /* the list is NULL */
    cl_event events[2];
    cl_uint event_count;
    bool no_events;
};

static void wrong(struct bad_call *bad, cl_int code)
{
    if (bad->code == CL_SUCCESS)
        bad->code = code;
}

static bool same_family(const struct run *run)
{
    return run->other && run->other->world.acquire == run->world.acquire;
}

static void choose_queue(struct bad_call *bad, unsigned choice)
{
    struct run *run = bad->run;
    bad->queue = run->world.queues[choice / 8 % QUEUES];
    switch (choice % 8) {
    case 0:
        bad->queue = garbage[choice / 8 % GARBAGE];
        wrong(bad, CL_INVALID_COMMAND_QUEUE);
        break;
    case 1:
        if (!base_plain(run->world.base))
            break;
        bad->queue = run->world.base->plain_queue;
        wrong(bad, CL_INVALID_CONTEXT);
        break;
    case 2:
        if (!run->other)
            break;
        bad->queue = run->other->world.queues[choice / 8 % QUEUES];
        bad->foreign_queue = same_family(run);
        if (!bad->foreign_queue)
            wrong(bad, CL_INVALID_CONTEXT);
        break;
    default: break;
    }
}

static void add_object(struct bad_call *bad, cl_mem object, cl_int code)
{
    bad->objects[bad->object_count++] = object;
    wrong(bad, code);
}

static cl_mem foreign_object(const struct run *run, unsigned from)
{
    for (unsigned i = 0; run->other && i < TARGETS; i++)
        if (run->other->world.targets[(from + i) % TARGETS].object)
            return run->other->world.targets[(from + i) % TARGETS].object;
    return NULL;
}

static void choose_bad_object(struct bad_call *bad, unsigned choice)
{
    struct run *run = bad->run;
    struct target *t = &run->world.targets[choice / 8 % TARGETS];
    const struct child *child = &t->children[choice / 8 % CHILDREN];
    switch (choice % 8) {
    case 0: add_object(bad, garbage[choice / 8 % GARBAGE], CL_INVALID_MEM_OBJECT); break;
    case 1:
        if (world_twin(&run->world, &run->model, t))
            add_object(bad, t->twin, CL_INVALID_MEM_OBJECT);
        break;
    case 2:
        if (child->object)
            add_object(bad, child->object, CL_INVALID_MEM_OBJECT);
        break;
    case 3:
        if (foreign_object(run, choice / 8) && !bad->foreign_queue)
            add_object(bad, foreign_object(run, choice / 8),
                       same_family(run) ? CL_INVALID_CONTEXT : CL_INVALID_MEM_OBJECT);
        break;
    case 4: add_object(bad, (cl_mem)run->world.queues[0], CL_INVALID_MEM_OBJECT); break;
    default: break;
    }
}

static void choose_objects(struct bad_call *bad, unsigned choice)
{
    struct target *t = &bad->run->world.targets[choice % TARGETS];
    choose_bad_object(bad, choice);
    if (t->object)
        add_object(bad, t->object, bad->foreign_queue ? CL_INVALID_CONTEXT : CL_SUCCESS);
    bad->no_objects = bad->object_count == 0;
}

static void choose_events(struct bad_call *bad, unsigned choice)
{
    const struct slot *slot = &bad->run->slots[choice / 8 % SLOTS];
    const struct run *other = bad->run->other;
    if (slot->event && choice % 2 && !bad->foreign_queue)
        bad->events[bad->event_count++] = slot->event;
    switch (choice % 8) {
    case 0:
    case 1:
        bad->events[bad->event_count++] = garbage[choice / 8 % GARBAGE];
        wrong(bad, CL_INVALID_EVENT_WAIT_LIST);
        break;
    case 2:
        bad->event_count = 1;
        bad->no_events = true;
        wrong(bad, CL_INVALID_EVENT_WAIT_LIST);
        break;
    case 3:
        if (!other || bad->foreign_queue || !other->slots[choice / 8 % SLOTS].event)
            break;
        bad->events[bad->event_count++] = other->slots[choice / 8 % SLOTS].event;
        wrong(bad, CL_INVALID_CONTEXT);
        break;
    default: break;
    }
}

static void bad_command(struct run *run, const struct op *op)
{
    struct bad_call bad = {.run = run};
    cl_event none = (cl_event)&bad, event = none;
    const rig_enqueue enqueue = op->flags & FLAG_TWIN ? run->world.acquire : run->world.release;
    choose_queue(&bad, op->queue & 0x7F);
    choose_objects(&bad, op->target);
    choose_events(&bad, op->waits);
    if (bad.code == CL_SUCCESS)
        return;
    const cl_int code =
        enqueue(bad.queue, bad.object_count, bad.no_objects ? NULL : bad.objects, bad.event_count,
                bad.no_events || !bad.event_count ? NULL : bad.events, op->flags & FLAG_EVENT ? &event : NULL);
    say(run, "    %u objects, %u events: %d", bad.object_count, bad.event_count, code);
    expect(op->flags & FLAG_TWIN ? "a wrong acquire" : "a wrong release", code, bad.code, bad.code);
    if (event != none)
        fuzz_fail("a refused call gives an event", "%p with %d", (void *)event, code);
}

/* Lengths that do not fit their lists. */
static void bad_lengths(struct run *run, const struct op *op)
{
    const rig_enqueue enqueue = op->flags & FLAG_TWIN ? run->world.acquire : run->world.release;
    cl_command_queue queue = run->world.queues[op->queue % QUEUES];
    const cl_mem object = run->world.targets[op->target % TARGETS].object;
    const cl_event event = run->slots[op->waits % SLOTS].event;
    expect("a wrong length", enqueue(queue, 1 + op->more, NULL, 0, NULL, NULL), CL_INVALID_VALUE, CL_INVALID_VALUE);
    expect("a wrong length", enqueue(queue, 0, &object, 0, NULL, NULL), CL_INVALID_VALUE, CL_INVALID_VALUE);
    expect("a wrong length", enqueue(queue, 0, NULL, 0, &event, NULL), CL_INVALID_EVENT_WAIT_LIST,
           CL_INVALID_EVENT_WAIT_LIST);
    expect("a wrong length", enqueue(queue, 0, NULL, 1 + op->more, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST,
           CL_INVALID_EVENT_WAIT_LIST);
}

/* ---- creation ---- */

static void bad_create(struct run *run, const struct op *op)
{
    struct world *w = &run->world;
    struct target *t = &w->targets[op->target % TARGETS];
    cl_context context = w->rig.context;
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    void *resource = world_first(t)->resource;
    UINT index = t->index;
    cl_int right = CL_SUCCESS, status = 1;
    if (op->waits % 4 == 0) {
        right = op->waits & 4 ? w->api->invalid_resource : CL_INVALID_VALUE;
        if (op->waits & 4)
            resource = garbage[op->waits / 8 % GARBAGE];
        else if (t->format)
            index = 1000 + op->more;
        else
            return;
    }
    if (op->waits % 4 == 1 && run->other && (run->sequence->setting.second % SECONDS) >= SECOND_OTHER_DEVICE) {
        resource = world_first(&run->other->world.targets[op->more % TARGETS])->resource;
        right = w->api->invalid_resource;
    }
    if (op->extra % 4 == 0) {
        flags = (cl_mem_flags)CL_MEM_COPY_HOST_PTR << op->extra / 4 % 4;
        right = CL_INVALID_VALUE;
    }
    if (op->data % 4 == 0) {
        context = op->data & 4 ? garbage[op->data / 8 % GARBAGE] : base_plain(w->base);
        right = op->data & 4 ? CL_INVALID_CONTEXT : w->dx9 ? CL_INVALID_OPERATION : w->api->invalid_resource;
    }
    if (right == CL_SUCCESS)
        return;
    cl_mem made = world_create_of(w, t, context, flags, resource, index, &status);
    say(run, "    a wrong creation: %d", status);
    expect("a wrong creation", status, right, right);
    if (made)
        fuzz_fail("a refused creation gives an object", "%p with %d", (void *)made, status);
}

void run_bad(struct run *run, const struct op *op)
{
    switch (op->data % 8) {
    case 0:
    case 1:
    case 2: bad_create(run, op); break;
    case 3: bad_lengths(run, op); break;
    default: bad_command(run, op); break;
    }
}

/* ---- no objects ---- */

void run_nothing(struct run *run, const struct op *op)
{
    struct call call;
    const bool acquire = op->data % 2;
    const rig_enqueue enqueue = acquire ? run->world.acquire : run->world.release;
    cl_command_type type = 0;
    if (run->world.quirks & QUIRK_MARKER_WAITS_FOR_ALL && model_held(&run->model, op->queue % QUEUES))
        return;
    if (!call_open(&call, run, op, NODE_NOTHING) || !call_order(&call))
        return;
    call_want_event(&call);
    const cl_int code =
        TRY(enqueue(run->world.queues[call.queue], 0, NULL, call.wait_count, call_waits(&call), call.place));
    if (!succeeded("a call without objects", STEP_OWNER, code) || !call.place) {
        call_drop(&call); /* without an event it does nothing */
        return;
    }
    MUST(clGetEventInfo(call.event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    if (fault_met() != FAULT_OF_OPENCL &&
        type != (acquire ? run->world.api->command_acquire : run->world.api->command_release))
        fuzz_fail("an event has the wrong type", "the event of a call without objects has type 0x%x", type);
    call_succeed(&call);
}
