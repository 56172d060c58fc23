/* Callbacks of events: each comes once, with what the event has come to, and not before. */
#include "run.h"

#include <stdlib.h>
#include <time.h>

static void CL_CALLBACK called(cl_event event, cl_int status, void *data)
{
    struct notice *notice = data;
    (void)event;
    atomic_store(&notice->status, status);
    atomic_fetch_add(&notice->calls, 1);
}

#ifdef __SANITIZE_ADDRESS__
const char *__lsan_default_suppressions(void);

/* What cld3d keeps for a callback stays where the driver never calls it (QUIRK_FAILS_SILENTLY). */
const char *__lsan_default_suppressions(void)
{
    return "leak:set_event_callback\n";
}
#endif

/* Of a command that waits for a user event. */
static void check_early(const struct run *run, const struct notice *notice)
{
    const struct node *node = &run->model.nodes[notice->node];
    if (notice->type == CL_COMPLETE && node->fate == PENDING && !node->doomed && atomic_load(&notice->calls))
        fuzz_fail("a callback comes too early", "a callback of n%d came with %d, but it waits for a user event",
                  notice->node, atomic_load(&notice->status));
}

void run_callback(struct run *run, const struct op *op)
{
    static const cl_int types[] = {CL_COMPLETE, CL_COMPLETE, CL_RUNNING, CL_SUBMITTED};
    const struct slot *slot = &run->slots[op->extra % SLOTS];
    for (const struct notice *notice = run->notices; notice; notice = notice->next)
        check_early(run, notice);
    if (!slot->event)
        return;
    struct notice *notice = calloc(1, sizeof(*notice));
    notice->node = slot->node;
    notice->user = run->model.nodes[slot->node].kind == NODE_USER;
    notice->type = types[op->data % 4];
    if (run->world.quirks & QUIRK_NEEDS_CALLBACKS && notice->user && notice->type == CL_RUNNING)
        notice->type = CL_COMPLETE;
    say(run, "    a callback of n%d for %d", notice->node, notice->type);
    if (!TRIED(clSetEventCallback(slot->event, notice->type, called, notice))) {
        free(notice);
        return;
    }
    notice->next = run->notices;
    run->notices = notice;
}

void notices_settle(struct run *run)
{
    for (struct notice *notice = run->notices; notice; notice = notice->next)
        notice->fate = run->model.nodes[notice->node].fate;
}

static void await_call(const struct notice *notice)
{
    static const struct timespec pause = {0, 1000 * 1000};
    for (unsigned i = 0; i < 20000 && !atomic_load(&notice->calls); i++) {
        nanosleep(&pause, NULL);
        fuzz_alive(MOST_OPS);
    }
}

/* A command that fails need not have been submitted or have begun, and a user event never is. */
static bool is_sure(const struct run *run, const struct notice *notice)
{
    if (run->world.quirks & QUIRK_FAILS_SILENTLY && notice->fate != DONE)
        return false;
    return notice->type == CL_COMPLETE || (notice->fate == DONE && !notice->user);
}

static void check_notice(const struct run *run, const struct notice *notice)
{
    const bool sure = is_sure(run, notice);
    if (sure)
        await_call(notice);
    if (!sure && notice->fate != DONE)
        return;
    const unsigned calls = atomic_load(&notice->calls);
    const cl_int status = atomic_load(&notice->status);
    if (calls > 1 || (calls == 0 && sure))
        fuzz_fail("a callback does not come once", "the callback of n%d for %d came %u times", notice->node,
                  notice->type, calls);
    if (!calls)
        return;
    if (notice->type != CL_COMPLETE ? status > notice->type
                                    : (notice->fate == DONE && status) || (notice->fate == FAILED && status >= 0))
        fuzz_fail("a callback has the wrong status", "the callback of n%d for %d, which has %s, came with %d",
                  notice->node, notice->type, notice->fate == DONE ? "ended well" : "failed", status);
}

static struct notice *kept; /* those that may come after the sequence, until the process ends */

unsigned notices_due(void)
{
    unsigned due = 0;
    for (const struct notice *notice = kept; notice; notice = notice->next)
        due += atomic_load(&notice->calls) == 0;
    return due;
}

void notices_end(struct run *run)
{
    while (run->notices) {
        struct notice *notice = run->notices;
        check_notice(run, notice);
        run->notices = notice->next;
        if (is_sure(run, notice)) {
            free(notice);
            continue;
        }
        notice->next = kept;
        kept = notice;
    }
}
