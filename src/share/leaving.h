/* Shared objects that the application and cld3d have released, while commands may still use their memory. */
#ifndef CLD3D_SHARE_LEAVING_H
#define CLD3D_SHARE_LEAVING_H

#include "handles/event_list.h"

#include <stdatomic.h>

struct object_record;

/* A member of each object's record; zero until the object leaves. */
struct leaving {
    struct object_record *after; /* in the list; guarded by its lock */
    bool let_go;                 /* the driver's object has been released */
    atomic_bool unused;      /* no command uses the memory; the driver's destructor callback sets it on any thread */
    struct event_list fence; /* or, if not empty, all of these have ended */
};

/* Takes over an object without references, and destroys it when no command uses the memory of its transfer: in this call
 * if possible, which may wait for the object's acquire, and 3 ms for the driver. No lock may be held. */
void leaving_begin(struct object_record *object);
/* Destroys the objects that no command uses any longer; does nothing in a callback of the driver. Waits for nothing, and
 * costs one load if there are none. No lock may be held. */
void leaving_run(void);

#endif
