/* Direct3D's resources as the Vulkan objects that they are, where Direct3D is implemented over Vulkan and tells (DXVK):
 * operations for transports that share the memory itself. All others see nothing of it.
 *
 * The rules of d3d.h hold: the operations check nothing that the core has checked, any thread that the application lets use
 * the device may call, and no lock of ours is held. */
#ifndef CLD3D_D3D_NATIVE_H
#define CLD3D_D3D_NATIVE_H

#include "d3d/d3d.h"

/* Where a surface lies at the moment. */
struct native_place {
    uint64_t image;   /* the handle of a VkImage; 0: it is a buffer */
    uint64_t address; /* a buffer's device address */
    uint32_t level, layer;
    uint32_t layout;     /* the VkImageLayout that the image is in while Direct3D does nothing with it */
    uint32_t family;     /* of the queue that Direct3D submits to; of an image alone */
    bool sampled_levels; /* it is one of several levels, which Direct3D neither draws to nor has shaders write to */
};

struct native_ops {
    /* Whether the surface's contents are in a Vulkan object and nowhere else, and which it is. That may be another one at
     * another time: the implementation moves resources. False: `why`, of `why_size` bytes, says in words why not. */
    bool (*find)(const struct surface *surface, struct native_place *place, char *why, size_t why_size);
    /* Where a surface is now that `find` has found: `place` is the answer of then, in which changes what may change. */
    bool (*find_again)(const struct surface *surface, struct native_place *place);
    /* Queues a change of an image surface's layout and back, so that its memory will have all that Direct3D was told before: an
     * implementation puts clears and resolves off until somebody looks, beyond a flush. `place` is what `find` told. Comes before
     * `finish`. */
    bool (*settle)(const struct surface *surface, const struct native_place *place);
    /* Submits all that Direct3D has queued so far on the surface's device, and waits until it is done. False if Direct3D
     * fails at it, the device being lost for example. */
    bool (*finish)(const struct surface *surface);
    /* Submits the same without a wait: what is put into the Vulkan queue from now on comes behind it. False if Direct3D fails. */
    bool (*submit)(const struct surface *surface);
    /* Whether the surface's device is not lost; an error is logged. */
    bool (*alive)(const struct surface *surface);

    /* For a surface that can't be shared in its place: a resource of that surface's size, with one level and one slice, which
     * can. Filled: `copy` but for its transfer's memory. The copies are queued; `copy_back` submits them too, and returns
     * false if Direct3D fails. NULL: there is no such way. */
    bool (*make_copy)(const struct surface *surface, struct surface *copy);
    bool (*copy_from)(const struct surface *surface, const struct surface *copy);
    bool (*copy_back)(const struct surface *surface, const struct surface *copy);

    /* A small image of the device, to find out what Vulkan device that is: its handle, and the resource to be released. NULL
     * if there is none. */
    void *(*make_probe)(void *device, uint64_t *image);
};

#endif
