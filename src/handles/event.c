/* Events of acquire and release: events of the driver that answer as commands of the extension. */
#include "handles/handles.h"

#include "log.h"
#include "next/query.h"
#include "handles/handle_kind.h"
#include "handles/block_cache.h"

#include <stdlib.h>
#include <string.h>

static struct block_cache records = BLOCK_CACHE_INIT(struct event_record);

static void destroy(struct record *record)
{
    struct event_record *event = (struct event_record *)record;
    event_put(event->first);
    record_release(event->kept);
    block_cache_give(&records, event);
}

static void track(cl_event event, cl_command_type type, const struct queue_record *queue, struct queue_record *kept,
                  cl_event first, cl_int failure)
{
    struct event_record *record = block_cache_take(&records);
    if (record) {
        record_retain(kept);
        record->kept = kept;
        record->head = (struct record){.kind = RECORD_EVENT, .handle = event, .destroy = destroy};
        record->type = type;
        record->queue = queue->head.handle;
        record->first = first;
        record->failure = failure;
        if (registry_add(&record->head))
            return;
        record_release(kept);
        block_cache_give(&records, record);
    }
    log_write(LOG_ERROR, "no memory to track an event: queries will return the driver's command type");
    event_put(first);
}

void event_track(cl_event event, cl_command_type type, const struct queue_record *queue, cl_event first)
{
    track(event, type, queue, NULL, first, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

cl_int event_make_failed(const char *call, cl_command_type type, struct queue_record *queue, cl_int failure,
                         cl_event *event)
{
    cl_int status;
    cl_event made = below()->clCreateUserEvent(queue->context->head.handle, &status);
    if (!made)
        return log_next(call, "clCreateUserEvent", status);
    atomic_store(&events_failed, true);
    status = log_next(call, "clSetUserEventStatus", below()->clSetUserEventStatus(made, failure));
    if (status != CL_SUCCESS) {
        event_set_unset(made);
        below()->clReleaseEvent(made);
        return status;
    }
    track(made, type, queue, queue, NULL, failure);
    *event = made;
    return CL_SUCCESS;
}

/* NVIDIA's driver may report success for a barrier whose wait list has failed. */
cl_int event_reported(const struct event_record *event, cl_int status)
{
    return status < 0 || (status == CL_COMPLETE && atomic_load(&event->failed)) ? event->failure : status;
}

void event_fail(cl_event event)
{
    struct event_record *record = registry_get(RECORD_EVENT, event);
    if (record)
        atomic_store(&record->failed, true);
    record_release(record);
}

/* False: the driver is out of resources and does not report the status. An error about the event itself also counts as
 * its end. */
static bool ask_status(cl_event event, cl_int *status)
{
    if (callback_reports_end(event, status))
        return true;
    const cl_int asked =
        below()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(*status), status, NULL);
    if (driver_short(asked))
        return false;
    if (asked != CL_SUCCESS)
        *status = asked;
    return true;
}

cl_int event_status(cl_event event)
{
    cl_int status;
    return callback_reports(event, &status) || ask_status(event, &status) ? status : CL_QUEUED;
}

/* ---- devices that are lost ---- */

static atomic_bool devices_go;

void event_devices_go(void)
{
    atomic_store(&devices_go, true);
}

/* The context of the event, retained, or NULL. */
static struct context_record *context_of(cl_event event)
{
    cl_context handle = NULL;
    if (!event || below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(handle), &handle, NULL) != CL_SUCCESS)
        return NULL;
    return registry_get(RECORD_CONTEXT, handle);
}

/* The same, if a wait in the driver for the event may never return. */
static struct context_record *may_never_end(cl_event event)
{
    struct context_record *context = atomic_load_explicit(&devices_go, memory_order_relaxed) ? context_of(event) : NULL;
    if (context && context_has(context, QUIRK_POCL_SERVER_LOST))
        return context;
    record_release(context);
    return NULL;
}

cl_command_queue event_queue(cl_event event)
{
    cl_command_queue queue = NULL;
    below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL);
    return queue;
}

