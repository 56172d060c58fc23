/* References to events of PoCL that have to outlive their use, since PoCL 3.1 counts too few of its own.
 *
 * A command whose wait list fails is freed with its event if nobody else holds the event, while PoCL is still at work on it;
 * and the events and commands that it waited for in addition still point at it until they are over themselves. Both end the
 * process, or touch another event at the same address. So the events of commands that are pending or have failed are kept
 * while a user event is pending, for nothing else can fail. The thread that ends a command may look at its event for a
 * moment after the event is complete: what is over is kept until some others have followed. And it goes through the commands
 * behind that one, failed ones too, when clFinish has returned already: failed events stay for some time after that.
 *
 * For PoCL alone: events of rusticl 22.3 keep the memory objects of their commands. */
#include "track/track.h"

#include "log.h"
#include "next/after_failure.h"
#include "next/query.h"
#include "track/prerequisites.h"
#include "track/block_cache.h"

#include <stdlib.h>

/* Set once, and read without a lock. */
static atomic_bool needed;

/* Of a command that is pending or has failed. */
struct kept {
    struct reaped reaped;
    cl_event event;
    struct prerequisites *prerequisites; /* owned; those that point at it till their ends, or NULL */
    cl_event marker; /* owned; behind all that was in its queue when it was first seen as failed, or NULL */
    bool failed;     /* when it was kept, or in the last poll */
    unsigned long long can_go_at; /* nanoseconds of os.h; 0: its marker is not over */
};

/* Some are there from the beginning, so that memory that is short for a moment loses no event. */
enum { INITIAL = 32 };
static struct block_cache blocks = BLOCK_CACHE_INIT(struct kept);

/* How many are kept, and at which number polling them is worth it. */
enum { POLL_FIRST = 256 };
static atomic_uint kept_count, poll_at = POLL_FIRST;

/* The last events that were over when they were dropped. Guarded by registry_lock. */
enum { RECENT = 64 };
static cl_event recent[RECENT];
static unsigned recent_place;

void event_keep_begin(void)
{
    if (!atomic_exchange_explicit(&needed, true, memory_order_relaxed))
        for (int i = 0; i < INITIAL; i++)
            block_cache_give(&blocks, calloc(1, sizeof(struct kept)));
}

/* Whether the event is of a command in a context of PoCL, as one is taken for of which the driver does not tell. User events wait
 * for nothing. An event of ours may outlive the record of its context. */
static bool needs_care(cl_event event, bool ours)
{
    cl_command_type type = CL_COMMAND_USER;
    cl_context handle = NULL;
    if (!atomic_load_explicit(&needed, memory_order_relaxed))
        return false;
    cl_int asked = below()->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    if (asked == CL_SUCCESS && type == CL_COMMAND_USER)
        return false;
    if (!driver_short(asked))
        asked = below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(handle), &handle, NULL);
    if (asked != CL_SUCCESS)
        return driver_short(asked);
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    const bool pocl = context ? context_has(context, QUIRK_POCL_EVENTS) : ours;
    record_release(context);
    return pocl;
}

static void drop_late(cl_event event)
{
    os_lock(&registry_lock);
    cl_event oldest = recent[recent_place];
    recent[recent_place] = event;
    recent_place = (recent_place + 1) % RECENT;
    os_unlock(&registry_lock);
    if (oldest)
        below()->clReleaseEvent(oldest);
}

static bool queues_end(void);
static bool can_go(void *what, struct reap *reap);
static void drop(void *what);

static const struct reap_class needed_by_pocl = {REAP_EVENT, can_go, drop};

/* When some more are kept: a failed one goes in the third or fourth poll, so with twice as many they would become ever more. */
static void poll_next(unsigned count)
{
    atomic_store_explicit(&poll_at, count + POLL_FIRST, memory_order_relaxed);
}

/* Takes over both; false: neither. */
static bool add(cl_event event, bool failed, struct prerequisites *prerequisites)
{
    struct kept *kept = block_cache_take(&blocks);
    if (!kept)
        return false;
    kept->event = event;
    kept->failed = failed;
    kept->prerequisites = prerequisites;
    const unsigned count = atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed) + 1;
    reap_later(&kept->reaped, &needed_by_pocl, kept);
    if (count < atomic_load_explicit(&poll_at, memory_order_relaxed))
        return true;
    poll_next(queues_end() ? count : count * 2); /* else none of them can go now */
    reap_kind(REAP_EVENT, REAP_CONTEXT);
    return true;
}

/* Takes over the reference, and `prerequisites`. */
static void keep(cl_event event, bool failed, struct prerequisites *prerequisites)
{
    prerequisites = prerequisites_trim(prerequisites);
    if (add(event, failed, prerequisites))
        return;
    prerequisites_free(prerequisites);
    log_write(LOG_ERROR, "no memory to keep a PoCL event: it is never released");
}

/* True: both are taken over. */
static bool keep_if_needed(cl_event event, bool ours, struct prerequisites *prerequisites)
{
    if (!atomic_load_explicit(&needed, memory_order_relaxed))
        return false;
    const bool may_fail = blockers_possible(); /* asked first: it may fail right after its status is asked for */
    const cl_int status = event_status(event);
    if (status == CL_COMPLETE || (status > CL_COMPLETE && !may_fail) || !needs_care(event, ours))
        return false;
    keep(event, status < 0, prerequisites);
    return true;
}

bool event_keep(cl_event event)
{
    return keep_if_needed(event, false, NULL);
}

