#include "track/hold.h"

#include "log.h"
#include "track/track.h"

#include <stdlib.h>

/* All guarded by registry_lock unless said otherwise. The registry finds a hold by its event: a user event's while the
 * application has it, a command's while it is held. */
struct hold {
    struct record head;
    struct queue_record *queue; /* held; constant. NULL: a user event */
    unsigned order;             /* constant */
    cl_event slot;              /* where the driver puts an event that the application does not want */
    cl_event event;             /* of a command: one reference, as soon as the driver has taken it, or NULL */
    bool active;                /* a user event is pending; a command is held, and in the list */
    bool over;                  /* the command is over, though something of it seems to be held: an error ended it */
    bool watched;               /* the driver has been asked to tell its end */
    bool comes;                 /* see hold_comes_locked */
    bool marked;                /* see hold_mark_locked */
    bool stuck;                 /* of one look through the list */
    struct hold *after;         /* in the order of their calls: nothing waits for what comes later */
    unsigned count;             /* what the command waits for; held */
    struct hold *waits[];
};

atomic_uint holds_pending;

static struct hold *list, **list_end = &list;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* ---- lifetimes ---- */

static void stop_pending_locked(struct hold *user)
{
    if (user->active)
        atomic_fetch_sub_explicit(&holds_pending, 1, memory_order_relaxed);
    user->active = false;
}

static void destroy(struct record *record)
{
    struct hold *hold = (struct hold *)record;
    for (unsigned i = 0; i < hold->count; i++)
        record_put(hold->waits[i]);
    if (hold->queue)
        event_put(hold->event);
    else
        stop_pending_locked(hold); /* nobody else knows it any more */
    record_put(hold->queue);
    free(hold);
}

static struct hold *new_hold(unsigned room)
{
    struct hold *hold = calloc(1, sizeof(*hold) + room * sizeof(struct hold *));
    if (!hold)
        return NULL;
    hold->head.kind = RECORD_HOLD;
    hold->head.destroy = destroy;
    record_hold(hold);
    return hold;
}

struct hold *hold_keep(struct hold *hold)
{
    if (hold)
        record_hold(hold);
    return hold;
}

void hold_put(struct hold *hold)
{
    record_put(hold);
}

/* ---- the list ---- */

static void append_locked(struct hold *hold)
{
    *list_end = hold;
    list_end = &hold->after;
    hold->active = true;
    hold->queue->held++;
    hold->queue->held_barriers += (hold->order & HOLD_BEFORE_ALL) != 0;
    record_hold(hold);
}

/* Takes the holds out that are not stuck, and gives them as a list of their own. */
static struct hold *remove_locked(void)
{
    struct hold *removed = NULL, **place = &list;
    while (*place) {
        struct hold *hold = *place;
        if (hold->stuck) {
            place = &hold->after;
            continue;
        }
        *place = hold->after;
        hold->active = false;
        if (hold->head.handle)
            record_put(registry_remove_locked(RECORD_HOLD, hold->head.handle)); /* never the last: the list has one */
        hold->queue->held--;
        hold->queue->held_barriers -= (hold->order & HOLD_BEFORE_ALL) != 0;
        hold->after = removed;
        removed = hold;
    }
    list_end = place;
    return removed;
}

/* Removed in a callback. rusticl 22.3 calls back with the event locked, which can't be given back there. Whether there are
 * any may be read without the lock. */
static struct hold *spent;
static atomic_bool any_spent;

/* What each waited for goes first: so no chain of them is destroyed in one another. */
static void put_removed(struct hold *removed)
{
    while (removed) {
        struct hold *after = removed->after;
        for (unsigned i = 0; i < removed->count; i++)
            record_put(removed->waits[i]);
        removed->count = 0;
        record_put(removed);
        removed = after;
    }
}

static void put_later(struct hold *removed)
{
    if (!removed)
        return;
    os_lock(&registry_lock);
    struct hold *last = removed;
    while (last->after)
        last = last->after;
    last->after = spent;
    spent = removed;
    atomic_store_explicit(&any_spent, true, memory_order_relaxed);
    os_unlock(&registry_lock);
}

