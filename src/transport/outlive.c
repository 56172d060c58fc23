#include "transport/outlive.h"

#include "emulate/fence.h"
#include "transport/commands.h"

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
static bool over(void *what, struct reap *reap)
{
    struct outliving *one = what;
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

static void destroy(void *what)
{
    struct outliving *one = what;
    drop_fence(one);
    one->give_back(one);
}

static const struct reap_class outlives_its_object = {REAP_MEMORY, over, destroy};

bool outlive(struct outliving *one, cl_mem memory, cl_context uncounted, void (*give_back)(struct outliving *one))
{
    one->memory = memory;
    one->uncounted = uncounted;
    one->give_back = give_back;
    if (!over(one, &(struct reap){.patience = 3})) {
        reap_later(&one->reaped, &outlives_its_object, one);
        return true;
    }
    drop_fence(one);
    return false;
}
