/* Callbacks of events and of the ends of memory objects, and functions of the program that are a part of a command
 * (host_function.c): which threads are in one now. Drivers call back on the threads that run their commands (PoCL), so
 * a thread that waits for a command there may wait for itself. */
#include "handles/handles.h"

#include "emulate/emulate.h"
#include "log.h"
#include "handles/handle_kind.h"

#include <stdlib.h>

/* One entry for each callback that runs, on the stack of its thread. Guarded by registry_lock. Their number may be read
 * without the lock, because each thread sees its own entries. */
static struct callback_entry *entries;
static atomic_uint entry_count;

static void enter(struct callback_entry *entry)
{
    entry->thread = os_thread();
    atomic_fetch_add_explicit(&entry_count, 1, memory_order_relaxed);
    os_lock(&registry_lock);
    entry->after = entries;
    entries = entry;
    os_unlock(&registry_lock);
}

void callback_enter(struct callback_entry *entry, cl_event event, cl_int status)
{
    *entry = (struct callback_entry){.event = event, .status = status};
    enter(entry);
}

void callback_enter_command(struct callback_entry *entry)
{
    *entry = (struct callback_entry){.status = CL_RUNNING, .of_command = true};
    enter(entry);
}

void callback_leave(struct callback_entry *entry)
{
    os_lock(&registry_lock);
    struct callback_entry **place = &entries;
    while (*place != entry)
        place = &(*place)->after;
    *place = entry->after;
    os_unlock(&registry_lock);
    atomic_fetch_sub_explicit(&entry_count, 1, memory_order_relaxed);
}

enum which { ANY, OF_COMMAND, ABOUT, TELLS };

static bool is_one(const struct callback_entry *entry, enum which which, cl_event event)
{
    switch (which) {
    case ANY: return true;
    case OF_COMMAND: return entry->of_command;
    case ABOUT: return entry->event == event;
    default: return entry->event == event && entry->status <= CL_COMPLETE;
    }
}

/* Whether the thread is in a callback: in any, in a part of a command, or in one that reports a status of `event`, or its end. */
static bool runs_here(enum which which, cl_event event, cl_int *status)
{
    bool found = false;
    if (!atomic_load_explicit(&entry_count, memory_order_relaxed))
        return false;
    const uintptr_t thread = os_thread();
    os_lock(&registry_lock);
    for (const struct callback_entry *entry = entries; entry && !found; entry = entry->after) {
        found = entry->thread == thread && is_one(entry, which, event);
        if (found)
            *status = entry->status;
    }
    os_unlock(&registry_lock);
    return found;
}

struct event_record *callback_record(cl_event event)
{
    struct event_record *found = NULL;
    if (!atomic_load_explicit(&entry_count, memory_order_relaxed))
        return NULL;
    const uintptr_t thread = os_thread();
    os_lock(&registry_lock);
    for (const struct callback_entry *entry = entries; entry && !found; entry = entry->after)
        if (entry->thread == thread && entry->event == event)
            found = entry->record;
    record_retain(found);
    os_unlock(&registry_lock);
    return found;
}

bool callback_runs_here(void)
{
    cl_int status;
    return runs_here(ANY, NULL, &status);
}

bool callback_reports_end(cl_event event, cl_int *status)
{
    return runs_here(TELLS, event, status);
}

bool callback_reports(cl_event event, cl_int *status)
{
    return runs_here(ABOUT, event, status);
}

bool callback_runs_commands(void)
{
    cl_int status;
    return emulate_calls_back() ? runs_here(OF_COMMAND, NULL, &status) : callback_runs_here();
}

/* The application's callback, until it has been called. */
struct notice {
    struct reaped reaped; /* drivers get nothing from cld3d in a callback, also not the last references of `record` */
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    struct event_record *record; /* retained; NULL: not one of cld3d's events, and has the driver's status */
    cl_int before; /* its error, if it had failed before this was set: PoCL 3.1 then reports success. Else 0 */
};

static void free_notice(void *what)
{
    struct notice *notice = what;
    record_release(notice->record);
    free(notice);
}

static const struct reap_class called = {REAP_NOTICE, NULL, free_notice};

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    struct notice *notice = data;
    struct callback_entry entry;
    if (status >= 0 && notice->before)
        status = notice->before;
    callback_enter(&entry, event, status);
    entry.record = notice->record;
    notice->notify(event, notice->record ? event_reported(notice->record, status) : status, notice->data);
    callback_leave(&entry);
    if (notice->record)
        reap_later(&notice->reaped, &called, notice);
    else
        free(notice);
    reap_in_background();
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                             void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    if (!notify)
        return below()->clSetEventCallback(event, type, notify, data);
    os_stay_loaded();
    queue_emptying_stop();
    struct notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return log_refuse("clSetEventCallback", CL_OUT_OF_HOST_MEMORY, "no memory to track the callback");
    const cl_int before = registry_hot() && event_may_be(event) ? event_status(event) : CL_COMPLETE;
    *notice = (struct notice){
        .notify = notify, .data = data, .record = registry_get(RECORD_EVENT, event), .before = before < 0 ? before : 0};
    const cl_int status = below()->clSetEventCallback(event, type, on_event, notice);
    if (status != CL_SUCCESS)
        free_notice(notice);
    return status;
}

/* The same for the end of a memory object, which a driver reports on the thread that has ended the last command on
 * it. */
struct memory_notice {
    void(CL_CALLBACK *notify)(cl_mem, void *);
    void *data;
};

static void CL_CALLBACK on_memory_end(cl_mem memory, void *data)
{
    struct memory_notice *notice = data;
    struct callback_entry entry;
    callback_enter(&entry, NULL, CL_COMPLETE);
    notice->notify(memory, notice->data);
    callback_leave(&entry);
    free(notice);
}

static cl_int CL_API_CALL set_memory_callback(cl_mem memory, void(CL_CALLBACK *notify)(cl_mem, void *), void *data)
{
    if (!notify)
        return below()->clSetMemObjectDestructorCallback(memory, notify, data);
    os_stay_loaded();
    queue_emptying_stop();
    struct memory_notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return log_refuse("clSetMemObjectDestructorCallback", CL_OUT_OF_HOST_MEMORY, "no memory to track the callback");
    *notice = (struct memory_notice){notify, data};
    const cl_int status = below()->clSetMemObjectDestructorCallback(memory, on_memory_end, notice);
    if (status != CL_SUCCESS)
        free(notice);
    return status;
}

void callback_install(cl_icd_dispatch *table)
{
    table->clSetMemObjectDestructorCallback = set_memory_callback;
    table->clSetEventCallback = set_event_callback;
}
