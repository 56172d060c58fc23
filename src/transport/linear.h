/* Linear memory that a Vulkan device and an OpenCL device both work on, as rows of texels. */
#ifndef CLD3D_TRANSPORT_LINEAR_H
#define CLD3D_TRANSPORT_LINEAR_H

#include "transport/pinned.h"
#include "transport/vulkan_object.h"

struct linear {
    struct linear *after; /* for a list of the owner's */
    const struct vulkan_context *gpu;
    const struct vulkan_side *side;
    struct vulkan_rows at;
    cl_mem buffer; /* owned; of the whole memory */
    /* Of VULKAN_ROWS_HOST, if the device does not work in host memory: the host has the memory only while it is mapped. */
    bool maps;
    struct aligned_memory host;
    void *mapped;  /* NULL: OpenCL has it */
    bool acquired; /* of other kinds: the driver has acquired the import */
};

/* For display; live as long as the process. */
extern const char *const linear_kinds[VULKAN_ROWS_KINDS];

/* On the device of an image, and in a context with one device. NULL: `why`, of VULKAN_WHY bytes, gives the reason. */
struct linear *linear_make(const struct vulkan_context *gpu, const struct vulkan_side *side, uint64_t image,
                           enum vulkan_rows_kind kind, bool maps, size_t size, char *why);
/* No command may use it. Not in a callback of the driver. NULL is allowed. */
void linear_free(struct linear *linear);

/* Enqueue what the driver has to know when the memory passes from Vulkan to OpenCL (`take`: an acquire or an unmap), and back
 * (`give`: a release or a map; with `anew`, what OpenCL has written is lost). Nothing if it has passed already. */
cl_int linear_take(struct linear *linear, const struct enqueueing *to);
cl_int linear_give(struct linear *linear, bool anew, const struct enqueueing *to);
/* Whether a `give` would do something. */
bool linear_is_taken(const struct linear *linear);

/* Whether Vulkan and OpenCL see what the other writes into such memory. Tried once in a process for a pair of devices and a
 * kind, within a second. False: `why` gives the reason. */
bool linear_works(const struct vulkan_context *gpu, const struct vulkan_side *side, const struct gpu *vulkan,
                  uint64_t image, enum vulkan_rows_kind kind, bool maps, char *why);

#endif
