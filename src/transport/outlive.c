#include "transport/outlive.h"

#include "emulate/delivery.h"
#include "emulate/fence.h"
#include "handles/tiers.h"
#include "transport/commands.h"

#include <stdatomic.h>

enum { SHORTEST_POLL_MS = 1, LONGEST_POLL_MS = 64 };
/* How long a driver is waited for that still counts a command, at least: one that must have ended, and one that may run. */
enum { SETTLED_MS = 100, UNSETTLED_MS = 3 };

static atomic_uint used_count; /* records whose memory objects commands still use */
static atomic_uint poll_pause; /* until the next poll, in milliseconds */

static bool is_used(const struct outliving *one)
{
    return commands_use(one->memory, 1) || (one->whole && commands_use(one->whole, one->whole_references));
}

static bool has_passed(struct outliving *one)
{
    if (!one->fence)
        one->fence = fence_make(one->uncounted);
    return one->fence && fence_passed(one->fence);
}

/* The driver may count a command for a moment after it has ended. */
static bool has_ended(struct outliving *one, struct reap *reap)
{
    do {
        if (one->uncounted ? has_passed(one) : !is_used(one))
            return true;
    } while (reap_pause(reap));
    return false;
}

static void drop_fence(struct outliving *one)
{
    if (one->fence)
        fence_free(one->fence);
    one->fence = NULL;
}

/* The driver calls the destructor callbacks of the application now. */
static void release_objects(struct outliving *one)
{
    drop_fence(one);
    below()->clReleaseMemObject(one->memory);
    if (one->whole)
        below()->clReleaseMemObject(one->whole);
    one->memory = one->whole = NULL;
    atomic_fetch_sub(&used_count, 1);
}

/* The rest is Direct3D's, which is not called at REAP_AT_COMMAND. */
static bool over(void *what, struct reap *reap)
{
    struct outliving *one = what;
    if (one->memory && has_ended(one, reap))
        release_objects(one);
    return !one->memory && reap->moment > REAP_AT_COMMAND;
}

static void destroy(void *what)
{
    struct outliving *one = what;
    one->give_back(one);
}

static const struct reap_class outlives_its_object = {REAP_MEMORY, over, destroy};

/* An application may wait for a destructor callback without any further call of OpenCL. */
static unsigned poll_memory(void)
{
    if (os_process_ends())
        return 0;
    const unsigned left = atomic_load(&used_count);
    reap_one_kind(REAP_MEMORY, REAP_AT_COMMAND);
    const unsigned next_pause = atomic_load(&poll_pause) * 2;
    atomic_store(&poll_pause, next_pause < LONGEST_POLL_MS ? next_pause : LONGEST_POLL_MS);
    if (atomic_load(&used_count) < left)
        atomic_store(&poll_pause, SHORTEST_POLL_MS);
    return atomic_load(&used_count) ? atomic_load(&poll_pause) : 0;
}

static void watch_memory(void)
{
    static struct watch watch = {.poll = poll_memory};
    atomic_store(&poll_pause, SHORTEST_POLL_MS);
    watch_start(&watch); /* if it can't, the calls that reap find the end */
}

bool outlive(struct outliving *one, cl_mem memory, cl_context uncounted, void (*give_back)(struct outliving *one))
{
    one->memory = memory;
    one->uncounted = uncounted;
    one->give_back = give_back;
    if (!has_ended(one, &(struct reap){.patience = one->settled ? SETTLED_MS : UNSETTLED_MS})) {
        atomic_fetch_add(&used_count, 1);
        reap_later(&one->reaped, &outlives_its_object, one);
        watch_memory();
        return true;
    }
    drop_fence(one);
    return false;
}