void holds_sweep(void)
{
    if (!atomic_load_explicit(&any_spent, memory_order_relaxed) || callback_runs_here())
        return;
    os_lock(&registry_lock);
    struct hold *removed = spent;
    spent = NULL;
    atomic_store_explicit(&any_spent, false, memory_order_relaxed);
    os_unlock(&registry_lock);
    put_removed(removed);
}

static bool pending(const struct hold *user)
{
    return user->active;
}

static bool pending_and_not_coming(const struct hold *user)
{
    return user->active && !user->comes;
}

static bool pending_and_marked(const struct hold *user)
{
    return user->active && user->marked;
}

static bool waits_locked(const struct hold *hold, bool (*holds)(const struct hold *))
{
    for (unsigned i = 0; i < hold->count; i++) {
        const struct hold *of = hold->waits[i];
        if (of->queue ? of->active && of->stuck : holds(of))
            return true;
    }
    return false;
}

/* Which commands are stuck, if user events hold what waits for them as `holds` says. */
static void look_locked(bool (*holds)(const struct hold *))
{
    for (struct hold *hold = list; hold; hold = hold->after)
        hold->queue->stuck = hold->queue->stuck_barriers = 0;
    for (struct hold *hold = list; hold; hold = hold->after) {
        struct queue_record *queue = hold->queue;
        const unsigned before = hold->order & HOLD_AFTER_ALL ? queue->stuck : queue->stuck_barriers;
        hold->stuck = !hold->over && (before || waits_locked(hold, holds));
        queue->stuck += hold->stuck;
        queue->stuck_barriers += hold->stuck && (hold->order & HOLD_BEFORE_ALL);
    }
}

static void settle(void)
{
    os_lock(&registry_lock);
    look_locked(pending);
    struct hold *removed = remove_locked();
    os_unlock(&registry_lock);
    if (callback_runs_here())
        put_later(removed);
    else
        put_removed(removed);
}

/* The next hold in the list with an event, held. Both may leave the list meanwhile: then the rest is not looked at. */
static struct hold *next_with_event(struct hold *last)
{
    os_lock(&registry_lock);
    struct hold *hold = !last ? list : last->active ? last->after : NULL;
    while (hold && !hold->event)
        hold = hold->after;
    if (hold)
        record_hold(hold);
    os_unlock(&registry_lock);
    record_put(last);
    return hold;
}

static void each_with_event(void (*visit)(struct hold *))
{
    for (struct hold *hold = next_with_event(NULL); hold; hold = next_with_event(hold))
        visit(hold);
}

/* An error in its wait list ends a command at once, whatever else it waits for: only the driver knows. */
static void ask_driver(struct hold *hold)
{
    const bool over = event_status(hold->event) <= CL_COMPLETE;
    os_lock(&registry_lock);
    hold->over = hold->over || over;
    os_unlock(&registry_lock);
}

static struct hold *find_active_locked(cl_event event)
{
    struct hold *hold = event ? registry_find_locked(RECORD_HOLD, event) : NULL;
    return hold && hold->active ? hold : NULL;
}

/* ---- the end of commands after an error ---- */

/* Some drivers see the error later, in threads of their own (rusticl 22.3): then the end of the command tells. The event
 * finds its hold, if that is still there: rusticl 22.3 never calls back for a command that fails after it was asked to. */
static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    struct callback_entry entry;
    (void)data;
    callback_enter(&entry, event, status);
    os_lock(&registry_lock);
    struct hold *hold = find_active_locked(event);
    if (hold)
        hold->over = true;
    os_unlock(&registry_lock);
    settle();
    deferral.run(0);
    callback_leave(&entry);
}

/* Where the driver can't call back, the command counts as held until all is set that it waits for. */
static void watch_end(struct hold *hold)
{
    os_lock(&registry_lock);
    const bool needed = hold->active && !hold->over && !hold->watched;
    hold->watched = true;
    os_unlock(&registry_lock);
    if (needed)
        below()->clSetEventCallback(hold->event, CL_COMPLETE, on_end, NULL);
}

