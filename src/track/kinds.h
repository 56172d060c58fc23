/* Whether a handle is of another kind than it is given for. Many drivers answer queries about a handle of any kind, with
 * garbage, or crash. So what is known is not asked for. */
#ifndef CLD3D_TRACK_KINDS_H
#define CLD3D_TRACK_KINDS_H

#include "next/handle.h"

enum handle_kind { HANDLE_CONTEXT, HANDLE_QUEUE, HANDLE_EVENT, HANDLE_MEMORY, HANDLE_DEVICE, HANDLE_PROGRAM };

/* True: the handle is certainly not of the kind. It is a platform, or a device or object that is alive and of another kind: addresses
 * come again, so nothing is said by what the application has released. False tells nothing. No driver is called. For handles
 * that are not known already. Takes the registry's lock; says nothing. */
bool handle_is_other(enum handle_kind kind, const void *handle);

/* Whether a driver may be asked about what a program gives for an event, or for a device. */
bool event_may_be(cl_event event);
bool device_may_be(cl_device_id device);

#endif
