#include "handles/tiers.h"

cl_icd_dispatch tier_share_table, tier_formats_table;
