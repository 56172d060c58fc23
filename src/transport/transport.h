/* How the bytes of a shared object travel between Direct3D and OpenCL.
 *
 * A transport moves bytes and validates nothing: the core has checked every argument and sees to it that one object is
 * never in two transfers at once. Both directions have a first part that runs in the application's call and a second one
 * that ends the transfer, possibly later and on another thread of the application. No lock of ours is held. */
#ifndef CLD3D_TRANSPORT_TRANSPORT_H
#define CLD3D_TRANSPORT_TRANSPORT_H

#include "d3d/d3d.h"

#include <CL/cl.h>

struct converter;
struct staging_pool;

/* One shared object on its way. Owned by the shared object. */
struct transfer {
    struct surface surface;
    cl_mem memory;                /* the driver's object; not owned */
    struct staging_pool *pool;    /* the context's; not owned */
    struct mapped_surface mapped; /* valid while is_mapped */
    bool is_mapped;
    bool failed;                  /* Direct3D once did: no other object shall have the staging copy */
    const struct converter *carried; /* converts between Direct3D's texels and those of the driver's image, which is of
                                        another format; NULL: nothing is converted here */
    struct row_change change;     /* for a surface that converts on the way to its staging copy */
    void *rows;                   /* memory of our own, rows of the driver's texels without gaps, for the way back and for
                                     what is converted; NULL until it is needed */
    bool in_rows;                 /* the way back goes through `rows`: set by the core for a release that will be stored
                                     later, when the staging copy may have been mapped anew; and for planes */
};

struct transport {
    const char *name; /* for people: "host (staging copy)" */

    /* Around the fetches and arrivals, or the stores, of all objects of one command. `end` returns false if Direct3D
     * fails. */
    void (*begin)(const struct d3d_api *api);
    bool (*end)(const struct d3d_api *api);

    /* Acquire. `fetch` queues the work of Direct3D that gives us the bytes; `arrive` waits until they are there. Both
     * return false if Direct3D fails. */
    bool (*fetch)(struct transfer *transfer);
    bool (*arrive)(struct transfer *transfer);
    /* Enqueues the command that brings them into the OpenCL object. `done` gets its event, owned by the caller. */
    cl_int (*upload)(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                     cl_event *done);

    /* Release. `download` enqueues the command that brings the bytes out of the OpenCL object; when its event is
     * complete, `store` gives them to Direct3D. `store` returns false if Direct3D fails. */
    cl_int (*download)(struct transfer *transfer, cl_command_queue queue, cl_uint wait_count, const cl_event *wait,
                       cl_event *done);
    bool (*store)(struct transfer *transfer);

    /* Ends a transfer without moving anything further. No command may be using its memory any more. */
    void (*abandon)(struct transfer *transfer);
    /* Frees what the transfer keeps between its ways. */
    void (*destroy)(struct transfer *transfer);
};

/* Through the host's memory: a staging copy, mapped from acquire to release. Works with every Direct3D and OpenCL. */
extern const struct transport host_transport;

#endif
