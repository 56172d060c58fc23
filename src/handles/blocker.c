/* Commands that a user event blocks: tracked from before the driver gets them; and the queries of the code that defers
 * commands. */
#include "handles/blocker_list.h"

#include "log.h"
#include "handles/prerequisites.h"
#include "handles/handles.h"

#include <limits.h>
#include <stdlib.h>

/* ---- commands ---- */

/* Whether commands of a queue can run before an earlier one that is blocked. */
static bool lets_pass(const struct queue_record *queue)
{
    return queue_out_of_order(queue) && !context_has(queue->context, QUIRK_NVIDIA_QUEUE_ORDER) &&
           !context_has(queue->context, QUIRK_RUSTICL_QUEUE_ORDER);
}

/* The order of a command as it is in this queue: if its commands cannot overtake a blocked one, each comes after all
 * earlier ones. */
static unsigned queue_order(const struct queue_record *queue, unsigned order)
{
    return lets_pass(queue) ? order : ORDER_AFTER_ALL | ORDER_BEFORE_ALL;
}

static unsigned count_active_locked(cl_uint count, const cl_event *wait)
{
    unsigned active = 0;
    for (cl_uint i = 0; wait && i < count; i++)
        active += blocker_find_active_locked(wait[i]) != NULL;
    return active;
}

bool queue_follows(const struct queue_record *queue, unsigned order, bool named)
{
    return named || context_has(queue->context, QUIRK_POCL_EVENTS) ||
           (queue_out_of_order(queue) && (order & ORDER_BEFORE_ALL));
}

static struct blocker *follow_locked(struct queue_record *queue, unsigned order, unsigned active, const cl_event *wait)
{
    struct blocker *blocker = blocker_new(active);
    struct blocker_failure *failure = blocker ? calloc(1, sizeof(*failure)) : NULL;
    if (!failure) {
        free(blocker);
        return NULL;
    }
    atomic_store(&failure->references, 1);
    blocker->failure = failure;
    record_retain(queue);
    blocker->queue = queue;
    blocker->order = order;
    for (; blocker->count < active; wait++) {
        struct blocker *of = blocker_find_active_locked(*wait);
        if (of)
            blocker->waits[blocker->count++] = blocker_keep(of);
    }
    blocker->entering = true;
    blocker_append_locked(blocker);
    return blocker;
}

/* The blocked command before it in its in-order queue, retained, and that command's event: another user event may
 * unblock it. */
static struct blocker *find_previous(const struct blocker *blocker, cl_event *event)
{
    struct blocker *previous = NULL;
    os_lock(&registry_lock);
    for (struct blocker *of = blocker_list_locked(); of && of != blocker; of = of->after)
        previous = of->queue == blocker->queue && !of->unblocked ? of : previous;
    blocker_keep(previous);
    *event = previous ? previous->event : NULL;
    os_unlock(&registry_lock);
    return previous;
}

static void note_prerequisites(struct blocker *blocker, cl_uint count, const cl_event *wait)
{
    if (!context_has(blocker->queue->context, QUIRK_POCL_EVENTS))
        return;
    cl_event event = NULL;
    struct blocker *previous = queue_out_of_order(blocker->queue) ? NULL : find_previous(blocker, &event);
    struct prerequisites *prerequisites = prerequisites_note(blocker->queue, !previous, event, count, wait);
    blocker_put(previous);
    os_lock(&registry_lock);
    blocker->prerequisites = prerequisites;
    os_unlock(&registry_lock);
}

enum { PATIENCE = 10 * 1000, SHORT_PATIENCE = 5 };

/* How many milliseconds this thread waits, at least, until others have left a queue. The driver may need the thread of
 * a callback, and a thread that has entered the queue itself would wait forever. Both continue after a while, although
 * their command may then precede those of the threads that have entered. */
static unsigned patience(unsigned order)
{
    return (order & ORDER_ENTERED) || callback_runs_here() ? SHORT_PATIENCE : PATIENCE;
}

