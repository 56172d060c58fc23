/* Events of acquire and release: events of the driver that answer as commands of the extension. */
#include "share/share.h"

#include "log.h"
#include "share/spare.h"

#include <stdlib.h>

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

static struct spares records = SPARES_INIT(struct event_record);

static void destroy(struct record *record)
{
    struct event_record *event = (struct event_record *)record;
    if (event->first)
        event_put(event->first);
    spare_give(&records, event);
}

static void track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first, cl_int failure)
{
    struct event_record *record = spare_take(&records);
    if (record) {
        record->head = (struct record){.kind = RECORD_EVENT, .handle = event, .destroy = destroy};
        record->type = type;
        record->queue = queue->head.handle;
        record->context = queue->context->head.handle;
        record->first = first;
        record->failure = failure;
        if (registry_add(&record->head))
            return;
        spare_give(&records, record);
    }
    log_write(LOG_ERROR, "no memory to follow an event: it will show the driver's command type");
    if (first)
        event_put(first);
}

void event_track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first)
{
    track(event, type, queue, first, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

cl_int event_make_failed(const char *call, cl_command_type type, const struct queue_record *queue, cl_int failure,
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
    track(made, type, queue, NULL, failure);
    *event = made;
    return CL_SUCCESS;
}

cl_int event_status(cl_event event)
{
    cl_int status = CL_INVALID_EVENT;
    const cl_int asked = below()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return asked == CL_SUCCESS ? status : asked;
}

cl_int event_check_list(const char *call, cl_context context, cl_uint count, const cl_event *events)
{
    if ((count == 0) != (events == NULL))
        return log_refuse(call, CL_INVALID_EVENT_WAIT_LIST, "the wait list is %p, but its length %u", (const void *)events,
                          count);
    for (cl_uint i = 0; i < count; i++) {
        cl_context of = NULL;
        if (!events[i] || (!os_is_wine() && !os_looks_like_object(events[i])) ||
            below()->clGetEventInfo(events[i], CL_EVENT_CONTEXT, sizeof(of), &of, NULL) != CL_SUCCESS)
            return log_refuse(call, CL_INVALID_EVENT_WAIT_LIST, "event %u of the wait list, %p, is no event", i,
                              (void *)events[i]);
        if (of != context)
            return log_refuse(call, CL_INVALID_CONTEXT, "event %u of the wait list belongs to another context", i);
    }
    return CL_SUCCESS;
}

bool event_list_failed(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (event_status(events[i]) < 0)
            return true;
    return false;
}

/* Events kept while user events were pending. Guarded by registry_lock. */
static cl_event *kept;
static unsigned kept_count, kept_capacity;

static bool keep_locked(cl_event event)
{
    if (kept_count == kept_capacity) {
        const unsigned wider = kept_capacity ? kept_capacity * 2 : 32;
        cl_event *grown = realloc(kept, wider * sizeof(*grown));
        if (!grown)
            return false;
        kept = grown;
        kept_capacity = wider;
    }
    kept[kept_count++] = event;
    return true;
}

/* PoCL 3.1 keeps a queue's last command in mind by its event, without a reference, if that command failed: the next one
 * would meet freed memory. So before the event of a failed command goes, its queue gets another last command. */
static void heal(cl_event event)
{
    cl_command_queue queue = NULL;
    if (below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) == CL_SUCCESS && queue)
        below()->clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL);
}

void event_put(cl_event event)
{
    if (!event)
        return;
    const cl_int status = event_status(event);
    if (status < 0)
        heal(event);
    if (holds_possible() && status > CL_COMPLETE) {
        os_lock(&registry_lock);
        const bool stays = keep_locked(event);
        os_unlock(&registry_lock);
        if (stays)
            return;
    }
    below()->clReleaseEvent(event);
}

/* The last events of acquires that are over. Guarded by registry_lock. */
enum { LATE = 16 };
static cl_event late[LATE];
static unsigned late_place;

void event_put_late(cl_event event)
{
    os_lock(&registry_lock);
    cl_event oldest = late[late_place];
    late[late_place] = event;
    late_place = (late_place + 1) % LATE;
    os_unlock(&registry_lock);
    event_put(oldest);
}

void event_drop_late(void)
{
    for (int i = 0; i < LATE; i++)
        event_put_late(NULL);
}

void event_release_all(cl_uint count, cl_event *events)
{
    for (cl_uint i = 0; i < count; i++) {
        event_put(events[i]);
        events[i] = NULL;
    }
}

void event_sweep(void)
{
    os_lock(&registry_lock);
    cl_event *list = kept;
    const unsigned count = kept_count;
    kept = NULL;
    kept_count = kept_capacity = 0;
    os_unlock(&registry_lock);
    /* Those that are not over yet go back into the list. */
    for (unsigned i = 0; i < count; i++)
        event_put(list[i]);
    free(list);
}

/* ---- queries ---- */

static cl_int query(const struct event_record *event, cl_event handle, cl_event_info name, size_t room, void *value,
                    size_t *size_ret)
{
    cl_int status;
    switch (name) {
    case CL_EVENT_COMMAND_TYPE:
        return answer("clGetEventInfo", &event->type, sizeof(event->type), room, value, size_ret);
    case CL_EVENT_COMMAND_QUEUE:
        return answer("clGetEventInfo", &event->queue, sizeof(event->queue), room, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        status = event_status(handle);
        if (status < 0)
            status = event->failure;
        return answer("clGetEventInfo", &status, sizeof(status), room, value, size_ret);
    default:
        return below()->clGetEventInfo(handle, name, room, value, size_ret);
    }
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct event_record *record = registry_get(RECORD_EVENT, event);
    if (!record)
        return below()->clGetEventInfo(event, param_name, param_value_size, param_value, param_value_size_ret);
    const cl_int status = query(record, event, param_name, param_value_size, param_value, param_value_size_ret);
    record_put(record);
    return status;
}

/* The command was queued, submitted and begun with its first event and ended with its own. */
static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info param_name, size_t param_value_size,
                                             void *param_value, size_t *param_value_size_ret)
{
    struct event_record *record = registry_get(RECORD_EVENT, event);
    const bool beginning = param_name == CL_PROFILING_COMMAND_QUEUED || param_name == CL_PROFILING_COMMAND_SUBMIT ||
                           param_name == CL_PROFILING_COMMAND_START;
    /* Times are there when the command is complete, which the first event can't tell. */
    const bool early = record && record->first && beginning && event_status(event) == CL_COMPLETE;
    const cl_int status = below()->clGetEventProfilingInfo(early ? record->first : event, param_name, param_value_size,
                                                           param_value, param_value_size_ret);
    record_put(record);
    return status;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
    const cl_int status = below()->clRetainEvent(event);
    if (status == CL_SUCCESS) {
        registry_app_retain(RECORD_EVENT, event);
        holds_retain(event);
    }
    return status;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    if (registry_app_release(RECORD_EVENT, event) && event_status(event) < 0)
        heal(event);
    holds_release(event);
    deferred_sweep();
    return below()->clReleaseEvent(event);
}

void event_install(cl_icd_dispatch *table)
{
    table->clGetEventInfo = get_event_info;
    table->clGetEventProfilingInfo = get_profiling_info;
    table->clRetainEvent = retain_event;
    table->clReleaseEvent = release_event;
}
