/* The platforms and devices that have been listed in this process, so that handles passed by a program can be checked
 * without a query about them: drivers crash if such a query gets anything else. */
#ifndef CLD3D_HANDLES_KNOWN_DEVICES_H
#define CLD3D_HANDLES_KNOWN_DEVICES_H

#include "next/next.h"

#include <stdbool.h>

/* Remembers what `table` lists from now on. */
void known_devices_install(cl_icd_dispatch *table);

/* Whether a platform, or a device of one, has been listed; such a handle stays valid as long as the process. Calls
 * nothing and takes no lock. False for sub-devices and for handles from elsewhere. */
bool known_platform(const void *handle);
bool known_device(const void *handle);

#endif
