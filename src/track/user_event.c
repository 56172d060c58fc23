/* User events, which block commands until they are set; and the end of those commands after an error. */
#include "track/blocker_list.h"

#include "track/prerequisites.h"
#include "track/track.h"

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

/* Before the driver gets the status: drivers may call back at once for commands that end with it, which would begin what is
 * deferred in their threads. */
unsigned blockers_claim(cl_event event)
{
    unsigned owner = 0;
    const bool claims = !callback_runs_here();
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user)
        user->setting = true;
    if (user && claims)
        owner = claim_locked(user, 0);
    os_unlock(&registry_lock);
    return owner;
}

void blockers_not_set(cl_event event)
{
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user)
        user->setting = false;
    os_unlock(&registry_lock);
}

/* Finds the commands that a user event blocks: they are `stuck`. */
static void mark_behind_locked(struct blocker *user)
{
    user->marked = true;
    deferral.mark_locked(user);
    blocker_mark_blocked_locked(blocker_pending_and_marked);
    user->marked = false;
}

/* The queues of the commands that were found lose them. */
static void note_failures_locked(void)
{
    for (const struct blocker *blocker = blocker_list_locked(); blocker; blocker = blocker->after)
        if (blocker->stuck)
            atomic_fetch_add(&blocker->queue->failures, 1);
}

/* Whether its prerequisites have to end first. */
static bool comes_after(const struct blocker *blocker, const void *unused)
{
    (void)unused;
    return blocker->stuck && blocker->prerequisites && context_has(blocker->queue->context, QUIRK_POCL_ENDS);
}

void blockers_fail(cl_event event)
{
    unsigned patience = 100;
    struct blocker **found = NULL;
    if (!blockers_possible())
        return;
    const bool may_wait = !callback_runs_here();
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user) {
        mark_behind_locked(user);
        note_failures_locked();
        found = may_wait ? blockers_collect_locked(comes_after, NULL) : NULL;
    }
    os_unlock(&registry_lock);
    for (struct blocker **each = found; each && *each; each++) {
        prerequisites_let_end((*each)->prerequisites, &patience);
        blocker_put(*each);
    }
    free(found);
}

static bool blocks_any_locked(struct blocker *user)
{
    bool found = false;
    mark_behind_locked(user);
    for (const struct blocker *blocker = blocker_list_locked(); blocker && !found; blocker = blocker->after)
        found = blocker->stuck;
    return found;
}

bool blockers_release(cl_event event)
{
    if (!blockers_possible())
        return false;
    os_lock(&registry_lock);
    struct blocker *user = registry_find_locked(RECORD_BLOCKER, event);
    const bool last = user && !user->queue && --user->head.app_refs == 0, blocks = last && blocks_any_locked(user);
    if (last)
        registry_remove_locked(RECORD_BLOCKER, event);
    os_unlock(&registry_lock);
    if (last)
        record_release(user);
    return last && !blocks;
}

/* ---- the end of commands after an error ---- */

/* Some drivers see the error later, in threads of their own (rusticl 22.3): then the end of the command tells. The event
 * finds its blocker, if that is still there: rusticl 22.3 never calls back for a command that fails after it was asked to. */
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

/* Where the driver can't call back, the command counts as held until all is set that it waits for. That whose callback runs here has
 * ended, and rusticl 22.3 has it locked. */
static void watch_end(struct blocker *blocker)
{
    cl_int status;
    if (callback_tells(blocker->event, &status))
        return;
    os_lock(&registry_lock);
    const bool needed = blocker->active && !blocker->over && !blocker->watched;
    blocker->watched = true;
    os_unlock(&registry_lock);
    if (needed)
        below()->clSetEventCallback(blocker->event, CL_COMPLETE, on_end, NULL);
}

void blockers_set(cl_event event, bool failed, unsigned owner)
{
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user && owner)
        claim_locked(user, owner); /* what was deferred meanwhile */
    if (user && failed) {          /* what came meanwhile */
        mark_behind_locked(user);
        note_failures_locked();
    }
    if (user) {
        registry_remove_locked(RECORD_BLOCKER, event);
        blocker_stop_pending_locked(user);
    }
    os_unlock(&registry_lock);
    if (!user)
        return;
    record_release(user);
    if (failed && !callback_runs_here())
        blockers_each_with_event(blocker_ask_driver);
    blockers_finish();
    if (failed)
        blockers_each_with_event(watch_end); /* what other user events block too */
}
