/* Acquires and releases in a queue that a user event blocks.
 *
 * The program's call may not wait for a user event: perhaps the program sets it right after. So the call enqueues a marker,
 * which is complete when the commands before it are, and puts a gate behind it, a user event of ours that blocks the rest of
 * the queue back: later commands of the queue keep their order. All else happens in between, one deferred command of an
 * object after the other: Direct3D's part, and OpenCL's in a queue of our own. It begins when the last user event that blocked
 * the queue before the command is set, inside that call: only such a call can set the queue free, and when it returns
 * Direct3D sees the result. In a callback nobody may wait: there it is begun, and whoever ends OpenCL's part goes on with
 * Direct3D's: a thread of the driver, or one of ours where the driver does not tell of a failure.
 *
 * A deferred command that fails changes nothing: its objects stay with the side that has them. What a later command of the
 * chain then finds with the other side fails in the same way. */
#include "share/command.h"

#include "emulate/emulate.h"
#include "emulate/delivery.h"
#include "log.h"

#include <stdint.h>
#include <stdlib.h>

enum deferred_kind {
    DEFERRED_RELEASE,
    DEFERRED_ACQUIRE,
    DEFERRED_UNDO /* of an acquire that failed while some of its commands were enqueued */
};

struct deferred {
    struct command command;   /* its own lists and blockers */
    enum deferred_kind kind;
    cl_event gate;            /* owned; NULL of an undo, for which nothing waits */
    struct event_list before; /* what it waits for: a marker behind the earlier commands, the bytes of acquires; of an undo
                                 the commands that were enqueued */
    cl_command_queue own;     /* owned; for the moves, since the application's queue waits at the gate */
    struct event_list moves;
    bool moving;              /* the moves are enqueued */
    bool done;                /* what the gate will say */
    atomic_bool failed;       /* one of the events has */
    cl_uint at;               /* the next event to wait for */
    atomic_uint references;
    struct blocker *behind;      /* kept; what blocked the command when it was enqueued, or NULL. What blocks its queue since then
                                 comes after it */
    struct blocker *gate_blocker;   /* kept; the gate's */

    /* Guarded by registry_lock. */
    cl_event told_by;         /* whose end somebody has to go on with, of a command that was begun in a callback: who sets it to
                                 NULL does */
    bool told;                /* the driver has been asked to call back at that end */
    unsigned number;          /* in the order of their calls */
    bool begun;               /* somebody runs it */
    bool over;                /* Direct3D has what it was to bring; the gate may be open */
    bool coming;              /* see coming_locked */
    bool depends;             /* of one look through the list: on the user event that is being set */
    unsigned owner;           /* who sets that event: nobody else begins it. 0: anybody does */
    struct deferred *after;

    struct reaped reaped;
};

/* In the order of their calls. Guarded by registry_lock. */
static struct deferred *list;
static unsigned numbers;
/* How many end in callbacks and are about to be the reaper's, though their gates may be open. */
static atomic_uint ending;

static const cl_icd_dispatch *below(void)
{
    return tier_formats();
}

static void put(void *what)
{
    struct deferred *d = what;
    if (atomic_fetch_sub_explicit(&d->references, 1, memory_order_acq_rel) != 1)
        return;
    event_list_close(&d->before);
    event_list_close(&d->moves);
    event_put(d->gate);
    if (d->own)
        below()->clReleaseCommandQueue(d->own);
    command_lists_free(&d->command);
    record_release(d->command.queue);
    blocker_put(d->behind);
    blocker_put(d->gate_blocker);
    free(d);
}

/* rusticl 22.3 calls back with the event locked, which can't be given back there. */
static const struct reap_class ended_in_callback = {REAP_COMMAND, NULL, put};

/* A copy of the command that outlives its call. */
static struct deferred *make(const struct command *c, enum deferred_kind kind)
{
    struct deferred *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    atomic_store_explicit(&d->references, 1, memory_order_relaxed);
    d->kind = kind;
    d->command = (struct command){.api = c->api, .call = c->call, .type = c->type, .queue = c->queue};
    record_retain(c->queue);
    event_list_open(&d->before);
    event_list_open(&d->moves);
    if (command_lists_copy(&d->command, c))
        return d;
    put(d);
    return NULL;
}

/* The command stands in the list from now on, and its objects show `state`. What held the queue may be over by now, and
 * nobody else would run the command then. */
