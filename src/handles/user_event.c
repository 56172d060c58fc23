/* User events, which block commands until they are set; and the end of those commands after an error. */
#include "handles/blocker_list.h"

#include "emulate/delivery.h"
#include "handles/prerequisites.h"
#include "handles/handles.h"

#include <stdlib.h>

/* ---- user events ---- */

struct blocker *blocker_user_event(cl_event event)
{
    struct record *stale = NULL;
    struct blocker *user = blocker_new(0);
    if (!user)
        return NULL;
    user->head.handle = event;
    os_lock(&registry_lock);
    user->active = registry_add_locked(&user->head, &stale);
    if (user->active)
        atomic_fetch_add_explicit(&blockers_pending, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    record_release(stale);
    if (user->active)
        return user;
    record_release(user);
    return NULL;
}

static struct blocker *find_user_locked(cl_event event)
{
    struct blocker *user = registry_find_locked(RECORD_BLOCKER, event);
    return user && !user->queue ? user : NULL;
}

static unsigned claim_locked(struct blocker *user, unsigned owner)
{
    user->marked = true;
    owner = deferral.claim_locked(owner);
    user->marked = false;
    return owner;
}

/* Called before the driver gets the status: drivers may call back at once for commands that end with it, and would then
 * begin deferred commands on their threads. */
bool blockers_claim(cl_event event, struct blocker **claimed, unsigned *owner)
{
    const bool claims = !callback_runs_here();
    *owner = 0;
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    const bool alone = !user || !user->setting;
    if (!alone)
        user = NULL;
    if (user)
        user->setting = true;
    if (user && claims)
        *owner = claim_locked(user, 0);
    *claimed = blocker_keep(user);
    os_unlock(&registry_lock);
    return alone;
}

static bool fails_with(const struct blocker *blocker, const struct blocker *user)
{
    for (unsigned i = 0; i < blocker->count; i++)
        if (blocker->waits[i] == user || blocker_failed(blocker->waits[i]->failure))
            return true;
    return false;
}

/* NVIDIA's driver may report success for a command with a failed event in its wait list. `by`: the user event; NULL: it
 * has not failed. */
static void set_failed_locked(const struct blocker *blocker, const struct blocker *by)
{
    struct event_record *event = blocker->event ? registry_find_locked(RECORD_EVENT, blocker->event) : NULL;
    blocker->failure->by = by;
    atomic_store(&blocker->failure->failed, by != NULL);
    if (event)
        atomic_store(&event->failed, by != NULL);
}

/* Counts the commands that are `stuck` as failures of their queues, and marks as failed those that have the user event,
 * or a failed command, in their wait lists. */
static void note_failures_locked(const struct blocker *user)
{
    for (const struct blocker *blocker = blocker_list_locked(); blocker; blocker = blocker->after) {
        if (blocker->stuck)
            atomic_fetch_add(&blocker->queue->failures, 1);
        if (!blocker_failed(blocker->failure) && fails_with(blocker, user))
            set_failed_locked(blocker, user);
    }
}

/* Reverts set_failed_locked for the commands of a user event that the driver has refused to set. */
static void take_back_failures_locked(const struct blocker *user)
{
    for (const struct blocker *blocker = blocker_list_locked(); blocker; blocker = blocker->after)
        if (blocker->failure->by == user)
            set_failed_locked(blocker, NULL);
}

/* The driver has set the user event: they stay failed. */
static void settle_failures_locked(const struct blocker *user)
{
    for (const struct blocker *blocker = blocker_list_locked(); blocker; blocker = blocker->after)
        if (blocker->failure->by == user)
            blocker->failure->by = NULL;
}

void blockers_not_set(struct blocker *user)
{
    os_lock(&registry_lock);
    if (user) {
        user->setting = false;
        take_back_failures_locked(user);
        blocker_forget_released_locked(user);
    }
    os_unlock(&registry_lock);
    blocker_put(user);
}

/* Marks the commands that a user event blocks as `stuck`. */
static void mark_behind_locked(struct blocker *user)
{
    user->marked = true;
    deferral.mark_locked(user);
    blocker_mark_blocked_locked(blocker_pending_and_marked);
    user->marked = false;
}

/* Whether the command's prerequisites must end first. */
static bool comes_after(const struct blocker *blocker, const void *unused)
{
    (void)unused;
    return blocker->stuck && blocker->prerequisites && context_has(blocker->queue->context, QUIRK_POCL_FAILURE_RACE);
}

void blockers_fail(cl_event event)
{
    enum { THROUGH = 5 }; /* milliseconds at least */
    unsigned patience = 100, pauses = 0;
    struct blocker **found = NULL;
    if (!blockers_possible())
        return;
    const bool may_wait = !callback_runs_here();
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user) {
        mark_behind_locked(user);
        note_failures_locked(user);
        found = may_wait ? blockers_collect_locked(comes_after, NULL) : NULL;
    }
    os_unlock(&registry_lock);
    for (struct blocker **each = found; each && *each; each++) {
        if (prerequisites_let_end((*each)->prerequisites, &patience))
            pauses = THROUGH;
        blocker_put(*each);
    }
    free(found);
    for (; pauses; pauses--)
        os_sleep_shortly();
}

/* ---- the end of commands after an error ---- */

