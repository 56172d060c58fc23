#include "defer/pending.h"

#include "defer/deferred.h"
#include "drivers/drivers.h"
#include "handles/handle_kind.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

/* ---- the masks; everything here is guarded by registry_lock ---- */

/* What blocks the commands of events: a hash table with open addressing, at most half full. An entry with an empty mask
 * only keeps its place. Entries of released events do no harm: their handles are overwritten when they are used again. */
static struct blocked_event {
    cl_event event; /* NULL: the place is free */
    pending_mask mask;
} * table;
static size_t capacity, filled;
static bool incomplete; /* memory was short: an unknown event may be blocked by anything */

static pending_mask used;              /* the bits of pending user events */
static struct user_event *shared_bit;  /* those that share PENDING_SHARED, the oldest first */
static unsigned long long last_number; /* of user events and deferred commands */

static struct blocked_event *place_of(cl_event event)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)event / 8 * 0x9E3779B97F4A7C15u) >> 32) & (capacity - 1);
    while (table[at].event && table[at].event != event)
        at = (at + 1) & (capacity - 1);
    return &table[at];
}

/* Makes the table at least four times as large as what it has to keep. */
static bool grow(void)
{
    struct blocked_event *before = table;
    const size_t before_capacity = capacity;
    size_t kept = 0, wanted = 64;
    for (size_t i = 0; i < before_capacity; i++)
        kept += before[i].mask != 0;
    while (wanted < 4 * (kept + 1))
        wanted *= 2;
    struct blocked_event *wider = calloc(wanted, sizeof(*wider));
    if (!wider)
        return false;
    table = wider;
    capacity = wanted;
    filled = kept;
    for (size_t i = 0; i < before_capacity; i++)
        if (before[i].mask)
            *place_of(before[i].event) = before[i];
    free(before);
    return true;
}

pending_mask pending_of_locked(cl_event event)
{
    const struct user_event *user = registry_find_locked(RECORD_USER_EVENT, event);
    if (user)
        return user->bit;
    const struct blocked_event *place = capacity ? place_of(event) : NULL;
    return place && place->event ? place->mask : incomplete ? used : 0;
}

static void set_mask(cl_event event, pending_mask mask)
{
    struct blocked_event *place = capacity ? place_of(event) : NULL;
    if (place && place->event) {
        place->mask = mask;
        return;
    }
    if (!mask)
        return;
    if (2 * (filled + 1) > capacity && !grow()) {
        incomplete = true;
        return;
    }
    *place_of(event) = (struct blocked_event){event, mask};
    filled++;
}

static void clear_everywhere(pending_mask bit)
{
    pending_mask left = 0;
    for (size_t i = 0; i < capacity; i++)
        left |= table[i].mask &= ~bit;
    if (!left && filled) {
        memset(table, 0, capacity * sizeof(*table));
        filled = 0;
    }
    for (struct queue_record *queue = queue_list; queue; queue = queue->after) {
        queue->blocked_by &= ~bit;
        queue->barred_by &= ~bit;
        queue->entering &= ~bit;
    }
    deferred_clear_locked(bit);
    used &= ~bit;
    incomplete = incomplete && used;
}

unsigned long long pending_number_locked(void)
{
    return ++last_number;
}

bool pending_is_free_locked(pending_mask mask, unsigned long long number)
{
    return !(mask & ~PENDING_SHARED) && (!(mask & PENDING_SHARED) || !shared_bit || shared_bit->number > number);
}

/* ---- commands ---- */

/* The queue whose mutex this thread holds: a driver may call back the program in its call, on the same thread. */
static _Thread_local const struct queue_record *held_here;

void pending_hold(struct pending_command *command, struct queue_record *queue, unsigned order, cl_uint count,
                  const cl_event *wait, bool blocking)
{
    const bool free = !blocking && !held_here;
    if (!queue_out_of_order(queue))
        order = PENDING_AFTER_ALL | PENDING_BARRIER;
    *command = (struct pending_command){.queue = queue, .order = order, .holds = free};
    if (free) {
        os_lock(&queue->enqueueing);
        held_here = queue;
    }
    os_lock(&registry_lock);
    command->mask = order & PENDING_AFTER_ALL ? queue->blocked_by : queue->barred_by;
    for (cl_uint i = 0; wait && i < count; i++)
        command->mask |= pending_of_locked(wait[i]);
    if (free)
        queue->entering = command->mask;
    else
        queue->blocked_by |= command->mask;
    os_unlock(&registry_lock);
}

void pending_begin(struct pending_command *command, struct queue_record *queue, unsigned order, cl_uint count,
                   const cl_event *wait, bool blocking)
{
    if (user_event_pending())
        pending_hold(command, queue, order, count, wait, blocking);
    else
        *command = (struct pending_command){0};
}

pending_mask pending_add_locked(const struct pending_command *command, const struct user_event *event)
{
    struct queue_record *queue = command->queue;
    pending_mask *mask = command->holds ? &queue->entering : &queue->blocked_by;
    const pending_mask before = *mask | queue->blocked_by;
    *mask |= event->bit;
    return before;
}

