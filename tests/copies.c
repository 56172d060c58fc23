/* A layer that makes a driver keep copies of its own of memory that an application gives it, as drivers for GPUs do. Below
 * cld3d, as the driver would be. CLD3D_TEST_COPIES says of what: "images", "buffers".
 * CLD3D_TEST_DRIVER names one other thing that is wrong with the driver (test_in_place.c). */
#include "layer_entry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static cl_mem_flags changed(const char *kind, cl_mem_flags flags)
{
    const char *kinds = getenv("CLD3D_TEST_COPIES");
    if (!(flags & CL_MEM_USE_HOST_PTR) || !kinds || !strstr(kinds, kind))
        return flags;
    return (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *desc, void *host, cl_int *status)
{
    return below->clCreateImage(context, changed("images", flags), format, desc, host, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    return below->clCreateBuffer(context, changed("buffers", flags), size, host, status);
}

static bool driver_is(const char *wrong)
{
    const char *text = getenv("CLD3D_TEST_DRIVER");
    return text && strcmp(text, wrong) == 0;
}

/* ---- "fills late": images are filled when somebody waits, buffers not at all ---- */

static cl_event gate, filled; /* of the last fill; NULL: none */

static void open_gate(void)
{
    if (gate)
        below->clSetUserEventStatus(gate, CL_COMPLETE);
}

static cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
                                     const size_t *region, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    cl_context context = NULL;
    cl_int status = CL_SUCCESS;
    if (!driver_is("fills late") || wait_count || event)
        return below->clEnqueueFillImage(queue, image, color, origin, region, wait_count, wait, event);
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    gate = below->clCreateUserEvent(context, &status);
    return status == CL_SUCCESS ? below->clEnqueueFillImage(queue, image, color, origin, region, 1, &gate, &filled)
                                : status;
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                                      size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                                      cl_event *event)
{
    if (driver_is("fills late"))
        return CL_INVALID_OPERATION;
    return below->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, wait_count, wait, event);
}

/* The memory of what is released may go. */
static cl_int CL_API_CALL release_memory(cl_mem memory)
{
    cl_int status = CL_COMPLETE;
    if (filled)
        below->clGetEventInfo(filled, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    if (status > CL_COMPLETE)
        abort();
    return below->clReleaseMemObject(memory);
}

/* ---- what the driver tells, and other calls ---- */

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *to,
                                          size_t *size_ret)
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
    if (name == CL_DEVICE_HOST_UNIFIED_MEMORY && driver_is("does not answer"))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (name == answers[i].name && to && room >= sizeof(cl_uint) && driver_is(answers[i].wrong)) {
            memcpy(to, &answers[i].value, sizeof(cl_uint));
            return CL_SUCCESS;
        }
    return below->clGetDeviceInfo(device, name, room, to, size_ret);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    if (driver_is("has no compiler"))
        return CL_COMPILER_NOT_AVAILABLE;
    return below->clBuildProgram(program, count, devices, options, notify, data);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *size, const size_t *local, cl_uint wait_count, const cl_event *wait,
                                 cl_event *event)
{
    if (driver_is("runs no kernels"))
        return below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
    return below->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, size, local, wait_count, wait, event);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    open_gate();
    return below->clFinish(queue);
}

static cl_int CL_API_CALL get_mem_info(cl_mem memory, cl_mem_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_int status = below->clGetMemObjectInfo(memory, name, room, to, size_ret);
    cl_uint count;
    if (status != CL_SUCCESS || name != CL_MEM_REFERENCE_COUNT || !to)
        return status;
    memcpy(&count, to, sizeof(count));
    if (driver_is("counts no commands"))
        count = 1;
    if (driver_is("counts what is over"))
        count++;
    memcpy(to, &count, sizeof(count));
    return status;
}

static void replace(void)
{
    table.clGetDeviceInfo = get_device_info;
    table.clBuildProgram = build;
    table.clEnqueueNDRangeKernel = launch;
    table.clEnqueueFillImage = fill_image;
    table.clEnqueueFillBuffer = fill_buffer;
    table.clReleaseMemObject = release_memory;
    table.clFinish = finish;
    table.clGetMemObjectInfo = get_mem_info;
    table.clCreateImage = create_image;
    table.clCreateBuffer = create_buffer;
}
