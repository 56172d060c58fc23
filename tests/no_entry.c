/* In place of an entry point, for tests that call functions of cld3d itself: there is no OpenCL below. */
#include "entry/entry.h"

bool entry_needs_another(void)
{
    return false;
}

bool entry_set_next(bool another)
{
    (void)another;
    return false;
}

const char *entry_next_report(void)
{
    return NULL;
}
