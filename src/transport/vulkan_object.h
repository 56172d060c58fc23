/* The files of the transport for one another. */
#ifndef CLD3D_TRANSPORT_VULKAN_OBJECT_H
#define CLD3D_TRANSPORT_VULKAN_OBJECT_H

#include "d3d/native.h"
#include "host/vulkan_access.h"
#include "os/os.h"
#include "transport/transport.h"

enum { UUID_BYTES = 16, DEVICES_MAX = 64 };

typedef cl_int(CL_API_CALL *external_function)(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                               cl_uint wait_count, const cl_event *wait, cl_event *event);

/* What a context keeps: what its devices can import. It is found out with the first object. */
struct vulkan_context {
    cl_context context;
    os_mutex lock; /* guards what follows until it is known */
    bool known;
    bool imports;             /* all devices are one, which imports memory by opaque file descriptors */
    uint8_t uuid[UUID_BYTES]; /* CL_DEVICE_UUID_KHR of them */
    size_t alignment;         /* bytes, of sub-buffers */
    cl_device_id device;      /* the first of them */
    external_function acquire, release;
    char why[VULKAN_WHY]; /* if they do not import */
};

/* Where a surface lies, as Direct3D and the Vulkan side tell. */
struct vulkan_location {
    struct native_place native;
    struct vulkan_image image; /* of a buffer, its memory alone */
};

struct vulkan_object {
    struct transfer base;
    struct vulkan_context *context;
    const struct vulkan_side *side;
    struct surface copy; /* what is shared in place of the surface; `resource` owned, NULL: the surface itself is */
    struct vulkan_location at; /* of what is shared, as it was when it was */
    cl_mem_flags flags;        /* as asked for */
    uint64_t beside; /* the Vulkan side's copy of a plane, level or slice, which is what `at` says then; 0: none */
    struct vulkan_location source; /* of what has such a copy */
    bool imported;                 /* else over mapped memory */
    bool passed;                   /* OpenCL has the image */
    bool moved;                    /* what is shared was not found in its place when that was asked last */
    bool held;                     /* the memory, by the Vulkan side */
    bool acquired;                 /* the driver's last command acquired what was imported, and did not release it */
    cl_event changed; /* owned; of that command, which changes nothing if it fails. NULL: it has not failed */
    cl_mem whole;     /* owned; the import of the memory in which a buffer lies. NULL: the object is the import */
    cl_uint whole_references; /* to it, when no command used it and the object was its only part */
    struct vulkan_outliving
        *outliving; /* owned; for the case that commands use the object for longer than the application */
};

static inline struct vulkan_object *vulkan_object(struct transfer *transfer)
{
    return (struct vulkan_object *)transfer;
}

/* What Direct3D's resource is shared. */
static inline const struct surface *vulkan_shared(const struct vulkan_object *object)
{
    return object->copy.resource ? &object->copy : &object->base.surface;
}

/* ---- vulkan_place.c: whether images are what they are taken for ---- */

/* Finds out where a surface lies. */
bool vulkan_locate(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at,
                   char *why);
/* Whether it is where it was found; what else may have changed is noted. */
bool vulkan_is_there(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at,
                     char *why);
/* Whether the image at `at` holds the surface in the format and size in which OpenCL shall see it. */
bool vulkan_fits(const struct surface_desc *desc, const struct vulkan_location *at, char *why);
/* The VkImageAspectFlagBits of the surface's plane. */
uint32_t vulkan_aspect(const struct surface_desc *desc);

/* ---- vulkan.c ---- */

/* Passes an image back to Direct3D that OpenCL still has, before its object goes. */
void vulkan_return(struct vulkan_object *object);

/* ---- vulkan_import.c: by file descriptors ---- */

/* CL_SUCCESS: the memory object was made (`base.memory`, `whole`). */
cl_int vulkan_import(struct vulkan_object *object, const struct transfer_request *request, char *why);
/* transport.create_part. */
cl_mem vulkan_create_part(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status);
/* Enqueues the acquire of the imported objects that the driver has not acquired, or the release of those that it has. The driver may
 * wait for all that comes before the command. `to->queue` NULL: in a queue of ours. `to` NULL: likewise, and waits; what fails there
 * keeps no other object from its turn. */
cl_int vulkan_external(const struct handover *handover, bool acquire, const struct enqueueing *to);
/* Has the driver release in the same way what it has, when all commands are over, and waits. What it fails to release it has still. In
 * a callback of the driver's it has all of it still. */
cl_int vulkan_external_release(const struct handover *handover);
/* A code of OpenCL for one of a driver, which may be none. */
cl_int vulkan_status(cl_int status);

/* ---- vulkan_beside.c: by copies that the Vulkan side makes ---- */

/* Has a copy made, and imports it. Nothing is left behind if that fails. */
cl_int vulkan_import_beside(struct vulkan_object *object, const struct transfer_request *request, char *why);
/* Copies over, or back, what of the list has such copies and has not moved, and waits. */
bool vulkan_move_beside(const struct handover *handover, bool back);
void vulkan_drop_beside(struct vulkan_object *object);

/* ---- vulkan_mapped.c: over memory that the host sees ---- */

cl_int vulkan_over_mapped(struct vulkan_object *object, const struct transfer_request *request, char *why);

/* ---- vulkan_outlive.c: transport.outlive ---- */

struct vulkan_outliving *vulkan_outliving_make(void); /* to be freed */
bool vulkan_outlive(struct transfer *transfer);

#endif
