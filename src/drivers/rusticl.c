/* rusticl, Mesa's driver. */
#include "drivers/drivers.h"

static const struct driver_quirk quirks[] = {
    {QUIRK_FINISH_HOLDS_QUEUE, "rusticl-finish-holds-queue",
     "a thread in clFinish or a blocking command keeps others from flushing its queue, or waiting for it: deferred "
     "commands look at the events of such a queue",
     NULL},
    {QUIRK_IMAGES_OF_BUFFERS, "rusticl-images-of-buffers",
     "a copy between an image that lies in a buffer and another image, or from a buffer to it, takes its rows for "
     "tightly "
     "packed in the region: shared images are copied from rows instead of lying in them",
     NULL},
};

const struct driver driver_rusticl = {"rusticl", quirks, sizeof(quirks) / sizeof(quirks[0])};