static void append(struct deferred *d, enum object_state state)
{
    os_lock(&registry_lock);
    struct deferred **place = &list;
    while (*place)
        place = &(*place)->after;
    *place = d;
    d->number = ++numbers;
    command_show_locked(&d->command, state);
    os_unlock(&registry_lock);
    deferred_run(0);
}

/* Puts the gate into the queue and gives the application its event. What the command waits for is flushed before: rusticl 22.3
 * tells of the end of a flushed batch's commands when all of them are over, and the gate may be opened by who is told. */
static cl_int close_gate(struct command *c, struct deferred *d)
{
    cl_event end = NULL;
    struct blocker *blocker;
    cl_int status = blocker_begin(c->call, c->queue->head.handle, ORDER_BEFORE_ALL, 1, &d->gate, true, &blocker);
    if (status != CL_SUCCESS)
        return status;
    queue_push(c->queue->head.handle);
    status = log_next(c->call, "clEnqueueBarrierWithWaitList",
                      below()->clEnqueueBarrierWithWaitList(c->queue->head.handle, 1, &d->gate, &end));
    blocker_end(blocker, status, end);
    if (status != CL_SUCCESS)
        return status;
    if (c->event) {
        event_track(end, c->type, c->queue, c->first);
        c->first = NULL;
        *c->event = end;
    } else {
        event_put(end);
    }
    return CL_SUCCESS;
}

static bool add_event(struct event_list *list, cl_event event)
{
    if (!event_list_reserve(list, 1) || below()->clRetainEvent(event) != CL_SUCCESS)
        return false;
    event_list_add(list, event);
    return true;
}

/* An acquire in an out-of-order queue comes after its wait list and the barriers of its queue, and after nothing else, which a
 * marker does not. PoCL forgets those barriers for the gate's. */
static cl_int wait_for_list(struct command *c, struct deferred *d)
{
    bool added = blocked_list_events(c->queue, ORDER_BEFORE_ALL, &d->before);
    for (cl_uint i = 0; i < c->wait_count && added; i++)
        added = add_event(&d->before, c->wait[i]);
    if (!added)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    command_blocker_end(c, CL_SUCCESS, NULL);
    return CL_SUCCESS;
}

/* The marker after which nothing of the queue, or of the wait list, comes before the command. */
static cl_int wait_for_queue(struct command *c, struct deferred *d)
{
    cl_event marker;
    if (!event_list_reserve(&d->before, 1))
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    cl_int status = d->kind == DEFERRED_RELEASE ? command_barrier(c) : CL_SUCCESS;
    if (status == CL_SUCCESS)
        status = log_next(c->call, "clEnqueueMarkerWithWaitList",
                          below()->clEnqueueMarkerWithWaitList(c->queue->head.handle, c->wait_count, c->wait, &marker));
    if (status != CL_SUCCESS)
        return status;
    event_list_add(&d->before, marker);
    if (queue_loses_order(c->queue) && !blocked_list_events(c->queue, ORDER_ALONE, &d->before))
        status = log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    command_blocker_end(c, CL_SUCCESS, marker);
    if (c->event && queue_profiles(c->queue) && below()->clRetainEvent(marker) == CL_SUCCESS)
        c->first = marker;
    return status;
}

