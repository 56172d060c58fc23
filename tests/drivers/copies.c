/* Drivers that do not compute in the host's memory, for test_in_place. CLD3D_TEST_COPIES says of what one keeps copies of its own, as
 * drivers for GPUs do: "images", "buffers". CLD3D_TEST_DRIVER names one other thing that is wrong with it. While CLD3D_TEST_NO_COUNTS
 * is set, it does not tell an object's references. */
#include "layer.h"

static cl_mem_flags changed(const char *kind, cl_mem_flags flags)
{
    return flags & CL_MEM_USE_HOST_PTR && is_set("CLD3D_TEST_COPIES", kind)
               ? flags ^ (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)
               : flags;
}

REPLACES(clCreateImage)
{
    flags = changed("images", flags);
    return PASS(clCreateImage);
}

REPLACES(clCreateBuffer)
{
    flags = changed("buffers", flags);
    return PASS(clCreateBuffer);
}

static bool driver_is(const char *wrong)
{
    return is_set("CLD3D_TEST_DRIVER", wrong);
}

/* ---- "fills late": images are filled when somebody waits, buffers not at all ---- */

static cl_event gate, filled; /* of the last fill; NULL: none */

REPLACES(clEnqueueFillImage)
{
    if (!driver_is("fills late") || num_events_in_wait_list || event)
        return PASS(clEnqueueFillImage);
    gate = make_user_event(command_queue);
    return below->clEnqueueFillImage(command_queue, image, fill_color, origin, region, 1, &gate, &filled);
}

REPLACES(clEnqueueFillBuffer)
{
    return driver_is("fills late") ? CL_INVALID_OPERATION : PASS(clEnqueueFillBuffer);
}

/* The memory of what is released may go. */
REPLACES(clReleaseMemObject)
{
    cl_int status = CL_COMPLETE;
    if (filled)
        below->clGetEventInfo(filled, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    if (status > CL_COMPLETE)
        abort();
    return PASS(clReleaseMemObject);
}

REPLACES(clFinish)
{
    if (gate)
        below->clSetUserEventStatus(gate, CL_COMPLETE);
    return PASS(clFinish);
}

/* ---- what the driver tells, and kernels ---- */

REPLACES(clGetDeviceInfo)
{
    static const struct {
        const char *wrong;
        cl_device_info name;
        cl_uint value;
    } answers[] = {
        {"has memory of its own", CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE},
        {"aligns to nothing", CL_DEVICE_MEM_BASE_ADDR_ALIGN, 0},
        {"aligns to 12 bytes", CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8 * 12},
        {"aligns to 8192 bytes", CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8 * 8192},
    };
    if (param_name == CL_DEVICE_HOST_UNIFIED_MEMORY && driver_is("does not answer"))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (param_name == answers[i].name && driver_is(answers[i].wrong))
            return ANSWER(answers[i].value);
    return PASS(clGetDeviceInfo);
}

REPLACES(clBuildProgram)
{
    return driver_is("has no compiler") ? CL_COMPILER_NOT_AVAILABLE : PASS(clBuildProgram);
}

REPLACES(clEnqueueNDRangeKernel)
{
    return driver_is("runs no kernels")
               ? below->clEnqueueMarkerWithWaitList(command_queue, num_events_in_wait_list, event_wait_list, event)
               : PASS(clEnqueueNDRangeKernel);
}

REPLACES(clGetMemObjectInfo)
{
    cl_uint count = 1;
    if (param_name == CL_MEM_REFERENCE_COUNT && getenv("CLD3D_TEST_NO_COUNTS"))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = PASS(clGetMemObjectInfo);
    if (status != CL_SUCCESS || param_name != CL_MEM_REFERENCE_COUNT || !param_value)
        return status;
    if (!driver_is("counts no commands"))
        memcpy(&count, param_value, sizeof(count));
    count += driver_is("counts what is over");
    return ANSWER(count);
}
