/* How ownership of a shared object changes between Direct3D and OpenCL; docs/architecture.md says how a transport is added.
 *
 * A transport validates nothing: the core has checked every argument, and one object is never in two handovers at once. The
 * core hands a transport lists, so that one flush, one submission and one wait serve all objects of a command. A step may
 * run in the application's call or later, on another thread of the application. No lock of ours is held meanwhile. */
#ifndef CLD3D_TRANSPORT_TRANSPORT_H
#define CLD3D_TRANSPORT_TRANSPORT_H

#include "d3d/d3d.h"
#include "track/event_list.h"

#include <CL/cl.h>

struct transport;

enum {
    TRANSPORTS_MAX = 8,  /* entries of the list */
    TRANSPORT_WHY = 256, /* bytes for a reason in words */
};

/* One shared object. The record of a transport begins with it; what else is in that record is the transport's own. */
struct transfer {
    const struct transport *transport;
    struct surface surface;
    cl_mem memory; /* the object of the OpenCL below; one reference, the application's */
    /* which of its ways the transport has chosen, for people; lives as long as the process. NULL: it has one */
    const char *way;
    struct way_count *count; /* of the context, set when the object is made (statistics.h) */
    bool left_out; /* of a release, if no command has changed it since the acquire: `undo` takes the place of both
                      steps then */
};

/* The objects of one command that share a transport and an API. */
struct handover {
    const struct d3d_api *api;
    struct transfer *const *transfers;
    cl_uint count;
};

/* What a transfer is made for. */
struct transfer_request {
    const char *call; /* of the application, for messages */
    cl_context context;
    cl_mem_flags flags;
    void *state; /* what this transport keeps for the context; it outlives the transfer */
    struct surface surface;
};

struct transport {
    const char *name;  /* for settings and messages, without blanks: "host" */
    const char *title; /* for people: "host (staging copy)" */
    bool by_name;      /* used only where the setting names it */

    /* What the transport keeps for a context; the three are NULL if that is nothing. `open`: NULL if memory is short.
     * `close`, NULL if there is nothing to do: the application has given the context back. From now on the state holds neither a Direct3D device nor an
     * OpenCL object, which would hold the context; objects that there are still live and move. May be called again.
     * `free_state`: the last object is gone. */
    void *(*open)(cl_context context);
    void (*close)(void *state);
    void (*free_state)(void *state);
    /* Whether resources that were made shareable are better for objects of the context. NULL: no. */
    bool (*prefers_shared)(void *state, const struct d3d_api *api);

    /* Makes the transfer and its memory object, or imports it. If the transport can't share the surface, an OpenCL error code,
     * and what the matter is in words for `why`, of TRANSPORT_WHY bytes; not logged, and nothing has happened. The next
     * transport of the list is asked then. The code of the last one is the application's. With CL_SUCCESS `why` may tell why
     * the transport has not chosen a better way of its own. */
    cl_int (*create)(const struct transfer_request *request, struct transfer **made, char *why);
    /* clCreateSubBuffer of the memory object, where that is a part of another one itself, of which OpenCL makes no parts. NULL:
     * the OpenCL below makes them. */
    cl_mem (*create_part)(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status);
    /* Comes before `destroy` when the last reference to the memory object is the core's. Commands may still use that, with
     * memory of the transfer. True: the transport has taken over both, and gives them back when those commands are over
     * (outlive.h). NULL: the memory object needs nothing of the transfer. */
    bool (*outlive)(struct transfer *transfer);
    bool outlive_waits; /* for commands: so it does not come in a callback of the driver's, but later */
    /* Frees the transfer, in whatever step it is, but not its memory object, which commands of the application may use for
     * longer: memory under it lives until its destructor callback. The commands of `cl_take` and `cl_give` are over. */
    void (*destroy)(struct transfer *transfer);

    /* Acquire. Direct3D gives the objects: false if it fails, and then it still has all of them. */
    bool (*d3d_give)(const struct handover *handover);
    /* OpenCL takes them, by commands behind the wait list, at least one. `done` gets their events, also those of the commands
     * that were enqueued before one failed: until they are over no step may follow. The queue is the application's, or one
     * of ours while that is blocked with later commands on the objects in it. */
    cl_int (*cl_take)(const struct handover *handover, const struct enqueueing *to);

    /* Release. OpenCL gives them, in the same way. */
    cl_int (*cl_give)(const struct handover *handover, const struct enqueueing *to);
    /* OpenCL keeps them, since the release failed when all of those commands were over: what they had the driver do is undone, as
     * far as it can be. NULL: there is nothing to undo. */
    void (*cl_keep)(const struct handover *handover);
    /* Direct3D takes them when all of those commands are over. False if Direct3D fails; it has all objects even so. */
    bool (*d3d_take)(const struct handover *handover);

    /* Gives the objects back to Direct3D as it gave them, whatever step they are in, without the application's queue. Its own
     * commands are over. */
    void (*undo)(const struct handover *handover);
};

extern const struct transport vulkan_transport, in_place_transport, host_transport;

/* All transports, in the order in which they are asked for a surface (list.c). The last one can share any. */
extern const struct transport *const transport_list[];
extern const unsigned transport_list_count;

#endif
