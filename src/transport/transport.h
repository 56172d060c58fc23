/* How ownership of a shared object is transferred between Direct3D and OpenCL; docs/architecture.md explains how to add
 * a transport.
 *
 * A transport validates nothing: the core has checked every argument, and an object is in one handover at a time. The
 * core passes lists to a transport, so that one flush, one submission and one wait serve all objects of a command. A
 * step may run in the application's call or later, on another thread of the application. cld3d holds no lock
 * meanwhile. */
#ifndef CLD3D_TRANSPORT_TRANSPORT_H
#define CLD3D_TRANSPORT_TRANSPORT_H

#include "d3d/d3d.h"
#include "handles/event_list.h"
#include "log.h"

#include <CL/cl.h>
#include <stdatomic.h>

struct transport;

enum {
    TRANSPORTS_MAX = 8,  /* entries of the list */
    TRANSPORT_WHY = 336, /* bytes for a reason, or for two of VULKAN_WHY */
};

/* The objects of a context that use one method, and the bytes that the CPU has copied or converted for them, or OpenCL has
 * copied from or to host memory. Logged when nothing uses the context any longer (CLD3D_LOG=stats). */
struct method_count {
    const char *_Atomic method; /* the name of the transport, or of its method */
    atomic_ullong objects, bytes;
};

/* What a memory object uses of its transfer, until no command uses the object. */
enum lending {
    LENDS_NOTHING,   /* or nothing that the driver does not keep alive itself */
    LENDS_COUNTED,   /* memory; a command that uses it is a reference to the memory object, as host_memory.h checks */
    LENDS_UNCOUNTED, /* memory; drivers may not count commands */
};

/* One shared object. A transport's record begins with it; the rest of that record is private to the transport. */
struct transfer {
    const struct transport *transport;
    struct surface surface;
    cl_mem memory; /* the memory object of the OpenCL below; one reference, the application's */
    /* the method that the transport has chosen, for display; lives as long as the process. NULL: it has only one */
    const char *method;
    struct method_count *count; /* the context's, set when the object is created */
    enum lending lends;
    /* skipped in a release if no command has changed it since the acquire: `undo` then replaces both steps */
    bool left_out;
    /* `d3d_give` failed because the host's memory ran out, not because of Direct3D; the caller clears it before */
    bool short_of_memory;
};

static inline void transfer_moved(const struct transfer *transfer, size_t bytes)
{
    atomic_fetch_add_explicit(&transfer->count->bytes, bytes, memory_order_relaxed);
}

/* The objects of one command with the same transport and API. */
struct handover {
    const struct d3d_api *api;
    struct transfer *const *transfers;
    cl_uint count;
};

/* The parameters of a new transfer. */
struct transfer_request {
    const char *call; /* the application's call, for messages */
    cl_context context;
    cl_mem_flags flags;
    void *state; /* this transport's state for the context; it outlives the transfer */
    struct surface surface;
};

struct transport {
    const char *name;  /* for settings and messages, without spaces: "host" */
    const char *title; /* for display: "host (staging copy)" */

    /* The transport's state for a context, of malloc: it is freed when the last object is gone. NULL if out of memory.
     * `close`, NULL if there is nothing to do, and may be called again: the application has released the context. It
     * drops what would keep the context alive (Direct3D devices, OpenCL objects), except what existing objects need,
     * which can still be transferred. */
    void *(*open)(cl_context context);
    void (*close)(void *state);
    /* Creates the transfer and its memory object, or imports it. If the transport cannot share the surface: an OpenCL
     * error code, and the reason in `why`, of TRANSPORT_WHY bytes; nothing is logged, and nothing has happened. The
     * next transport of the list is then tried. The code of the last one is returned to the application. With
     * CL_SUCCESS `why` may say why the transport has not chosen a better method. */
    cl_int (*create)(const struct transfer_request *request, struct transfer **made, char *why);
    /* clCreateSubBuffer of the memory object, if that is itself a sub-buffer, of which OpenCL creates no sub-buffers.
     * NULL: the OpenCL below creates them. */
    cl_mem (*create_part)(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status);
    /* The driver's memory object is about to be released, in whatever step the transfer is; may be called again. NULL:
     * there is nothing to do before. */
    void (*leave)(struct transfer *transfer);
    /* Frees the transfer, in whatever step it is. The memory object has been released, and no command uses memory that
     * it lends. Not called in a callback of the driver. */
    void (*destroy)(struct transfer *transfer);

    /* Acquire. Direct3D gives up the objects: false if it fails, and then it still owns all of them. */
    bool (*d3d_give)(const struct handover *handover);
    /* OpenCL takes them, with at least one command behind the wait list; with none if nothing moves and the commands
     * are unobserved. `done` gets the events, including those of commands that were enqueued before one failed: no step
     * may follow until these have ended. The queue is the application's; or cld3d's own, while the application's is
     * blocked and may have later commands on the objects. */
    cl_int (*cl_take)(const struct handover *handover, const struct enqueueing *to);

    /* Release. OpenCL gives them up, in the same way. NULL: what it has written is there when all commands before have ended. */
    cl_int (*cl_give)(const struct handover *handover, const struct enqueueing *to);
    /* Direct3D takes them when all of those commands have ended. False if Direct3D fails; it owns all objects even
     * then. */
    bool (*d3d_take)(const struct handover *handover);

    /* Returns the objects to Direct3D with the contents that it gave, whatever step they are in, without the
     * application's queue. Its own commands have ended. */
    void (*undo)(const struct handover *handover);
};

/* For `create`: writes a reason, of VULKAN_WHY bytes at most, and returns the code. */
cl_int transport_refuse(char *why, cl_int status, const char *format, ...) LOG_FORMAT(3, 4);

extern const struct transport vulkan_transport, rows_transport, in_place_transport, host_transport;

/* All transports, in the order in which they are tried for a surface (list.c). The last one can share any. */
extern const struct transport *const transport_list[];
extern const unsigned transport_list_count;

#endif
