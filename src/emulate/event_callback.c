/* clSetEventCallback: events are polled, because OpenCL cannot wait for one of several, and because a wait would flush
 * queues of the program at times when some drivers must not be disturbed. */
#include "emulate/emulate.h"

#include "emulate/delivery.h"
#include "emulate/fence.h"
#include "log.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>

typedef void(CL_CALLBACK *event_function)(cl_event, cl_int, void *);

/* A registered callback. */
struct waiter {
    struct delivery delivery;
    cl_event event; /* one reference */
    cl_int type, status;
    event_function notify;
    void *data;
};

/* Execution states are numbers that fall from CL_QUEUED to CL_COMPLETE and to errors. A driver that is out of resources
 * does not tell the state. */
static bool has_come(struct delivery *delivery)
{
    struct waiter *waiter = (struct waiter *)delivery;
    cl_int state = CL_QUEUED;
    const cl_int asked =
        underlying.clGetEventInfo(waiter->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    if (asked != CL_SUCCESS && !driver_short(asked))
        state = asked;
    waiter->status = state < 0 ? state : waiter->type;
    return state <= waiter->type;
}

static void destroy(struct delivery *delivery)
{
    struct waiter *waiter = (struct waiter *)delivery;
    underlying.clReleaseEvent(waiter->event);
    free(waiter);
}

static void call(struct delivery *delivery)
{
    struct waiter *waiter = (struct waiter *)delivery;
    waiter->notify(waiter->event, waiter->status, waiter->data);
    destroy(delivery);
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int command_exec_callback_type,
                                             event_function pfn_notify, void *user_data)
{
    static const char name[] = "clSetEventCallback";
    cl_command_queue queue = NULL;
    cl_context context = NULL;
    cl_int status = event ? underlying.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL)
                          : CL_INVALID_EVENT;
    if (status == CL_SUCCESS)
        status = underlying.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL);
    if (status != CL_SUCCESS)
        return log_refuse(name, driver_short(status) ? status : CL_INVALID_EVENT, "%p is not an event, or unknown",
                          (void *)event);
    if (!pfn_notify || command_exec_callback_type < CL_COMPLETE || command_exec_callback_type > CL_SUBMITTED)
        return log_refuse(name, CL_INVALID_VALUE, "the callback function is %s, the execution status %d",
                          pfn_notify ? "given" : "NULL", command_exec_callback_type);
    struct waiter *waiter = malloc(sizeof(*waiter));
    if (!waiter)
        return log_refuse(name, CL_OUT_OF_HOST_MEMORY, "no memory for the callback");
    *waiter = (struct waiter){.delivery = {.due = has_come, .run = call, .queue = queue, .context = context},
                              .event = event,
                              .type = command_exec_callback_type,
                              .notify = pfn_notify,
                              .data = user_data};
    status = log_next(name, "clRetainEvent", underlying.clRetainEvent(event));
    if (status == CL_SUCCESS && deliver(&waiter->delivery, false))
        return CL_SUCCESS;
    if (status == CL_SUCCESS) {
        underlying.clReleaseEvent(event);
        status = log_refuse(name, CL_OUT_OF_HOST_MEMORY, "no thread to call the callback");
    }
    free(waiter);
    return status;
}

/* Programs that end in order release their queues and contexts last: what is due by then is called before. */
static cl_int CL_API_CALL release_command_queue(cl_command_queue command_queue)
{
    if (!fence_keeps(command_queue, false)) /* by another reference of the application */
        delivery_settle(command_queue);
    return underlying.clReleaseCommandQueue(command_queue);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    if (!fence_keeps(context, true))
        delivery_settle(context);
    return underlying.clReleaseContext(context);
}

void event_callback_install(cl_icd_dispatch *table)
{
    table->clSetEventCallback = set_event_callback;
    table->clReleaseCommandQueue = release_command_queue;
    table->clReleaseContext = release_context;
}
