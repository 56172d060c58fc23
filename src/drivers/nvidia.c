/* NVIDIA's driver. */
#include "drivers/drivers.h"

static const struct driver_quirk quirks[] = {
    {QUIRK_UNSET_EVENTS, "nvidia-unset-events",
     "the release of a context never returns if a user event was released without being set: one that blocks nothing "
     "is set to an error when it is released",
     NULL},
};

const struct driver driver_nvidia = {"NVIDIA CUDA", quirks, sizeof(quirks) / sizeof(quirks[0])};