/* PoCL's remote driver does not answer queries about a lost device. */
static bool device_is_gone(cl_command_queue queue)
{
    cl_device_id device;
    cl_bool available = CL_TRUE;
    if (!queue ||
        below()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL) != CL_SUCCESS)
        return false;
    const cl_int asked = below()->clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL);
    return asked == CL_DEVICE_NOT_AVAILABLE || (asked == CL_SUCCESS && !available);
}

/* A command that began before its device was lost is lost, even if the device comes back with another server; if it
 * comes back with the same server, the command ends. */
static bool await_remote(cl_event event, struct context_record *context)
{
    enum { MOST_GONE = 5000 }; /* milliseconds at least */
    const cl_command_queue queue = event_queue(event);
    bool gone = false;
    cl_int status = CL_QUEUED;
    if (queue)
        below()->clFlush(queue);
    for (unsigned waited = atomic_load(&context->lost) ? MOST_GONE : 0; waited <= MOST_GONE; waited += gone) {
        if (ask_status(event, &status) && status <= CL_COMPLETE)
            return status == CL_COMPLETE;
        gone = gone || device_is_gone(queue);
        os_sleep_shortly();
    }
    atomic_store(&context->lost, true);
    log_write(LOG_WARN, "the device of queue %p is lost with commands pending: they are abandoned", (void *)queue);
    return false;
}

bool event_await(cl_event event)
{
    enum { MOST_SILENT = 1000 }; /* milliseconds at least: then the driver counts as dead */
    unsigned silent = 0;
    cl_int status;
    if (callback_reports_end(event, &status))
        return status == CL_COMPLETE;
    struct context_record *context = may_never_end(event);
    if (context) {
        const bool done = await_remote(event, context);
        record_release(context);
        return done;
    }
    if (blockers_possible() && event_context_has(event, QUIRK_RUSTICL_FLUSH_WAITS) && ask_status(event, &status) &&
        status <= CL_COMPLETE)
        return status == CL_COMPLETE;
    while (silent < MOST_SILENT) {
        const bool failed = queue_is_finished(event) || below()->clWaitForEvents(1, &event) != CL_SUCCESS;
        const bool answered = ask_status(event, &status);
        if (answered && status <= CL_COMPLETE)
            return status == CL_COMPLETE;
        silent = answered ? 0 : silent + 1;
        if (failed || !answered)
            os_sleep_shortly();
    }
    return false;
}

bool event_is_command(cl_event event)
{
    cl_command_type type = CL_COMMAND_USER;
    return below()->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL) == CL_SUCCESS &&
           type != CL_COMMAND_USER;
}

bool event_is_over(cl_event event)
{
    cl_int status = CL_QUEUED;
    return below()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) ==
               CL_SUCCESS &&
           status <= CL_COMPLETE;
}

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

/* Also if only cld3d knows of the failure. */
static bool has_failed(cl_event event)
{
    struct event_record *record = registry_get(RECORD_EVENT, event);
    const cl_int status = event_status(event);
    const bool failed = (record ? event_reported(record, status) : status) < 0;
    record_release(record);
    return failed;
}

bool event_list_failed(cl_uint count, const cl_event *events)
{
    bool failed = false;
    for (cl_uint i = 0; i < count && !failed; i++)
        failed = has_failed(events[i]);
    return failed;
}

/* ---- queries ---- */

