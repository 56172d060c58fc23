/* clSetEventCallback.
 *
 * Each command queue with callbacks has a list, and a thread that waits for the event at the head of the list. So the
 * callbacks of an in-order queue are delivered in order, and nothing polls. The number of such threads is small. Three
 * cases are polled regularly: further queues; events that end out of order; and callbacks for CL_SUBMITTED and
 * CL_RUNNING, because OpenCL cannot wait for several of them together. User events need neither: they are CL_SUBMITTED
 * from the beginning, and end in clSetUserEventStatus. */
#include "emulate/emulate.h"
#include "emulate/delivery.h"
#include "emulate/fence.h"
#include "log.h"
#include "next/after_failure.h"
#include "next/query.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *event_function)(cl_event, cl_int, void *);

/* A registered callback. */
struct waiter {
    struct delivery delivery;
    cl_event event; /* one reference */
    cl_int type, status;
    event_function notify;
    void *data;
    unsigned references;        /* by the list or the delivery, and by the thread that waits for the event */
    bool due;                   /* a user event: it may have reached the state, the driver has yet to be asked */
    unsigned long long goes_at; /* nanoseconds of os.h, once it is in the list `staying` */
    struct waiter *after;
};

/* The callbacks for the commands of one queue, in the order in which they were registered. */
struct callback_queue {
    cl_command_queue queue; /* NULL: user events; only compared */
    bool ordered;           /* the queue is */
    bool threaded;          /* a thread waits for the head */
    bool waits;             /* the thread waits in the driver, perhaps for an event that is already delivered */
    bool sweeping, again;   /* a thread goes through the list; it has to do so once more */
    struct waiter *first, **last;
    unsigned early; /* entries for states before the end */
    struct callback_queue *after;
};

enum {
    MOST_THREADS = 4, /* threads that wait for heads of lists */
    WINDOW = 64,      /* how many events of an in-order queue are checked beyond its head */
    LONGEST_POLL_MS = 16,
};

atomic_uint callback_queues;

/* Guards everything here. */
static os_mutex lock = OS_MUTEX_INIT;
static os_condition changed = OS_CONDITION_INIT;
static struct callback_queue *callback_lists;
static unsigned threads, draining;

/* ---- waiters ---- */

/* Callbacks whose events have failed; they are kept for AFTER_FAILURE_MS. The oldest is first. */
static struct waiter *staying, **last_staying = &staying;

static void destroy(struct waiter *waiter)
{
    underlying.clReleaseEvent(waiter->event);
    free(waiter);
}

static struct waiter *take_due(unsigned *left)
{
    const unsigned long long now = os_nanoseconds();
    os_lock(&lock);
    struct waiter *taken = staying;
    const bool due = taken && taken->goes_at <= now;
    *left = 0;
    if (due) {
        staying = taken->after;
        if (!staying)
            last_staying = &staying;
        os_wake_all(&changed);
    } else if (taken) {
        *left = (unsigned)((taken->goes_at - now) / 1000000) + 1;
    }
    os_unlock(&lock);
    return due ? taken : NULL;
}

static unsigned let_go(void)
{
    unsigned left;
    for (struct waiter *due; (due = take_due(&left));)
        destroy(due);
    return left;
}

static struct watch farewell = {.poll = let_go};

static void stay(struct waiter *waiter)
{
    waiter->after = NULL;
    os_lock(&lock);
    waiter->goes_at = os_nanoseconds() + AFTER_FAILURE_MS * 1000000ull;
    *last_staying = waiter;
    last_staying = &waiter->after;
    os_unlock(&lock);
    if (watch_start(&farewell))
        return;
    wait_after_failure();
    let_go();
}

static void drop(struct waiter *waiter)
{
    os_lock(&lock);
    const bool gone = --waiter->references == 0;
    os_unlock(&lock);
    if (gone && waiter->status < 0)
        stay(waiter);
    else if (gone)
        destroy(waiter);
}

static void run(struct delivery *delivery)
{
    struct waiter *waiter = (struct waiter *)delivery;
    waiter->notify(waiter->event, waiter->status, waiter->data);
    drop(waiter);
}

/* The state of the event in numbers that fall from CL_QUEUED to CL_COMPLETE and to errors. A driver that is out of resources does
 * not tell it. */
