#include "emulate/blocking.h"

cl_int blocking_end(const cl_event *done, cl_event own, cl_int status)
{
    if (status != CL_SUCCESS)
        return status;
    status = underlying.clWaitForEvents(1, done);
    if (own)
        underlying.clReleaseEvent(own);
    return status;
}

void *blocking_mapped(const cl_event *done, cl_event own, void *mapped, cl_int status, cl_int *errcode_ret)
{
    status = blocking_end(done, own, status);
    give_code(errcode_ret, status);
    return status == CL_SUCCESS ? mapped : NULL;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    cl_event last = NULL;
    if (blocking_waits(queue, CL_TRUE) && underlying.clEnqueueMarkerWithWaitList(queue, 0, NULL, &last) == CL_SUCCESS) {
        underlying.clWaitForEvents(1, &last);
        underlying.clReleaseEvent(last);
    }
    return underlying.clFinish(queue);
}

void blocking_install(cl_icd_dispatch *table)
{
    blocking_install_generated(table);
    table->clFinish = finish;
}
