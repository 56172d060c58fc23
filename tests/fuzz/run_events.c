/* Events, markers, barriers, and waiting. */
#include "run.h"

#include "quirks.h"

#include <string.h>

static bool is_over(const struct run *run, unsigned slot)
{
    return run->model.nodes[run->slots[slot].node].fate != PENDING;
}

static unsigned find_slot(const struct run *run, unsigned from, bool (*fits)(const struct run *, unsigned))
{
    for (unsigned i = 0; i < SLOTS; i++) {
        const unsigned slot = (from + i) % SLOTS;
        if (run->slots[slot].event && fits(run, slot))
            return slot;
    }
    return SLOTS;
}

static bool is_any(const struct run *run, unsigned slot)
{
    (void)run;
    (void)slot;
    return true;
}

static bool is_user(const struct run *run, unsigned slot)
{
    return run->model.nodes[run->slots[slot].node].kind == NODE_USER;
}

static bool is_pending_user(const struct run *run, unsigned slot)
{
    return is_user(run, slot) && !is_over(run, slot);
}

/* A user event that is given back before it is set is not defined. */
static bool can_drop(const struct run *run, unsigned slot)
{
    return !is_pending_user(run, slot);
}

/* ---- commands that only wait ---- */

static void mark(struct run *run, const struct op *op, bool barrier)
{
    struct call call;
    cl_command_queue queue = run->world.queues[op->queue % QUEUES];
    if (!barrier && quirk(run->world.driver, QUIRK_MARKER_WAITS_FOR_ALL) && model_held(&run->model, op->queue % QUEUES))
        return;
    if (!call_open(&call, run, op, barrier ? NODE_BARRIER : NODE_MARKER) || !call_order(&call))
        return;
    if (barrier && call.wait_count && run->world.out_of_order[call.queue] &&
        quirk(run->world.driver, QUIRK_BARRIER_FORGETS) && model_held(&run->model, call.queue)) {
        call_drop(&call);
        return;
    }
    call_want_event(&call);
    const cl_int code =
        TRY(barrier ? clEnqueueBarrierWithWaitList(queue, call.wait_count, call_waits(&call), call.place)
                    : clEnqueueMarkerWithWaitList(queue, call.wait_count, call_waits(&call), call.place));
    if (fault_excuses(STEP_COMMAND, code, CL_SUCCESS)) {
        call_drop(&call);
        return;
    }
    expect(call.name, code, CL_SUCCESS, CL_SUCCESS);
    call_succeed(&call);
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
        if (fault_excuses(STEP_COMMAND, status, CL_SUCCESS)) {
            model_set(&run->model, node, false);
            return;
        }
        expect("clCreateUserEvent", status, CL_SUCCESS, CL_SUCCESS);
        say(run, "    n%d is a user event", node);
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

void set_event(struct run *run, unsigned slot, bool failed)
{
    const int node = run->slots[slot].node;
    failed = failed && !(quirk(run->world.driver, QUIRK_NO_FAILURES) && any_command_pending(run));
    say(run, "    n%d %s", node, failed ? "fails" : "is complete");
    const cl_int status = failed ? -17 : CL_COMPLETE;
    cl_int code = TRY(clSetUserEventStatus(run->slots[slot].event, status));
    if (fault_excuses(STEP_COMMAND, code, CL_SUCCESS))
        code = clSetUserEventStatus(run->slots[slot].event, status);
    expect("clSetUserEventStatus", code, CL_SUCCESS, CL_SUCCESS);
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
    const unsigned slot = find_slot(run, op->extra, is_pending_user);
    if (slot < SLOTS)
        set_event(run, slot, (op->flags & FLAG_FAIL) && op->data % 2);
}

/* ---- what a program does with events ---- */

void run_wait_event(struct run *run, const struct op *op)
{
    const unsigned slot = find_slot(run, op->extra, is_over);
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
        expect("clGetEventProfilingInfo", clGetEventProfilingInfo(event, names[i], sizeof(time), &time, NULL),
               CL_SUCCESS, CL_SUCCESS);
        if (time > later)
            fuzz_fail("times are in the wrong order", "time 0x%x of n%d is later than the next one", names[i],
                      run->slots[slot].node);
    }
}

void run_query_event(struct run *run, const struct op *op)
{
    cl_int status = 1;
    const unsigned slot = op->data % 4 ? find_slot(run, op->extra, is_any) : SLOTS;
    if (slot == SLOTS) {
        run_ask(run, op);
        return;
    }
    const struct node *node = &run->model.nodes[run->slots[slot].node];
    const cl_int code =
        TRY(clGetEventInfo(run->slots[slot].event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    if (fault_excuses(STEP_COMMAND, code, CL_SUCCESS))
        return;
    expect("clGetEventInfo", code, CL_SUCCESS, CL_SUCCESS);
    say(run, "    n%d has status %d", run->slots[slot].node, status);
    if (node->fate == PENDING && !node->doomed && status <= CL_COMPLETE)
        fuzz_fail("an event is over too early", "n%d has status %d, but waits for a user event", run->slots[slot].node,
                  status);
    if (status == CL_COMPLETE && (node->kind == NODE_ACQUIRE || node->kind == NODE_RELEASE))
        check_times(run, slot);
}

void drop_slot(struct run *run, unsigned slot)
{
    const cl_int code = TRY(clReleaseEvent(run->slots[slot].event));
    if (!fault_excuses(STEP_COMMAND, code, CL_SUCCESS))
        expect("clReleaseEvent", code, CL_SUCCESS, CL_SUCCESS);
    run->slots[slot].event = NULL;
}

void run_drop_event(struct run *run, const struct op *op)
{
    const unsigned slot = find_slot(run, op->extra, can_drop);
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
    const cl_int code = TRY(clFlush(run->world.queues[op->queue % QUEUES]));
    if (!fault_excuses(STEP_COMMAND, code, CL_SUCCESS))
        expect("clFlush", code, CL_SUCCESS, CL_SUCCESS);
}
