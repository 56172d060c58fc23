#include "emulate/delivery.h"

#include "os/os.h"

#include <stdatomic.h>
#include <stddef.h>

static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;
/* Guarded by `lock`, but only the delivering thread removes items. */
static struct delivery *first, *last;
static bool added; /* since the last pass */
/* Whether a function runs, and whose; the passes through the list that were requested and have ended. */
static bool running;
static const void *running_queue, *running_context;
static unsigned long long running_since;
static unsigned long long passes_wanted, passes_ended;

/* Whether this is the delivering thread. */
static _Thread_local bool here;

static void remove_locked(struct delivery *delivery)
{
    *(delivery->before ? &delivery->before->after : &first) = delivery->after;
    *(delivery->after ? &delivery->after->before : &last) = delivery->before;
}

static void run_due_locked(unsigned long long *moved)
{
    for (struct delivery *delivery = first, *after; delivery; delivery = after) {
        after = delivery->after;
        if (!delivery->is_due)
            continue;
        remove_locked(delivery);
        running = true;
        running_queue = delivery->queue;
        running_context = delivery->context;
        running_since = os_nanoseconds();
        os_wake_all(&changed);
        os_unlock(&lock);
        delivery->run(delivery);
        os_lock(&lock);
        running = false;
        *moved = os_nanoseconds();
        os_wake_all(&changed);
    }
}

/* Polls more and more slowly while nothing happens: an eighth of the time that has passed, 16 ms at most. */
static unsigned pass(void)
{
    enum { LONGEST_MS = 16 };
    static unsigned long long moved;
    here = true;
    os_lock(&lock);
    const unsigned long long number = passes_wanted;
    struct delivery *delivery = last;
    if (added)
        moved = os_nanoseconds();
    added = false;
    os_unlock(&lock);
    for (; delivery; delivery = delivery->before)
        delivery->is_due = delivery->is_due || delivery->due(delivery);
    os_lock(&lock);
    run_due_locked(&moved);
    passes_ended = number;
    const bool any = first != NULL;
    os_wake_all(&changed);
    os_unlock(&lock);
    const unsigned long long pause = 1 + (os_nanoseconds() - moved) / 8000000;
    return !any ? 0 : pause < LONGEST_MS ? (unsigned)pause : LONGEST_MS;
}

static struct watch watch = {.poll = pass, .calls_back = true};
static atomic_bool stalled; /* an item waits for a thread that could not be started */

bool deliver(struct delivery *delivery, bool insist)
{
    if (!watch_start(&watch) && !insist)
        return false;
    os_lock(&lock);
    delivery->before = last;
    delivery->after = NULL;
    delivery->is_due = false;
    *(last ? &last->after : &first) = delivery;
    last = delivery;
    added = true;
    os_unlock(&lock);
    if (!watch_start(&watch))
        atomic_store(&stalled, true);
    return true;
}

void delivery_retry(void)
{
    if (atomic_exchange(&stalled, false) && !watch_start(&watch))
        atomic_store(&stalled, true);
}

static bool runs_for_locked(const void *owner)
{
    return running && (running_queue == owner || running_context == owner);
}

static bool has_any_locked(const void *owner)
{
    for (const struct delivery *delivery = first; delivery; delivery = delivery->after)
        if (delivery->queue == owner || delivery->context == owner)
            return true;
    return runs_for_locked(owner);
}

/* How many milliseconds to wait at most before the next look, if the caller has waited since `began`. 0: no longer: while
 * another owner's function runs there is no end in sight, and one of this owner's may wait for the caller. A busy
 * machine may leave the thread without a processor before that. */
static unsigned patience_locked(const void *owner, unsigned long long began)
{
    enum { FUNCTION_MS = 100, PASS_MS = 2000 };
    const unsigned long long now = os_nanoseconds(), from = running && running_since > began ? running_since : began;
    const unsigned long long end = from + (running ? FUNCTION_MS : PASS_MS) * 1000000ull;
    return now >= end || (running && !runs_for_locked(owner)) ? 0 : (unsigned)((end - now) / 1000000) + 1;
}

void delivery_settle(const void *owner)
{
    const unsigned long long began = os_nanoseconds();
    if (here || os_process_ends())
        return;
    delivery_retry();
    os_lock(&lock);
    const unsigned long long number = ++passes_wanted;
    bool any = has_any_locked(owner);
    os_unlock(&lock);
    const bool polls = any && watch_start(&watch);
    os_lock(&lock);
    for (unsigned wait;
         polls && has_any_locked(owner) && passes_ended < number && (wait = patience_locked(owner, began));)
        os_wait(&changed, &lock, wait);
    any = first || running;
    os_unlock(&lock);
    if (!any)
        watches_drain();
}
