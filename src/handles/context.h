/* The records of contexts. Created and destroyed by share/context.c. */
#ifndef CLD3D_HANDLES_CONTEXT_H
#define CLD3D_HANDLES_CONTEXT_H

#include "handles/registry.h"

#include <CL/cl.h>
#include <stdatomic.h>

struct converter;

/* A context with properties that the driver need not know. */
struct context_record {
    struct record head;
    bool interop;                 /* with Direct3D */
    bool video;                   /* with Direct3D 9, whose video formats are images there */
    unsigned quirks;              /* of its driver, one bit each (drivers/drivers.h) */
    struct converter *converters; /* of formats/storage.c; guarded by registry_lock */
    cl_command_queue own_queue;   /* of context_own_queue; owned, guarded likewise */
};

#endif
