#include "complete/delivery.h"

#include "log.h"
#include "os/os.h"

#include <stddef.h>

static os_mutex lock = OS_MUTEX_INIT;
static os_condition came = OS_CONDITION_INIT;

/* ---- deliveries ---- */

static bool delivering, busy;
static struct delivery *first, **last = &first;
/* Whether this is the thread that delivers. */
static _Thread_local bool here;

enum { IDLE_MS = 60000, SETTLE_MS = 1000 };

static void deliver_all(void *data)
{
    (void)data;
    here = true;
    os_lock(&lock);
    for (;;) {
        struct delivery *next = first;
        busy = next != NULL;
        if (!next) {
            os_wake_all(&came); /* who settles */
            os_wait(&came, &lock, IDLE_MS);
            continue;
        }
        first = next->after;
        if (!first)
            last = &first;
        os_unlock(&lock);
        next->run(next);
        os_lock(&lock);
    }
}

bool delivery_ready(void)
{
    os_lock(&lock);
    if (!delivering)
        delivering = os_thread_start(deliver_all, NULL);
    const bool ready = delivering;
    os_unlock(&lock);
    if (!ready)
        log_write(LOG_ERROR, "no thread for callbacks can be started");
    return ready;
}

void deliver(struct delivery *delivery)
{
    delivery->after = NULL;
    os_lock(&lock);
    *last = delivery;
    last = &delivery->after;
    os_wake_all(&came);
    os_unlock(&lock);
}

void delivery_settle(void)
{
    const unsigned long long end = os_nanoseconds() + SETTLE_MS * 1000000ull;
    if (here)
        return;
    os_lock(&lock);
    for (unsigned long long now = os_nanoseconds(); (first || busy) && now < end; now = os_nanoseconds())
        os_wait(&came, &lock, (unsigned)((end - now) / 1000000) + 1);
    os_unlock(&lock);
}

/* ---- watches ---- */

static os_mutex watch_lock = OS_MUTEX_INIT;
static os_condition wanted = OS_CONDITION_INIT;
static struct watch *watches;
static bool watching;

/* The next watch to look through, or NULL and the milliseconds until there is one. */
static struct watch *find_due(unsigned *pause)
{
    const unsigned long long now = os_nanoseconds() / 1000000;
    *pause = IDLE_MS;
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

static void look_through(void *data)
{
    (void)data;
    os_lock(&watch_lock);
    for (;;) {
        unsigned pause;
        struct watch *watch = find_due(&pause);
        if (!watch) {
            os_wait(&wanted, &watch_lock, pause);
            continue;
        }
        watch->wanted = false; /* who wants more while we look says so again */
        os_unlock(&watch_lock);
        const unsigned again = watch->look();
        os_lock(&watch_lock);
        if (again && !watch->wanted) {
            watch->wanted = true;
            watch->due = os_nanoseconds() / 1000000 + again;
        }
    }
}

bool watch_start(struct watch *watch)
{
    os_lock(&watch_lock);
    if (!watching)
        watching = os_thread_start(look_through, NULL);
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
