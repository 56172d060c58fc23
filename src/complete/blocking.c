#include "complete/blocking.h"

void blocking_begin(struct blocking *wait, cl_command_queue queue, cl_bool blocking, cl_event *event)
{
    *wait = (struct blocking){.blocking = blocking, .event = event};
    if (!blocking || !event_callback_awaited(queue))
        return;
    wait->waits = true;
    wait->blocking = CL_FALSE;
    if (!event)
        wait->event = &wait->own;
}

cl_int blocking_end(struct blocking *wait, cl_int status)
{
    if (wait->waits && status == CL_SUCCESS)
        status = lacking.clWaitForEvents(1, wait->event);
    if (wait->own)
        lacking.clReleaseEvent(wait->own);
    return status;
}

void *blocking_mapped(struct blocking *wait, void *mapped, cl_int status, cl_int *errcode_ret)
{
    status = blocking_end(wait, status);
    if (errcode_ret)
        *errcode_ret = status;
    return status == CL_SUCCESS ? mapped : NULL;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    cl_event last = NULL;
    if (event_callback_awaited(queue) && lacking.clEnqueueMarkerWithWaitList(queue, 0, NULL, &last) == CL_SUCCESS) {
        lacking.clWaitForEvents(1, &last);
        lacking.clReleaseEvent(last);
    }
    return lacking.clFinish(queue);
}

void blocking_install(cl_icd_dispatch *table)
{
    blocking_install_generated(table);
    table->clFinish = finish;
}
