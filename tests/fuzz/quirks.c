#include "quirks.h"

enum { POCL_7 = 1 << DRIVER_POCL_7, POCL = 1 << DRIVER_POCL | POCL_7, RUSTICL = 1 << DRIVER_RUSTICL };

/* The drivers of each, and why. */
static const unsigned drivers[QUIRKS] = {
    /* PoCL 3.1 ends the process if a command fails whose event nobody holds, or that ends at that moment for another reason. */
    [QUIRK_NO_FAILURES] = POCL,
    /* PoCL 3.1 never ends a command that is enqueued behind an event which has failed. */
    [QUIRK_NO_FAILED_WAITS] = POCL,
    /* In PoCL 3.1 a command that fails lets later ones of its queue overtake those before it. */
    [QUIRK_NO_OVERTAKING] = POCL,
    /* In rusticl 22.3 clFinish after clFlush may return before the work is done. */
    [QUIRK_FINISH_BY_MARKER] = RUSTICL,
    /* In PoCL 3.1 a blocking command waits for all of its queue, whatever the order of execution. */
    [QUIRK_BLOCKING_FINISHES] = POCL,
    /* In PoCL 3.1 a marker with a wait list waits for all of an out-of-order queue, too. */
    [QUIRK_MARKER_WAITS_FOR_ALL] = POCL,
    /* In PoCL 3.1 a barrier with a wait list lets later commands go past what an earlier barrier of an out-of-order queue holds
     * back. */
    [QUIRK_BARRIER_FORGETS] = POCL,
    /* PoCL 3.1 and rusticl 22.3 call no callback of an event that fails. */
    [QUIRK_FAILS_SILENTLY] = POCL | RUSTICL,
    /* In rusticl 22.3 the unmap of an image that was mapped for reading gives it the bytes of the map, whatever was written to it
     * meanwhile. */
    [QUIRK_UNMAP_WRITES_BACK] = RUSTICL,
    /* In rusticl 22.3 a write to an image of a buffer, and a read of a part of one, takes texels for bytes. */
    [QUIRK_BUFFER_IMAGES_IN_BYTES] = RUSTICL,
    /* PoCL 3.1 frees commands behind a failed one while it uses them: what waits for a deferred acquire or release that has failed is
     * run (docs/behaviour.md). */
    [QUIRK_HIDES_FAILED_GATES] = POCL,
    /* PoCL 7.1 ends the process if an event is released whose callback has not come, as one for CL_RUNNING of a user event never
     * does. */
    [QUIRK_NEEDS_CALLBACKS] = POCL_7,
};

bool quirk(enum driver driver, enum quirk quirk)
{
    return drivers[quirk] >> driver & 1;
}