void pending_end(struct pending_command *command, bool enqueued, cl_event event)
{
    struct queue_record *queue = command->queue;
    if (!queue)
        return;
    os_lock(&registry_lock);
    /* What has been set meanwhile is no longer in the queue's masks. */
    const pending_mask mask = command->holds ? queue->entering : command->mask & queue->blocked_by;
    if (enqueued)
        queue->blocked_by |= mask;
    if (enqueued && command->order & PENDING_BARRIER)
        queue->barred_by |= mask;
    if (enqueued && event)
        set_mask(event, mask);
    if (command->holds)
        queue->entering = 0;
    os_unlock(&registry_lock);
    if (command->holds) {
        held_here = NULL;
        os_unlock(&queue->enqueueing);
    }
    command->queue = NULL;
}

/* ---- user events ---- */

static bool blocks_anything(pending_mask bit)
{
    pending_mask blocked = deferred_masks_locked();
    for (size_t i = 0; i < capacity; i++)
        blocked |= table[i].mask;
    for (const struct queue_record *queue = queue_list; queue; queue = queue->after)
        blocked |= queue->blocked_by | queue->entering;
    return (blocked & bit) != 0;
}

/* The program has released a user event that it has not set. If commands wait for it they do so for ever. */
static void destroy(struct record *record)
{
    struct user_event *event = (struct user_event *)record;
    os_lock(&registry_lock);
    const bool unset = event->bit != 0, stuck = unset && blocks_anything(event->bit);
    if (unset && !stuck)
        user_event_end_locked(event);
    os_unlock(&registry_lock);
    if (unset && !stuck && event_context_has(record->handle, QUIRK_UNSET_EVENTS))
        below()->clSetUserEventStatus(record->handle, CL_INVALID_OPERATION);
    if (!stuck) /* else it keeps its bit */
        free(event);
}

static pending_mask free_bit(void)
{
    pending_mask bit = 1;
    while (bit != PENDING_SHARED && (used & bit))
        bit <<= 1;
    return bit;
}

struct user_event *user_event_make(cl_event event)
{
    struct record *stale = NULL;
    struct user_event *user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->head = (struct record){.kind = RECORD_USER_EVENT, .handle = event, .destroy = destroy};
    os_lock(&registry_lock);
    const bool added = registry_add_locked(&user->head, &stale);
    if (added) {
        user->number = pending_number_locked();
        user->bit = free_bit();
        used |= user->bit;
        struct user_event **end = &shared_bit;
        while (user->bit == PENDING_SHARED && *end)
            end = &(*end)->after;
        if (user->bit == PENDING_SHARED)
            *end = user;
        atomic_fetch_add(&user_events_pending, 1);
    }
    os_unlock(&registry_lock);
    record_release(stale);
    if (added)
        return user;
    free(user);
    return NULL;
}

void user_event_end_locked(struct user_event *event)
{
    if (!event->bit)
        return;
    struct user_event **place = &shared_bit;
    while (*place && *place != event)
        place = &(*place)->after;
    if (*place)
        *place = event->after;
    if (event->bit != PENDING_SHARED || !shared_bit)
        clear_everywhere(event->bit);
    event->bit = 0;
    atomic_fetch_sub(&user_events_pending, 1);
    deferred_assign_locked();
}

cl_int user_event_set(cl_event event, cl_int status)
{
    enum { TRIES = 10 };
    cl_int set = below()->clSetUserEventStatus(event, status);
    for (int i = 1; i < TRIES && memory_short(set); i++)
        set = below()->clSetUserEventStatus(event, status);
    return set;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *errcode_ret)
{
    cl_event event = below()->clCreateUserEvent(context, errcode_ret);
    if (!event || !registry_has(RECORD_CONTEXT, context) || user_event_make(event))
        return event;
    below()->clSetUserEventStatus(event, CL_OUT_OF_HOST_MEMORY);
    below()->clReleaseEvent(event);
    give_code(errcode_ret, log_refuse("clCreateUserEvent", CL_OUT_OF_HOST_MEMORY, "no memory to track a user event"));
    return NULL;
}

/* The driver need not check what the handle is, and some accept a second status. */
static cl_int check_user_event(cl_event event)
{
    static const char call[] = "clSetUserEventStatus";
    cl_command_type type = CL_COMMAND_USER;
    if (!event || !registry_hot())
        return CL_SUCCESS;
    if (!event_may_be(event) ||
        below()->clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL) == CL_INVALID_EVENT)
        return log_refuse(call, CL_INVALID_EVENT, "%p is not an event", (void *)event);
    if (type != CL_COMMAND_USER || registry_has(RECORD_EVENT, event))
        return log_refuse(call, CL_INVALID_EVENT, "%p is the event of a command, not a user event", (void *)event);
    if (event_status(event) <= CL_COMPLETE)
        return log_refuse(call, CL_INVALID_OPERATION, "user event %p has already been set", (void *)event);
    return CL_SUCCESS;
}

/* The event blocks nothing any longer before the driver sets it: a program that has seen it set, and the commands behind
 * it end, must not find its next release deferred. */
static cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int execution_status)
{
    cl_int status = check_user_event(event);
    if (status != CL_SUCCESS)
        return status;
    struct user_event *user = registry_get(RECORD_USER_EVENT, event);
    if (user) {
        os_lock(&registry_lock);
        user_event_end_locked(user);
        os_unlock(&registry_lock);
    }
    status = user_event_set(event, execution_status);
    if (user && status == CL_SUCCESS)
        deferred_run();
    record_release(user);
    return status;
}

void user_event_install(cl_icd_dispatch *table)
{
    table->clCreateUserEvent = create_user_event;
    table->clSetUserEventStatus = set_user_event_status;
}
