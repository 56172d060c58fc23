/* All kinds of faults behind one front: Direct3D's are the fake's, which the program has inside. */
#include "faults.h"

#include "fake_d3d.h"
#include "layer.h"

static bool of_direct3d(enum fault_kind kind, enum fake_d3d_fault *fault)
{
    switch (kind) {
    case FAULT_DIRECT3D: *fault = FAKE_D3D_FAILS; return true;
    case FAULT_DIRECT3D_MEMORY: *fault = FAKE_D3D_NO_MEMORY; return true;
    case FAULT_DIRECT3D_LOST: *fault = FAKE_D3D_LOST; return true;
    case FAULT_DIRECT3D_SLOW: *fault = FAKE_D3D_SLOW; return true;
    default: *fault = FAKE_D3D_FAILS; return false;
    }
}

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = {
        [FAULT_ALLOCATION] = "allocation fails",
        [FAULT_DIRECT3D] = "Direct3D fails",
        [FAULT_DIRECT3D_MEMORY] = "Direct3D out of memory",
        [FAULT_DIRECT3D_LOST] = "Direct3D lost",
        [FAULT_DIRECT3D_SLOW] = "Direct3D slow",
        [FAULT_OPENCL] = "OpenCL fails",
        [FAULT_OPENCL_MEMORY] = "OpenCL out of memory",
        [FAULT_OPENCL_SLOW] = "OpenCL slow",
        [FAULT_EVENT_FAILS] = "event fails",
        [FAULT_EVENT_LATE] = "event late",
    };
    return names[kind];
}

void fault_arm(enum fault_kind kind, unsigned n)
{
    enum fake_d3d_fault fault;
    const bool direct3d = of_direct3d(kind, &fault);
    fake_d3d_any_fault(fault, direct3d ? n : 0);
    layer_arm(kind, direct3d ? 0 : n);
}

void fault_disarm(void)
{
    fault_arm(FAULT_ALLOCATION, 0);
}

unsigned fault_count(enum fault_kind kind)
{
    enum fake_d3d_fault fault;
    return of_direct3d(kind, &fault) ? fake_d3d_any_calls() : layer_count(kind);
}

const char *fault_struck(void)
{
    const char *method = fake_d3d_any_struck();
    return method ? method : layer_struck();
}

unsigned long fault_place(void)
{
    return layer_place();
}

bool fault_own(bool on)
{
    fake_d3d_own_calls(on);
    return layer_own(on);
}

void fault_own_memory(bool on)
{
    layer_own_memory(on);
}

void fault_settle(void)
{
    events_settle();
}

int fault_callbacks_due(void)
{
    return events_callbacks_due();
}

void fault_unmap(void)
{
    events_unmap();
}