/* A thread that was ended in a driver's call never leaves the queue: later commands do not wait for it. */
static void forget_entered(cl_command_queue handle)
{
    os_lock(&registry_lock);
    struct queue_record *queue = registry_get_locked(RECORD_QUEUE, handle);
    if (queue)
        queue->entered = 0;
    os_unlock(&registry_lock);
    record_release(queue);
    log_write(LOG_WARN,
              "queue %p: a thread has not returned from a command that it enqueues for %d s, and is not waited for any "
              "longer",
              (void *)handle, PATIENCE / 1000);
}

/* A thread that waits until the others have left a queue takes precedence over those that enter, because threads that
 * keep entering would keep it waiting. It does so for at most 10 ms in 100, so that a thread that stays inside for long
 * does not slow the others down. */
static void ask_for_precedence_locked(struct queue_record *queue)
{
    enum { FOR = 10 * 1000 * 1000, EACH = 100 * 1000 * 1000 }; /* nanoseconds */
    const unsigned long long now = os_nanoseconds(), until = atomic_load(&queue->precedence_until);
    if (!until || now > until + (EACH - FOR))
        atomic_store(&queue->precedence_until, now + FOR);
}

/* One try; `waited`: it is not the first. False: a thread that has entered the queue may be about to wait for its
 * commands. `*followed`: false if there is no memory to track the command. */
static bool try_begin(cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait, bool named,
                      bool waited, bool may_wait, struct blocker **blocker, bool *followed)
{
    bool may_begin = true;
    os_lock(&registry_lock);
    struct queue_record *queue = registry_get_locked(RECORD_QUEUE, handle);
    if (queue)
        order = queue_order(queue, order);
    const unsigned active = queue ? count_active_locked(count, wait) : 0;
    if (active || (queue && blocker_comes_behind_locked(queue, order) && queue_follows(queue, order, named))) {
        may_begin = !queue->entered || !may_wait;
        *blocker = may_begin ? follow_locked(queue, order, active, wait) : NULL;
        *followed = !may_begin || *blocker;
    }
    if (queue && !may_begin)
        ask_for_precedence_locked(queue);
    else if (queue && waited)
        atomic_store(&queue->precedence_until, 0);
    os_unlock(&registry_lock);
    record_release(queue);
    return may_begin;
}

cl_int blocker_begin(const char *call, cl_command_queue handle, unsigned order, cl_uint count, const cl_event *wait,
                     bool named, struct blocker **blocker)
{
    bool followed = true;
    *blocker = NULL;
    if (!blockers_possible())
        return CL_SUCCESS;
    reap(REAP_AT_COMMAND, NULL);
    const unsigned most = patience(order);
    unsigned waited = 0;
    for (; !try_begin(handle, order, count, wait, named, waited > 0, waited < most, blocker, &followed); waited++)
        os_sleep_shortly();
    if (waited >= PATIENCE)
        forget_entered(handle);
    if (*blocker && (order & ORDER_ENTERED)) /* it does not wait for its turn */
        note_prerequisites(*blocker, count, wait);
    return followed ? CL_SUCCESS
                    : log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory to track a command that a user event blocks");
}

/* A command that nothing blocked any longer may be behind a blocked one again by now. Then it waits for the threads
 * that have entered the queue, as if it began now. */
static bool try_turn(struct blocker *blocker, bool keep, bool waited, bool overdue)
{
    struct queue_record *queue = blocker->queue;
    os_lock(&registry_lock);
    const bool again = keep && blocker->unblocked && blocker_comes_behind_locked(queue, blocker->order);
    const bool may_enter = overdue || (!queue->turn && !(again && queue->entered));
    if (may_enter) {
        queue->turn = keep ? blocker : NULL;
        blocker->kept_turn = keep;
        blocker_move_last_locked(blocker);
    }
    if (may_enter && again)
        blocker_block_again_locked(blocker);
    if (!may_enter && again && queue->entered)
        ask_for_precedence_locked(queue);
    else if (may_enter && waited)
        atomic_store(&queue->precedence_until, 0);
    os_unlock(&registry_lock);
    return may_enter;
}

