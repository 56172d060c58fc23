/* Shared between the files of the Vulkan transport. */
#ifndef CLD3D_TRANSPORT_VULKAN_OBJECT_H
#define CLD3D_TRANSPORT_VULKAN_OBJECT_H

#include "d3d/native.h"
#include "companion/vulkan_access.h"
#include "os/os.h"
#include "transport/transport.h"

enum { UUID_BYTES = 16 };

typedef cl_int(CL_API_CALL *external_function)(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                               cl_uint wait_count, const cl_event *wait, cl_event *event);

/* A context's state: what its devices can import. Determined with the first object. */
struct vulkan_context {
    cl_context context;
    os_mutex lock; /* guards what follows until it is known */
    bool known;
    bool imports; /* all devices are one by their UUIDs, and import memory through opaque file descriptors */
    uint8_t uuid[UUID_BYTES]; /* CL_DEVICE_UUID_KHR of them */
    size_t alignment;         /* in bytes, of sub-buffers */
    bool linear;              /* a device treats imported images as linear */
    cl_device_id device;      /* the first of them */
    external_function acquire, release;
    char why[VULKAN_WHY]; /* if they do not import */
};

/* Where a surface is, as reported by Direct3D and the Vulkan side. */
struct vulkan_location {
    struct native_place native;
    struct vulkan_image image; /* for a buffer only its memory */
};

struct vulkan_object {
    struct transfer base;
    struct vulkan_context *context;
    const struct vulkan_side *side;
    struct surface copy; /* the resource shared instead of the surface; `resource` owned, NULL: the surface itself is */
    struct vulkan_location at; /* of what is shared, at the time of sharing */
    cl_mem_flags flags;        /* as requested */
    uint64_t gpu_copy; /* the Vulkan side's copy of a plane, level or slice, which `at` then describes; 0: none */
    struct vulkan_location source; /* of the original of such a copy */
    bool imported;                 /* otherwise over mapped memory */
    bool passed;                   /* OpenCL has the image */
    bool moved;                    /* what is shared had moved when that was last checked */
    bool held;                     /* the memory, by the Vulkan side */
    bool acquired;                 /* the driver's last command acquired the import, and did not release it */
    cl_event changed;         /* owned; of that command, which has no effect if it fails. NULL: it has not failed */
    cl_mem whole;             /* owned; the import of a buffer's memory. NULL: the object is the import */
    cl_uint whole_references; /* its references when no command used it and the object was its only sub-buffer */
    struct vulkan_outliving *outliving; /* owned; in case commands use the object for longer than the application */
};

static inline struct vulkan_object *vulkan_object(struct transfer *transfer)
{
    return (struct vulkan_object *)transfer;
}

/* The Direct3D surface that is shared. */
static inline const struct surface *vulkan_shared(const struct vulkan_object *object)
{
    return object->copy.resource ? &object->copy : &object->base.surface;
}

/* ---- vulkan_place.c: checks that images match their surfaces ---- */

/* Finds out where a surface is. False: `why`, of VULKAN_WHY bytes, gives the reason. */
bool vulkan_locate(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at,
                   char *why);
/* Whether it is where it was found; updates what else may have changed. */
bool vulkan_is_there(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at,
                     char *why);
/* Whether the image at `at` contains the surface in the format and size that OpenCL expects. */
bool vulkan_fits(const struct surface_desc *desc, const struct vulkan_location *at, char *why);
/* The VkImageAspectFlagBits of the surface's plane. */
uint32_t vulkan_aspect(const struct surface_desc *desc);

/* ---- vulkan.c ---- */

/* Passes an image back to Direct3D that OpenCL still has, before its object is destroyed. */
void vulkan_return(struct vulkan_object *object);

/* ---- vulkan_import.c: by file descriptors ---- */

/* Whether the context's device imports, and the memory is the same device's. */
bool vulkan_imports_from(struct vulkan_context *context, const struct vulkan_memory *memory);
/* CL_SUCCESS: the memory object was created (`base.memory`, `whole`). */
cl_int vulkan_import(struct vulkan_object *object, const struct transfer_request *request, char *why);
/* transport.create_part. */
cl_mem vulkan_create_part(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status);
/* Enqueues the acquire of the imported objects that the driver has not acquired, or the release of those that it has.
 * The driver may wait for everything before the command. `to->queue` NULL: in cld3d's own queue. `to` NULL: likewise,
 * and waits; a failure there does not affect the other objects. */
cl_int vulkan_external(const struct handover *handover, bool acquire, const struct enqueueing *to);
/* Makes the driver release in the same way what it has, when all commands have ended, and waits. What it fails to
 * release it still has. In a callback of the driver it still has everything. */
cl_int vulkan_external_release(const struct handover *handover);
/* An OpenCL code for a driver's code, which may not be one. */
cl_int vulkan_status(cl_int status);

/* ---- vulkan_gpu_copy.c: through copies of the Vulkan side ---- */

/* Creates a copy, and imports it. Nothing is left behind on failure. */
cl_int vulkan_import_gpu_copy(struct vulkan_object *object, const struct transfer_request *request, char *why);
/* For the objects of the list that have copies and have not moved: copies the images to their copies and waits; or,
 * with `back`, queues the copies to the images. False: one has failed. */
bool vulkan_move_gpu_copy(const struct handover *handover, bool back);
void vulkan_drop_gpu_copy(struct vulkan_object *object);

/* ---- vulkan_mapped.c: over host-visible memory ---- */

/* CL_SUCCESS: the memory object was created over the mapped memory, which the Vulkan side holds (`held`). After a
 * failure the memory may be held, too. */
cl_int vulkan_over_mapped(struct vulkan_object *object, const struct transfer_request *request, char *why);

/* ---- vulkan_outlive.c: transport.outlive ---- */

struct vulkan_outliving *vulkan_outliving_make(void); /* to be freed */
bool vulkan_outlive(struct transfer *transfer);

#endif
