/* What is known about OpenCL handles: records of contexts, queues, events and kernel arguments, and the functions of
 * src/handles for one another and for the layers above.
 *
 * Nothing here knows Direct3D. Unless stated otherwise a function may be called from any thread with no lock held, and
 * a cl_int result is an OpenCL error code that has already been logged. */
#ifndef CLD3D_HANDLES_HANDLES_H
#define CLD3D_HANDLES_HANDLES_H

#include "handles/callback.h"
#include "handles/context.h"
#include "handles/event.h"
#include "handles/event_list.h"
#include "handles/queue.h"
#include "handles/registry.h"
#include "handles/tiers.h"
#include "next/query.h"

/* Something may write to objects unseen: from now on it is not known which objects were written (writes.c). */
void writes_hidden(const char *why);
bool writes_known(void);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void queue_install(cl_icd_dispatch *table);
void event_install(cl_icd_dispatch *table);
void callback_install(cl_icd_dispatch *table);
void kernel_install(cl_icd_dispatch *table);

#endif
