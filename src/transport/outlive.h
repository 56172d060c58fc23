/* Memory of a shared object that commands still use after the application has released the object. */
#ifndef CLD3D_TRANSPORT_OUTLIVE_H
#define CLD3D_TRANSPORT_OUTLIVE_H

#include "handles/reaper.h"

struct fence;

/* The first member of a transport's record of such memory. Created with the object, because memory may be short
 * later. */
struct outliving {
    struct reaped reaped;
    cl_mem memory; /* one reference, which is released as soon as no command uses it; NULL from then on */
    /* NULL, or the parent of the memory object, for which a driver may count commands on the sub-object; as `memory` */
    cl_mem whole;
    cl_uint whole_references; /* references to it, without those of commands */
    cl_context uncounted;     /* NULL, or the context of `memory`, whose driver does not count commands as references */
    struct fence *fence;      /* owned; NULL until one could be created */
    bool settled;             /* see transport.h */
    void (*give_back)(struct outliving *one); /* releases the memory, and frees the record; may call Direct3D */
};

/* For transport.outlive. Whether commands use the memory object, which has one reference: then the record is taken over.
 * When they have ended, the memory object is released, by a thread of cld3d if no call comes earlier, and `give_back` is
 * called in a later call of the application. With `uncounted` a fence (emulate/fence.h) determines that,
 * otherwise references do. */
bool outlive(struct outliving *one, cl_mem memory, cl_context uncounted, void (*give_back)(struct outliving *one));

#endif