static cl_int state_of(cl_event event)
{
    cl_int state = CL_QUEUED;
    const cl_int status =
        underlying.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
    return status == CL_SUCCESS || driver_short(status) ? state : status;
}

/* ---- lists ---- */

static void unlink_locked(struct callback_queue *list, struct waiter **place)
{
    struct waiter *waiter = *place;
    *place = waiter->after;
    list->early -= waiter->type > CL_COMPLETE;
    if (list->last == &waiter->after)
        list->last = place;
}

/* Delivers the callbacks that are due, from the head on. In an in-order queue a later event ends later: if it has
 * ended, the earlier ones are checked again first, and nothing is checked behind many that have not ended. Only one
 * thread at a time goes through a list, and only this thread removes entries. */
static void sweep_locked(struct callback_queue *list)
{
    /* for each state, because a later command may be submitted before an earlier one ends */
    unsigned unfinished[CL_SUBMITTED + 1] = {0};
    const struct waiter *restarted_for = NULL;
    struct waiter **place = &list->first;
    while (*place && !(list->ordered && unfinished[CL_COMPLETE] >= WINDOW && !list->early)) {
        struct waiter *waiter = *place;
        if ((!list->queue && !waiter->due) || (list->ordered && unfinished[waiter->type] >= WINDOW)) {
            place = &waiter->after;
            continue;
        }
        waiter->due = false;
        os_unlock(&lock);
        const cl_int state = state_of(waiter->event);
        os_lock(&lock);
        waiter->due = waiter->due || state == CL_QUEUED; /* which a user event never is: the driver did not tell */
        if (state > waiter->type) {
            place = &waiter->after;
            unfinished[waiter->type]++;
        } else if (list->ordered && restarted_for != waiter &&
                   (unfinished[waiter->type] ||
                    (state <= CL_RUNNING && (unfinished[CL_COMPLETE] || unfinished[CL_RUNNING])))) {
            restarted_for = waiter;
            place = &list->first;
            memset(unfinished, 0, sizeof(unfinished));
        } else {
            waiter->status = state < 0 ? state : waiter->type;
            unlink_locked(list, place);
            deliver(&waiter->delivery);
        }
    }
}

/* Called with the lock, which is released while the driver is queried. If another thread is in the list, that one goes
 * through it again. */
static void sweep(struct callback_queue *list)
{
    list->again = true;
    while (!list->sweeping && list->again) {
        list->sweeping = true;
        list->again = false;
        sweep_locked(list);
        list->sweeping = false;
    }
}

static void remove_locked(struct callback_queue *list)
{
    struct callback_queue **place = &callback_lists;
    while (*place != list)
        place = &(*place)->after;
    *place = list->after;
    atomic_fetch_sub_explicit(&callback_queues, 1, memory_order_relaxed);
    free(list);
}

/* The first callback for the end of a command: OpenCL cannot wait for other states. A callback that has already been
 * called does not count, because its command may never end. */
static struct waiter *first_for_end(const struct callback_queue *list)
{
    struct waiter *waiter = list->first;
    while (waiter && waiter->type != CL_COMPLETE)
        waiter = waiter->after;
    return waiter;
}

bool (*event_wait_is_held)(cl_event event);

/* Called with the lock, which is released meanwhile. */
static void wait_for_end(struct callback_queue *list, struct waiter *waiter)
{
    waiter->references++;
    list->waits = true;
    os_unlock(&lock);
    const cl_int status = event_wait_is_held && event_wait_is_held(waiter->event)
                              ? CL_OUT_OF_RESOURCES
                              : underlying.clWaitForEvents(1, &waiter->event);
    drop(waiter);
    os_lock(&lock);
    list->waits = false;
    sweep(list);
    /* The driver cannot wait, or another thread delivers the event: avoid a busy loop. */
    if (first_for_end(list) == waiter && status != CL_SUCCESS)
        os_wait(&changed, &lock, 1);
}

static void lane_thread(void *data)
{
    struct callback_queue *list = data;
    os_lock(&lock);
    for (bool idle = false; list->first || list->sweeping || delivery_stuck() || (!idle && !draining);) {
        struct waiter *waiter = first_for_end(list);
        idle = !list->first;
        if (waiter)
            wait_for_end(list, waiter);
        else
            os_wait(&changed, &lock, delivery_stuck() ? RETRY_MS : THREAD_REST_MS);
    }
    remove_locked(list);
    threads--;
    os_wake_all(&changed);
    os_unlock(&lock);
}

