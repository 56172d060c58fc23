/* The list of blocked commands: their lifetimes, and which of them still wait for a user event. */
#include "handles/blocker_list.h"

#include "handles/prerequisites.h"
#include "handles/handles.h"

#include <stdlib.h>

atomic_uint blockers_pending;

static struct blocker *list, **list_end = &list;
static unsigned long long turns; /* the number of the last one so far */

/* ---- lifetimes ---- */

void blocker_stop_pending_locked(struct blocker *user)
{
    if (user->active)
        atomic_fetch_sub_explicit(&blockers_pending, 1, memory_order_relaxed);
    user->active = false;
}

static void destroy(struct record *record)
{
    struct blocker *blocker = (struct blocker *)record;
    if (blocker->queue)
        event_put_with_prerequisites(blocker->event, blocker->prerequisites);
    else
        blocker_stop_pending_locked(blocker); /* nothing else refers to it */
    record_release(blocker->queue);
    blocker_failure_put(blocker->failure);
    free(blocker);
}

struct blocker_failure *blocker_failure(struct blocker *blocker)
{
    if (blocker)
        atomic_fetch_add_explicit(&blocker->failure->references, 1, memory_order_relaxed);
    return blocker ? blocker->failure : NULL;
}

bool blocker_failed(const struct blocker_failure *failure)
{
    return failure && atomic_load(&failure->failed);
}

void blocker_failure_put(struct blocker_failure *failure)
{
    if (failure && atomic_fetch_sub_explicit(&failure->references, 1, memory_order_acq_rel) == 1)
        free(failure);
}

struct blocker *blocker_new(unsigned capacity)
{
    struct blocker *blocker = calloc(1, sizeof(*blocker) + capacity * sizeof(struct blocker *));
    if (!blocker)
        return NULL;
    blocker->head.kind = RECORD_BLOCKER;
    blocker->head.destroy = destroy;
    record_retain(blocker);
    return blocker;
}

struct blocker *blocker_keep(struct blocker *blocker)
{
    record_retain(blocker);
    return blocker;
}

void blocker_put(struct blocker *blocker)
{
    record_release(blocker);
}

/* ---- the list ---- */

static void count_locked(const struct blocker *blocker, int change)
{
    blocker->queue->blocked += (unsigned)change;
    if (blocker->order & ORDER_BEFORE_ALL)
        blocker->queue->blocked_barriers += (unsigned)change;
}

static void add_last_locked(struct blocker *blocker)
{
    *list_end = blocker;
    list_end = &blocker->after;
    blocker->turn = ++turns;
}

void blocker_append_locked(struct blocker *blocker)
{
    add_last_locked(blocker);
    blocker->active = true;
    count_locked(blocker, 1);
    record_retain(blocker);
}

bool blocker_comes_behind_locked(const struct queue_record *queue, unsigned order)
{
    return (order & ORDER_AFTER_ALL ? queue->blocked : queue->blocked_barriers) != 0;
}

void blocker_block_again_locked(struct blocker *blocker)
{
    blocker->unblocked = false;
    count_locked(blocker, 1);
}

void blocker_move_last_locked(struct blocker *blocker)
{
    struct blocker **place = &list;
    if (!blocker->after)
        return; /* it is already the last one */
    while (*place != blocker)
        place = &(*place)->after;
    *place = blocker->after;
    blocker->after = NULL;
    add_last_locked(blocker);
}

static bool stays_locked(struct blocker *blocker)
{
    if (!blocker->stuck && !blocker->unblocked)
        count_locked(blocker, -1);
    blocker->unblocked = blocker->unblocked || !blocker->stuck;
    return blocker->entering || blocker->stuck;
}

static bool waited_for_locked(const struct blocker *user)
{
    for (const struct blocker *blocker = list; blocker; blocker = blocker->after)
        for (unsigned i = 0; i < blocker->count; i++)
            if (blocker->waits[i] == user)
                return true;
    return false;
}

void blocker_forget_released_locked(struct blocker *user)
{
    if (!user->active || user->setting || user->head.app_refs || waited_for_locked(user))
        return;
    blocker_stop_pending_locked(user);
    if (registry_find_locked(RECORD_BLOCKER, user->head.handle) == user)
        record_release(registry_remove_locked(RECORD_BLOCKER, user->head.handle)); /* not the last reference */
}

static void forget_released_locked(const struct blocker *removed)
{
    for (unsigned i = 0; i < removed->count; i++)
        if (!removed->waits[i]->queue)
            blocker_forget_released_locked(removed->waits[i]);
}

/* Removes the blockers that are not stuck, and returns them as a separate list. */
static struct blocker *remove_locked(void)
{
    struct blocker *removed = NULL, **place = &list;
    while (*place) {
        struct blocker *blocker = *place;
        if (stays_locked(blocker)) {
            place = &blocker->after;
            continue;
        }
        *place = blocker->after;
        blocker->active = false;
        if (blocker->head.handle)
            record_release(registry_remove_locked(RECORD_BLOCKER, blocker->head.handle)); /* not the last reference */
        forget_released_locked(blocker);
        blocker->after = removed;
        removed = blocker;
    }
    list_end = place;
    return removed;
}

