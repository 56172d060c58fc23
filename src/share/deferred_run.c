/* Which thread runs deferred commands, and when. */
#include "share/deferred.h"

#include "emulate/delivery.h"
#include "emulate/emulate.h"

#include <limits.h>
#include <stdint.h>

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
    if (d->begun || (d->owner && d->owner != owner) || blocker_active_locked(d->blocked_by))
        return false;
    /* It must wait for earlier commands on its objects, even in a queue that nothing blocks. */
    for (const struct deferred *before = deferred_list; before != d; before = before->after)
        if (share_objects(before, d))
            return false;
    return true;
}

static struct deferred *next_ready(unsigned owner)
{
    os_lock(&registry_lock);
    struct deferred *d = deferred_list;
    while (d && !ready_locked(d, owner))
        d = d->after;
    if (d)
        d->begun = true;
    os_unlock(&registry_lock);
    if (d)
        queue_flush(d->command.queue);
    return d;
}

/* The command is now the first for its objects. If an earlier release has failed, OpenCL still has an object. An
 * acquire of that object fails at once, because the transfer of the previous acquire may be blocked for longer. */
static void look_ahead(struct deferred *d)
{
    if (d->kind == DEFERRED_ACQUIRE && !d->transferring && !command_owner_is(&d->command, false))
        atomic_store(&d->failed, true);
}

/* Whether the next step can begin. A command that has failed waits for no other one, which may be blocked forever,
 * unless its own commands use the transports' memory. */
static bool waited(struct deferred *d)
{
    const bool in_use = d->transferring || d->kind == DEFERRED_UNDO;
    look_ahead(d);
    if (d->next_wait < deferred_awaited(d)->count && (in_use || !atomic_load(&d->failed)))
        return false;
    d->next_wait = 0;
    return true;
}

/* The event before `next_wait` has failed. The command does not fail with barriers, which it only follows. */
static void note_failure(struct deferred *d)
{
    if (d->transferring || d->next_wait > d->barriers)
        atomic_store(&d->failed, true);
}

static void await_here(struct deferred *d, cl_event event)
{
    if (!event_await(event))
        note_failure(d);
}

static void run_here(struct deferred *d)
{
    do {
        while (!waited(d))
            await_here(d, deferred_awaited(d)->events[d->next_wait++]);
    } while (!deferred_step(d));
    deferred_finish(d);
}

static void run_ready_later(void);
static void run_later(struct deferred *d);

/* Whether the command can end only after the marked user event or command. */
static bool depends_locked(const struct deferred *d)
{
    for (const struct deferred *before = deferred_list; before != d; before = before->after)
        if (before->depends && share_objects(before, d))
            return true;
    return blocker_depends_locked(d->blocked_by);
}

void deferred_mark_locked(const struct blocker *user)
{
    for (struct deferred *d = deferred_list; d; d = d->after) {
        d->depends = depends_locked(d);
        blocker_mark_locked(d->gate_blocker, d->depends || (user && d->gate_blocker == user));
    }
}

/* Whether the owner's commands wait for this one. 0 owns none, and waits for all. */
static bool owner_waits_locked(unsigned owner, const struct deferred *command)
{
    bool waits = owner == 0;
    for (struct deferred *d = owner ? deferred_list : NULL; d; d = d->after) {
        d->depends = d == command || depends_locked(d);
        blocker_mark_locked(d->gate_blocker, d->depends);
        waits |= d->depends && d->owner == owner;
    }
    return waits;
}

/* The first command after number `after` that continues at the end of `event`, by a callback or by polling, and for which
 * the owner's commands wait; retained. `*polled`, which may be NULL: see struct deferred. */
static struct deferred *find_request(unsigned after, unsigned owner, cl_event *event, bool *polled)
{
    os_lock(&registry_lock);
    struct deferred *d = deferred_list;
    while (d && (d->number <= after || !d->callback_at || !d->request_open || !owner_waits_locked(owner, d)))
        d = d->after;
    if (d) {
        atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
        *event = d->callback_at;
        if (polled)
            *polled = d->polled;
    }
    os_unlock(&registry_lock);
    return d;
}

/* Whether the caller must continue a command at the end of `event`, instead of a callback. */
static bool take_request(struct deferred *d, cl_event event)
{
    os_lock(&registry_lock);
    const bool mine = d->callback_at == event && d->request_open;
    if (mine)
        d->callback_at = NULL;
    os_unlock(&registry_lock);
    return mine;
}

/* A thread polls for two reasons: PoCL 3.1 and rusticl 22.3 do not call back for a command that fails after the callback
 * was set, and a driver without memory refuses callbacks. After a failure of OpenCL's part, Direct3D is needed at most
 * for an undo; the commands behind it continue as in a callback. */
static unsigned poll_requests(void)
{
    enum { PAUSE_MS = 4 };
    unsigned last = 0, left = 0;
    cl_event event;
    bool polled;
    for (struct deferred *d = find_request(0, 0, &event, &polled); d; d = find_request(last, 0, &event, &polled)) {
        last = d->number;
        const cl_int status = event_status(event);
        if ((status < 0 || (polled && status == CL_COMPLETE)) && take_request(d, event)) {
            if (status < 0)
                note_failure(d);
            run_later(d);
        }
        deferred_put(d);
        left++;
    }
    return left ? PAUSE_MS : 0;
}

static struct watch watch = {.poll = poll_requests};

static struct deferred *find_request_locked(unsigned number, cl_event event)
{
    struct deferred *d = deferred_list;
    while (d && (d->number != number || d->callback_at != event))
        d = d->after;
    return d;
}

