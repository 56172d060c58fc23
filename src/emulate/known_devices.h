/* The platforms and devices of this process, so that handles passed by a program can be checked without a query about
 * them: drivers crash if such a query gets anything else. */
#ifndef CLD3D_EMULATE_KNOWN_DEVICES_H
#define CLD3D_EMULATE_KNOWN_DEVICES_H

#include "next/next.h"

#include <stdbool.h>

/* Remembers what `table` lists from now on, and the sub-devices that it creates. */
void known_devices_install(cl_icd_dispatch *table);

/* Whether a program has obtained a platform, or a device of one, from a list; such a handle stays valid as long as the
 * process. Lists nothing, calls nothing and takes no lock. False for sub-devices and for handles from elsewhere. */
bool known_platform(const void *handle);
bool known_device(const void *handle);

/* Whether a handle can be a platform; lists the platforms if necessary. */
bool known_may_be_platform(cl_platform_id platform);
/* Whether a handle can be a device: one of a platform (listed if necessary), or at the address where a sub-device is or
 * was. */
bool known_may_be_device(cl_device_id device);

#endif
