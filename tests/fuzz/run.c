#include "run.h"

#include "fake_d3d.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void say(const struct run *run, const char *format, ...)
{
    va_list arguments;
    if (!run->verbose)
        return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

void expect(const char *call, cl_int code, cl_int one, cl_int other)
{
    char what[128];
    if (code == one || code == other)
        return;
    snprintf(what, sizeof(what), "%.90s gives %d, not %d", call, code, one);
    fuzz_fail(what, "%s%s", what, one == other ? "" : " (or another that would be right)");
}

bool succeeded(const char *call, enum step step, cl_int code)
{
    if (fault_excuses(step, code, CL_SUCCESS))
        return false;
    expect(call, code, CL_SUCCESS, CL_SUCCESS);
    return true;
}

/* ---- memory ---- */

void *run_memory(struct run *run, size_t size)
{
    void *memory = calloc(1, size);
    run->memory = realloc(run->memory, (run->memory_count + 1) * sizeof(void *));
    run->memory[run->memory_count++] = memory;
    return memory;
}

unsigned char *run_pattern(struct run *run, const struct format *format, size_t size)
{
    unsigned char *bytes = run_memory(run, size);
    if (format)
        rig_pattern_for(format->dxgi, bytes, size, ++run->patterns);
    else
        rig_pattern(bytes, size, ++run->patterns);
    return bytes;
}

/* ---- events ---- */

static cl_event event_of(const struct run *run, int node)
{
    if (run->kept[node])
        return run->kept[node];
    for (unsigned i = 0; i < SLOTS; i++)
        if (run->slots[i].event && run->slots[i].node == node)
            return run->slots[i].event;
    return NULL;
}

static cl_int wait_for(cl_event event)
{
    cl_int status = 1;
    const cl_int waited = clWaitForEvents(1, &event);
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    if (status > CL_COMPLETE)
        fuzz_fail("clWaitForEvents returns early", "clWaitForEvents gives %d, but the event's status is %d", waited,
                  status);
    const cl_int right = status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
    expect("clWaitForEvents", waited, right, right);
    return status;
}

static enum fate observe(void *context, int node)
{
    const struct run *run = context;
    cl_event event = event_of(run, node);
    const enum fate fate = !event ? OPEN : wait_for(event) < 0 ? FAILED : DONE;
    say(run, "    n%d was open and is %s", node, fate == OPEN ? "unknown" : fate == FAILED ? "failed" : "done");
    return fate;
}

void run_check_event(struct run *run, int node)
{
    const struct node *n = &run->model.nodes[node];
    const char *kinds[] = {"user event", "command", "marker", "barrier", "acquire", "release", "nothing"};
    const bool ours = n->kind >= NODE_ACQUIRE;
    char what[128];
    const cl_int status = wait_for(event_of(run, node));
    model_known(&run->model, node);
    if (n->fate == OPEN || (status < 0) == (n->fate == FAILED)) {
        if (!ours || status >= 0 || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
            (n->struck && (status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY)))
            return;
    }
    snprintf(what, sizeof(what), "the event of a%s %s has status %d", n->kind == NODE_ACQUIRE ? "n" : "",
             kinds[n->kind], status);
    fuzz_fail(what, "%s, n%d must have %s", what, node, n->fate == FAILED ? "failed" : "ended well");
}

void run_settle(struct run *run)
{
    for (int i = 0; i < run->model.node_count; i++)
        if (run->model.nodes[i].fate != PENDING && event_of(run, i) && !set_has(&run->model.known, i))
            run_check_event(run, i);
    run_compare_reads(run);
}

cl_int run_wait_for_queue(struct run *run, int queue)
{
    cl_command_queue handle = run->world.queues[queue];
    if (!(run->world.quirks & QUIRK_FINISH_BY_MARKER))
        return clFinish(handle);
    cl_event marker = NULL;
    const cl_int status = clEnqueueMarkerWithWaitList(handle, 0, NULL, &marker);
    if (status == CL_SUCCESS) {
        clWaitForEvents(1, &marker);
        clReleaseEvent(marker);
    }
    return status;
}

void run_finish(struct run *run, int queue)
{
    MUST(run_wait_for_queue(run, queue));
    for (int i = 0; i < run->model.node_count; i++)
        if (run->model.nodes[i].queue == queue)
            model_known(&run->model, i);
    run_compare_reads(run);
}

/* ---- bytes ---- */

void run_compare(const char *what, const unsigned char *found, const unsigned char *right, size_t size)
{
    size_t first = 0, differ = 0;
    for (size_t i = size; i-- > 0;) {
        if (found[i] != right[i]) {
            first = i;
            differ++;
        }
    }
    if (differ)
        fuzz_fail(what, "%s: byte %zu is 0x%02x, not 0x%02x; %zu of %zu are wrong", what, first, found[first],
                  right[first], differ, size);
}

void run_compare_reads(struct run *run)
{
    for (int i = 0; i < run->model.node_count; i++) {
        struct node *node = &run->model.nodes[i];
        if (node->checked || node->fate == PENDING || !set_has(&run->model.known, i))
            continue;
        node->checked = true;
        for (unsigned e = 0; e < node->effect_count; e++) {
            const struct effect *effect = &node->effects[e];
            if (effect->kind == EFFECT_READ && effect->seen && effect->certain)
                run_compare("wrong bytes in OpenCL", effect->seen, effect->bytes,
                            box_bytes(&run->model.memories[effect->from], &effect->box));
        }
    }
}

/* ---- calls that enqueue ---- */

/* A command of another queue can only be waited for if somebody flushes that queue. A release does. */
static void flush_for(const struct call *call, int queue)
{
    if (queue >= 0 && queue != call->queue && call->node->kind != NODE_RELEASE)
        MUST(clFlush(call->run->world.queues[queue]));
}

/* A release that waits for several may fail with the first of them. */
static bool has_failed(cl_event event)
{
    cl_int status = CL_COMPLETE;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    return status < 0;
}

/* A place of the wait list for a slot's event. */
static bool add_wait(struct call *call, unsigned slot)
{
    struct run *run = call->run;
    const struct slot *s = &run->slots[slot];
    if (!s->event || call->wait_count == MOST_WAITS || set_has(&call->node->waits, s->node))
        return false;
    /* Of several events that it waits for one is enough to end a command, before the model says so. */
    const bool told = has_failed(s->event), failed = told || run->model.nodes[s->node].fate == FAILED;
    const bool may_fail = failed || run->model.nodes[s->node].doomed || run->model.nodes[s->node].fate == OPEN;
    /* The layers for faults refuse a map behind a command that they have made fail. */
    const bool left_out = run->world.quirks & QUIRK_NO_FAILED_WAITS || fault_layers();
    if (call->node->kind < NODE_ACQUIRE && left_out && may_fail)
        return false;
    call->wait_failed = call->wait_failed || failed;
    call->wait_told = call->wait_told || told;
    call->wait_may_fail = call->wait_may_fail || may_fail;
    flush_for(call, run->model.nodes[s->node].queue);
    call->waits[call->wait_count++] = s->event;
    set_add(&call->node->waits, s->node);
    return true;
}

bool call_open(struct call *call, struct run *run, const struct op *op, enum node_kind kind)
{
    static const unsigned counts[] = {0, 0, 1, 2};
    memset(call, 0, sizeof(*call));
    call->run = run;
    call->op = op;
    call->name = op_name(op);
    call->queue = op->queue % QUEUES;
    call->slot = -1;
    call->node = model_plan(&run->model, kind, call->queue);
    if (!call->node)
        return false;
    for (unsigned i = 0; i < counts[op->waits % 4]; i++)
        add_wait(call, (op->waits / 4u + i * 5u) % SLOTS);
    return true;
}

void call_drop(struct call *call)
{
    model_drop(call->node);
}

/* Behind a command that has failed, in a queue that others still hold. */
static bool overtakes(const struct call *call)
{
    const struct model *m = &call->run->model;
    bool held = false, failed = false;
    for (int i = 0; i < m->node_count; i++) {
        if (m->nodes[i].queue != call->queue)
            continue;
        held = held || m->nodes[i].fate == PENDING;
        failed = failed || m->nodes[i].doomed || m->nodes[i].fate == FAILED || m->nodes[i].fate == OPEN;
    }
    return held && failed;
}

bool call_order(struct call *call)
{
    struct run *run = call->run;
    struct set others;
    if (!mappings_allow(run, call->node)) {
        call_drop(call);
        return false;
    }
    model_order(&run->model, call->node);
    if (model_unordered(&run->model, call->node, &others)) {
        for (unsigned i = 0; i < SLOTS; i++)
            if (run->slots[i].event && set_has(&others, run->slots[i].node))
                add_wait(call, i);
        model_order(&run->model, call->node);
        if (model_unordered(&run->model, call->node, &others)) {
            call_drop(call);
            return false;
        }
    }
    if (run->world.quirks & QUIRK_NO_OVERTAKING && overtakes(call)) {
        call_drop(call);
        return false;
    }
    call->pending = model_pending(&run->model, call->node);
    return true;
}

static void say_call(const struct call *call)
{
    const int number = call->run->model.node_count;
    char waits[128] = "";
    for (int i = 0; i < number; i++)
        if (set_has(&call->node->waits, i))
            snprintf(waits + strlen(waits), sizeof(waits) - strlen(waits), " n%d", i);
    say(call->run, "    n%d: %s in queue %d%s%s%s%s%s", number, call->name, call->queue, *waits ? ", waits for" : "",
        waits, call->place ? ", event" : "", call->slot >= 0 ? " held" : "", call->pending ? ", pending" : "");
}

void call_want_event(struct call *call)
{
    struct run *run = call->run;
    for (int i = 0; i < SLOTS && call->op->flags & FLAG_EVENT && call->slot < 0; i++)
        if (!run->slots[i].event)
            call->slot = i;
    call->place = call->slot >= 0 ? &call->event : NULL;
    call->node->silent = call->node->kind == NODE_ACQUIRE && !call->place && !call->wait_count;
    say_call(call);
}

const cl_event *call_waits(const struct call *call)
{
    return call->wait_count ? call->waits : NULL;
}

/* An event tells of its own command, not of another that had its address. */
static void check_origin(const struct call *call)
{
    const struct world *world = &call->run->world;
    cl_command_queue queue = NULL;
    cl_context context = NULL;
    MUST(clGetEventInfo(call->event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL));
    MUST(clGetEventInfo(call->event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL));
    if (queue != world->queues[call->queue] || context != world->rig.context)
        fuzz_fail("an event tells of another queue", "the event of %s is of queue %p and context %p", call->name,
                  (void *)queue, (void *)context);
}

int call_succeed(struct call *call)
{
    struct run *run = call->run;
    const int number = run->model.node_count;
    if (call->place && !call->event)
        fuzz_fail("a call gives no event", "%s gives no event", call->name);
    if (call->event)
        check_origin(call);
    if (call->slot >= 0)
        run->slots[call->slot] = (struct slot){call->event, number};
    if (call->slot >= 0 && call->op->extra % 2) {
        run->kept[number] = call->event;
        MUST(clRetainEvent(call->event));
    }
    const enum fault met = fault_met();
    /* Without an event the code of a call tells, but of commands that end later. */
    run->model.fault = call->place || call->pending || met == FAULT_OF_EVENT ? met : FAULT_NONE;
    call->node->struck = run->model.fault != FAULT_NONE && (call->node->kind >= NODE_ACQUIRE || met == FAULT_OF_EVENT);
    model_commit(&run->model, call->node);
    run->model.fault = FAULT_NONE;
    return number;
}

/* ---- a sequence ---- */

static void (*const operations[OP_KINDS])(struct run *, const struct op *) = {
#define X(kind, name, weight) [OP_##kind] = run_##name,
    OPERATIONS(X)
#undef X
};

static void check_helpers(void)
{
    if (failures())
        fuzz_fail("a helper's check fails", "a check of the helpers has failed");
    if (fake_d3d_violations())
        fuzz_fail("a rule of Direct3D is broken", "Direct3D: %s", fake_d3d_last_violation());
}

static struct run *open_run(const struct sequence *s, bool verbose, struct run *other)
{
    struct run *run = calloc(1, sizeof(*run));
    run->sequence = s;
    run->verbose = verbose;
    model_open(&run->model, observe, run);
    if (!world_open(&run->world, &run->model, &s->setting, other ? &other->world : NULL))
        fuzz_fail("no world", "what a sequence runs in can't be made");
    run->model.hides = run->world.quirks & QUIRK_HIDES_FAILED_GATES;
    run->other = other;
    if (other)
        other->other = run;
    return run;
}

static void close_run(struct run *run)
{
    world_close(&run->world);
    notices_end(run);
    check_helpers();
    model_close(&run->model);
    for (unsigned i = 0; i < run->memory_count; i++)
        free(run->memory[i]);
    free(run->memory);
    free(run);
}

/* False: there is no device any more. */
static bool run_op(struct run *run, const struct op *op)
{
    if (op_kind(op) == OP_SET_EVENT && run->sequence->setting.late % 8 == 0)
        return true;
    operations[op_kind(op)](run, op);
    check_helpers();
    return fault_over(run);
}

void run_sequence(const struct sequence *s, bool verbose)
{
    struct run *runs[2];
    bool goes_on = true;
    fuzz_alive(0);
    fault_disarm();
    const bool early = s->count && op_kind(&s->ops[0]) == OP_FAULT && fault_layers();
    if (early)
        fault_arm_early(&s->ops[0]); /* strikes what makes the context, too */
    runs[0] = open_run(s, verbose, NULL);
    const bool two = s->setting.second % SECONDS >= SECOND_SAME_DEVICE;
    runs[1] = two ? open_run(s, verbose, runs[0]) : NULL;
    goes_on = fault_over(runs[0]);
    for (unsigned i = early; i < s->count && goes_on; i++) {
        const unsigned which = two ? s->ops[i].queue >> 7 : 0;
        fuzz_alive(i);
        say(runs[0], "%u %s%s", i, op_name(&s->ops[i]), which ? " in the second context" : "");
        goes_on = run_op(runs[which], &s->ops[i]);
    }
    fault_disarm();
    for (unsigned i = 0; i <= two; i++) {
        fuzz_alive(s->count + i);
        if (goes_on)
            run_end(runs[i]);
        else
            run_end_lost(runs[i]);
    }
    for (unsigned i = 0; i <= two; i++)
        close_run(runs[i]);
}

void run_close(void)
{
    base_close_all();
    check_helpers();
    if (fake_d3d_live())
        fuzz_fail("references of Direct3D are left", "%u objects of Direct3D are left", fake_d3d_live());
}
