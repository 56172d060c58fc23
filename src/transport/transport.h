/* How ownership of a shared object changes between Direct3D and OpenCL.
 *
 * A transport validates nothing: the core has checked every argument, and one object is never in two handovers at once. The
 * core hands a transport lists, so that one flush, one submission and one wait serve all objects of a command. A step may
 * run in the application's call or later, on another thread of the application. No lock of ours is held meanwhile. */
#ifndef CLD3D_TRANSPORT_TRANSPORT_H
#define CLD3D_TRANSPORT_TRANSPORT_H

#include "d3d/d3d.h"
#include "track/event_list.h"

#include <CL/cl.h>

struct staging_pool;
struct transport;

/* One shared object. The record of a transport begins with it; what else is in that record is the transport's own. */
struct transfer {
    const struct transport *transport;
    struct surface surface;
    cl_mem memory; /* the object of the OpenCL below; one reference, the application's */
};

/* The objects of one command that share a transport and an API. */
struct handover {
    const struct d3d_api *api;
    struct transfer *const *transfers;
    cl_uint count;
};

/* What a transfer is made for. */
struct transfer_request {
    const char *call;          /* of the application, for messages */
    cl_context context;
    cl_mem_flags flags;
    struct staging_pool *pool; /* the context's, which outlives the transfer */
    struct surface surface;
};

struct transport {
    const char *name; /* for people: "host (staging copy)" */

    /* Whether objects that no command has changed since the acquire may be left out of a release: `undo` takes the place of
     * both of its steps then. */
    bool leaves_out_unwritten;

    /* Makes the transfer and its memory object. On failure an OpenCL error code, logged. */
    cl_int (*create)(const struct transfer_request *request, struct transfer **made);
    /* Frees the transfer, in whatever step it is, but not its memory object. No command uses it any more. */
    void (*destroy)(struct transfer *transfer);

    /* Acquire. Direct3D gives the objects: false if it fails, and then it still has all of them. */
    bool (*d3d_give)(const struct handover *handover);
    /* OpenCL takes them, by commands behind the wait list. `done` gets their events, also those of the commands that were
     * enqueued before one failed: until they are over no step may follow. */
    cl_int (*cl_take)(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done);

    /* Release. OpenCL gives them, in the same way. */
    cl_int (*cl_give)(const struct handover *handover, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                      struct event_list *done);
    /* Direct3D takes them when all of those commands are over. False if Direct3D fails; it has all objects even so. */
    bool (*d3d_take)(const struct handover *handover);

    /* Gives the objects back to Direct3D as it gave them. */
    void (*undo)(const struct handover *handover);
};

/* Through the host's memory: a staging copy, mapped from acquire to release. Works with every Direct3D and OpenCL. */
extern const struct transport host_transport;

#endif
