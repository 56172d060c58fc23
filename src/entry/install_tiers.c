#include "entry/entry.h"

#include "defer/pending.h"
#include "entry/entry_points.h"
#include "formats/image.h"
#include "share/share.h"

void tiers_install(void)
{
    tier_formats_table = next;
    image_install(&tier_formats_table);
    transfer_install(&tier_formats_table);
    map_install(&tier_formats_table);
    launch_install(&tier_formats_table);
    build_install(&tier_formats_table);

    tier_share_table = tier_formats_table;
    context_install(&tier_share_table);
    queue_install(&tier_share_table);
    user_event_install(&tier_share_table);
    event_install(&tier_share_table);
    callback_install(&tier_share_table);
    object_install(&tier_share_table);
    kernel_install(&tier_share_table);
    strings_install(&tier_share_table);
    device_type_install(&tier_share_table);
    functions_install(&tier_share_table, entry_point);
    guard_install(&tier_share_table); /* above those that it checks: it calls the tier below */
    guard_changes_install(&tier_share_table);
}
