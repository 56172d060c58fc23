/* Whether a handle is of another kind than it is passed as. Many drivers answer queries about a handle of any kind with
 * garbage, or crash. So the driver is not asked about known handles. */
#ifndef CLD3D_HANDLES_HANDLE_KIND_H
#define CLD3D_HANDLES_HANDLE_KIND_H

#include "next/handle.h"

enum handle_kind { HANDLE_CONTEXT, HANDLE_QUEUE, HANDLE_EVENT, HANDLE_MEMORY, HANDLE_DEVICE, HANDLE_PROGRAM };

/* True: the handle is certainly not of the kind. It is a platform, or a live device or object of another kind.
 * Addresses are reused, so objects that the application has released prove nothing. False proves nothing. No driver is
 * called. For handles that are not known already. Takes the registry's lock; logs nothing. */
bool handle_is_other(enum handle_kind kind, const void *handle);

/* Whether a driver may be queried about what a program passes as an event, or as a device. */
bool event_may_be(cl_event event);
bool device_may_be(cl_device_id device);

#endif