/* The command is identified by its number: another thread may have continued it, and it may no longer exist. */
static void CL_CALLBACK part_over(cl_event event, cl_int status, void *data)
{
    struct callback_entry entry;
    os_lock(&registry_lock);
    struct deferred *d = find_request_locked((unsigned)(uintptr_t)data, event);
    if (d)
        d->callback_at = NULL;
    os_unlock(&registry_lock);
    if (!d)
        return;
    if (status < 0)
        note_failure(d);
    callback_enter(&entry, event, status);
    run_later(d);
    callback_leave(&entry);
}

/* The number of this request. */
static unsigned note_request(struct deferred *d, cl_event event)
{
    os_lock(&registry_lock);
    d->callback_at = event;
    d->request_open = d->polled = false;
    const unsigned request = ++d->callback_requests;
    os_unlock(&registry_lock);
    return request;
}

/* The driver has taken a request, or it is `polled` instead. Another thread may have continued the command by now. */
static void confirm(unsigned number, cl_event event, unsigned request, bool polled)
{
    os_lock(&registry_lock);
    struct deferred *d = find_request_locked(number, event);
    if (d && d->callback_requests == request) {
        d->request_open = true;
        d->polled = polled;
    }
    os_unlock(&registry_lock);
}

/* Whether the caller must continue a command although the driver has taken its request. */
static bool withdraw(unsigned number, cl_event event, unsigned request)
{
    os_lock(&registry_lock);
    struct deferred *d = find_request_locked(number, event);
    const bool mine = d && d->callback_requests == request;
    if (mine)
        d->callback_at = NULL;
    os_unlock(&registry_lock);
    return mine;
}

/* Requests a callback at the end of `event`. False: there will be none, or the event has already ended, as the callback
 * that runs here has reported. */
static bool request_callback(struct deferred *d, cl_event event)
{
    const unsigned number = d->number;
    cl_int status;
    if (callback_reports_end(event, &status) ||
        (context_has(d->command.queue->context, QUIRK_POCL_CALLBACK_STATUS) && event_status(event) <= CL_COMPLETE))
        return false;
    const unsigned request = note_request(d, event);
    const bool refused =
        below()->clSetEventCallback(event, CL_COMPLETE, part_over, (void *)(uintptr_t)number) != CL_SUCCESS;
    confirm(number, event, request, refused);
    /* Without the polling thread nobody would see a failure; cld3d's own callbacks report it. */
    return (!refused && emulate_calls_back()) || watch_start(&watch) || !withdraw(number, event, request);
}

/* The thread that ends an awaited event continues the command, one event after the other. */
static void run_later(struct deferred *d)
{
    do {
        while (!waited(d)) {
            cl_event event = deferred_awaited(d)->events[d->next_wait++];
            if (request_callback(d, event))
                return; /* part_over continues, or already has */
            await_here(d, event);
        }
    } while (!deferred_step(d));
    deferred_finish(d);
    run_ready_later();
}

static void run_ready_later(void)
{
    for (struct deferred *d = next_ready(0); d; d = next_ready(0))
        run_later(d);
}

/* Whether a command ends without the program's help: other threads run it, or run everything that it waits for. */
static bool coming_locked(const struct deferred *d)
{
    for (const struct deferred *before = deferred_list; before != d; before = before->after)
        if (!before->coming && share_objects(before, d))
            return d->begun;
    return d->begun || blocker_coming_locked(d->blocked_by);
}

static void find_coming_locked(void)
{
    for (struct deferred *d = deferred_list; d; d = d->after) {
        d->coming = coming_locked(d);
        blocker_comes_locked(d->gate_blocker, d->coming);
    }
}

unsigned deferred_claim_locked(unsigned owner)
{
    static unsigned owners;
    if (!owner)
        owner = owners = owners % UINT_MAX + 1; /* never 0 */
    deferred_mark_locked(NULL);
    for (struct deferred *d = deferred_list; d; d = d->after)
        if (d->depends && !d->begun && !d->owner)
            d->owner = owner;
    return owner;
}

/* Takes from the owner the commands that other user events still block. */
static void disown(unsigned owner)
{
    os_lock(&registry_lock);
    find_coming_locked();
    for (struct deferred *d = deferred_list; d; d = d->after)
        if (d->owner == owner && !d->coming)
            d->owner = 0;
    os_unlock(&registry_lock);
}

static bool owns_any(unsigned owner)
{
    os_lock(&registry_lock);
    const struct deferred *d = deferred_list;
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

/* A command for which the owner's commands wait may have been begun in a callback or by another thread. rusticl 22.3
 * reports the end of an event, and calls back, only if a thread waits for the event or its queue continues, which the
 * gate prevents. */
static void help(unsigned owner)
{
    cl_event event;
    struct deferred *d = find_request(0, owner, &event, NULL);
    if (d && take_request(d, event)) {
        await_here(d, event);
        run_here(d);
    } else {
        os_sleep_shortly();
    }
    deferred_put(d);
}

/* Waits for the commands that the caller's user event has unblocked, and for those before them. Other threads' commands
 * are not waited for: those threads may wait for something that the caller holds, such as a device's critical
 * section. */
static void run_owned(unsigned owner)
{
    enum { ALONE = 1000 }; /* milliseconds at least */
    disown(owner);
    run_ready_here(owner);
    /* After a second, a driver may report nothing that is needed unless a thread waits for something else. */
    for (unsigned tries = 0; owns_any(owner); tries++) {
        help(tries < ALONE ? owner : 0);
        blockers_finish(); /* another thread's command may have been queued behind those that they wait for */
        run_ready_here(owner);
    }
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
