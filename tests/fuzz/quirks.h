/* What the executor leaves out since the OpenCL below can't do it. Each is a defect of a driver; none but QUIRK_HIDES_FAILED_GATES loosens
 * what the calls that remain must give. */
#ifndef CLD3D_TESTS_FUZZ_QUIRKS_H
#define CLD3D_TESTS_FUZZ_QUIRKS_H

enum quirk {
    /* PoCL 3.1 ends the process if a command fails whose event nobody holds, or that ends at that moment for another reason. */
    QUIRK_NO_FAILURES = 1 << 0,
    /* PoCL 3.1 never ends a command that is enqueued behind an event which has failed. */
    QUIRK_NO_FAILED_WAITS = 1 << 1,
    /* In PoCL 3.1 a command that fails lets later ones of its queue overtake those before it. */
    QUIRK_NO_OVERTAKING = 1 << 2,
    /* In PoCL 3.1 a blocking command waits for all of its queue, whatever the order of execution. */
    QUIRK_BLOCKING_FINISHES = 1 << 3,
    /* In PoCL 3.1 a marker with a wait list waits for all of an out-of-order queue, too. */
    QUIRK_MARKER_WAITS_FOR_ALL = 1 << 4,
    /* In PoCL 3.1 a barrier with a wait list lets later commands go past what an earlier barrier of an out-of-order queue holds
     * back. */
    QUIRK_BARRIER_FORGETS = 1 << 5,
    /* PoCL 3.1 frees commands behind a failed one while it uses them: what waits for a deferred acquire or release that has failed is
     * run (docs/behaviour.md). */
    QUIRK_HIDES_FAILED_GATES = 1 << 6,
    /* PoCL 3.1 and rusticl 22.3 call no callback of an event that fails. */
    QUIRK_FAILS_SILENTLY = 1 << 7,
    QUIRKS_OF_POCL = (1 << 8) - 1,
    /* PoCL 7.1 ends the process if an event is released whose callback has not come, as one for CL_RUNNING of a user event never
     * does. */
    QUIRK_NEEDS_CALLBACKS = 1 << 8,
    /* In rusticl 22.3 clFinish after clFlush may return before the work is done. */
    QUIRK_FINISH_BY_MARKER = 1 << 9,
    /* In rusticl 22.3 the unmap of an image that was mapped for reading gives it the bytes of the map, whatever was written to it
     * meanwhile. */
    QUIRK_UNMAP_WRITES_BACK = 1 << 10,
    /* In rusticl 22.3 a write to an image of a buffer, and a read of a part of one, takes texels for bytes. */
    QUIRK_BUFFER_IMAGES_IN_BYTES = 1 << 11,
    QUIRKS_OF_RUSTICL =
        QUIRK_FAILS_SILENTLY | QUIRK_FINISH_BY_MARKER | QUIRK_UNMAP_WRITES_BACK | QUIRK_BUFFER_IMAGES_IN_BYTES
};

#endif
