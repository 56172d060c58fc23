#include "handles/handles.h"

#include "log.h"

#include <stdlib.h>

/* The running callbacks of the thread, on its stack. */
static _Thread_local struct callback_entry {
    cl_event event;
    cl_int status;
    struct callback_entry *outer;
} * innermost;

bool callback_runs_here(void)
{
    return innermost != NULL;
}

bool callback_runs_commands(void)
{
    return innermost && !os_is_wine(); /* there cld3d's own thread calls back */
}

bool callback_reports(cl_event event, cl_int *status)
{
    const struct callback_entry *entry = innermost;
    while (entry && entry->event != event)
        entry = entry->outer;
    if (entry)
        *status = entry->status;
    return entry != NULL;
}

/* ---- the application's callbacks ---- */

struct event_notice {
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    struct event_record *record; /* retained; NULL: not one of cld3d's events, and has the driver's status */
};

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    const struct event_notice notice = *(struct event_notice *)data;
    struct callback_entry entry = {event, status, innermost};
    free(data);
    innermost = &entry;
    notice.notify(event, notice.record ? event_reported(notice.record, status) : status, notice.data);
    innermost = entry.outer;
    record_release(notice.record);
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                             void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    if (!notify)
        return below()->clSetEventCallback(event, type, notify, data);
    os_stay_loaded();
    struct event_notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return log_refuse("clSetEventCallback", CL_OUT_OF_HOST_MEMORY, "no memory to track the callback");
    struct event_record *record = registry_get(RECORD_EVENT, event);
    *notice = (struct event_notice){notify, data, record};
    const cl_int status = below()->clSetEventCallback(event, type, on_event, notice);
    if (status != CL_SUCCESS) {
        record_release(record);
        free(notice);
    }
    return status;
}

void callback_install(cl_icd_dispatch *table)
{
    table->clSetEventCallback = set_event_callback;
}
