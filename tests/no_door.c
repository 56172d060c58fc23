/* In place of a door, for tests that call functions of cld3d itself: there is no OpenCL below. */
#include "doors/door.h"

bool door_needs_another(void)
{
    return false;
}

bool door_set_next(bool another)
{
    (void)another;
    return false;
}

const char *door_next_report(void)
{
    return NULL;
}