/* ---- commands ---- */

static unsigned count_active_locked(cl_uint count, const cl_event *wait)
{
    unsigned active = 0;
    for (cl_uint i = 0; wait && i < count; i++)
        active += find_active_locked(wait[i]) != NULL;
    return active;
}

/* A command that waits for nothing of its own needs no hold unless it can be named, or is what others come after. In an
 * in-order queue they come after those before it anyway. In PoCL each needs one: PoCL 3.1 ends the process if a command
 * fails whose event nobody has. */
static bool needed_locked(const struct queue_record *queue, unsigned order, unsigned active, bool named)
{
    named = named || context_has(queue->context, QUIRK_POCL_EVENTS);
    const bool behind = (order & HOLD_AFTER_ALL ? queue->held : queue->held_barriers) != 0;
    return active || (behind && (named || (queue_out_of_order(queue) && (order & HOLD_BEFORE_ALL))));
}

static struct hold *follow_locked(struct queue_record *queue, unsigned order, unsigned active, const cl_event *wait)
{
    struct hold *hold = new_hold(active);
    if (!hold)
        return NULL;
    record_hold(queue);
    hold->queue = queue;
    hold->order = order;
    for (; hold->count < active; wait++) {
        struct hold *of = find_active_locked(*wait);
        if (of)
            hold->waits[hold->count++] = hold_keep(of);
    }
    append_locked(hold);
    return hold;
}

/* One try. False: somebody is about to wait for commands of the queue. In a callback nobody waits for that: the driver may need
 * the thread. */
static bool try_begin(cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait, bool named, bool may_wait,
                      struct hold **hold, bool *followed)
{
    bool free = true;
    os_lock(&registry_lock);
    struct queue_record *queue = registry_find_locked(RECORD_QUEUE, handle);
    if (queue && !queue_out_of_order(queue))
        order = HOLD_AFTER_ALL | HOLD_BEFORE_ALL;
    const unsigned active = queue ? count_active_locked(count, wait) : 0;
    if (queue && needed_locked(queue, order, active, named)) {
        free = !queue->entered || !may_wait;
        *hold = free ? follow_locked(queue, order, active, wait) : NULL;
        *followed = !free || *hold;
    }
    os_unlock(&registry_lock);
    return free;
}

cl_int hold_begin(const char *call, cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait, bool named,
                  struct hold **hold)
{
    bool followed = true;
    *hold = NULL;
    if (!holds_possible())
        return CL_SUCCESS;
    holds_sweep();
    const bool may_wait = !callback_runs_here();
    while (!try_begin(handle, order, count, wait, named, may_wait, hold, &followed))
        sleep_shortly();
    return followed ? CL_SUCCESS
                    : log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory to follow a command that a user event holds");
}

cl_event *hold_event(struct hold *hold, cl_event *wanted)
{
    return wanted || !hold ? wanted : &hold->slot;
}

/* From now on the command is found by its event, unless it is over already. */
static bool name_locked(struct hold *hold, cl_event event, struct record **stale)
{
    if (!hold->active || !event)
        return false;
    hold->event = event;
    hold->head.handle = event;
    registry_add_locked(&hold->head, stale); /* there is room: it has a queue already */
    return true;
}

/* The conversion of images follows the events that it gives until the application releases them, and it never has this one. A
 * later event at the same address must not be taken for it. */
static void forget_slot(const struct hold *hold)
{
    if (hold->slot)
        registry_forget(RECORD_EVENT, hold->slot);
}

void hold_end(struct hold *hold, cl_int status, cl_event event)
{
    if (!hold)
        return;
    forget_slot(hold);
    cl_event ours = event ? event : hold->slot;
    struct record *stale = NULL;
    if (status != CL_SUCCESS || (event && below()->clRetainEvent(event) != CL_SUCCESS))
        ours = NULL;
    os_lock(&registry_lock);
    const bool named = name_locked(hold, ours, &stale);
    hold->over = hold->over || status != CL_SUCCESS;
    os_unlock(&registry_lock);
    if (!named)
        event_put(ours);
    record_put(stale);
    record_put(hold);
    if (status == CL_SUCCESS)
        return;
    settle();
    deferral.run(0); /* what another thread put behind it meanwhile */
}

