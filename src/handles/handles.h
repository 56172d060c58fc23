/* The basis of the extension and of the emulated formats: records of contexts, queues, events and kernel arguments, and
 * the functions of src/handles/ for one another and for the layers above.
 *
 * Nothing here knows Direct3D. Unless stated otherwise a function may be called from any thread with no lock held, and
 * a cl_int result is an OpenCL error code that has already been logged. */
#ifndef CLD3D_HANDLES_HANDLES_H
#define CLD3D_HANDLES_HANDLES_H

#include "next/query.h"
#include "handles/blocker.h"
#include "handles/callback.h"
#include "handles/context.h"
#include "handles/event.h"
#include "handles/event_list.h"
#include "handles/queue.h"
#include "handles/quirks.h"
#include "handles/reaper.h"
#include "handles/registry.h"
#include "handles/tiers.h"

/* ---- the tiers above ---- */

/* Commands that the extension has deferred until nothing blocks them. */
struct deferral {
    /* Marks the gates of the commands that depend on the marked user event `user`, which may be a gate itself, and no others
     * (blocker.h). */
    void (*mark_locked)(const struct blocker *user);
    /* Assigns to a thread the commands that depend on the marked user event (blocker.h), which the thread is about to
     * set: no other thread starts them. Returns the thread's number for this event, a new one for 0. deferral.run must
     * follow. */
    unsigned (*claim_locked)(unsigned owner);
    /* Runs the commands that nothing blocks any longer and that have no owner or this one. Waits until the owner's
     * commands have ended; those that are still blocked are released from the owner. 0: no owner. In a callback, which
     * claims nothing, they are started, and end when their OpenCL part has. */
    void (*run)(unsigned owner);
};

/* Set before the first call of the application. */
extern struct deferral deferral;

/* Something may write to objects unseen: from now on it is not known which objects were written (writes.c). */
void writes_hidden(const char *why);
bool writes_known(void);
/* The same for commands that write to no object, but may wait for user events: it is not known which commands a queue
 * has. */
void commands_hidden(const char *why);
bool commands_known(void);

/* ---- user events (user_event_calls.c) ---- */

/* Sets the gate of a deferred command. If the driver refuses it is asked again, because commands wait for the gate. */
void gate_open(const char *call, cl_event gate, bool done);

/* ---- the parts of the tier: each replaces its functions in the table ---- */

void queue_install(cl_icd_dispatch *table);
void user_event_install(cl_icd_dispatch *table);
void event_install(cl_icd_dispatch *table);
void callback_install(cl_icd_dispatch *table);
void host_function_install(cl_icd_dispatch *table); /* comes after guard_install */
void kernel_install(cl_icd_dispatch *table);

#endif
