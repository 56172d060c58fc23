/* Memory of a shared object that commands still use when the application has dropped the object. */
#ifndef CLD3D_TRANSPORT_OUTLIVE_H
#define CLD3D_TRANSPORT_OUTLIVE_H

#include "track/reaper.h"

struct fence;

/* A transport's record of such memory begins with it. Made with the object, since memory may be short later. */
struct outliving {
    struct reaped reaped;
    cl_mem memory;
    cl_mem whole; /* NULL, or what the memory object is a part of, which a driver may count commands on the part for */
    cl_uint whole_references; /* to it, without those of commands */
    struct fence *fence;      /* owned */
    void (*give_back)(
        struct outliving *one); /* gives back the memory object and what it lies in, and frees the record */
};

/* For transport.outlive. Whether commands use the memory object, which has one reference: then `give_back` is called when they
 * are over, and the record is taken over. With a fence (emulate/fence.h), of a driver that does not count commands among
 * references, what was before it is over when it has passed; it is taken over in either case. NULL: references tell. */
bool outlive(struct outliving *one, cl_mem memory, struct fence *fence, void (*give_back)(struct outliving *one));

#endif