bool hold_list_events(const struct queue_record *queue, unsigned order, struct event_list *events)
{
    for (struct hold *hold = next_with_event(NULL); hold; hold = next_with_event(hold)) {
        if (hold->queue != queue || (hold->order & order) != order)
            continue;
        if (!event_list_reserve(events, 1)) {
            hold_put(hold);
            return false;
        }
        if (below()->clRetainEvent(hold->event) == CL_SUCCESS)
            event_list_add(events, hold->event);
    }
    return true;
}

static bool enter(struct queue_record *queue)
{
    os_lock(&registry_lock);
    const bool free = queue->held == 0;
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
    settle();
    return enter(queue);
}

void queue_leave(struct queue_record *queue)
{
    os_lock(&registry_lock);
    queue->entered--;
    os_unlock(&registry_lock);
}

bool event_held(cl_event event)
{
    os_lock(&registry_lock);
    const bool held = find_active_locked(event) != NULL;
    os_unlock(&registry_lock);
    return held;
}

/* ---- user events ---- */

struct hold *hold_user_event(cl_event event)
{
    struct record *stale = NULL;
    struct hold *user = new_hold(0);
    if (!user)
        return NULL;
    user->head.handle = event;
    os_lock(&registry_lock);
    user->active = registry_add_locked(&user->head, &stale);
    if (user->active)
        atomic_fetch_add_explicit(&holds_pending, 1, memory_order_relaxed);
    os_unlock(&registry_lock);
    record_put(stale);
    if (user->active)
        return user;
    record_put(user);
    return NULL;
}

static struct hold *find_user_locked(cl_event event)
{
    struct hold *user = registry_find_locked(RECORD_HOLD, event);
    return user && !user->queue ? user : NULL;
}

static unsigned claim_locked(struct hold *user, unsigned owner)
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
    struct hold *user = find_user_locked(event);
    if (user)
        owner = claim_locked(user, 0);
    os_unlock(&registry_lock);
    return owner;
}

void holds_over(cl_event event, bool failed)
{
    holds_set(event, failed, 0);
}

void holds_set(cl_event event, bool failed, unsigned owner)
{
    os_lock(&registry_lock);
    struct hold *user = find_user_locked(event);
    if (user && owner)
        claim_locked(user, owner); /* what was deferred meanwhile */
    if (user) {
        registry_remove_locked(RECORD_HOLD, event);
        stop_pending_locked(user);
    }
    os_unlock(&registry_lock);
    if (!user)
        return;
    record_put(user);
    if (failed && !callback_runs_here())
        each_with_event(ask_driver);
    settle();
    if (failed)
        each_with_event(watch_end); /* what other user events hold besides */
}

void holds_retain(cl_event event)
{
    registry_app_retain(RECORD_HOLD, event);
}

void holds_release(cl_event event)
{
    if (!holds_possible())
        return;
    os_lock(&registry_lock);
    struct hold *user = registry_find_locked(RECORD_HOLD, event);
    const bool last = user && !user->queue && --user->head.app_refs == 0;
    if (last)
        registry_remove_locked(RECORD_HOLD, event);
    os_unlock(&registry_lock);
    if (last)
        record_put(user);
}

/* ---- for deferred commands ---- */

bool hold_active_locked(const struct hold *hold)
{
    return hold && hold->active;
}

void hold_comes_locked(struct hold *gate, bool comes)
{
    if (gate)
        gate->comes = comes;
}

bool hold_coming_locked(const struct hold *hold)
{
    if (!hold_active_locked(hold))
        return true;
    look_locked(pending_and_not_coming);
    return !hold->stuck;
}

void hold_mark_locked(struct hold *gate, bool marked)
{
    if (gate)
        gate->marked = marked;
}

bool hold_depends_locked(const struct hold *hold)
{
    if (!hold_active_locked(hold))
        return false;
    look_locked(pending_and_marked);
    return hold->stuck;
}