/* The bytes of an acquire may come from another queue. */
static cl_int wait_for_uploads(struct deferred *d)
{
    bool added = true;
    for (cl_uint i = 0; i < d->command.count && added; i++) {
        struct upload *upload = object_upload(d->command.objects[i]);
        added = !upload || add_event(&d->before, upload->event);
        upload_put(upload);
    }
    return added ? CL_SUCCESS
                 : log_refuse(d->command.call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
}

/* What the command waits for, and its gate. */
static cl_int enqueue(struct command *c, struct deferred *d)
{
    cl_int status;
    d->behind = blocker_keep(c->blocker);
    d->gate = below()->clCreateUserEvent(c->queue->context->head.handle, &status);
    if (!d->gate)
        return log_next(c->call, "clCreateUserEvent", status);
    d->gate_blocker = blocker_user_event(d->gate);
    if (!d->gate_blocker)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    if (d->kind == DEFERRED_ACQUIRE && queue_out_of_order(c->queue))
        status = wait_for_list(c, d);
    else
        status = wait_for_queue(c, d);
    if (status == CL_SUCCESS)
        status = wait_for_uploads(d);
    return status == CL_SUCCESS ? close_gate(c, d) : status;
}

static cl_int defer(struct command *c, enum deferred_kind kind, enum object_state state)
{
    struct deferred *d = make(c, kind);
    if (!d)
        return log_refuse(c->call, CL_OUT_OF_HOST_MEMORY, "no memory to defer the command");
    const cl_int status = enqueue(c, d);
    if (status != CL_SUCCESS) {
        blockers_over(d->gate, true); /* it is in no queue */
        put(d);
        return status;
    }
    log_write(LOG_DEBUG, "%s: the queue waits for a user event; the objects change hands when that is set", c->call);
    append(d, state);
    return CL_SUCCESS;
}

cl_int deferred_release(struct command *c)
{
    return defer(c, DEFERRED_RELEASE, OBJECT_IDLE);
}

cl_int deferred_acquire(struct command *c)
{
    return defer(c, DEFERRED_ACQUIRE, OBJECT_ACQUIRED);
}

static bool same_surface(const struct object_record *a, const struct object_record *b)
{
    const struct surface *of = &a->transfer->surface, *other = &b->transfer->surface;
    return a->context == b->context && of->resource == other->resource &&
           of->desc.subresource == other->desc.subresource && of->desc.format == other->desc.format;
}

/* Whether a deferred release will write to what one of the objects of `c` shares. */
static bool writes_locked(const struct deferred *d, const struct command *c)
{
    for (cl_uint i = 0; i < d->command.count && d->kind == DEFERRED_RELEASE && !d->over; i++)
        for (cl_uint k = 0; k < c->count; k++)
            if (same_surface(d->command.objects[i], c->objects[k]))
                return true;
    return false;
}

bool deferred_writes_to(const struct command *c)
{
    bool writes = false;
    os_lock(&registry_lock);
    for (const struct deferred *d = list; d && !writes; d = d->after)
        writes = writes_locked(d, c);
    os_unlock(&registry_lock);
    return writes;
}

struct deferred *deferred_undo_prepare(const struct command *c)
{
    struct deferred *undo = make(c, DEFERRED_UNDO);
    if (undo)
        undo->behind = blocker_keep(c->blocker);
    return undo;
}

struct event_list *deferred_undo_events(struct deferred *undo)
{
    return &undo->before;
}

void deferred_undo_begin(struct deferred *undo)
{
    append(undo, OBJECT_IDLE);
}

void deferred_undo_drop(struct deferred *undo)
{
    if (undo)
        put(undo);
}

/* ---- the second part ---- */

/* The events that have to be over before the next step. */
static struct event_list *awaited(struct deferred *d)
{
    return d->moving ? &d->moves : &d->before;
}

/* OpenCL's part. Its events are waited for even where it fails in the middle. */
static void enqueue_moves(struct deferred *d)
{
    const struct command *c = &d->command;
    cl_device_id device;
    cl_int status = below()->clGetCommandQueueInfo(c->queue->head.handle, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    d->moving = true;
    if (status == CL_SUCCESS)
        d->own = below()->clCreateCommandQueue(c->queue->context->head.handle, device, 0, &status);
    if (log_next(c->call, "clCreateCommandQueue", status) == CL_SUCCESS)
        status = d->kind == DEFERRED_RELEASE ? command_cl_give(c, c->count, d->own, 0, NULL, &d->moves)
                                             : command_cl_take(c, d->own, 0, NULL, &d->moves);
    if (d->own)
        queue_push(d->own);
    if (status != CL_SUCCESS)
        atomic_store(&d->failed, true);
}

/* What the command waited for is over. False: it is at its end already. */
static bool begin_moves(struct deferred *d)
{
    const struct command *c = &d->command;
    const bool release = d->kind == DEFERRED_RELEASE;
    if (d->kind == DEFERRED_UNDO || atomic_load(&d->failed))
        return false;
    for (cl_uint i = 0; i < c->count && release; i++)
        object_end_upload(c->objects[i]);
    if (!command_owner_is(c, release))
        return false;
    if (!release && !command_d3d_give(c))
        return false;
    enqueue_moves(d);
    return true;
}

/* The moves are over. */
static void end_moves(struct deferred *d)
{
    const struct command *c = &d->command;
    const bool release = d->kind == DEFERRED_RELEASE, moved = !atomic_load(&d->failed);
    if (release && moved)
        d->done = command_d3d_take(c, c->count);
    else if (!release && !moved)
        command_undo(c, 0);
    else
        d->done = moved;
    if (moved)
        command_set_owner(c, !release);
}

/* Goes on when what was awaited is over. False: there is more to wait for. */
static bool step(struct deferred *d)
{
    if (!d->moving && begin_moves(d))
        return false;
    if (d->moving)
        end_moves(d);
    else if (d->kind == DEFERRED_UNDO)
        command_undo(&d->command, 0);
    if (!d->done && d->kind != DEFERRED_UNDO)
        log_write(LOG_WARN, "%s: the deferred command failed, or one that it waits for: the objects stay whose they were",
                  d->command.call);
    return true;
}

/* Bytes that OpenCL has written and that did not get to Direct3D have to get there with the next release. */
static void keep_written(const struct deferred *d)
{
    os_lock(&registry_lock);
    for (cl_uint i = 0; i < d->command.count && !d->done; i++)
        if (d->command.objects[i]->opencl_owns)
            d->command.objects[i]->written = true;
    os_unlock(&registry_lock);
}

/* What comes behind a command that failed fails too in an in-order queue, before its gate tells the driver. The events of the
 * later ones are behind that gate and get an error from drivers that hand errors on, though NVIDIA's may show the markers
 * between them as complete. */
static void fail_later(const struct deferred *d)
{
    if (d->done || d->kind == DEFERRED_UNDO || queue_out_of_order(d->command.queue))
        return;
    os_lock(&registry_lock);
    for (struct deferred *other = d->after; other; other = other->after)
        if (other->kind != DEFERRED_UNDO && other->command.queue == d->command.queue)
            atomic_store(&other->failed, true);
    os_unlock(&registry_lock);
}

/* Behind a gate that fails comes a command that waits for the marker, too, in an in-order queue. What still holds the marker does not
 * end it at this moment. */
static void let_marker_end(const struct deferred *d)
{
    const struct queue_record *queue = d->command.queue;
    if (d->done || !d->gate || !d->before.count || queue_out_of_order(queue) || !context_has(queue->context, QUIRK_POCL_ENDS))
        return;
    os_lock(&registry_lock);
    const bool held = blocker_active_locked(d->behind);
    os_unlock(&registry_lock);
    cl_event marker = d->before.events[0];
    if (!held || event_status(marker) <= CL_COMPLETE)
        command_let_end(marker, 1 + (d->behind != NULL) + queue_profiles(queue));
}

/* Its gate opens for all that wait for it, and with that it leaves the list. */
static void finish(struct deferred *d)
{
    const bool later = callback_runs_here();
    atomic_fetch_add_explicit(&ending, later, memory_order_relaxed);
    keep_written(d);
    fail_later(d);
    command_finish(&d->command, false, OBJECT_IDLE);
    os_lock(&registry_lock);
    d->over = true;
    os_unlock(&registry_lock);
    if (d->gate) {
        let_marker_end(d);
        gate_open(d->command.call, d->gate, d->done);
        blockers_over(d->gate, !d->done);
    }
    os_lock(&registry_lock);
    struct deferred **place = &list;
    while (*place != d)
        place = &(*place)->after;
    *place = d->after;
    os_unlock(&registry_lock);
    if (later)
        reap_later(&d->reaped, &ended_in_callback, d);
    else
        put(d);
    atomic_fetch_sub_explicit(&ending, later, memory_order_release);
}

/* ---- who runs it, and when ---- */

static bool share_objects(const struct deferred *a, const struct deferred *b)
{
    for (cl_uint i = 0; i < a->command.count; i++)
        for (cl_uint k = 0; k < b->command.count; k++)
            if (a->command.objects[i] == b->command.objects[k])
                return true;
    return false;
}

static bool ready_locked(const struct deferred *d, unsigned owner)
{
    if (d->begun || (d->owner && d->owner != owner) || blocker_active_locked(d->behind))
        return false;
    /* Behind an earlier command on one of its objects it has to wait, even in a free queue. */
    for (const struct deferred *before = list; before != d; before = before->after)
        if (share_objects(before, d))
            return false;
    return true;
}

static struct deferred *next_ready(unsigned owner)
{
    os_lock(&registry_lock);
    struct deferred *d = list;
    while (d && !ready_locked(d, owner))
        d = d->after;
    if (d)
        d->begun = true;
    os_unlock(&registry_lock);
    if (d)
        queue_flush(d->command.queue);
    return d;
}

/* It stands first for its objects now. An acquire of one that OpenCL has still, since a release before it has failed, fails, and
 * the bytes of the acquire before that may be held for longer. */
static void look_ahead(struct deferred *d)
{
    if (d->kind == DEFERRED_ACQUIRE && !d->moving && !command_owner_is(&d->command, false))
        atomic_store(&d->failed, true);
}

/* Whether nothing has to be waited for any more before the next step. A command that has failed waits for no other one, which
 * may be held for ever, unless commands of its own use the staging copies. */
static bool waited(struct deferred *d)
{
    const bool in_use = d->moving || d->kind == DEFERRED_UNDO;
    look_ahead(d);
    if (d->at < awaited(d)->count && (in_use || !atomic_load(&d->failed)))
        return false;
    d->at = 0;
    return true;
}

static void await_here(struct deferred *d, cl_event event)
{
    if (!event_await(event))
        atomic_store(&d->failed, true);
}

static void run_here(struct deferred *d)
{
    do {
        while (!waited(d))
            await_here(d, awaited(d)->events[d->at++]);
    } while (!step(d));
    finish(d);
}

static void run_ready_later(void);
static void run_later(struct deferred *d);

/* The first command behind number `after` that waits for a driver's callback at the end of `event`, with a hold. */
static struct deferred *find_told(unsigned after, cl_event *event)
{
    os_lock(&registry_lock);
    struct deferred *d = list;
    while (d && (d->number <= after || !d->told_by || !d->told))
        d = d->after;
    if (d) {
        atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
        *event = d->told_by;
    }
    os_unlock(&registry_lock);
    return d;
}

/* Whether the caller has to go on with a command at the end of `event`, instead of a callback. */
static bool take_told(struct deferred *d, cl_event event)
{
    os_lock(&registry_lock);
    const bool mine = d->told_by == event && d->told;
    if (mine)
        d->told_by = NULL;
    os_unlock(&registry_lock);
    return mine;
}

/* PoCL 3.1 and rusticl 22.3 call no callback for a command that fails after they were asked to, so somebody looks. What OpenCL
 * has failed to do needs Direct3D for an undo at most; what comes behind it goes on as in a callback. */
static unsigned look_for_failed(void)
{
    enum { PAUSE_MS = 4 };
    unsigned last = 0, left = 0;
    cl_event event;
    for (struct deferred *d = find_told(0, &event); d; d = find_told(last, &event)) {
        last = d->number;
        if (event_status(event) < 0 && take_told(d, event)) {
            atomic_store(&d->failed, true);
            run_later(d);
        }
        put(d);
        left++;
    }
    return left ? PAUSE_MS : 0;
}

static struct watch watch = {.look = look_for_failed};

static struct deferred *find_told_locked(unsigned number, cl_event event)
{
    struct deferred *d = list;
    while (d && (d->number != number || d->told_by != event))
        d = d->after;
    return d;
}

/* The command is known by its number: another may have gone on with it, and it be gone. */
static void CL_CALLBACK part_over(cl_event event, cl_int status, void *data)
{
    struct callback_entry entry;
    os_lock(&registry_lock);
    struct deferred *d = find_told_locked((unsigned)(uintptr_t)data, event);
    if (d)
        d->told_by = NULL;
    os_unlock(&registry_lock);
    if (!d)
        return;
    if (status < 0)
        atomic_store(&d->failed, true);
    callback_enter(&entry, event, status);
    run_later(d);
    callback_leave(&entry);
}

static void set_told(struct deferred *d, cl_event event)
{
    os_lock(&registry_lock);
    d->told_by = event;
    d->told = false;
    os_unlock(&registry_lock);
}

/* False: nobody will tell, or the event is over already, as the callback that runs here has told. */
static bool ask_to_tell(struct deferred *d, cl_event event)
{
    const unsigned number = d->number;
    cl_int status;
    if (callback_tells(event, &status) ||
        (context_has(d->command.queue->context, QUIRK_POCL_TELLS) && event_status(event) <= CL_COMPLETE))
        return false;
    set_told(d, event);
    if (below()->clSetEventCallback(event, CL_COMPLETE, part_over, (void *)(uintptr_t)number) != CL_SUCCESS) {
        set_told(d, NULL);
        return false;
    }
    os_lock(&registry_lock);
    d = find_told_locked(number, event); /* unless part_over is through already */
    if (d)
        d->told = true;
    os_unlock(&registry_lock);
    if (!emulate_calls_back()) /* which tells of those that fail, too */
        watch_start(&watch);
    return true;
}

/* Whoever ends what is awaited goes on with the command, one event after the other. */
static void run_later(struct deferred *d)
{
    do {
        while (!waited(d)) {
            cl_event event = awaited(d)->events[d->at++];
            if (ask_to_tell(d, event))
                return; /* to part_over, which may be through already */
            await_here(d, event);
        }
    } while (!step(d));
    finish(d);
    run_ready_later();
}

static void run_ready_later(void)
{
    for (struct deferred *d = next_ready(0); d; d = next_ready(0))
        run_later(d);
}

/* Whether a command comes to its end by itself: others run it, or all that it waits for. */
static bool coming_locked(const struct deferred *d)
{
    for (const struct deferred *before = list; before != d; before = before->after)
        if (!before->coming && share_objects(before, d))
            return d->begun;
    return d->begun || blocker_coming_locked(d->behind);
}

static void look_locked(void)
{
    for (struct deferred *d = list; d; d = d->after) {
        d->coming = coming_locked(d);
        blocker_comes_locked(d->gate_blocker, d->coming);
    }
}

/* Whether the end of the marked user event is needed for that of the command. */
static bool depends_locked(const struct deferred *d)
{
    for (const struct deferred *before = list; before != d; before = before->after)
        if (before->depends && share_objects(before, d))
            return true;
    return hold_depends_locked(d->behind);
}

unsigned deferred_claim_locked(unsigned owner)
{
    static unsigned owners;
    if (!owner)
        owner = owners += owners + 1 ? 1 : 2; /* never 0 */
    for (struct deferred *d = list; d; d = d->after) {
        d->depends = depends_locked(d);
        hold_mark_locked(d->gate_blocker, d->depends);
        if (d->depends && !d->begun && !d->owner)
            d->owner = owner;
    }
    return owner;
}

/* What other user events block still is not the owner's any longer. */
static void disown(unsigned owner)
{
    os_lock(&registry_lock);
    look_locked();
    for (struct deferred *d = list; d; d = d->after)
        if (d->owner == owner && !d->coming)
            d->owner = 0;
    os_unlock(&registry_lock);
}

static bool owns_any(unsigned owner)
{
    os_lock(&registry_lock);
    const struct deferred *d = list;
    while (d && d->owner != owner)
        d = d->after;
    os_unlock(&registry_lock);
    return d != NULL;
}

static void run_ready_here(unsigned owner)
{
    for (struct deferred *d = next_ready(owner); d; d = next_ready(owner))
        run_here(d);
}

/* What the owner's commands wait for may be begun, in a callback or by another thread. rusticl 22.3 tells of an event's end, and
 * calls back, only when somebody waits for the event or its queue goes on, which the gate keeps it from. */
static void help(void)
{
    cl_event event;
    struct deferred *d = find_told(0, &event);
    if (d && take_told(d, event)) {
        await_here(d, event);
        run_here(d);
    } else {
        sleep_shortly();
    }
    if (d)
        put(d);
}

/* Waits for what the caller's user event has set free, and for what comes before that. Commands of others are not waited for:
 * their threads may wait for what the caller has, as a device's critical section. */
static void run_owned(unsigned owner)
{
    disown(owner);
    run_ready_here(owner);
    while (owns_any(owner)) {
        help();
        run_ready_here(owner);
    }
}

void deferred_await_ends(void)
{
    enum { MOST = 1000 }; /* milliseconds at least: a callback of the application's may be what takes so long */
    for (int i = 0; i < MOST && atomic_load_explicit(&ending, memory_order_acquire) && !callback_runs_here(); i++)
        sleep_shortly();
}

void deferred_run(unsigned owner)
{
    if (callback_runs_here())
        run_ready_later();
    else if (owner)
        run_owned(owner);
    else
        run_ready_here(0);
}
