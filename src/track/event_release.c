/* References to events of PoCL that have to outlive their use, since PoCL 3.1 counts too few of its own.
 *
 * A command whose wait list fails is freed with its event if nobody else holds the event, while PoCL is still at work on it;
 * and the events and commands that it waited for besides still point at it until they are over themselves. Both end the
 * process, or touch another event at the same address. So the events of commands that are pending or have failed are kept
 * while a user event is pending, for nothing else can fail. The thread that ends a command may look at its event for a
 * moment after the event is complete: what is over is kept until some others have followed.
 *
 * For PoCL alone: events of rusticl 22.3 keep the memory objects of their commands. */
#include "track/track.h"

#include "log.h"

#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

/* Set once, and read without a lock. */
static atomic_bool needed;

/* Events of commands that are pending or have failed. Guarded by registry_lock. */
static struct {
    cl_event *events;
    unsigned count, capacity;
    unsigned sweep_at; /* the count at which it is worth looking which of them can go */
    bool sweeping;     /* somebody looks: nobody else takes any out */
} kept;

/* Room for some of them, so that memory that is short for a moment loses none. Guarded by registry_lock. */
enum { INITIAL = 32 };
static cl_event initial[INITIAL];

/* The last events that were over when they were dropped. Guarded by registry_lock. */
enum { RECENT = 64, SWEEP_FIRST = 256 };
static cl_event recent[RECENT];
static unsigned recent_place;

void event_keep_begin(void)
{
    atomic_store_explicit(&needed, true, memory_order_relaxed);
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
    if (!event_driver_short(asked))
        asked = below()->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(handle), &handle, NULL);
    if (asked != CL_SUCCESS)
        return event_driver_short(asked);
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

static void sweep(bool finish, cl_context context);
static bool queues_end(void);

static void grow_locked(void)
{
    const unsigned wider = kept.capacity ? kept.capacity * 2 : INITIAL;
    const bool in_initial = kept.events == initial, into_initial = !kept.capacity;
    cl_event *grown = into_initial ? initial : realloc(in_initial ? NULL : kept.events, wider * sizeof(*grown));
    if (!grown)
        return;
    if (in_initial)
        memcpy(grown, initial, sizeof(initial));
    kept.events = grown;
    kept.capacity = wider;
}

static bool add(cl_event event)
{
    os_lock(&registry_lock);
    if (kept.count == kept.capacity)
        grow_locked();
    const bool added = kept.count < kept.capacity;
    if (added)
        kept.events[kept.count++] = event;
    const bool full = !kept.sweeping && kept.count >= SWEEP_FIRST && kept.count >= kept.sweep_at;
    os_unlock(&registry_lock);
    if (full)
        sweep(queues_end(), NULL);
    return added;
}

/* Takes over the reference. */
static void keep(cl_event event, cl_int status)
{
    if (status == CL_COMPLETE)
        drop_late(event);
    else if (!add(event))
        log_write(LOG_ERROR, "no memory to keep an event of PoCL: it is never released");
}

static bool keep_if_needed(cl_event event, bool ours)
{
    if (!atomic_load_explicit(&needed, memory_order_relaxed))
        return false;
    const cl_int status = event_status(event);
    if (status == CL_COMPLETE || (status > CL_COMPLETE && !blockers_possible()) || !needs_care(event, ours))
        return false;
    keep(event, status);
    return true;
}

bool event_keep(cl_event event)
{
    return keep_if_needed(event, false);
}

void event_put(cl_event event)
{
    if (event && !keep_if_needed(event, true))
        below()->clReleaseEvent(event);
}

void event_put_late(cl_event event)
{
    if (!event || keep_if_needed(event, true))
        return;
    if (needs_care(event, true))
        drop_late(event);
    else
        below()->clReleaseEvent(event);
}

/* The event of a failed command can go when its queue is empty: nothing that points at it is left then. */
static void drop_failed(cl_event event)
{
    cl_command_queue queue = NULL;
    if (below()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) == CL_SUCCESS && queue)
        below()->clFinish(queue);
    below()->clReleaseEvent(event);
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
    const bool gone = !live || live->resting;
    os_unlock(&registry_lock);
    return of == context || gone;
}

/* Drops one that nobody else takes out, or not. The last of the list then has its place. */
static void sweep_one(unsigned place, bool finish, cl_context context)
{
    os_lock(&registry_lock);
    cl_event event = kept.events[place];
    os_unlock(&registry_lock);
    const cl_int status = event_status(event);
    const bool failed = finish && status < 0 && goes_with(event, context);
    if (status != CL_COMPLETE && !failed)
        return;
    os_lock(&registry_lock);
    kept.events[place] = kept.events[--kept.count];
    os_unlock(&registry_lock);
    if (failed)
        drop_failed(event);
    else
        drop_late(event);
}

/* Drops what is over. Failed ones too where `finish` is set: those of all contexts, or of one and of those that are gone. */
static void sweep(bool finish, cl_context context)
{
    cl_event *unused = NULL;
    os_lock(&registry_lock);
    const bool busy = kept.sweeping;
    const unsigned count = busy ? 0 : kept.count;
    kept.sweeping = true;
    os_unlock(&registry_lock);
    if (busy)
        return;
    for (unsigned i = count; i > 0; i--)
        sweep_one(i - 1, finish, context);
    os_lock(&registry_lock);
    if (!kept.count) {
        unused = kept.events != initial ? kept.events : NULL;
        memset(&kept, 0, sizeof(kept));
    }
    kept.sweep_at = kept.count * 2;
    kept.sweeping = false;
    os_unlock(&registry_lock);
    free(unused);
}

/* A queue can be waited for while no user event is pending, unless a driver's thread calls back. */
static bool queues_end(void)
{
    return !blockers_possible() && !callback_runs_here();
}

void event_sweep(void)
{
    sweep(false, NULL);
}

void event_drop_kept(cl_context context)
{
    if (!atomic_load_explicit(&needed, memory_order_relaxed))
        return;
    if (queues_end())
        sweep(true, context);
    for (int i = 0; i < RECENT; i++)
        drop_late(NULL);
}