/* The blockers that it waited for are released first, so that a chain of blockers is not destroyed recursively. */
static void put_removed(void *what)
{
    struct blocker *removed = what;
    for (unsigned i = 0; i < removed->count; i++)
        record_release(removed->waits[i]);
    record_release(removed);
}

/* Removed in a callback: rusticl 22.3 calls back with the event locked, so the event cannot be released there. */
static const struct reap_class removed_in_callback = {REAP_BLOCKER, NULL, put_removed};

static bool is_pending(const struct blocker *user)
{
    return user->active;
}

bool blocker_pending_and_not_setting(const struct blocker *user)
{
    return user->active && !user->setting;
}

bool blocker_pending_and_not_coming(const struct blocker *user)
{
    return user->active && !user->comes;
}

bool blocker_pending_and_marked(const struct blocker *user)
{
    return user->active && user->marked;
}

static bool waits_locked(const struct blocker *blocker, bool (*blocks)(const struct blocker *))
{
    for (unsigned i = 0; i < blocker->count; i++) {
        const struct blocker *of = blocker->waits[i];
        if (of->queue ? of->active && of->stuck : blocks(of))
            return true;
    }
    return false;
}

void blocker_mark_blocked_locked(bool (*blocks)(const struct blocker *))
{
    for (struct blocker *blocker = list; blocker; blocker = blocker->after)
        blocker->queue->stuck = blocker->queue->stuck_barriers = 0;
    for (struct blocker *blocker = list; blocker; blocker = blocker->after) {
        struct queue_record *queue = blocker->queue;
        const unsigned before = blocker->order & ORDER_AFTER_ALL ? queue->stuck : queue->stuck_barriers;
        blocker->stuck = !blocker->over && (before || waits_locked(blocker, blocks));
        queue->stuck += blocker->stuck;
        queue->stuck_barriers += blocker->stuck && (blocker->order & ORDER_BEFORE_ALL);
    }
}

void blockers_finish(void)
{
    os_lock(&registry_lock);
    blocker_mark_blocked_locked(is_pending);
    struct blocker *removed = remove_locked();
    os_unlock(&registry_lock);
    const bool later = removed && callback_runs_here();
    for (struct blocker *after; removed; removed = after) {
        after = removed->after;
        if (later)
            reap_later(&removed->reaped, &removed_in_callback, removed);
        else
            put_removed(removed);
    }
}

struct blocker *blocker_find_active_locked(cl_event event)
{
    return registry_find_locked(RECORD_BLOCKER, event); /* commands that have ended are not in the registry */
}

struct blocker *blocker_list_locked(void)
{
    return list;
}

struct blocker **blockers_collect_locked(bool (*wanted)(const struct blocker *, const void *data), const void *data)
{
    unsigned count = 0, most = 1;
    for (const struct blocker *blocker = list; blocker; blocker = blocker->after)
        most += wanted(blocker, data);
    struct blocker **found = calloc(most, sizeof(struct blocker *));
    for (struct blocker *blocker = list; blocker && found; blocker = blocker->after)
        if (wanted(blocker, data))
            found[count++] = blocker_keep(blocker);
    return found;
}

static bool has_event(const struct blocker *blocker, const void *unused)
{
    (void)unused;
    return blocker->event != NULL;
}

/* The first one with an event whose turn comes after `*turn`, retained, or NULL; and its turn. */
static struct blocker *find_next(unsigned long long *turn, unsigned long long last)
{
    os_lock(&registry_lock);
    struct blocker *blocker = list;
    while (blocker && (!blocker->event || blocker->turn <= *turn))
        blocker = blocker->after;
    if (blocker && blocker->turn > last)
        blocker = NULL;
    else if (blocker)
        *turn = blocker->turn;
    blocker_keep(blocker);
    os_unlock(&registry_lock);
    return blocker;
}

/* Where memory is short: a long list takes long. */
static void visit_in_turn(unsigned long long last, void (*visit)(struct blocker *))
{
    unsigned long long turn = 0;
    for (struct blocker *blocker; (blocker = find_next(&turn, last)) != NULL; blocker_put(blocker))
        visit(blocker);
}

void blockers_each_with_event(void (*visit)(struct blocker *))
{
    os_lock(&registry_lock);
    const unsigned long long last = turns;
    struct blocker **found = blockers_collect_locked(has_event, NULL);
    os_unlock(&registry_lock);
    if (!found)
        visit_in_turn(last, visit);
    for (struct blocker **each = found; each && *each; each++) {
        visit(*each);
        blocker_put(*each);
    }
    free(found);
}

bool blocker_ends_locked(const struct blocker *blocker, cl_int status)
{
    return status < 0 || (status == CL_COMPLETE && !blocker->stands);
}

void blocker_ask_driver(struct blocker *blocker)
{
    const cl_int status = event_status(blocker->event);
    os_lock(&registry_lock);
    blocker->over = blocker->over || blocker_ends_locked(blocker, status);
    os_unlock(&registry_lock);
}
