/* Staging copies of Direct3D's surfaces, which the CPU reads and writes: operations for transports that go through the host's
 * memory. The core and other transports need none of it.
 *
 * The rules of d3d.h hold: the operations check nothing, any thread that the application lets use the device may call, and no
 * lock of ours is held. */
#ifndef CLD3D_D3D_STAGING_H
#define CLD3D_D3D_STAGING_H

#include "d3d/d3d.h"

/* Where the CPU finds a mapped plane. */
struct mapped_surface {
    void *data;
    size_t row_pitch;   /* bytes from row to row */
    size_t slice_pitch; /* bytes from slice to slice of a 3D image, else 0 */
};

static inline bool mapped_alike(const struct mapped_surface *a, const struct mapped_surface *b)
{
    return a->data == b->data && a->row_pitch == b->row_pitch && a->slice_pitch == b->slice_pitch;
}

struct staging_ops {
    /* Makes the staging copy, of the subresource's size, readable and writable by the CPU; and frees it. */
    bool (*stage)(struct surface *surface);
    void (*unstage)(struct surface *surface);
    /* Whether the staging copy can serve any resource of the device with the same description. NULL: each does. */
    bool (*staging_serves_alike)(const struct surface *surface);
    /* Whether staging copies of the device and kind stay where they were mapped first for as long as they live, mapped or
     * not, so that memory objects can lie in them; and whether a thread that makes an object may map them. Makes resources
     * and maps them to find it out: the caller remembers the answer. */
    bool (*stays)(void *device, enum surface_kind kind);
    bool
        maps_briefly; /* what is mapped may be the surface itself: it stays so only while rows are copied. `stays` is not asked
                          then, and may be NULL */
    /* Around the fetches and maps of one command, or around its stores: what planes of one surface have in common is done
     * once meanwhile. `end` returns false if Direct3D failed at it, and then nothing in between counts. NULL: there is
     * nothing of the kind. */
    void (*begin)(void);
    bool (*end)(void);
    /* Queues the copy from the resource to the staging copy. NULL: `map` does what is needed. */
    bool (*fetch)(struct surface *surface);
    /* Around calls for one surface that no other thread's calls to its device may come between: by the device's own
     * critical section, which a thread of the application that calls us may hold already. Needed only where surfaces are
     * `whole_level`. */
    void (*enter)(const struct surface *surface);
    void (*leave)(const struct surface *surface);
    /* Waits for queued copies and maps the staging copy for reading and writing; one that is mapped briefly, for reading, or with
     * `write` for writing all of the plane. */
    bool (*map)(struct surface *surface, bool write, struct mapped_surface *mapped);
    void (*unmap)(struct surface *surface);
    /* Unmaps the staging copy, which is mapped for writing, and queues the copy back to the resource, so that later Direct3D work sees it. */
    bool (*store)(struct surface *surface);
};

#endif
