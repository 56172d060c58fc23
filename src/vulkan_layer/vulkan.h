/* What the Vulkan layer of libcld3d.so knows about images and buffers of this process, for transports that share them
 * with OpenCL. The layer is on the host's side. On native Linux the transports call it directly, under Wine through the
 * bridge.
 *
 * A resource is identified by what Direct3D's implementation reports: the handle of a VkImage, which is the same on
 * both sides of Wine, or a buffer's device address. It must be alive during the call; the result is valid for as long
 * as it lives. Structures are the same in 32 and 64 bits. Any thread may call. */
#ifndef CLD3D_VULKAN_LAYER_VULKAN_H
#define CLD3D_VULKAN_LAYER_VULKAN_H

#include "gpu.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VULKAN_SIDE_VERSION = 4,
    VULKAN_WHY = 160, /* bytes for a reason */
    VULKAN_ANY_FAMILY = 0x7fffffff,
};

/* The memory of a resource. */
struct vulkan_memory {
    struct gpu gpu; /* the device */
    /* names the VkDeviceMemory for `export` and `hold`; not a handle of Vulkan's, and never used again. 0: it is not
     * followed, and nothing but the device is known */
    uint64_t memory;
    uint64_t memory_size; /* bytes of the whole memory: what an import has to name */
    uint64_t offset;      /* where the resource begins in it, in bytes; of a buffer: where its address lies */
    uint64_t size;        /* bytes of the resource; of a buffer, those that were asked for */
    /* where the host sees the resource's first byte, coherently, or 0; valid for as long as the memory */
    uint64_t mapped;
    uint32_t exportable; /* 1: `export` gives a file descriptor */
    uint32_t dedicated;  /* 1: nothing else lies in the memory */
};

/* An image as it was created; the values are Vulkan's. An image that the program requested as optimal may be linear. */
struct vulkan_image {
    struct vulkan_memory memory;
    uint32_t type, format, width, height, depth, levels, layers, samples, tiling, usage, flags;
    uint32_t outside; /* number of times that it was passed to another API and not back */
};

/* The layout of a subresource of a linear image. */
struct vulkan_place {
    uint64_t offset; /* from the image's first byte */
    uint64_t size, row_pitch;
    uint64_t slice_pitch; /* for an array: from layer to layer */
};

/* One image to pass, or one copy to or from rows. */
struct vulkan_move {
    uint64_t name;   /* of rows; for `pass`, the image's handle */
    uint32_t layout; /* the VkImageLayout that the image has in Direct3D */
    uint32_t family; /* of the queue that Direct3D submits to, which must be the program's first one with graphics;
                      * VULKAN_ANY_FAMILY: is that queue */
    /* for `move_rows`: the image, its subresource, and texels from row to row in linear memory */
    uint64_t image;
    uint32_t aspect, level, layer, row_texels;
};

/* Memory that a Vulkan device copies to and from, and that OpenCL works on. */
enum vulkan_rows_kind {
    VULKAN_ROWS_HOST,    /* linear memory of the caller's (VK_EXT_external_memory_host) */
    VULKAN_ROWS_DMA_BUF, /* linear memory of the device, exported as a dma-buf */
    VULKAN_ROWS_IMAGE,   /* an image as large as the subresource, exported as an opaque file descriptor */
    VULKAN_ROWS_KINDS,
    VULKAN_ROWS_TRIAL =
        VULKAN_ROWS_KINDS, /* a small image that is not exported: it stands for the program's in a trial */
};
enum { VULKAN_ROWS_PAGE = 65536, VULKAN_ROWS_TRIAL_SIDE = 128 /* texels */ };
struct vulkan_rows {
    uint64_t rows;    /* out: their identifier, which is never used again */
    uint64_t size;    /* bytes, in whole VULKAN_ROWS_PAGEs; out: of the whole memory, which an import has to name */
    uint64_t address; /* VULKAN_ROWS_HOST: of the memory, a multiple of VULKAN_ROWS_PAGE; it must outlive the rows.
                       * VULKAN_ROWS_TRIAL: out, the image's handle; its layout is VK_IMAGE_LAYOUT_GENERAL */
    uint32_t kind;
    int32_t file;                  /* out: the caller's, for `close` or an import that succeeds; or -1 */
    uint32_t aspect, level, layer; /* the subresource, which gives an image its format and extent */
    uint32_t unused;
};

