/* What the Vulkan layer of libcld3d.so knows of images and buffers of this process, for transports that share them with
 * OpenCL. The layer is on the host's side. On native Linux the transports call it as it is; under Wine through the channel.
 *
 * A resource is named by what Direct3D's implementation tells: the handle of a VkImage, which is the same on both sides of
 * Wine, or a buffer's device address. It must live during the call; what the answer says of it is true for as long as it
 * lives. Structures go through the channel as they are. Any thread may call. */
#ifndef CLD3D_HOST_VULKAN_H
#define CLD3D_HOST_VULKAN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VULKAN_SIDE_VERSION = 2,
    VULKAN_WHY = 160, /* bytes for a reason in words */
    VULKAN_ANY_FAMILY = 0x7fffffff,
};

/* The memory in which a resource lies. */
struct vulkan_memory {
    uint8_t device_uuid[16]; /* VkPhysicalDeviceIDProperties.deviceUUID */
    /* names the VkDeviceMemory for `export` and `hold`; not a handle of Vulkan's, and never used again */
    uint64_t memory;
    uint64_t memory_size; /* bytes of the whole memory: what an import has to name */
    uint64_t offset;      /* where the resource begins in it, in bytes; of a buffer: where its address lies */
    uint64_t size;        /* bytes of the resource from there on */
    /* where the host sees the resource's first byte, coherently, or 0; valid for as long as the memory */
    uint64_t mapped;
    uint32_t exportable; /* 1: `export` gives a file descriptor */
    uint32_t dedicated;  /* 1: nothing else lies in the memory */
};

/* An image as it was made; the values are Vulkan's. What the program wanted optimal may be linear. */
struct vulkan_image {
    struct vulkan_memory memory;
    uint32_t type, format, width, height, depth, levels, layers, samples, tiling, usage, flags;
    uint32_t outside; /* how often it was passed to another API and not back yet */
};

/* Where a subresource of a linear image lies. */
struct vulkan_place {
    uint64_t offset; /* from the image's first byte */
    uint64_t size, row_pitch;
    uint64_t slice_pitch; /* of an array: from layer to layer */
};

/* One copy to be made, or one image to be passed. */
struct vulkan_move {
    uint64_t copy;   /* the copy's name; to `pass`, the image's handle */
    uint32_t layout; /* the VkImageLayout that Direct3D has the image in */
    uint32_t family; /* of the queue that Direct3D submits to; VULKAN_ANY_FAMILY: of the first one that draws */
};

/* The functions. Each gives 1, or 0 and why not in words: VULKAN_WHY bytes at `why`, which may be NULL. Garbage for a name or a
 * handle is answered like one that is not known. Two devices may have images with the same handle, or buffers with the same
 * address; such a one is ambiguous, and refused. */
struct vulkan_side {
    /* The image with the handle `image`. */
    uint64_t (*find_image)(uint64_t image, struct vulkan_image *found, char *why);
    /* A subresource of it; `aspect` is a VkImageAspectFlagBits: colour or a plane. The image has to be linear. */
    uint64_t (*find_place)(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why);
    /* The buffer that has the bytes from `address` on, which must be `size` or more. */
    uint64_t (*find_buffer)(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why);
    /* A new file descriptor (an opaque one) of the memory in which the image or the buffer found lies. The caller closes it, by
     * `close`, or hands it to an import that succeeds. */
    uint64_t (*export)(uint64_t memory, int32_t *file, char *why);
    uint64_t (*close)(uint64_t file);
    /* Holds the memory while something else than its import looks at it (a mapped place): it is freed when it was given back
     * as often as it was held, and by its owner. If its device is destroyed before that, its bytes stay for good. Only the memory
     * is held: when the resource in it is gone, its owner may put another one there, so who still uses the bytes keeps the
     * resource, too. `give_back` gives 0 for what is not held. */
    uint64_t (*hold)(uint64_t memory, char *why);
    uint64_t (*give_back)(uint64_t memory);

    /* For a plane, level or layer of an image that OpenCL can't import: an image of ours, of that size, with one level and one
     * layer, in exportable memory of its own. `*copy` is its name, `made` what find_image tells of it. Only where images are
     * exported: mapped ones need none. The image may be destroyed before its copy, which is of no use then: `move` refuses it. */
    uint64_t (*make_copy)(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, uint64_t *copy,
                          struct vulkan_image *made, char *why);
    /* Copies the images to their copies, or, with `back`, the copies to the images: on the GPU, behind all that Direct3D has
     * submitted to its queue before. Waits until it is done, but with `back` only queues it: what Direct3D submits later comes after
     * it. All are of one device. Direct3D uses the queue meanwhile as it likes, but not the images. On failure the bytes of the
     * destinations are undefined. */
    uint64_t (*move)(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
    /* No memory of it is left but what was exported. 0 for what is no copy. */
    uint64_t (*drop_copy)(uint64_t copy);

    /* Passes images to another API that has imported their memory or, with `back`, to Direct3D again: what the GPU keeps beside
     * the bytes, such as compression or a clear that is not written out, is in the bytes then. Behind all that Direct3D has
     * submitted to its queue before; waits until it is done, but with `back` only queues it. All are of one device. Several may have
     * an image passed to them: it is Direct3D's when it was passed back as often. */
    uint64_t (*pass)(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
};

/* The names of its functions, by which the channel gives them. */
#define VULKAN_SIDE_FUNCTIONS(X) \
    X(find_image)                \
    X(find_place) X(find_buffer) X(export) X(close) X(hold) X(give_back) X(make_copy) X(move) X(drop_copy) X(pass)

/* The functions of this library itself, or NULL where no Vulkan instance of this process has the layer. For native Linux: in a
 * Windows process the channel gives them (CHANNEL_VULKAN). */
const struct vulkan_side *vulkan_side_here(void);

static_assert(sizeof(struct vulkan_memory) == 64, "memory is described in the same way on both sides");
static_assert(sizeof(struct vulkan_image) == 112, "images are described in the same way on both sides");
static_assert(sizeof(struct vulkan_move) == 16, "moves are described in the same way on both sides");
static_assert(sizeof(struct vulkan_place) == 32, "places are described in the same way on both sides");

#endif
