#include "track/blocker.h"

#include "log.h"
#include "track/besides.h"
#include "track/track.h"

#include <stdlib.h>

/* All guarded by registry_lock unless said otherwise. The registry finds a blocker by its event: a user event's while the
 * application has it, a command's while it is held. */
struct blocker {
    struct record head;
    struct queue_record *queue; /* retained; constant. NULL: a user event */
    unsigned order;             /* constant */
    cl_event slot;              /* where the driver puts an event that the application does not want */
    cl_event event;             /* of a command: one reference, as soon as the driver has taken it, or NULL */
    bool active;                /* a user event is pending; a command is held, and in the list */
    bool over;                  /* the command is over, though something of it seems to be held: an error ended it */
    bool watched;               /* the driver has been asked to tell its end */
    bool comes;                 /* see blocker_comes_locked */
    bool marked;                /* see blocker_mark_locked */
    bool stuck;                 /* of one look through the list */
    bool first;                 /* of the held commands of its queue; constant */
    struct besides *besides;    /* owned; constant as soon as it is not NULL. See besides.h */
    struct blocker *after;      /* in the order of their calls: nothing waits for what comes later */
    struct reaped reaped;       /* once it is over */
    unsigned count;             /* what the command waits for; held */
    struct blocker *waits[];
};

atomic_uint blockers_pending;

static struct blocker *list, **list_end = &list;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* ---- lifetimes ---- */

static void stop_pending_locked(struct blocker *user)
{
    if (user->active)
        atomic_fetch_sub_explicit(&blockers_pending, 1, memory_order_relaxed);
    user->active = false;
}

static void destroy(struct record *record)
{
    struct blocker *blocker = (struct blocker *)record;
    for (unsigned i = 0; i < blocker->count; i++)
        record_release(blocker->waits[i]);
    if (blocker->queue)
        event_put(blocker->event);
    else
        stop_pending_locked(blocker); /* nobody else knows it any more */
    record_release(blocker->queue);
    besides_free(blocker->besides);
    free(blocker);
}

static struct blocker *new_blocker(unsigned capacity)
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
    if (blocker)
        record_retain(blocker);
    return blocker;
}

void blocker_put(struct blocker *blocker)
{
    record_release(blocker);
}

/* ---- the list ---- */

static void append_locked(struct blocker *blocker)
{
    *list_end = blocker;
    list_end = &blocker->after;
    blocker->active = true;
    blocker->queue->blocked++;
    blocker->queue->blocked_barriers += (blocker->order & ORDER_BEFORE_ALL) != 0;
    record_retain(blocker);
}

/* Takes the blockers out that are not stuck, and gives them as a list of their own. */
static struct blocker *remove_locked(void)
{
    struct blocker *removed = NULL, **place = &list;
    while (*place) {
        struct blocker *blocker = *place;
        if (blocker->stuck) {
            place = &blocker->after;
            continue;
        }
        *place = blocker->after;
        blocker->active = false;
        if (blocker->head.handle)
            record_release(
                registry_remove_locked(RECORD_BLOCKER, blocker->head.handle)); /* never the last: the list has one */
        blocker->queue->blocked--;
        blocker->queue->blocked_barriers -= (blocker->order & ORDER_BEFORE_ALL) != 0;
        blocker->after = removed;
        removed = blocker;
    }
    list_end = place;
    return removed;
}

/* What it waited for goes first: so no chain of them is destroyed in one another. */
static void put_removed(void *what)
{
    struct blocker *removed = what;
    for (unsigned i = 0; i < removed->count; i++)
        record_release(removed->waits[i]);
    removed->count = 0;
    record_release(removed);
}

/* Removed in a callback. rusticl 22.3 calls back with the event locked, which can't be given back there. */
static const struct reap_class removed_in_callback = {REAP_BLOCKER, NULL, put_removed};

static bool pending(const struct blocker *user)
{
    return user->active;
}

static bool pending_and_not_coming(const struct blocker *user)
{
    return user->active && !user->comes;
}

static bool pending_and_marked(const struct blocker *user)
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

/* Which commands are stuck, if user events block what waits for them as `blocks` says. */
static void look_locked(bool (*blocks)(const struct blocker *))
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

