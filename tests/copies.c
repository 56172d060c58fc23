/* A layer that makes a driver keep copies of its own of memory that an application gives it, as drivers for GPUs do. Below
 * cld3d, as the driver would be. CLD3D_TEST_COPIES says of what: "images", "buffers". With CLD3D_TEST_LATE_COUNTS it makes
 * the driver count commands among the references of an object for a moment after they have ended. */
#include "layer_entry.h"

#include <stdatomic.h>
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

/* Questions that are still answered with the last command counted. */
static atomic_int late;

static cl_int waited(cl_int status)
{
    enum { QUESTIONS = 7 };
    if (getenv("CLD3D_TEST_LATE_COUNTS"))
        atomic_store(&late, QUESTIONS);
    return status;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    return waited(below->clFinish(queue));
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    return waited(below->clWaitForEvents(count, events));
}

static cl_int CL_API_CALL get_mem_info(cl_mem memory, cl_mem_info name, size_t room, void *to, size_t *size_ret)
{
    const cl_int status = below->clGetMemObjectInfo(memory, name, room, to, size_ret);
    if (status == CL_SUCCESS && name == CL_MEM_REFERENCE_COUNT && to && atomic_load(&late) > 0) {
        cl_uint count;
        memcpy(&count, to, sizeof(count));
        count++;
        memcpy(to, &count, sizeof(count));
        atomic_fetch_sub(&late, 1);
    }
    return status;
}

static void replace(void)
{
    table.clFinish = finish;
    table.clWaitForEvents = wait_for_events;
    table.clGetMemObjectInfo = get_mem_info;
    table.clCreateImage = create_image;
    table.clCreateBuffer = create_buffer;
}
