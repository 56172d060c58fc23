/* What the executor leaves out since the OpenCL below can't do it. Each is a defect of a driver; none but QUIRK_HIDES_FAILED_GATES loosens
 * what the calls that remain must give. */
#ifndef CLD3D_TESTS_FUZZ_QUIRKS_H
#define CLD3D_TESTS_FUZZ_QUIRKS_H

#include "world.h"

enum quirk {
    QUIRK_NO_FAILURES,
    QUIRK_NO_FAILED_WAITS,
    QUIRK_NO_OVERTAKING,
    QUIRK_FINISH_BY_MARKER,
    QUIRK_BLOCKING_FINISHES,
    QUIRK_MARKER_WAITS_FOR_ALL,
    QUIRK_BARRIER_FORGETS,
    QUIRK_FAILS_SILENTLY,
    QUIRK_UNMAP_WRITES_BACK,
    QUIRK_BUFFER_IMAGES_IN_BYTES,
    QUIRK_HIDES_FAILED_GATES,
    QUIRK_NEEDS_CALLBACKS,
    QUIRKS
};

bool quirk(enum driver driver, enum quirk quirk);

#endif
