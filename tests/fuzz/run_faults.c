/* Direct3D fails once, somewhere in an acquire or a release, a creation, or in what a user event sets free. What may come of it
 * is asked once; from there on all is predicted again. */
#include "run.h"

#include "fake_d3d.h"

bool fault_struck(const struct run *run)
{
    return run->faults && fake_d3d_any_struck() != NULL;
}

/* The event of a call that met a fault, which is over at once if the fault made it fail. */
static cl_int status_of(const struct call *call)
{
    cl_int status = 1;
    expect("clGetEventInfo",
           clGetEventInfo(call->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS,
           CL_SUCCESS);
    return status;
}

/* The driver has refused a command of OpenCL's: the call may tell that in any case, and change nothing. */
static bool by_opencl(void)
{
    static const char beginning[] = "external ";
    return strncmp(fake_d3d_any_struck(), beginning, sizeof(beginning) - 1) == 0;
}

bool fault_failed(struct call *call, cl_int code, bool release)
{
    struct run *run = call->run;
    if (!fault_struck(run))
        return false;
    const bool by_event = code == CL_SUCCESS && call->event && status_of(call) == CL_OUT_OF_RESOURCES;
    if (code != CL_OUT_OF_RESOURCES && !by_event)
        return false;
    say(run, "    fails, by %s", fake_d3d_any_struck());
    if (code != CL_SUCCESS && call->place && !by_opencl())
        fuzz_fail("a fault is not in the event", "the call with an event gives %d", code);
    for (unsigned i = 0; i < call->shared_count; i++) {
        if (release && by_opencl())
            model_doubted(&run->model, call->shared[i]->shared);
        else if (release)
            model_lost(&run->model, call->shared[i]->shared);
        else
            model_learn(&run->model, call->shared[i]->shared, MAY_BE_IDLE);
    }
    if (by_event)
        expect("clReleaseEvent", clReleaseEvent(call->event), CL_SUCCESS, CL_SUCCESS);
    call_drop(call);
    return true;
}

void run_fault(struct run *run, const struct op *op)
{
    static const enum fake_d3d_fault faults[] = {FAKE_D3D_FAILS, FAKE_D3D_NO_MEMORY};
    static const operation struck[] = {run_acquire, run_release, run_acquire, run_release, run_create, run_set_event};
    const unsigned which = op->data % (sizeof(struck) / sizeof(struck[0]));
    if (which == 5 && run->sequence->setting.late % 8 == 0)
        return;
    say(run, "    Direct3D fails in call %u of: %s", 1 + op->extra / 8u % 12u,
        which == 5   ? "set-event"
        : which == 4 ? "create"
        : which % 2  ? "release"
                     : "acquire");
    run->faults = run->model.faults = true;
    fake_d3d_any_fault(faults[op->extra / 4 % 2], 1 + op->extra / 8u % 12u);
    struck[which](run, op);
    fake_d3d_any_fault(FAKE_D3D_FAILS, 0);
    run->faults = run->model.faults = false;
}