/* If the order of the list differed from the driver's queue, a command could seem unblocked that the driver has put
 * behind a blocked one. The thread that sets a user event would wait for it, and might be the one that has to unblock
 * the other, with a deferred command or another user event.
 *
 * No thread waits forever for its turn. The thread whose turn it is, is on its way to the driver: it does not wait for
 * another turn, a blocked command or Direct3D. A blocking command gives up the turn at once; it precedes in the list
 * whatever might come after it. If the driver's call takes too long, the turn is taken away, sooner by a callback
 * (patience); the command that has lost it is last. */
void blocker_turn(struct blocker *blocker, bool keep, cl_uint count, const cl_event *wait)
{
    const unsigned most = blocker ? patience(ORDER_ALONE) : 0;
    unsigned waited = 0;
    for (; blocker && !try_turn(blocker, keep, waited > 0, waited == most); waited++)
        os_sleep_shortly();
    if (waited >= PATIENCE)
        log_write(LOG_WARN, "queue %p: a command enters before one that the driver has not taken for %d s",
                  (void *)blocker->queue->head.handle, PATIENCE / 1000);
    if (blocker)
        note_prerequisites(blocker, count, wait);
}

cl_event *blocker_event(struct blocker *blocker, cl_event *wanted)
{
    return wanted ? wanted : &blocker->slot;
}

void blocker_stands_for_earlier(struct blocker *blocker)
{
    os_lock(&registry_lock);
    if (blocker)
        blocker->stands = true;
    os_unlock(&registry_lock);
}

/* From now on the command is found by its event, unless it has already ended. */
static bool name_locked(struct blocker *blocker, cl_event event, struct record **stale)
{
    if (!blocker->active || blocker->unblocked || !event)
        return false;
    blocker->event = event;
    blocker->head.handle = event;
    registry_add_locked(&blocker->head, stale); /* cannot fail: the queue already has a record, so there is a table */
    return true;
}

/* The command to which this one has lost its turn probably reached the driver first, because this one's call into the
 * driver took long. */
static void end_turn_locked(struct blocker *blocker)
{
    struct queue_record *queue = blocker->queue;
    if (queue->turn == blocker) {
        queue->turn = NULL;
    } else if (blocker->kept_turn) {
        blocker_move_last_locked(blocker);
        if (blocker->unblocked && blocker_comes_behind_locked(queue, blocker->order))
            blocker_block_again_locked(blocker);
    }
}

/* A blocker without its event would be found by no command that waits for the event. */
static bool retain(cl_event event)
{
    enum { TRIES = 10 };
    cl_int status = below()->clRetainEvent(event);
    for (int i = 1; i < TRIES && status != CL_SUCCESS; i++) {
        os_sleep_shortly();
        status = below()->clRetainEvent(event);
    }
    return status == CL_SUCCESS;
}

void blocker_end(struct blocker *blocker, cl_int status, cl_event event)
{
    if (!blocker)
        return;
    /* Records of events are kept until the application releases them, but the application never gets this event. So a
     * record of an earlier event at the same address is removed. */
    if (blocker->slot)
        registry_forget(RECORD_EVENT, blocker->slot);
    cl_event ours = event ? event : blocker->slot;
    /* A blocking command that has failed was enqueued, and has an event. */
    cl_event failed = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? blocker->slot : NULL;
    struct record *stale = NULL;
    if (status != CL_SUCCESS || (event && !retain(event)))
        ours = NULL;
    os_lock(&registry_lock);
    end_turn_locked(blocker);
    const bool named = name_locked(blocker, ours, &stale);
    blocker->over = blocker->over || status != CL_SUCCESS;
    blocker->entering = false;
    const bool finish = blocker->over || blocker->unblocked;
    os_unlock(&registry_lock);
    if (!named)
        event_put(ours);
    event_put(failed);
    record_release(stale);
    record_release(blocker);
    if (finish)
        blockers_finish();
    if (status != CL_SUCCESS)
        deferral.run(0); /* commands that other threads have enqueued behind it meanwhile */
}

