/* PoCL, the driver for CPUs. */
#include "drivers/drivers.h"

static const struct driver_quirk quirks[] = {
    {QUIRK_FAILED_COMMANDS_CRASH, "pocl-failed-commands",
     "commands behind a failed one are freed while in use: the gate of a deferred command that fails is set to "
     "CL_COMPLETE, and the command's own event reports the failure",
     NULL},
    {QUIRK_HALF_FLOATS, "pocl-half-floats",
     "half floats of images with one channel are read as integers: such images are emulated", NULL},
    {QUIRK_TIGHT_ROWS, "pocl-row-pitch",
     "the remote driver treats all rows of an image in host memory as tightly packed: shared images are moved in such "
     "rows",
     "pocl-remote"},
};

const struct driver driver_pocl = {"Portable Computing Language", quirks, sizeof(quirks) / sizeof(quirks[0])};