/* The functions. Each returns 1, or 0 and the reason: VULKAN_WHY bytes at `why`, which may be NULL. An invalid
 * identifier or handle is treated like an unknown one. Two devices may have images with the same handle, or buffers
 * with the same address; such a handle or address is ambiguous, and refused. */
struct vulkan_side {
    /* The image with the handle `image`. */
    uint64_t (*find_image)(uint64_t image, struct vulkan_image *found, char *why);
    /* A subresource of it; `aspect` is a VkImageAspectFlagBits: colour or a plane. The image must be linear. */
    uint64_t (*find_place)(uint64_t image, uint64_t aspect, uint64_t level, uint64_t layer, struct vulkan_place *found,
                           char *why);
    /* The buffer that contains `size` or more bytes from `address` on. `found->memory` is set by the caller: the memory
     * in which to look, or 0 for any, because another device may have such addresses too. */
    uint64_t (*find_buffer)(uint64_t address, uint64_t size, struct vulkan_memory *found, char *why);
    /* A new opaque file descriptor of the memory of the found image or buffer. The caller closes it with `close`, or
     * passes it to an import that succeeds. */
    uint64_t (*export)(uint64_t memory, int32_t *file, char *why);
    uint64_t (*close)(uint64_t file);
    /* Keeps the memory alive while something other than its import uses it (a mapped address): it is freed when it has
     * been given back as often as it was held, and by its owner. If its device is destroyed before that, the memory
     * leaks. Only the memory is held: when the resource in it is gone, its owner may put another one there, so users of
     * the bytes must keep the resource alive too. `give_back` returns 0 for memory that is not held. */
    uint64_t (*hold)(uint64_t memory, char *why);
    uint64_t (*give_back)(uint64_t memory);

    /* Passes images to another API that has imported their memory or, with `back`, to Direct3D again. Whatever the GPU
     * keeps outside the bytes, such as compression or a clear that is not written yet, is written to the bytes. The
     * transfer comes behind everything that Direct3D has submitted to its queue before; it waits until it is done, but
     * with `back` only queues it. All are of one device. An image may be passed to several users: Direct3D owns it when
     * it has been passed back as often. */
    uint64_t (*pass)(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);

    /* Creates rows on the device of an image. They end with `drop_rows`, or with the device: then moves refuse them.
     * `fit_rows`: whether rows are of the image's device. */
    uint64_t (*make_rows)(uint64_t image, struct vulkan_rows *rows, char *why);
    uint64_t (*drop_rows)(uint64_t rows);
    uint64_t (*fit_rows)(uint64_t rows, uint64_t image);
    /* Copies images to rows, or, with `back`, rows to images: on the GPU, behind everything that Direct3D has submitted to
     * its queue before. Waits until it is done; with `back` it only queues the work, and whatever Direct3D submits later
     * comes after it. A slice follows the other without a gap. All are of one device. Meanwhile Direct3D may use the queue,
     * but not the images. On failure the bytes of the destinations are undefined. Rows belong to OpenCL from a copy to them
     * until the next one, whichever way. */
    uint64_t (*move_rows)(const struct vulkan_move *moves, uint64_t count, uint64_t back, char *why);
};

/* Its functions, in their order in the structure: the bridge calls them by their place. */
#define VULKAN_SIDE_FUNCTIONS(X) \
    X(find_image)                \
    X(find_place)                \
    X(find_buffer)               \
    X(export)                    \
    X(close)                     \
    X(hold) X(give_back) X(pass) X(make_rows) X(drop_rows) X(fit_rows) X(move_rows)

/* The functions of this library itself, or NULL if no Vulkan instance of this process has the layer. In a Windows process the
 * bridge calls them (bridge/vulkan_access.h). */
const struct vulkan_side *vulkan_side_here(void);

static_assert(sizeof(struct vulkan_memory) == 80, "memory is described in the same way on both sides");
static_assert(sizeof(struct vulkan_image) == 128, "images are described in the same way on both sides");
static_assert(sizeof(struct vulkan_move) == 40, "moves are described in the same way on both sides");
static_assert(sizeof(struct vulkan_rows) == 48, "rows are described in the same way on both sides");
static_assert(sizeof(struct vulkan_place) == 32, "places are described in the same way on both sides");

#endif
