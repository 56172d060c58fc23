/* Shared between the files of the Vulkan transport. */
#ifndef CLD3D_TRANSPORT_VULKAN_OBJECT_H
#define CLD3D_TRANSPORT_VULKAN_OBJECT_H

#include "d3d/native.h"
#include "bridge/vulkan_access.h"
#include "transport/transport.h"

typedef cl_int(CL_API_CALL *external_function)(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                               cl_uint wait_count, const cl_event *wait, cl_event *event);

/* What the devices of a context can import. Constant. */
struct vulkan_context {
    cl_context context;
    uint32_t imports;    /* bits of enum vulkan_rows_kind; 0: nothing, or they are several GPUs */
    struct gpu gpu;      /* that they are */
    size_t alignment;    /* in bytes, of sub-buffers */
    bool linear;         /* a device treats imported images as linear */
    cl_uint count;       /* of the devices */
    cl_device_id device; /* the first of them */
    external_function acquire, release;
    const char *why; /* why they do not import opaque file descriptors */
};

/* Where a surface is, as reported by Direct3D and the Vulkan side. */
struct vulkan_location {
    struct native_place native;
    struct vulkan_image image; /* for a buffer only its memory */
};

struct vulkan_object {
    struct transfer base;
    const struct vulkan_context *context;
    const struct vulkan_side *side;
    struct vulkan_location at; /* of the surface, when the object was created */
    cl_mem_flags flags;        /* as requested */
    bool imported;             /* otherwise over mapped memory */
    bool passed;               /* OpenCL has the image */
    bool moved;                /* the surface had moved when that was last checked */
    bool held;                 /* the memory, by the Vulkan side */
    bool acquired;             /* the driver's last command acquired the import, and did not release it */
    cl_mem whole;              /* owned; the import of a buffer's memory. NULL: the object is the import */
};

static inline struct vulkan_object *vulkan_object(struct transfer *transfer)
{
    return (struct vulkan_object *)transfer;
}

/* ---- vulkan.c ---- */

/* Calls `act` for each part of the list that has one device and at most VULKAN_AT_ONCE objects. */
enum { VULKAN_AT_ONCE = 64 };
bool vulkan_for_devices(const struct handover *handover, bool (*act)(const struct handover *));

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

/* ---- vulkan_import.c: by file descriptors ---- */

/* Finds out what the context's devices can import. Nothing is freed later. */
void vulkan_examine(struct vulkan_context *context);
/* Imports the surface's memory. CL_SUCCESS: the memory object was created (`base.memory`, `whole`). Otherwise nothing is left
 * behind. */
cl_int vulkan_import(struct vulkan_object *object, const struct transfer_request *request, char *why);
/* transport.create_part. */
cl_mem vulkan_create_part(const struct transfer *transfer, cl_mem_flags flags, cl_buffer_create_type type,
                          const void *info, cl_int *status);
/* Enqueues the driver's acquire of the imported objects that it has not acquired, or its release of those that it has.
 * The driver may wait in the call for everything before the command. */
cl_int vulkan_external(const struct handover *handover, bool acquire, const struct enqueueing *to);
/* The same in a queue of cld3d's own. Waits for it. */
cl_int vulkan_external_apart(const struct handover *handover, bool acquire);

/* ---- vulkan_mapped.c: over host-visible memory ---- */

/* CL_SUCCESS: the memory object was created over the mapped memory, which the Vulkan side holds (`held`). Otherwise
 * nothing is left behind. */
cl_int vulkan_over_mapped(struct vulkan_object *object, const struct transfer_request *request, char *why);

#endif