/* ---- polling ---- */

static bool any_due(const struct callback_queue *list)
{
    const struct waiter *waiter = list->first;
    while (waiter && !waiter->due)
        waiter = waiter->after;
    return waiter != NULL;
}

static bool needs_polling(const struct callback_queue *list)
{
    if (!list->first || !list->queue)
        return any_due(list);
    return !list->threaded || list->first->after || list->first->type > CL_COMPLETE;
}

/* Removes empty lists that have no thread, unless another thread is going through them. */
static unsigned poll_callbacks(void)
{
    static unsigned pause = 1;
    unsigned left = 0;
    bool moved = false;
    os_lock(&lock);
    for (struct callback_queue *list = callback_lists, *after; list; list = after) {
        if (needs_polling(list)) {
            const struct waiter *head = list->first;
            sweep(list);
            moved = moved || list->first != head;
            left += needs_polling(list);
        }
        after = list->after;
        if (!list->threaded && !list->first && !list->sweeping)
            remove_locked(list);
    }
    os_unlock(&lock);
    pause = moved ? 1 : pause * 2 > LONGEST_POLL_MS ? LONGEST_POLL_MS : pause * 2;
    return left ? pause : 0;
}

static struct watch watch = {.poll = poll_callbacks};

/* ---- registration ---- */

bool event_callback_awaited(cl_command_queue queue)
{
    bool awaited = false;
    os_lock(&lock);
    for (const struct callback_queue *list = callback_lists; list; list = list->after)
        awaited = awaited || (list->queue == queue && (list->first || list->waits));
    os_unlock(&lock);
    return awaited;
}

/* An empty list may belong to an earlier queue at the same address. */
static struct callback_queue *find_lane_locked(cl_command_queue queue, bool ordered)
{
    struct callback_queue *list = callback_lists;
    while (list && list->queue != queue)
        list = list->after;
    if (list) {
        list->ordered = ordered;
        return list;
    }
    list = calloc(1, sizeof(*list));
    if (!list)
        return NULL;
    *list = (struct callback_queue){.queue = queue, .ordered = ordered, .after = callback_lists};
    list->last = &list->first;
    if (queue && threads < MOST_THREADS)
        list->threaded = os_thread_start(lane_thread, list);
    threads += list->threaded;
    callback_lists = list;
    atomic_fetch_add_explicit(&callback_queues, 1, memory_order_relaxed);
    return list;
}

static bool add(struct waiter *waiter, cl_command_queue queue)
{
    /* Not for one that the application no longer holds: an event may outlive its queue. */
    const bool ordered = fence_in_order(queue);
    os_lock(&lock);
    struct callback_queue *list = find_lane_locked(queue, ordered);
    const bool polls = list && queue && (!list->threaded || list->first || waiter->type > CL_COMPLETE);
    const bool added = list && (!polls || watch_start(&watch)); /* its thread waits for the lock */
    if (added) {
        *list->last = waiter;
        list->last = &waiter->after;
        list->early += waiter->type > CL_COMPLETE;
        os_wake_all(&changed);
    }
    os_unlock(&lock);
    return added;
}

/* It may have reached a state. */
static void look_at_user_event(cl_event event)
{
    os_lock(&lock);
    struct callback_queue *list = callback_lists;
    while (list && list->queue)
        list = list->after;
    for (struct waiter *waiter = list ? list->first : NULL; waiter; waiter = waiter->after)
        waiter->due = waiter->due || waiter->event == event;
    if (list)
        sweep(list);
    if (list && needs_polling(list))
        watch_start(&watch); /* its thread waits for the lock */
    os_unlock(&lock);
}

