/* Memory that a Vulkan device and an OpenCL device both work on: rows of texels, or an image. */
#ifndef CLD3D_TRANSPORT_SHARED_ROWS_H
#define CLD3D_TRANSPORT_SHARED_ROWS_H

#include "transport/pinned.h"
#include "transport/vulkan_object.h"

/* What is asked for. */
struct rows_request {
    const struct vulkan_context *gpu; /* with one device */
    const struct vulkan_side *side;
    uint64_t image; /* on whose device they are made, and of which a subresource is copied */
    uint32_t aspect, level, layer;
    enum vulkan_rows_kind kind;
    bool
        maps; /* of VULKAN_ROWS_HOST, if the device does not work in host memory: the host has it only while it is mapped */
    size_t size;  /* of linear memory, in bytes */
    size_t texel; /* bytes of a texel */
    const cl_image_format *format;
    /* of VULKAN_ROWS_IMAGE: how OpenCL imports it */
    cl_mem_flags flags;
    const cl_image_desc *desc;
};

struct shared_rows {
    struct shared_rows *after; /* for a list of the owner's */
    const struct vulkan_context *gpu;
    const struct vulkan_side *side;
    struct vulkan_rows at;
    cl_mem memory; /* the buffer of linear memory, which is owned; or the image, which is the caller's */
    bool maps;     /* as asked for */
    struct aligned_memory host;
    void *mapped;  /* NULL: OpenCL has it */
    bool acquired; /* of other kinds: the driver has acquired the import */
};

/* For display; live as long as the process. */
extern const char *const rows_kinds[VULKAN_ROWS_KINDS];

/* NULL: `why`, of VULKAN_WHY bytes, gives the reason. */
struct shared_rows *rows_make(const struct rows_request *request, char *why);
/* No command may use them. Not in a callback of the driver. NULL is allowed. */
void rows_free(struct shared_rows *rows);

/* Enqueue what the driver has to know when the memory passes from Vulkan to OpenCL (`take`: an acquire or an unmap), and back
 * (`give`: a release or a map; with `anew`, what OpenCL has written is lost). Nothing if it has passed already. */
cl_int rows_take(struct shared_rows *rows, const struct enqueueing *to);
cl_int rows_give(struct shared_rows *rows, bool anew, const struct enqueueing *to);
/* Whether a `give` would do something. */
bool rows_are_taken(const struct shared_rows *rows);

/* Whether Vulkan and OpenCL see what the other writes into such memory. Tried once in a process for a pair of devices and a
 * kind, within a second. False: `why` gives the reason. */
bool rows_work(const struct rows_request *request, const struct gpu *vulkan, char *why);

#endif