static void finish_unblocked(void)
{
    os_lock(&registry_lock);
    look_locked(pending);
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

/* The next blocker in the list with an event, retained. Both may leave the list meanwhile: then the rest is not looked at. */
static struct blocker *next_with_event(struct blocker *last)
{
    os_lock(&registry_lock);
    struct blocker *blocker = !last ? list : last->active ? last->after : NULL;
    while (blocker && !blocker->event)
        blocker = blocker->after;
    if (blocker)
        record_retain(blocker);
    os_unlock(&registry_lock);
    record_release(last);
    return blocker;
}

static void each_with_event(void (*visit)(struct blocker *))
{
    for (struct blocker *blocker = next_with_event(NULL); blocker; blocker = next_with_event(blocker))
        visit(blocker);
}

/* An error in its wait list ends a command at once, whatever else it waits for: only the driver knows. */
static void ask_driver(struct blocker *blocker)
{
    const bool over = event_status(blocker->event) <= CL_COMPLETE;
    os_lock(&registry_lock);
    blocker->over = blocker->over || over;
    os_unlock(&registry_lock);
}

static struct blocker *find_active_locked(cl_event event)
{
    struct blocker *blocker = event ? registry_find_locked(RECORD_BLOCKER, event) : NULL;
    return blocker && blocker->active ? blocker : NULL;
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
    struct blocker *blocker = find_active_locked(event);
    if (blocker)
        blocker->over = true;
    os_unlock(&registry_lock);
    finish_unblocked();
    deferral.run(0);
    callback_leave(&entry);
}

/* Where the driver can't call back, the command counts as held until all is set that it waits for. */
static void watch_end(struct blocker *blocker)
{
    os_lock(&registry_lock);
    const bool needed = blocker->active && !blocker->over && !blocker->watched;
    blocker->watched = true;
    os_unlock(&registry_lock);
    if (needed)
        below()->clSetEventCallback(blocker->event, CL_COMPLETE, on_end, NULL);
}

/* ---- commands ---- */

static unsigned count_active_locked(cl_uint count, const cl_event *wait)
{
    unsigned active = 0;
    for (cl_uint i = 0; wait && i < count; i++)
        active += find_active_locked(wait[i]) != NULL;
    return active;
}

/* A command that waits for nothing of its own needs no blocker unless it can be named, or is what others come after. In an
 * in-order queue they come after those before it anyway. In PoCL each needs one: PoCL 3.1 ends the process if a command
 * fails whose event nobody has. */
static bool needed_locked(const struct queue_record *queue, unsigned order, unsigned active, bool named)
{
    named = named || context_has(queue->context, QUIRK_POCL_EVENTS);
    const bool behind = (order & ORDER_AFTER_ALL ? queue->blocked : queue->blocked_barriers) != 0;
    return active || (behind && (named || (queue_out_of_order(queue) && (order & ORDER_BEFORE_ALL))));
}

static struct blocker *follow_locked(struct queue_record *queue, unsigned order, unsigned active, const cl_event *wait)
{
    struct blocker *blocker = new_blocker(active);
    if (!blocker)
        return NULL;
    record_retain(queue);
    blocker->queue = queue;
    blocker->order = order;
    for (; blocker->count < active; wait++) {
        struct blocker *of = find_active_locked(*wait);
        if (of)
            blocker->waits[blocker->count++] = blocker_keep(of);
    }
    append_locked(blocker);
    blocker->first = queue->blocked == 1;
    return blocker;
}

/* The held command before it in its in-order queue, and its event: another user event may set that free. For the caller to put. */
static struct blocker *find_previous(const struct blocker *blocker, cl_event *event)
{
    struct blocker *previous = NULL;
    os_lock(&registry_lock);
    for (struct blocker *of = list; of && of != blocker; of = of->after)
        previous = of->queue == blocker->queue ? of : previous;
    *event = blocker_keep(previous) ? previous->event : NULL;
    os_unlock(&registry_lock);
    return previous;
}

static void note_besides(struct blocker *blocker, cl_uint count, const cl_event *wait)
{
    if (!context_has(blocker->queue->context, QUIRK_POCL_ENDS) || callback_runs_here())
        return;
    cl_event event = NULL;
    struct blocker *previous = queue_out_of_order(blocker->queue) ? NULL : find_previous(blocker, &event);
    struct besides *besides = besides_note(blocker->queue, blocker->first, event, count, wait);
    blocker_put(previous);
    os_lock(&registry_lock);
    blocker->besides = besides;
    os_unlock(&registry_lock);
}

/* One try. False: somebody is about to wait for commands of the queue. In a callback nobody waits for that: the driver may need
 * the thread. */
static bool try_begin(cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait, bool named,
                      bool may_wait, struct blocker **blocker, bool *followed)
{
    bool free = true;
    os_lock(&registry_lock);
    struct queue_record *queue = registry_find_locked(RECORD_QUEUE, handle);
    if (queue && !queue_out_of_order(queue))
        order = ORDER_AFTER_ALL | ORDER_BEFORE_ALL;
    const unsigned active = queue ? count_active_locked(count, wait) : 0;
    if (queue && needed_locked(queue, order, active, named)) {
        free = !queue->entered || !may_wait;
        *blocker = free ? follow_locked(queue, order, active, wait) : NULL;
        *followed = !free || *blocker;
    }
    os_unlock(&registry_lock);
    return free;
}

cl_int blocker_begin(const char *call, cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait,
                     bool named, struct blocker **blocker)
{
    bool followed = true;
    *blocker = NULL;
    if (!blockers_possible())
        return CL_SUCCESS;
    reap(REAP_AT_COMMAND, NULL);
    const bool may_wait = !callback_runs_here();
    while (!try_begin(handle, order, count, wait, named, may_wait, blocker, &followed))
        sleep_shortly();
    if (*blocker)
        note_besides(*blocker, count, wait);
    return followed ? CL_SUCCESS
                    : log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory to follow a command that a user event blocks");
}

cl_event *blocker_event(struct blocker *blocker, cl_event *wanted)
{
    return wanted || !blocker ? wanted : &blocker->slot;
}

/* From now on the command is found by its event, unless it is over already. */
static bool name_locked(struct blocker *blocker, cl_event event, struct record **stale)
{
    if (!blocker->active || !event)
        return false;
    blocker->event = event;
    blocker->head.handle = event;
    registry_add_locked(&blocker->head, stale); /* there is room: it has a queue already */
    return true;
}

/* The conversion of images follows the events that it gives until the application releases them, and it never has this one. A
 * later event at the same address must not be taken for it. */
static void forget_slot(const struct blocker *blocker)
{
    if (blocker->slot)
        registry_forget(RECORD_EVENT, blocker->slot);
}

void blocker_end(struct blocker *blocker, cl_int status, cl_event event)
{
    if (!blocker)
        return;
    forget_slot(blocker);
    cl_event ours = event ? event : blocker->slot;
    struct record *stale = NULL;
    if (status != CL_SUCCESS || (event && below()->clRetainEvent(event) != CL_SUCCESS))
        ours = NULL;
    os_lock(&registry_lock);
    const bool named = name_locked(blocker, ours, &stale);
    blocker->over = blocker->over || status != CL_SUCCESS;
    os_unlock(&registry_lock);
    if (!named)
        event_put(ours);
    record_release(stale);
    record_release(blocker);
    if (status == CL_SUCCESS)
        return;
    finish_unblocked();
    deferral.run(0); /* what another thread put behind it meanwhile */
}

bool blocked_list_events(const struct queue_record *queue, unsigned order, struct event_list *events)
{
    for (struct blocker *blocker = next_with_event(NULL); blocker; blocker = next_with_event(blocker)) {
        if (blocker->queue != queue || (blocker->order & order) != order)
            continue;
        if (!event_list_reserve(events, 1)) {
            blocker_put(blocker);
            return false;
        }
        if (below()->clRetainEvent(blocker->event) == CL_SUCCESS)
            event_list_add(events, blocker->event);
    }
    return true;
}

static bool enter(struct queue_record *queue)
{
    os_lock(&registry_lock);
    const bool free = queue->blocked == 0;
    queue->entered += free;
    os_unlock(&registry_lock);
    return free;
}

bool queue_enter(struct queue_record *queue)
{
    if (enter(queue))
        return true;
    if (!callback_runs_here()) /* rusticl 22.3 calls back with the event locked, which can't be asked there */
        each_with_event(ask_driver);
    finish_unblocked();
    return enter(queue);
}

void queue_leave(struct queue_record *queue)
{
    os_lock(&registry_lock);
    queue->entered--;
    os_unlock(&registry_lock);
}

bool event_blocked(cl_event event)
{
    os_lock(&registry_lock);
    const bool blocked = find_active_locked(event) != NULL;
    os_unlock(&registry_lock);
    return blocked;
}

/* ---- user events ---- */

struct blocker *blocker_user_event(cl_event event)
{
    struct record *stale = NULL;
    struct blocker *user = new_blocker(0);
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
unsigned holds_claim(cl_event event)
{
    unsigned owner = 0;
    if (callback_runs_here())
        return 0;
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user)
        owner = claim_locked(user, 0);
    os_unlock(&registry_lock);
    return owner;
}

/* Those that wait for the marked user event, and for something besides, up to a NULL. For the caller to put each, and to free the
 * list. */
static struct blocker **list_besides_locked(void)
{
    unsigned count = 0, most = 1;
    look_locked(pending_and_marked);
    for (const struct blocker *blocker = list; blocker; blocker = blocker->after)
        most += blocker->stuck && blocker->besides;
    struct blocker **found = calloc(most, sizeof(struct blocker *));
    for (struct blocker *blocker = list; blocker && found; blocker = blocker->after)
        if (blocker->stuck && blocker->besides)
            found[count++] = blocker_keep(blocker);
    return found;
}

void blockers_fail(cl_event event)
{
    unsigned patience = 100;
    struct blocker **found = NULL;
    if (!blockers_possible() || callback_runs_here())
        return;
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user) {
        user->marked = true;
        found = list_besides_locked();
        user->marked = false;
    }
    os_unlock(&registry_lock);
    for (struct blocker **each = found; each && *each; each++) {
        besides_let_end((*each)->besides, &patience);
        blocker_put(*each);
    }
    free(found);
}

