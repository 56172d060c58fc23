/* Keeps references to events of PoCL for longer, because PoCL 3.1 counts too few references itself.
 *
 * PoCL frees a command whose wait list fails, with its event, if nothing else holds the event, although PoCL is still
 * working on it. The other events and commands for which the command waited still point to it until they end
 * themselves. Both cases end the process, or affect another event at the same address. So while a user event is
 * pending, the events of commands that are pending or have failed are kept; nothing else can make commands fail.
 *
 * The thread that ends a command may access its event for a moment after the event is complete, so completed events are
 * kept until some others have followed. It also goes through the commands behind that one, including failed ones, even
 * after clFinish has returned, so failed events are kept for some time after that.
 *
 * Only for PoCL: events of rusticl 22.3 keep the memory objects of their commands alive. */
#include "handles/handles.h"

#include "log.h"
#include "next/after_failure.h"
#include "next/query.h"
#include "handles/prerequisites.h"
#include "handles/block_cache.h"

#include <stdlib.h>

/* Set once, and read without a lock. */
static atomic_bool needed;

/* The event of a command that is pending or has failed. */
struct kept {
    struct reaped reaped;
    cl_event event;
    struct prerequisites *prerequisites; /* owned; the events that point to it until they end, or NULL */
    cl_event marker;              /* owned; behind everything in its queue when its failure was first seen, or NULL */
    bool failed;                  /* when it was kept, or in the last poll */
    unsigned long long can_go_at; /* nanoseconds of os.h; 0: its marker has not ended */
};

/* Some are allocated in advance, so that a short lack of memory loses no event. */
enum { INITIAL = 32 };
static struct block_cache blocks = BLOCK_CACHE_INIT(struct kept);

/* How many are kept, and the number from which polling them is worthwhile. */
enum { POLL_FIRST = 256 };
static atomic_uint kept_count, poll_at = POLL_FIRST;

/* The most recent events that were complete when they were dropped. Guarded by registry_lock. */
enum { RECENT = 64 };
static cl_event recent[RECENT];
static unsigned recent_place;

void event_keep_begin(void)
{
    if (!atomic_exchange_explicit(&needed, true, memory_order_relaxed))
        for (int i = 0; i < INITIAL; i++)
            block_cache_give(&blocks, calloc(1, sizeof(struct kept)));
}

/* Whether the event belongs to a command in a context of PoCL; if the driver does not report it, this is assumed. User
 * events wait for nothing. An event of cld3d's own may outlive the record of its context. */
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

/* Schedules the next poll for when some more are kept. A failed event is released in the third or fourth poll, so
 * polling only at twice the number would let them accumulate. */
static void poll_next(unsigned count)
{
    atomic_store_explicit(&poll_at, count + POLL_FIRST, memory_order_relaxed);
}

/* Takes over the event and `prerequisites`; false: neither. */
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
    poll_next(queues_end() ? count : count * 2); /* otherwise none of them can be released now */
    reap_one_kind(REAP_EVENT, REAP_CONTEXT);
    return true;
}

/* Keeps an event: takes over the reference, and `prerequisites`. */
static void keep(cl_event event, bool failed, struct prerequisites *prerequisites)
{
    prerequisites = prerequisites_trim(prerequisites);
    if (add(event, failed, prerequisites))
        return;
    prerequisites_free(prerequisites);
    log_write(LOG_ERROR, "no memory to keep a PoCL event: it is never released");
}

/* True: the event and `prerequisites` are taken over. */
static bool keep_if_needed(cl_event event, bool ours, struct prerequisites *prerequisites)
{
    if (!atomic_load_explicit(&needed, memory_order_relaxed))
        return false;
    const bool may_fail = blockers_possible(); /* read first: it may fail right after the query */
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

/* In an out-of-order queue of PoCL a marker waits for every command before it, including other markers. */
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

/* False: the driver does not accept a marker now. A new marker justifies one more poll. A user event has no queue. */
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

/* Whether everything that was in the queue of a failed command has ended: from then on nothing new points to its event.
 * This does not wait longer than the poll allows, because a command in the queue may run for any time. */
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

/* Whether the event belongs to `context`, or to one that the application has released; NULL: any. */
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

/* Whether markers will end: they do while no user event is pending. Nothing is polled in a callback, on a thread of the
 * driver. */
static bool queues_end(void)
{
    return !blockers_possible() && !callback_runs_here();
}

/* Requests another pass, because the marker of a pass must come after failures that were seen before that pass. */
static bool poll_again(struct reap *reap)
{
    if (!reap->can_go_at)
        reap->can_go_at = os_nanoseconds();
    return false;
}

/* Failed events are released with their context, or those of all contexts if there are too many. */
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
        drop_late(kept.marker); /* it ended some time ago, even if it failed: it needs no marker of its own */
    else
        event_put_late(kept.marker);
    if (kept.failed)
        below()->clReleaseEvent(kept.event);
    else
        drop_late(kept.event);
}

/* Another thread may put an event into the place meanwhile: then both stay. */
static void drop_recent(unsigned place, cl_context context)
{
    os_lock(&registry_lock);
    cl_event event = recent[place];
    recent[place] = NULL;
    os_unlock(&registry_lock);
    if (!event)
        return;
    if (goes_with(event, context)) {
        below()->clReleaseEvent(event);
        return;
    }
    os_lock(&registry_lock);
    const bool is_free = !recent[place];
    if (is_free)
        recent[place] = event;
    os_unlock(&registry_lock);
    if (!is_free)
        drop_late(event);
}

void event_drop_recent(cl_context context)
{
    for (unsigned i = 0; i < RECENT && atomic_load_explicit(&needed, memory_order_relaxed); i++)
        drop_recent(i, context);
}
