/* The platforms and devices of this process, so that what a program gives for one can be judged without a query about it: drivers
 * crash when such a query gets something else. */
#ifndef CLD3D_EMULATE_LISTED_H
#define CLD3D_EMULATE_LISTED_H

#include "next/next.h"

#include <stdbool.h>

/* Keeps what `table` lists in mind from now on, and the sub-devices that it makes. */
void listed_install(cl_icd_dispatch *table);

/* Whether a program has got a platform or a device of one in a list, which stays for as long as the process does. Lists nothing, calls
 * nobody and takes no lock. False for sub-devices and for what the program has from elsewhere. */
bool listed_platform(const void *handle);
bool listed_device(const void *handle);

/* Whether a handle can be a platform, which are listed if need be. */
bool listed_may_be_platform(cl_platform_id platform);
/* Whether a handle can be a device: one of a platform, which are listed if need be, or at the address where a sub-device is or was. */
bool listed_may_be_device(cl_device_id device);

#endif
