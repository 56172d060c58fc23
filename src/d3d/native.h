/* Direct3D's resources as Vulkan objects, if Direct3D is implemented on Vulkan and exposes them (DXVK): operations for
 * transports that share the memory itself. Nothing else uses them.
 *
 * The rules of d3d.h apply: the operations do not repeat the core's checks, any thread that the application lets use
 * the device may call, and cld3d holds no lock. */
#ifndef CLD3D_D3D_NATIVE_H
#define CLD3D_D3D_NATIVE_H

#include "d3d/d3d.h"

/* With texels of four bytes this is the smallest image that the Vulkan layer exports by default
 * (CLD3D_VULKAN_SMALLEST). */
enum { PROBE_SIZE = 128 };

/* Where a surface currently is. */
struct native_place {
    uint64_t image;   /* the handle of a VkImage; 0: it is a buffer */
    uint64_t address; /* a buffer's device address */
    uint32_t level, layer;
    uint32_t layout; /* the VkImageLayout of the image while Direct3D does not use it */
    uint32_t family; /* of the queue that Direct3D submits to; images only */
};

struct native_ops {
    /* Whether the surface's contents are in a Vulkan object and nowhere else, and in which one. This may change later:
     * the implementation moves resources. False: `why`, of `why_size` bytes, gives the reason. */
    bool (*find)(const struct surface *surface, struct native_place *place, char *why, size_t why_size);
    /* Where a surface that `find` has found is now: `place` is the earlier result, of which the variable parts are
     * updated. */
    bool (*find_again)(const struct surface *surface, struct native_place *place);
    /* Queues a layout change of an image surface and its reversal, so that its memory will have the results of all
     * earlier Direct3D calls: an implementation postpones clears and resolves until the next use, past a flush. Also
     * makes sure that Direct3D will see what OpenCL is about to write. `place` is the result of `find`. Call before
     * `finish`. */
    bool (*flush_deferred)(const struct surface *surface, const struct native_place *place);
    /* Submits everything that Direct3D has queued on the surface's device, and waits until it is done. False if
     * Direct3D fails, for example because the device is lost. */
    bool (*finish)(const struct surface *surface);
    /* The same without waiting: what is put into the Vulkan queue from now on comes after it. False if Direct3D
     * fails. */
    bool (*submit)(const struct surface *surface);
    /* Whether the surface's device is not lost; an error is logged. */
    bool (*alive)(const struct surface *surface);

    /* An image of the device with PROBE_SIZE x PROBE_SIZE texels, used to identify its Vulkan device: its handle, and
     * the resource for the caller to release. NULL if there is none. */
    void *(*make_probe)(void *device, uint64_t *image);
};

#endif
