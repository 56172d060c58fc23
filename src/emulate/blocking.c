#include "emulate/blocking.h"

#include "next/after_failure.h"
#include "next/query.h"

/* Waits for a command, and returns its outcome: NVIDIA's driver reports no error from a wait for a failed command. */
static cl_int outcome(cl_event done)
{
    cl_int ended;
    const cl_int status = await_end(&underlying, done, &ended);
    if (ended == CL_COMPLETE)
        return CL_SUCCESS;
    return ended < 0 && (status == CL_SUCCESS || driver_short(status)) ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
                                                                       : status;
}

/* The same for a command whose event is known to the caller alone; releases the event. */
static cl_int last_outcome(cl_event own)
{
    const cl_int status = outcome(own);
    if (status != CL_SUCCESS)
        wait_after_failure();
    underlying.clReleaseEvent(own);
    return status;
}

cl_int blocking_end(const cl_event *done, cl_event own, cl_int status)
{
    if (status != CL_SUCCESS)
        return status;
    return own ? last_outcome(own) : outcome(*done);
}

void *blocking_mapped(cl_command_queue queue, cl_mem memory, const cl_event *done, cl_event own, void *mapped,
                      cl_int status, cl_int *errcode_ret)
{
    const bool enqueued = status == CL_SUCCESS;
    status = blocking_end(done, own, status);
    give_code(errcode_ret, status);
    if (status == CL_SUCCESS)
        return mapped;
    if (enqueued)
        underlying.clEnqueueUnmapMemObject(queue, memory, mapped, 0, NULL, NULL);
    return NULL;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    cl_event last = NULL;
    if (blocking_waits(queue, CL_TRUE) && underlying.clEnqueueMarkerWithWaitList(queue, 0, NULL, &last) == CL_SUCCESS)
        last_outcome(last);
    return underlying.clFinish(queue);
}

void blocking_install(cl_icd_dispatch *table)
{
    blocking_install_generated(table);
    table->clFinish = finish;
}
