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
    cl_context uncounted; /* NULL, or the context of `memory`, whose driver does not count commands among references */
    struct fence *fence;  /* owned; NULL until one could be made */
    void (*give_back)(
        struct outliving *one); /* gives back the memory object and what it lies in, and frees the record */
};

/* For transport.outlive. Whether commands use the memory object, which has one reference: then `give_back` is called when they
 * are over, and the record is taken over. With `uncounted` a fence (emulate/fence.h) tells, else references do. */
bool outlive(struct outliving *one, cl_mem memory, cl_context uncounted, void (*give_back)(struct outliving *one));

#endif
