/* Events of acquire and release: events of the driver that answer as commands of the extension. */
#include "handles/event.h"

#include "handles/handle_kind.h"
#include "handles/handles.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>

atomic_uint user_events_pending;

static void destroy(struct record *record)
{
    record_release(((struct event_record *)record)->kept);
    free(record);
}

/* `kept`: the queue of an event that has failed. */
static void track(cl_event event, cl_command_type type, const struct queue_record *queue, struct queue_record *kept,
                  cl_int failure)
{
    struct event_record *record = calloc(1, sizeof(*record));
    if (record) {
        record->head = (struct record){.kind = RECORD_EVENT, .handle = event, .destroy = destroy};
        record->type = type;
        record->queue = queue->head.handle;
        record->failure = failure;
        atomic_init(&record->failed, kept != NULL); /* a driver may call back with success */
        if (registry_add(&record->head)) {
            record_retain(kept);
            record->kept = kept;
            return;
        }
        free(record);
    }
    log_write(LOG_ERROR, "no memory to track an event: queries will return the driver's command type");
}

void event_track(cl_event event, cl_command_type type, const struct queue_record *queue)
{
    track(event, type, queue, NULL, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event)
{
    cl_int status;
    cl_event made = below()->clCreateUserEvent(queue->context->head.handle, &status);
    if (!made)
        return log_next(call, "clCreateUserEvent", status);
    status = log_next(call, "clSetUserEventStatus", below()->clSetUserEventStatus(made, failure));
    if (status != CL_SUCCESS) {
        below()->clReleaseEvent(made);
        return status;
    }
    track(made, type, queue, queue, failure);
    *event = made;
    return CL_SUCCESS;
}

cl_int event_reported(const struct event_record *event, cl_int status)
{
    return status < 0 || atomic_load(&event->failed) ? event->failure : status;
}

static atomic_bool any_failed; /* of the events that the driver may report as complete */

void event_fail(struct event_record *event)
{
    atomic_store(&event->failed, true);
    atomic_store(&any_failed, true);
}

void event_put(cl_event event)
{
    if (event)
        below()->clReleaseEvent(event);
}

/* ---- the driver's status ---- */

cl_int event_status(cl_event event)
{
    cl_int status;
    if (callback_reports(event, &status))
        return status;
    const cl_int asked =
        below()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return asked == CL_SUCCESS ? status : driver_short(asked) ? CL_QUEUED : asked;
}

cl_command_queue event_queue(cl_event event)
{
    cl_command_queue queue = NULL;
    below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL);
    return queue;
}

/* The driver's wait is repeated if it fails while the command still runs, because the driver is short of something. */
bool event_await_unless(cl_event event, bool (*held)(cl_event event))
{
    enum { TRIES = 1000 }; /* then a driver that fails counts as dead */
    const unsigned long long soon = os_nanoseconds() + 200000;
    unsigned tries = 0;
    cl_int status = event_status(event);
    while (status > CL_COMPLETE && tries < TRIES) {
        const bool polls = held && held(event);
        const bool failed = !polls && below()->clWaitForEvents(1, &event) != CL_SUCCESS;
        status = event_status(event);
        if (status > CL_COMPLETE && (polls ? os_nanoseconds() > soon : failed))
            os_sleep_shortly();
        tries += failed;
    }
    return status == CL_COMPLETE;
}

bool event_await(cl_event event)
{
    return event_await_unless(event, NULL);
}

/* ---- wait lists ---- */

cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events)
{
    if ((count == 0) != (events == NULL))
        return log_refuse(call, CL_INVALID_EVENT_WAIT_LIST, "the wait list is %p, but its length is %u",
                          (const void *)events, count);
    for (cl_uint i = 0; i < count; i++) {
        cl_context of = NULL;
        const cl_int asked = event_may_be(events[i])
                                 ? below()->clGetEventInfo(events[i], CL_EVENT_CONTEXT, sizeof(of), &of, NULL)
                                 : CL_INVALID_EVENT;
        if (driver_short(asked))
            return log_next(call, "clGetEventInfo", asked);
        if (asked != CL_SUCCESS)
            return log_refuse(call, CL_INVALID_EVENT_WAIT_LIST, "event %u of the wait list, %p, is not an event", i,
                              (void *)events[i]);
        if (of != context)
            return log_refuse(call, CL_INVALID_CONTEXT, "event %u of the wait list belongs to another context", i);
    }
    return CL_SUCCESS;
}

bool event_list_failed(cl_uint count, const cl_event *events)
{
    bool failed = false;
    for (cl_uint i = 0; i < count && !failed; i++) {
        struct event_record *record = registry_get(RECORD_EVENT, events[i]);
        const cl_int status = event_status(events[i]);
        failed = (record ? event_reported(record, status) : status) < 0;
        record_release(record);
    }
    return failed;
}

/* ---- the application's calls ---- */

static cl_int query(const struct event_record *event, cl_event handle, cl_event_info name, size_t capacity, void *value,
                    size_t *size_ret)
{
    static const char call[] = "clGetEventInfo";
    cl_int status, asked;
    cl_uint references;
    switch (name) {
    case CL_EVENT_REFERENCE_COUNT: /* cld3d's own are not the program's */
        os_lock(&registry_lock);
        references = event->head.app_refs;
        os_unlock(&registry_lock);
        return answer(call, &references, sizeof(references), capacity, value, size_ret);
    case CL_EVENT_COMMAND_TYPE: return answer(call, &event->type, sizeof(event->type), capacity, value, size_ret);
    case CL_EVENT_COMMAND_QUEUE: return answer(call, &event->queue, sizeof(event->queue), capacity, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        asked = below()->clGetEventInfo(handle, name, sizeof(status), &status, NULL);
        if (asked != CL_SUCCESS)
            return asked;
        status = event_reported(event, status);
        return answer(call, &status, sizeof(status), capacity, value, size_ret);
    default: return below()->clGetEventInfo(handle, name, capacity, value, size_ret);
    }
}

static cl_int CL_API_CALL query_hot(cl_event handle, cl_event_info name, size_t capacity, void *value, size_t *size_ret)
{
    struct event_record *record = registry_get(RECORD_EVENT, handle);
    if (!record)
        return below()->clGetEventInfo(handle, name, capacity, value, size_ret);
    const cl_int status = query(record, handle, name, capacity, value, size_ret);
    record_release(record);
    return status;
}

/* A jump: where nothing is shared, nothing has to be saved for a call. */
static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    return (registry_hot() ? query_hot : below()->clGetEventInfo)(event, param_name, param_value_size, param_value,
                                                                  param_value_size_ret);
}

static cl_int CL_API_CALL wait_for_events(cl_uint num_events, const cl_event *event_list)
{
    cl_int status = below()->clWaitForEvents(num_events, event_list);
    for (cl_uint i = 0; i < num_events && status == CL_SUCCESS && atomic_load(&any_failed); i++) {
        struct event_record *record = registry_get(RECORD_EVENT, event_list[i]);
        if (record && atomic_load(&record->failed))
            status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        record_release(record);
    }
    return status;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
    const cl_int status = below()->clRetainEvent(event);
    if (status == CL_SUCCESS) {
        registry_app_retain(RECORD_EVENT, event);
        registry_app_retain(RECORD_USER_EVENT, event);
    }
    return status;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    registry_app_release(RECORD_EVENT, event);
    registry_app_release(RECORD_USER_EVENT, event);
    return below()->clReleaseEvent(event);
}

void event_install(cl_icd_dispatch *table)
{
    table->clWaitForEvents = wait_for_events;
    table->clGetEventInfo = get_event_info;
    table->clRetainEvent = retain_event;
    table->clReleaseEvent = release_event;
}
