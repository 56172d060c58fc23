/* Staging copies of Direct3D's surfaces, which the CPU reads and writes: operations for transports through host memory.
 * The core and other transports do not need them.
 *
 * The rules of d3d.h apply: the operations do not repeat the core's checks, any thread that the application lets use
 * the device may call, and cld3d holds no lock. */
#ifndef CLD3D_D3D_STAGING_H
#define CLD3D_D3D_STAGING_H

#include "d3d/d3d.h"

/* A mapped plane. */
struct mapped_surface {
    void *data;
    size_t row_pitch;   /* bytes from row to row */
    size_t slice_pitch; /* bytes from slice to slice of a 3D image, otherwise 0 */
};

static inline bool mapped_alike(const struct mapped_surface *a, const struct mapped_surface *b)
{
    return a->data == b->data && a->row_pitch == b->row_pitch && a->slice_pitch == b->slice_pitch;
}

struct staging_ops {
    /* Creates the staging copy, of the subresource's size, readable and writable by the CPU; and destroys it. False: it
     * cannot be created. */
    bool (*stage)(struct surface *surface);
    void (*unstage)(struct surface *surface);
    /* Whether the staging copy can be used for any resource of the device with the same description. NULL: always. */
    bool (*staging_serves_alike)(const struct surface *surface);
    /* Whether staging copies of the device and kind keep the address of their first mapping for their lifetime, mapped
     * or not, so that memory objects can use that memory; and whether a thread that creates an object may map them.
     * Creates and maps resources to find out: the caller remembers the result. */
    bool (*stays)(void *device, enum surface_kind kind);
    /* The mapping may be the surface itself, mapped only while rows are copied. Then `stays` is not called, and may be NULL. */
    bool maps_briefly;
    /* Whether the surface itself is mapped. The staging copy then holds no memory that another surface could use. What is
     * mapped stays mapped while other planes of the resource are mapped, and the stores of those do not touch it. NULL: no. */
    bool (*maps_surface)(const struct surface *surface);
    /* Called around the fetches and maps of one command, or around its stores: work that planes of one surface have in
     * common is done once. `end` returns false if Direct3D failed; then nothing in between counts. NULL: not needed. */
    void (*begin)(void);
    bool (*end)(void);
    /* Queues the copy from the resource to the staging copy. NULL: `map` does it. */
    bool (*fetch)(struct surface *surface);
    /* Called around calls for one surface that calls of other threads to its device must not interrupt: uses that
     * device's own critical section, which an application thread that calls cld3d may already hold. `leave` gets what
     * `enter` returned, which may be NULL. Needed only if surfaces are `whole_level`. */
    void *(*enter)(void *device);
    void (*leave)(void *section);
    /* Waits for queued copies and maps the staging copy for reading and writing; with `maps_briefly` for reading, or
     * with `write` for writing the whole plane. */
    bool (*map)(struct surface *surface, bool write, struct mapped_surface *mapped);
    void (*unmap)(struct surface *surface);
    /* Unmaps the staging copy, which is mapped for writing, and queues the copy back to the resource, so that later
     * Direct3D work sees it. */
    bool (*store)(struct surface *surface);
};

#endif
