/* The calls for user events, and the gates of deferred commands, which are user events of cld3d's own. */
#include "handles/handles.h"

#include "log.h"
#include "handles/blocker.h"
#include "handles/handle_kind.h"
#include "handles/reaper.h"

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *errcode_ret)
{
    cl_event event = below()->clCreateUserEvent(context, errcode_ret);
    if (!event || !registry_has(RECORD_CONTEXT, context))
        return event;
    struct blocker *user = blocker_user_event(event);
    if (user) {
        blocker_put(user);
        return event;
    }
    event_set_unset(event);
    below()->clReleaseEvent(event);
    const cl_int status = log_refuse("clCreateUserEvent", CL_OUT_OF_HOST_MEMORY, "no memory to track a user event");
    give_code(errcode_ret, status);
    return NULL;
}

/* ---- the status ---- */

/* PoCL 3.1 unlocks a command while it fails it: another thread that sets an event at that moment would start or fail
 * the command again, which ends the process. So an error is set while no other thread sets an event (QUIRK_POCL_FAILURE_RACE).
 * The number of threads that are setting CL_COMPLETE; -1: one is setting an error. */
static atomic_int setters;

/* The wait is limited, because a callback of the application may run inside another thread's call and wait for this
 * thread. */
static bool begin_setting(bool fails)
{
    enum { MOST = 100 }; /* milliseconds at least */
    for (int i = 0; i < MOST && !callback_runs_here(); i++) {
        int now = atomic_load(&setters);
        if ((fails ? now == 0 : now >= 0) && atomic_compare_exchange_strong(&setters, &now, fails ? -1 : now + 1))
            return true;
        os_sleep_shortly();
    }
    return false;
}

static void end_setting(bool fails)
{
    atomic_fetch_add(&setters, fails ? 1 : -1);
}

static cl_int set_status(cl_event event, cl_int execution_status)
{
    const bool fails = execution_status < 0, any = atomic_load_explicit(&queue_count, memory_order_relaxed) != 0;
    if (fails && any) {
        blockers_fail(event); /* this may wait, so no other thread is kept from setting events yet */
        queues_lose_unseen(event);
    }
    if (fails)
        atomic_store(&events_failed, true);
    const bool begun = any && event_context_has(event, QUIRK_POCL_FAILURE_RACE) && begin_setting(fails);
    const cl_int status = below()->clSetUserEventStatus(event, execution_status);
    if (begun)
        end_setting(fails);
    return status;
}

void gate_open(const char *call, cl_event gate, bool done)
{
    enum { TRIES = 10 };
    const cl_int wanted = done ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    cl_int status = set_status(gate, wanted);
    for (int i = 1; i < TRIES && status != CL_SUCCESS && status != CL_INVALID_OPERATION; i++) {
        os_sleep_shortly();
        status = set_status(gate, wanted);
    }
    if (status != CL_SUCCESS)
        log_write(LOG_ERROR, "%s: the driver cannot set a user event (%d): the command's event never ends", call,
                  status);
}

static cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int execution_status)
{
    const bool asked = registry_hot() && event_may_be(event);
    if (registry_hot() && event && !asked)
        return log_refuse("clSetUserEventStatus", CL_INVALID_EVENT, "%p is not an event", (void *)event);
    if (registry_has(RECORD_EVENT, event) || (asked && event_is_command(event)))
        return log_refuse("clSetUserEventStatus", CL_INVALID_EVENT, "%p is the event of a command, not a user event",
                          (void *)event);
    if (asked && event_is_over(event)) /* NVIDIA's driver accepts a second status and ignores it */
        return log_refuse("clSetUserEventStatus", CL_INVALID_OPERATION, "user event %p has already been set",
                          (void *)event);
    struct blocker *user = NULL;
    const bool followed = blockers_possible();
    unsigned owner = 0;
    if (followed && !blockers_claim(event, &user, &owner))
        return log_refuse("clSetUserEventStatus", CL_INVALID_OPERATION, "user event %p is being set by another thread",
                          (void *)event);
    /* Another thread that sees the event set may release it before the driver has finished: PoCL 3.1 would end the
     * process. */
    const bool kept = asked && below()->clRetainEvent(event) == CL_SUCCESS;
    const cl_int status = set_status(event, execution_status);
    if (kept)
        below()->clReleaseEvent(event);
    if (status == CL_SUCCESS && followed)
        blockers_set(user, execution_status < 0, owner);
    else if (followed)
        blockers_not_set(user);
    if (owner || (status == CL_SUCCESS && followed)) {
        deferral.run(owner);
        reap(REAP_AND_WAIT, NULL);
    }
    return status;
}

void user_event_install(cl_icd_dispatch *table)
{
    table->clCreateUserEvent = create_user_event;
    table->clSetUserEventStatus = set_user_event_status;
}
