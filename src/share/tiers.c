#include "share/tiers.h"

#include "formats/image.h"
#include "share/share.h"

static cl_icd_dispatch formats_table, share_table;

const cl_icd_dispatch *tier_share(void)
{
    return &share_table;
}

const cl_icd_dispatch *tier_formats(void)
{
    return &formats_table;
}

void tiers_install(void)
{
    formats_table = next;
    image_install(&formats_table);
    transfer_install(&formats_table);
    map_install(&formats_table);
    launch_install(&formats_table);
    build_install(&formats_table);

    share_table = formats_table;
    context_install(&share_table);
    queue_install(&share_table);
    event_install(&share_table);
    callback_install(&share_table);
    object_install(&share_table);
    kernel_install(&share_table);
    strings_install(&share_table);
    device_type_install(&share_table);
    functions_install(&share_table);
    guard_install(&share_table); /* above everything: it calls the tier below */
}