static cl_int query(const struct event_record *event, cl_event handle, cl_event_info name, size_t capacity, void *value,
                    size_t *size_ret)
{
    cl_int status, asked;
    cl_uint references;
    switch (name) {
    case CL_EVENT_REFERENCE_COUNT: /* cld3d's own are not the program's */
        os_lock(&registry_lock);
        references = event->head.app_refs;
        os_unlock(&registry_lock);
        references += references == 0; /* in a callback, after the last release */
        return answer("clGetEventInfo", &references, sizeof(references), capacity, value, size_ret);
    case CL_EVENT_COMMAND_TYPE:
        return answer("clGetEventInfo", &event->type, sizeof(event->type), capacity, value, size_ret);
    case CL_EVENT_COMMAND_QUEUE:
        return answer("clGetEventInfo", &event->queue, sizeof(event->queue), capacity, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        asked = below()->clGetEventInfo(handle, name, sizeof(status), &status, NULL);
        if (asked != CL_SUCCESS)
            return asked;
        status = event_reported(event, status);
        return answer("clGetEventInfo", &status, sizeof(status), capacity, value, size_ret);
    default: return below()->clGetEventInfo(handle, name, capacity, value, size_ret);
    }
}

/* The program may have released an event whose callback runs; queries in the callback still find its record. */
static struct event_record *record_of(cl_event event)
{
    struct event_record *record = registry_get(RECORD_EVENT, event);
    return record ? record : callback_record(event);
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info param_name, size_t param_value_size,
                                         void *param_value, size_t *param_value_size_ret)
{
    struct event_record *record = record_of(event);
    const cl_int status =
        record ? query(record, event, param_name, param_value_size, param_value, param_value_size_ret)
               : below()->clGetEventInfo(event, param_name, param_value_size, param_value, param_value_size_ret);
    if (status == CL_SUCCESS && param_name == CL_EVENT_COMMAND_QUEUE && param_value && registry_hot())
        queue_obtained(event, *(cl_command_queue *)param_value);
    record_release(record);
    return status;
}

/* With NVIDIA's driver the end time of a marker behind events may be too old, or 0. It is corrected, because no command
 * ends before it begins. */
static void end_after_beginning(const struct event_record *record, void *end)
{
    cl_ulong own, first;
    memcpy(&own, end, sizeof(own));
    if (below()->clGetEventProfilingInfo(record->first, CL_PROFILING_COMMAND_START, sizeof(first), &first, NULL) ==
            CL_SUCCESS &&
        first > own)
        memcpy(end, &first, sizeof(first));
}

/* The command's queued, submit and start times are those of its first event; its end time is that of its own event. */
static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info param_name, size_t param_value_size,
                                             void *param_value, size_t *param_value_size_ret)
{
    struct event_record *record = record_of(event);
    if (!record)
        return below()->clGetEventProfilingInfo(event, param_name, param_value_size, param_value, param_value_size_ret);
    const bool beginning = param_name == CL_PROFILING_COMMAND_QUEUED || param_name == CL_PROFILING_COMMAND_SUBMIT ||
                           param_name == CL_PROFILING_COMMAND_START;
    /* Times are available once the command is complete, which the first event does not show. */
    const bool early = record->first && beginning && event_status(event) == CL_COMPLETE;
    const cl_int status = below()->clGetEventProfilingInfo(early ? record->first : event, param_name, param_value_size,
                                                           param_value, param_value_size_ret);
    if (status == CL_SUCCESS && record->first && param_name == CL_PROFILING_COMMAND_END && param_value)
        end_after_beginning(record, param_value);
    record_release(record);
    return status;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
    const cl_int status = below()->clRetainEvent(event);
    if (status == CL_SUCCESS) {
        registry_app_retain(RECORD_EVENT, event);
        registry_app_retain(RECORD_BLOCKER, event);
    }
    return status;
}

bool event_context_has(cl_event event, enum quirk quirk)
{
    struct context_record *context = context_of(event);
    const bool has = context && context_has(context, quirk);
    record_release(context);
    return has;
}

void event_set_unset(cl_event event)
{
    if (event_context_has(event, QUIRK_NVIDIA_UNSET_EVENTS))
        below()->clSetUserEventStatus(event, CL_INVALID_OPERATION);
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    registry_app_release(RECORD_EVENT, event);
    if (blockers_release(event))
        event_set_unset(event);
    reap(REAP_AT_RELEASE, NULL);
    return event_keep(event) ? CL_SUCCESS : below()->clReleaseEvent(event);
}

static cl_int CL_API_CALL wait_for_events(cl_uint num_events, const cl_event *event_list)
{
    const cl_int status = below()->clWaitForEvents(num_events, event_list);
    reap(REAP_AT_WAIT, NULL);
    return status;
}

void event_install(cl_icd_dispatch *table)
{
    table->clWaitForEvents = wait_for_events;
    table->clGetEventInfo = get_event_info;
    table->clGetEventProfilingInfo = get_profiling_info;
    table->clRetainEvent = retain_event;
    table->clReleaseEvent = release_event;
}