/* Whether the event comes from OpenGL or EGL: nothing here sees what ends it. */
static bool is_foreign(cl_event event)
{
    cl_command_type type = CL_COMMAND_USER;
    const cl_int status = underlying.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    return status == CL_SUCCESS && type != CL_COMMAND_USER;
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int command_exec_callback_type,
                                             event_function pfn_notify, void *user_data)
{
    static const char call[] = "clSetEventCallback";
    cl_command_queue queue = NULL;
    const cl_int asked = event ? underlying.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL)
                               : CL_INVALID_EVENT;
    if (driver_short(asked))
        return asked;
    if (asked != CL_SUCCESS)
        return log_refuse(call, CL_INVALID_EVENT, "%p is not an event", (void *)event);
    if (!pfn_notify || command_exec_callback_type < CL_COMPLETE || command_exec_callback_type > CL_SUBMITTED)
        return log_refuse(call, CL_INVALID_VALUE, "the callback function is %s, the execution status %d",
                          pfn_notify ? "given" : "NULL", command_exec_callback_type);
    if (!queue && is_foreign(event))
        return underlying.clSetEventCallback(event, command_exec_callback_type, pfn_notify, user_data);
    struct waiter *waiter = delivery_ready() ? calloc(1, sizeof(*waiter)) : NULL;
    if (!waiter)
        return log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory or thread to call the callback");
    *waiter = (struct waiter){.delivery.run = run,
                              .event = event,
                              .type = command_exec_callback_type,
                              .notify = pfn_notify,
                              .data = user_data,
                              .references = 1};
    cl_int status = log_next(call, "clRetainEvent", underlying.clRetainEvent(event));
    if (status == CL_SUCCESS && add(waiter, queue)) {
        if (!queue) /* it is CL_SUBMITTED from its creation, and may have been set before */
            look_at_user_event(event);
        return CL_SUCCESS;
    }
    if (status == CL_SUCCESS) {
        underlying.clReleaseEvent(event);
        status = log_refuse(call, CL_OUT_OF_HOST_MEMORY, "no memory or thread for the queue's callbacks");
    }
    free(waiter);
    return status;
}

static cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int execution_status)
{
    const cl_int status = underlying.clSetUserEventStatus(event, execution_status);
    if (status == CL_SUCCESS)
        look_at_user_event(event);
    return status;
}

/* ---- the end ---- */

/* Whether a thread is finding out what is due, or is about to end. */
static bool any_at_work(void)
{
    for (const struct callback_queue *list = callback_lists; list; list = list->after)
        if (list->sweeping || (list->threaded && !list->first))
            return true;
    return false;
}

static bool any_staying(void)
{
    return staying != NULL;
}

/* Whether a thread is finding out what is due. */
static bool any_sweeping(void)
{
    for (const struct callback_queue *list = callback_lists; list; list = list->after)
        if (list->sweeping)
            return true;
    return false;
}

/* Waits until the condition no longer holds, or that time has passed: nothing here may wait for a command. */
static void wait_while_locked(bool (*lasts)(void), unsigned milliseconds)
{
    const unsigned long long end = os_nanoseconds() + milliseconds * 1000000ull;
    while (lasts() && os_nanoseconds() < end)
        os_wait(&changed, &lock, 1);
}

/* Programs that end in order release their queues and contexts first. Callbacks that are due by then are delivered, as
 * far as the application's functions do not wait for this thread, and the last failed events are released. Nothing can
 * be delivered in a callback, or while the process ends, which then has no other threads. */
static void drain(void)
{
    enum { LONGEST_MS = 1000, MOMENT_MS = 2 * AFTER_FAILURE_MS };
    if (delivery_here() || os_process_ends())
        return;
    os_lock(&lock);
    const bool any = callback_lists != NULL || delivery_pending(); /* pending deliveries may have no list */
    for (struct callback_queue *list = callback_lists; list; list = list->after)
        sweep(list);
    draining++;
    os_wake_all(&changed);
    /* Callbacks that are due are called before a queue is released, unless that takes too long. */
    wait_while_locked(any_sweeping, LONGEST_MS);
    wait_while_locked(any_at_work, MOMENT_MS);
    os_unlock(&lock);
    if (any)
        delivery_drain();
    os_lock(&lock);
    wait_while_locked(any_staying, MOMENT_MS);
    draining--;
    os_unlock(&lock);
    if (any)
        watches_drain();
}

static cl_int CL_API_CALL release_command_queue(cl_command_queue command_queue)
{
    if (!fence_keeps(command_queue, false)) /* by another reference of the application */
        drain();
    return underlying.clReleaseCommandQueue(command_queue);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    if (!fence_keeps(context, true)) /* the release of its last queue drains */
        drain();
    return underlying.clReleaseContext(context);
}

void event_callback_install(cl_icd_dispatch *table)
{
    table->clSetEventCallback = set_event_callback;
    table->clSetUserEventStatus = set_user_event_status;
    table->clReleaseCommandQueue = release_command_queue;
    table->clReleaseContext = release_context;
}