struct wanted {
    const struct queue_record *queue;
    unsigned order;
};

static bool is_wanted(const struct blocker *blocker, const void *data)
{
    const struct wanted *wanted = data;
    return blocker->event && blocker->queue == wanted->queue && (blocker->order & wanted->order) == wanted->order;
}

bool blocked_list_events(const struct queue_record *queue, unsigned order, struct event_list *events)
{
    const struct wanted wanted = {queue, order};
    os_lock(&registry_lock);
    struct blocker **found = blockers_collect_locked(is_wanted, &wanted);
    os_unlock(&registry_lock);
    bool added = found != NULL;
    for (struct blocker **each = found; each && *each; each++) {
        added = added && event_list_retain(events, (*each)->event);
        blocker_put(*each);
    }
    free(found);
    return added;
}

static void give_way(struct queue_record *queue)
{
    while (os_nanoseconds() < atomic_load(&queue->precedence_until) && !callback_runs_here())
        os_sleep_shortly();
}

static bool enter(struct queue_record *queue, unsigned order)
{
    if (atomic_load_explicit(&queue->precedence_until, memory_order_relaxed))
        give_way(queue);
    os_lock(&registry_lock);
    const bool may_enter = !blocker_comes_behind_locked(queue, queue_order(queue, order));
    queue->entered += may_enter;
    os_unlock(&registry_lock);
    return may_enter;
}

/* Whether a command would wait only for user events that other threads are setting. A thread that has waited for such
 * an event knows that it is set, although the thread that sets it is still in its call. */
static bool comes_free(struct queue_record *queue, unsigned order)
{
    os_lock(&registry_lock);
    bool comes = blocker_comes_behind_locked(queue, queue_order(queue, order));
    if (comes) {
        blocker_mark_blocked_locked(blocker_pending_and_not_setting);
        comes = !(queue_order(queue, order) & ORDER_AFTER_ALL ? queue->stuck : queue->stuck_barriers);
    }
    os_unlock(&registry_lock);
    return comes;
}

bool queue_enter(struct queue_record *queue, unsigned order)
{
    enum { MOST = 50 }; /* milliseconds at least */
    if (enter(queue, order))
        return true;
    const bool may_wait = !callback_runs_here();
    if (may_wait) /* rusticl 22.3 calls back with the event locked, so the event cannot be queried there */
        blockers_each_with_event(blocker_ask_driver);
    blockers_finish();
    for (int i = 0; i < MOST && may_wait && comes_free(queue, order); i++)
        os_sleep_shortly();
    return enter(queue, order);
}

void queue_leave(struct queue_record *queue)
{
    os_lock(&registry_lock);
    queue->entered -= queue->entered > 0; /* unless it was forgotten meanwhile */
    os_unlock(&registry_lock);
}

bool event_blocked(cl_event event)
{
    os_lock(&registry_lock);
    const bool blocked = blocker_find_active_locked(event) != NULL;
    os_unlock(&registry_lock);
    return blocked;
}

/* ---- for deferred commands ---- */

bool blocker_active_locked(const struct blocker *blocker)
{
    return blocker && blocker->active;
}

void blocker_setting_locked(struct blocker *gate)
{
    if (gate)
        gate->setting = true;
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
    blocker_mark_blocked_locked(blocker_pending_and_not_coming);
    return !blocker->stuck;
}

void blocker_mark_locked(struct blocker *gate, bool marked)
{
    if (gate)
        gate->marked = marked;
}

bool blocker_depends_locked(const struct blocker *blocker)
{
    if (!blocker_active_locked(blocker))
        return false;
    blocker_mark_blocked_locked(blocker_pending_and_marked);
    return blocker->stuck;
}