void event_put(cl_event event)
{
    event_put_with_prerequisites(event, NULL);
}

void event_put_with_prerequisites(cl_event event, struct prerequisites *prerequisites)
{
    if (event && keep_if_needed(event, true, prerequisites))
        return;
    prerequisites_free(prerequisites);
    if (event)
        below()->clReleaseEvent(event);
}

void event_put_late(cl_event event)
{
    if (!event || keep_if_needed(event, true, NULL))
        return;
    if (needs_care(event, true))
        drop_late(event);
    else
        below()->clReleaseEvent(event);
}

/* The marker of this pass in the queue, or NULL. */
static cl_event marker_of_pass(const struct reap *reap, cl_command_queue queue)
{
    const unsigned count = reap->marker_count < REAP_MARKERS ? reap->marker_count : REAP_MARKERS;
    for (unsigned i = 0; i < count; i++)
        if (reap->markers[i].queue == queue)
            return reap->markers[i].event;
    return NULL;
}

/* PoCL has a marker in an out-of-order queue wait for each command before it, other markers too. */
static bool enqueue_marker(cl_command_queue queue, struct reap *reap, cl_event *marker)
{
    if (below()->clEnqueueMarkerWithWaitList(queue, 0, NULL, marker) != CL_SUCCESS)
        return false;
    below()->clFlush(queue);
    const unsigned place = reap->marker_count++ % REAP_MARKERS;
    reap->markers[place].queue = queue;
    reap->markers[place].event = *marker;
    return true;
}

/* False: the driver does not take a marker now. A new one is worth one more poll. A user event has no queue. */
static bool mark_queue(struct kept *kept, struct reap *reap)
{
    cl_command_queue queue = NULL;
    if (kept->marker)
        return true;
    if (below()->clGetEventInfo(kept->event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) != CL_SUCCESS)
        return false;
    if (!queue)
        return true;
    cl_event shared = marker_of_pass(reap, queue);
    if (shared ? below()->clRetainEvent(shared) != CL_SUCCESS : !enqueue_marker(queue, reap, &kept->marker))
        return false;
    if (shared)
        kept->marker = shared;
    reap->can_go_at = os_nanoseconds() + AFTER_FAILURE_MS * 1000000ull;
    return true;
}

/* What was in the queue of a failed command is over: from now on nothing new points at its event. Nobody waits for a queue beyond the
 * patience of the poll: a command there may run for any time. */
static bool queue_is_through(struct kept *kept, struct reap *reap)
{
    if (!mark_queue(kept, reap))
        return false;
    while (kept->marker && event_status(kept->marker) > CL_COMPLETE)
        if (!reap_pause(reap))
            return false;
    return true;
}

static bool is_past_pause(struct kept *kept, struct reap *reap)
{
    kept->prerequisites = prerequisites_trim(kept->prerequisites);
    if (kept->prerequisites)
        return false;
    if (!kept->can_go_at && queue_is_through(kept, reap))
        kept->can_go_at = os_nanoseconds() + AFTER_FAILURE_MS * 1000000ull;
    if (!kept->can_go_at)
        return false;
    if (os_nanoseconds() >= kept->can_go_at)
        return true;
    if (reap->can_go_at < kept->can_go_at)
        reap->can_go_at = kept->can_go_at;
    return false;
}

/* Whether it is of a context, or of one that the application has given back. */
static bool goes_with(cl_event event, cl_context context)
{
    cl_context of = NULL;
    if (!context)
        return true;
    if (below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(of), &of, NULL) != CL_SUCCESS)
        return false;
    os_lock(&registry_lock);
    const struct record *live = registry_find_locked(RECORD_CONTEXT, of);
    const bool gone = !live || live->weak;
    os_unlock(&registry_lock);
    return of == context || gone;
}

/* A marker ends by itself while no user event is pending. In a driver's thread that calls back nothing is polled. */
static bool queues_end(void)
{
    return !blockers_possible() && !callback_runs_here();
}

/* The marker of a pass is behind the failures that were seen before the pass. */
static bool poll_again(struct reap *reap)
{
    if (!reap->can_go_at)
        reap->can_go_at = os_nanoseconds();
    return false;
}

/* Failed ones go with their context, and those of all contexts when there are too many. */
static bool can_go(void *what, struct reap *reap)
{
    struct kept *kept = what;
    const cl_int status = event_status(kept->event);
    const bool seen = kept->failed;
    kept->failed = status < 0;
    if (!kept->failed || reap->moment != REAP_CONTEXT || !queues_end() || !goes_with(kept->event, reap->context))
        return status == CL_COMPLETE;
    return seen ? is_past_pause(kept, reap) : poll_again(reap);
}

static void drop(void *what)
{
    const struct kept kept = *(struct kept *)what;
    block_cache_give(&blocks, what);
    poll_next(atomic_fetch_sub_explicit(&kept_count, 1, memory_order_relaxed) - 1);
    prerequisites_free(kept.prerequisites);
    if (kept.can_go_at && kept.marker)
        drop_late(kept.marker); /* over for some time, though it may have failed: it takes no marker of its own */
    else
        event_put_late(kept.marker);
    if (kept.failed)
        below()->clReleaseEvent(kept.event);
    else
        drop_late(kept.event);
}

void event_drop_recent(void)
{
    for (int i = 0; i < RECENT && atomic_load_explicit(&needed, memory_order_relaxed); i++)
        drop_late(NULL);
}
