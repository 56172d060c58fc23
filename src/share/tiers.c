#include "share/tiers.h"

#include "share/share.h"

static cl_icd_dispatch share_table;

const cl_icd_dispatch *tier_share(void)
{
    return &share_table;
}

const cl_icd_dispatch *tier_formats(void)
{
    return &next;
}

void tiers_install(void)
{
    share_table = *tier_formats();
    context_install(&share_table);
    queue_install(&share_table);
    event_install(&share_table);
    object_install(&share_table);
    kernel_install(&share_table);
    strings_install(&share_table);
    functions_install(&share_table);
    guard_install(&share_table); /* above everything: it calls the tier below */
}