/* Some drivers process the error later, on their own threads (rusticl 22.3): then the end of the command shows it. The
 * blocker is found by its event, if it still exists: rusticl 22.3 never calls back for a command that fails after the
 * callback was set. */
static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    struct callback_entry entry;
    (void)data;
    callback_enter(&entry, event, status);
    os_lock(&registry_lock);
    struct blocker *blocker = blocker_find_active_locked(event);
    if (blocker)
        blocker->over = blocker->over || blocker_ends_locked(blocker, status);
    os_unlock(&registry_lock);
    blockers_finish();
    deferral.run(0);
    callback_leave(&entry);
}

static bool any_polled(void)
{
    os_lock(&registry_lock);
    const struct blocker *blocker = blocker_list_locked();
    while (blocker && !blocker->polled)
        blocker = blocker->after;
    os_unlock(&registry_lock);
    return blocker != NULL;
}

/* A driver without memory refuses callbacks. What it would report is found here, and acted on as in a callback. */
static unsigned poll_ends(void)
{
    enum { PAUSE_MS = 16 };
    struct callback_entry entry;
    blockers_each_with_event(blocker_ask_driver);
    callback_enter(&entry, NULL, CL_COMPLETE);
    blockers_finish();
    deferral.run(0);
    callback_leave(&entry);
    return any_polled() ? PAUSE_MS : 0;
}

static struct watch ends_watch = {.poll = poll_ends};

static void poll_end(struct blocker *blocker)
{
    os_lock(&registry_lock);
    blocker->polled = true;
    os_unlock(&registry_lock);
    if (watch_start(&ends_watch))
        return;
    os_lock(&registry_lock);
    blocker->polled = blocker->watched = false; /* the next event that fails asks again */
    os_unlock(&registry_lock);
}

/* Asks the driver to report the command's end. The command whose callback runs here has ended, and rusticl 22.3 has its
 * event locked. */
static void watch_end(struct blocker *blocker)
{
    cl_int status;
    if (callback_reports_end(blocker->event, &status))
        return;
    if (context_has(blocker->queue->context, QUIRK_POCL_CALLBACK_STATUS))
        blocker_ask_driver(blocker); /* for a marker that has already failed, PoCL would report success */
    os_lock(&registry_lock);
    const bool needed = blocker->active && !blocker->over && !blocker->watched;
    blocker->watched = true;
    os_unlock(&registry_lock);
    if (needed && below()->clSetEventCallback(blocker->event, CL_COMPLETE, on_end, NULL) != CL_SUCCESS)
        poll_end(blocker);
}

/* The event no longer blocks anything. Returns the registry's reference, or NULL if the application has already
 * released the event. */
static struct record *forget_locked(struct blocker *user)
{
    blocker_stop_pending_locked(user);
    return registry_find_locked(RECORD_BLOCKER, user->head.handle) == user
               ? registry_remove_locked(RECORD_BLOCKER, user->head.handle)
               : NULL;
}

void blockers_set(struct blocker *user, bool failed, unsigned owner)
{
    if (!user)
        return;
    os_lock(&registry_lock);
    if (owner)
        claim_locked(user, owner); /* commands deferred meanwhile */
    if (failed && user->active) {  /* commands added meanwhile, unless another thread has set it first */
        mark_behind_locked(user);
        note_failures_locked(user);
    }
    settle_failures_locked(user);
    struct record *forgotten = forget_locked(user);
    os_unlock(&registry_lock);
    record_release(forgotten);
    blocker_put(user);
    if (failed && !callback_runs_here())
        blockers_each_with_event(blocker_ask_driver);
    blockers_finish();
    if (failed) {
        blockers_each_with_event(watch_end); /* commands that other user events also block */
        blockers_finish();
    }
}

/* ---- user events that the application releases ---- */

static bool blocks_any_locked(struct blocker *user)
{
    bool found = false;
    mark_behind_locked(user);
    for (const struct blocker *blocker = blocker_list_locked(); blocker && !found; blocker = blocker->after)
        found = blocker->stuck;
    return found;
}

/* What waits for the user event may have failed meanwhile. Returns whether nothing waits for it any longer, and no thread
 * is setting it. */
static bool is_free_now(struct blocker *user)
{
    if (!callback_runs_here())
        blockers_each_with_event(blocker_ask_driver);
    blockers_finish();
    watch_start(&ends_watch); /* for deferred commands that this has made ready */
    os_lock(&registry_lock);
    const bool is_free = !user->active && !user->setting;
    os_unlock(&registry_lock);
    return is_free;
}

bool blockers_release(cl_event event)
{
    if (!blockers_possible())
        return false;
    os_lock(&registry_lock);
    struct blocker *user = registry_find_locked(RECORD_BLOCKER, event);
    const bool last = user && !user->queue && --user->head.app_refs == 0;
    const bool ends =
        last && !blocks_any_locked(user); /* while commands wait for the event, a program may still set it */
    bool unset = ends && !user->setting;
    if (ends)
        registry_remove_locked(RECORD_BLOCKER, event);
    else if (last)
        record_retain(user);
    os_unlock(&registry_lock);
    if (last && !ends)
        unset = is_free_now(user);
    if (last)
        record_release(user);
    return unset;
}
