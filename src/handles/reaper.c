#include "handles/reaper.h"

#include "emulate/delivery.h"
#include "handles/handles.h"

/* The first moment at which things of a kind are polled. */
static const enum reap_moment first_moments[REAP_KINDS] = {
    [REAP_BLOCKER] = REAP_AT_COMMAND, [REAP_COMMAND] = REAP_AT_RELEASE,
    [REAP_OBJECT] = REAP_AT_RELEASE,  [REAP_MEMORY] = REAP_AT_RELEASE,
    [REAP_NOTICE] = REAP_AT_RELEASE,  [REAP_EVENT] = REAP_AND_WAIT, /* there may be many */
};

enum { PATIENCE = 50 }; /* milliseconds */
static const int patience_at[] = {[REAP_AT_FINISH] = 3, [REAP_AND_WAIT] = PATIENCE, [REAP_CONTEXT] = PATIENCE};

/* Guards the lists, which may be found empty without it. Nothing else is locked under it. */
static os_mutex lock = OS_MUTEX_INIT;
static struct reaped *_Atomic lists[REAP_KINDS];
static atomic_uint polls; /* polls that are running: the things that they took are in no list */
static atomic_uint counts[REAP_KINDS];

static bool is_empty(enum reap_kind kind)
{
    return !atomic_load_explicit(&lists[kind], memory_order_relaxed);
}

/* Takes the list for the caller alone. */
static struct reaped *take(enum reap_kind kind)
{
    os_lock(&lock);
    struct reaped *list = atomic_exchange_explicit(&lists[kind], NULL, memory_order_relaxed);
    os_unlock(&lock);
    return list;
}

static void put_front(enum reap_kind kind, struct reaped *first, struct reaped **end)
{
    os_lock(&lock);
    *end = atomic_exchange_explicit(&lists[kind], first, memory_order_relaxed);
    os_unlock(&lock);
}

static void poll_kind(enum reap_kind kind, struct reap *reap)
{
    struct reaped *left = NULL, **end = &left;
    reap->marker_count = 0;
    atomic_fetch_add(&polls, 1);
    for (struct reaped *one = is_empty(kind) ? NULL : take(kind), *after; one; one = after) {
        after = one->after;
        if (!one->of->over || one->of->over(one->what, reap)) {
            atomic_fetch_sub_explicit(&counts[kind], 1, memory_order_relaxed);
            one->of->destroy(one->what);
        } else {
            *end = one;
            end = &one->after;
        }
    }
    if (left)
        put_front(kind, left, end);
    atomic_fetch_sub(&polls, 1);
}

void reap_later(struct reaped *one, const struct reap_class *of, void *what)
{
    one->of = of;
    one->what = what;
    atomic_fetch_add_explicit(&counts[of->kind], 1, memory_order_relaxed);
    put_front(of->kind, one, &one->after);
}

void reap_one_kind(enum reap_kind kind, enum reap_moment moment)
{
    poll_kind(kind, &(struct reap){.moment = moment});
}

/* What callbacks leave. */
static const enum reap_kind of_callbacks[] = {REAP_BLOCKER, REAP_COMMAND, REAP_NOTICE};
enum { CALLBACK_KINDS = sizeof(of_callbacks) / sizeof(of_callbacks[0]) };

static unsigned poll_in_background(void)
{
    for (unsigned i = 0; i < CALLBACK_KINDS && !os_process_ends(); i++)
        reap_one_kind(of_callbacks[i], REAP_AT_RELEASE);
    return 0;
}

void reap_in_background(void)
{
    enum { MANY = 64 };
    static struct watch watch = {.poll = poll_in_background};
    unsigned count = 0;
    for (unsigned i = 0; i < CALLBACK_KINDS; i++)
        count += atomic_load_explicit(&counts[of_callbacks[i]], memory_order_relaxed);
    if (count > MANY)
        watch_start(&watch); /* if it can't, the next callback tries again */
}

/* The wait is limited, because a poll may call a driver that waits. */
void reap_await_others(void)
{
    for (int i = 0; i < PATIENCE && atomic_load(&polls) && !os_process_ends() && !callback_runs_here(); i++)
        os_sleep_shortly();
}

static void poll_all(struct reap *reap)
{
    reap->can_go_at = 0;
    for (unsigned kind = 0; kind < REAP_KINDS; kind++)
        if (first_moments[kind] <= reap->moment)
            poll_kind(kind, reap);
}

void reap(enum reap_moment moment, cl_context context)
{
    enum { POLLS = 4 }; /* destroying one thing may leave another that also needs time */
    struct reap reap = {.moment = moment, .context = context, .patience = patience_at[moment]};
    bool any = false;
    if (moment == REAP_AT_WAIT || moment == REAP_AT_FINISH || moment == REAP_CONTEXT)
        reap_await_others();
    for (unsigned kind = 0; kind < REAP_KINDS; kind++)
        any = any || (first_moments[kind] <= moment && !is_empty(kind));
    if (!any || callback_runs_here())
        return;
    poll_all(&reap);
    for (int i = 1; i < POLLS && moment == REAP_CONTEXT && reap.can_go_at; i++) {
        while (os_nanoseconds() < reap.can_go_at)
            os_sleep_shortly();
        poll_all(&reap);
    }
}

bool reap_pause(struct reap *reap)
{
    if (reap->patience <= 0 || blockers_possible() || callback_runs_here())
        return false;
    reap->patience--;
    os_sleep_shortly();
    return true;
}