void blockers_over(cl_event event, bool failed)
{
    blockers_set(event, failed, 0);
}

void blockers_set(cl_event event, bool failed, unsigned owner)
{
    os_lock(&registry_lock);
    struct blocker *user = find_user_locked(event);
    if (user && owner)
        claim_locked(user, owner); /* what was deferred meanwhile */
    if (user) {
        registry_remove_locked(RECORD_BLOCKER, event);
        stop_pending_locked(user);
    }
    os_unlock(&registry_lock);
    if (!user)
        return;
    record_release(user);
    if (failed && !callback_runs_here())
        each_with_event(ask_driver);
    finish_unblocked();
    if (failed)
        each_with_event(watch_end); /* what other user events block besides */
}

void blockers_retain(cl_event event)
{
    registry_app_retain(RECORD_BLOCKER, event);
}

void blockers_release(cl_event event)
{
    if (!blockers_possible())
        return;
    os_lock(&registry_lock);
    struct blocker *user = registry_find_locked(RECORD_BLOCKER, event);
    const bool last = user && !user->queue && --user->head.app_refs == 0;
    if (last)
        registry_remove_locked(RECORD_BLOCKER, event);
    os_unlock(&registry_lock);
    if (last)
        record_release(user);
}

/* ---- for deferred commands ---- */

bool blocker_active_locked(const struct blocker *blocker)
{
    return blocker && blocker->active;
}

void blocker_comes_locked(struct blocker *gate, bool comes)
{
    if (gate)
        gate->comes = comes;
}

bool blocker_coming_locked(const struct blocker *blocker)
{
    if (!blocker_active_locked(blocker))
        return true;
    look_locked(pending_and_not_coming);
    return !blocker->stuck;
}

void blocker_mark_locked(struct blocker *gate, bool marked)
{
    if (gate)
        gate->marked = marked;
}

bool hold_depends_locked(const struct blocker *blocker)
{
    if (!blocker_active_locked(blocker))
        return false;
    look_locked(pending_and_marked);
    return blocker->stuck;
}
