/* Events, markers, barriers, and waiting. */
#include "run.h"

#include <string.h>

/* What the event of a slot can be of. */
enum { PENDING_USER = 1, PENDING_COMMAND = 2, OVER = 4 };

/* A slot with one of them. SLOTS: there is none. */
static unsigned find_slot(const struct run *run, unsigned from, int wanted)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct slot *slot = &run->slots[(from + i) % SLOTS];
        const struct node *node = &run->model.nodes[slot->node];
        const int state = node->fate != PENDING ? OVER : node->kind == NODE_USER ? PENDING_USER : PENDING_COMMAND;
        if (slot->event && state & wanted)
            return (from + i) % SLOTS;
    }
    return SLOTS;
}

/* ---- commands that only wait ---- */

static void mark(struct run *run, const struct op *op, bool barrier)
{
    struct call call;
    cl_command_queue queue = run->world.queues[op->queue % QUEUES];
    if (!barrier && run->world.quirks & QUIRK_MARKER_WAITS_FOR_ALL && model_held(&run->model, op->queue % QUEUES))
        return;
    if (!call_open(&call, run, op, barrier ? NODE_BARRIER : NODE_MARKER) || !call_order(&call))
        return;
    if (barrier && call.wait_count && run->model.out_of_order[call.queue] &&
        run->world.quirks & QUIRK_BARRIER_FORGETS && model_held(&run->model, call.queue)) {
        call_drop(&call);
        return;
    }
    call_want_event(&call);
    const cl_int code =
        TRY(barrier ? clEnqueueBarrierWithWaitList(queue, call.wait_count, call_waits(&call), call.place)
                    : clEnqueueMarkerWithWaitList(queue, call.wait_count, call_waits(&call), call.place));
    if (succeeded(call.name, STEP_COMMAND, code))
        call_succeed(&call);
    else
        call_drop(&call);
}

void run_marker(struct run *run, const struct op *op)
{
    mark(run, op, false);
}

void run_barrier(struct run *run, const struct op *op)
{
    mark(run, op, true);
}

/* ---- user events ---- */

void run_user_event(struct run *run, const struct op *op)
{
    cl_int status = 1;
    (void)op;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (run->slots[i].event)
            continue;
        const int node = model_user_event(&run->model);
        if (node < 0)
            return;
        run->slots[i] = (struct slot){TRY_MAKE(clCreateUserEvent(run->world.rig.context, &status)), node};
        if (succeeded("clCreateUserEvent", STEP_COMMAND, status))
            say(run, "    n%d is a user event", node);
        else
            model_set(&run->model, node, false);
        return;
    }
}

static bool any_command_pending(const struct run *run)
{
    for (int i = 0; i < run->model.node_count; i++)
        if (run->model.nodes[i].fate == PENDING && run->model.nodes[i].kind != NODE_USER)
            return true;
    return false;
}

static void set_event(struct run *run, unsigned slot, bool failed)
{
    const int node = run->slots[slot].node;
    failed = failed && !(run->world.quirks & QUIRK_NO_FAILURES && any_command_pending(run));
    say(run, "    n%d %s", node, failed ? "fails" : "is complete");
    const cl_int status = failed ? -17 : CL_COMPLETE;
    if (!TRIED(clSetUserEventStatus(run->slots[slot].event, status)))
        MUST(clSetUserEventStatus(run->slots[slot].event, status));
    struct set pending = {{0}};
    for (int i = 0; i < run->model.node_count; i++)
        if (run->model.nodes[i].fate == PENDING)
            set_add(&pending, i);
    run->model.fault = fault_met();
    model_set(&run->model, node, failed);
    run->model.fault = FAULT_NONE;
    /* Direct3D sees the releases that it has set free. */
    for (int i = 0; i < run->model.node_count; i++)
        if (set_has(&pending, i) && run->model.nodes[i].kind == NODE_RELEASE && run->model.nodes[i].fate == DONE)
            model_known(&run->model, i);
    if (failed)
        run_settle(run);
}

void run_set_event(struct run *run, const struct op *op)
{
    const unsigned slot = find_slot(run, op->extra, PENDING_USER);
    if (slot < SLOTS)
        set_event(run, slot, (op->flags & FLAG_FAIL) && op->data % 2);
}

void end_user_events(struct run *run, unsigned failed)
{
    for (unsigned slot; (slot = find_slot(run, 0, PENDING_USER)) < SLOTS;)
        set_event(run, slot, failed & 1 << slot % 6);
}

/* ---- what a program does with events ---- */

void run_wait_event(struct run *run, const struct op *op)
{
    const unsigned slot = find_slot(run, op->extra, OVER);
    if (slot == SLOTS)
        return;
    say(run, "    waits for n%d", run->slots[slot].node);
    TRY(clWaitForEvents(1, &run->slots[slot].event));
    run_check_event(run, run->slots[slot].node);
    run_compare_reads(run);
}

/* The times of an acquire or release that is over: all of them or none, one after the other. */
static void check_times(const struct run *run, unsigned slot)
{
    static const cl_profiling_info names[] = {CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START,
                                              CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_QUEUED};
    cl_event event = run->slots[slot].event;
    cl_ulong later, time;
    if (clGetEventProfilingInfo(event, names[0], sizeof(later), &later, NULL) != CL_SUCCESS)
        return;
    for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++, later = time) {
        MUST(clGetEventProfilingInfo(event, names[i], sizeof(time), &time, NULL));
        if (time > later)
            fuzz_fail("times are in the wrong order", "time 0x%x of n%d is later than the next one", names[i],
                      run->slots[slot].node);
    }
}

void run_query_event(struct run *run, const struct op *op)
{
    cl_int status = 1;
    const unsigned slot = op->data % 4 ? find_slot(run, op->extra, PENDING_USER | PENDING_COMMAND | OVER) : SLOTS;
    if (slot == SLOTS) {
        run_ask(run, op);
        return;
    }
    const struct node *node = &run->model.nodes[run->slots[slot].node];
    cl_event event = run->slots[slot].event;
    if (!TRIED(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL)))
        return;
    say(run, "    n%d has status %d", run->slots[slot].node, status);
    if (node->fate == PENDING && !node->doomed && status <= CL_COMPLETE)
        fuzz_fail("an event is over too early", "n%d has status %d, but waits for a user event", run->slots[slot].node,
                  status);
    if (status == CL_COMPLETE && (node->kind == NODE_ACQUIRE || node->kind == NODE_RELEASE))
        check_times(run, slot);
}

void drop_slot(struct run *run, unsigned slot)
{
    TRIED(clReleaseEvent(run->slots[slot].event));
    run->slots[slot].event = NULL;
}

void run_drop_event(struct run *run, const struct op *op)
{
    /* A user event that is given back before it is set is not defined. */
    const unsigned slot = find_slot(run, op->extra, PENDING_COMMAND | OVER);
    if (slot < SLOTS)
        drop_slot(run, slot);
}

void run_finish_queue(struct run *run, const struct op *op)
{
    const int queue = op->queue % QUEUES;
    if (model_held(&run->model, queue))
        return;
    TRY(clFinish(run->world.queues[queue]));
    run_finish(run, queue);
}

void run_flush_queue(struct run *run, const struct op *op)
{
    TRIED(clFlush(run->world.queues[op->queue % QUEUES]));
}
