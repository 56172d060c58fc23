#include "emulate/watch.h"

#include "log.h"
#include "os/os.h"

/* Guards everything here. */
static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;
static struct thread {
    struct watch *watches;
    bool runs;
} threads[2];
static unsigned draining;

static unsigned long long now_ms(void)
{
    return os_nanoseconds() / 1000000;
}

/* The watch that is due first, or NULL. */
static struct watch *first_wanted(const struct thread *thread)
{
    struct watch *first = NULL;
    for (struct watch *watch = thread->watches; watch; watch = watch->after)
        if (watch->wanted && (!first || watch->due < first->due))
            first = watch;
    return first;
}

static void poll_watches(void *data)
{
    enum { REST_MS = 500 };
    struct thread *thread = data;
    os_lock(&lock);
    for (bool rested = false;;) {
        struct watch *watch = first_wanted(thread);
        const unsigned long long now = now_ms();
        if (!watch && (rested || draining))
            break;
        rested = !watch;
        if (!watch || watch->due > now) {
            os_wait(&changed, &lock, watch ? (unsigned)(watch->due - now) : REST_MS);
            continue;
        }
        watch->wanted = false; /* whoever needs another poll meanwhile requests it again */
        os_unlock(&lock);
        const unsigned pause = watch->poll();
        os_lock(&lock);
        if (pause && !watch->wanted) {
            watch->wanted = true;
            watch->due = now_ms() + pause;
        }
    }
    thread->runs = false;
    os_wake_all(&changed);
    os_unlock(&lock);
}

bool watch_start(struct watch *watch)
{
    static bool told;
    struct thread *thread = &threads[watch->calls_back];
    os_stay_loaded();
    os_lock(&lock);
    if (!thread->runs)
        thread->runs = os_thread_start(poll_watches, thread);
    const bool started = thread->runs;
    if (!started && !told)
        log_write(LOG_ERROR, "%s",
                  watch->calls_back ? "the thread for callbacks cannot be started"
                                    : "the polling thread cannot be started");
    told = !started;
    if (started && !watch->listed) {
        watch->listed = true;
        watch->after = thread->watches;
        thread->watches = watch;
    }
    if (started && (!watch->wanted || watch->due > now_ms() + 1)) {
        watch->wanted = true;
        watch->due = now_ms() + 1;
        os_wake_all(&changed);
    }
    os_unlock(&lock);
    return started;
}

void watches_drain(void)
{
    const unsigned long long end = now_ms() + 100;
    os_lock(&lock);
    draining++;
    os_wake_all(&changed);
    while (now_ms() < end &&
           ((threads[0].runs && !first_wanted(&threads[0])) || (threads[1].runs && !first_wanted(&threads[1]))))
        os_wait(&changed, &lock, (unsigned)(end - now_ms()) + 1);
    draining--;
    os_unlock(&lock);
}
