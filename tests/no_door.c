/* In place of a door, for tests that call functions of cld3d itself: there is no OpenCL below. */
#include "doors/door.h"

bool door_set_next(void)
{
    return false;
}

const char *door_next_report(void)
{
    return NULL;
}
