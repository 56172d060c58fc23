#include "emulate/delivery.h"

#include "log.h"
#include "os/os.h"

#include <stddef.h>

static os_mutex lock = OS_MUTEX_INIT;
static os_condition came = OS_CONDITION_INIT;

/* ---- deliveries ---- */

static bool delivering, busy;
static unsigned draining; /* threads that wait for the threads here to end */
static struct delivery *first, **last = &first;
/* Whether this is the delivering thread. */
static _Thread_local bool here;

enum { DRAIN_MS = 1000 };

static void deliver_all(void *data)
{
    (void)data;
    here = true;
    os_lock(&lock);
    for (bool idle = false; first || (!idle && !draining);) {
        struct delivery *next = first;
        if (!next) {
            os_wait(&came, &lock, THREAD_REST_MS);
            idle = true;
            continue;
        }
        idle = false;
        first = next->after;
        if (!first)
            last = &first;
        busy = true;
        os_unlock(&lock);
        next->run(next);
        os_lock(&lock);
        busy = false;
    }
    delivering = false;
    os_wake_all(&came);
    os_unlock(&lock);
}

static bool ready_locked(void)
{
    static bool told;
    if (!delivering)
        delivering = os_thread_start(deliver_all, NULL);
    if (!delivering && !told)
        log_write(LOG_ERROR, "the thread for callbacks cannot be started");
    told = !delivering;
    return delivering;
}

bool delivery_ready(void)
{
    os_stay_loaded();
    os_lock(&lock);
    const bool ready = ready_locked();
    os_unlock(&lock);
    return ready;
}

bool delivery_stuck(void)
{
    os_lock(&lock);
    const bool stuck = first && !ready_locked();
    os_unlock(&lock);
    return stuck;
}

static unsigned try_again(void)
{
    return delivery_stuck() ? RETRY_MS : 0;
}

static struct watch stuck_watch = {.poll = try_again};

void deliver(struct delivery *delivery)
{
    delivery->after = NULL;
    os_lock(&lock);
    *last = delivery;
    last = &delivery->after;
    const bool ready = ready_locked();
    os_wake_all(&came);
    os_unlock(&lock);
    if (!ready)
        watch_start(&stuck_watch); /* its thread may already exist */
}

bool delivery_here(void)
{
    return here;
}

bool delivery_pending(void)
{
    os_lock(&lock);
    const bool pending = first || busy;
    os_unlock(&lock);
    return pending;
}

void delivery_drain(void)
{
    const unsigned long long end = os_nanoseconds() + DRAIN_MS * 1000000ull;
    os_lock(&lock);
    draining++;
    os_wake_all(&came);
    for (unsigned long long now = os_nanoseconds(); (first || busy || delivering) && now < end; now = os_nanoseconds())
        os_wait(&came, &lock, first && !ready_locked() ? RETRY_MS : (unsigned)((end - now) / 1000000) + 1);
    draining--;
    os_unlock(&lock);
}

/* ---- watches ---- */

static os_mutex watch_lock = OS_MUTEX_INIT;
static os_condition wanted = OS_CONDITION_INIT;
static struct watch *watches;
static bool watching, watches_end;

/* The next watch to poll, or NULL and the number of milliseconds until one is due. */
static struct watch *find_due(unsigned *pause)
{
    const unsigned long long now = os_nanoseconds() / 1000000;
    *pause = THREAD_REST_MS;
    for (struct watch *watch = watches; watch; watch = watch->after) {
        if (!watch->wanted)
            continue;
        if (watch->due <= now)
            return watch;
        if (watch->due - now < *pause)
            *pause = (unsigned)(watch->due - now);
    }
    return NULL;
}

static bool any_wanted(void)
{
    for (const struct watch *watch = watches; watch; watch = watch->after)
        if (watch->wanted)
            return true;
    return false;
}

static void poll_watches(void *data)
{
    (void)data;
    os_lock(&watch_lock);
    for (bool idle = false; any_wanted() || (!idle && !watches_end);) {
        unsigned pause;
        struct watch *watch = find_due(&pause);
        if (!watch) {
            idle = !any_wanted();
            os_wait(&wanted, &watch_lock, pause);
            continue;
        }
        watch->wanted = false; /* whoever needs another poll meanwhile requests it again */
        os_unlock(&watch_lock);
        const unsigned again = watch->poll();
        os_lock(&watch_lock);
        if (again && !watch->wanted) {
            watch->wanted = true;
            watch->due = os_nanoseconds() / 1000000 + again;
        }
    }
    watching = false;
    os_wake_all(&wanted);
    os_unlock(&watch_lock);
}

void watches_drain(void)
{
    os_lock(&watch_lock);
    watches_end = true;
    os_wake_all(&wanted);
    for (unsigned i = 0; i < 100 && watching && !any_wanted(); i++)
        os_wait(&wanted, &watch_lock, 1);
    watches_end = false;
    os_unlock(&watch_lock);
}

bool watch_start(struct watch *watch)
{
    static bool told;
    os_stay_loaded();
    os_lock(&watch_lock);
    if (!watching)
        watching = os_thread_start(poll_watches, NULL);
    if (!watching && !told)
        log_write(LOG_ERROR, "the polling thread cannot be started");
    told = !watching;
    if (watching && !watch->listed) {
        watch->listed = true;
        watch->after = watches;
        watches = watch;
    }
    if (watching && (!watch->wanted || watch->due > os_nanoseconds() / 1000000 + 1)) {
        watch->wanted = true;
        watch->due = os_nanoseconds() / 1000000 + 1;
        os_wake_all(&wanted);
    }
    const bool started = watching;
    os_unlock(&watch_lock);
    return started;
}
