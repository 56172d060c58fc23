/* Direct3D's half of the transports that use a staging copy: the copy, its mapping, and our own rows beside the mapped
 * ones. OpenCL's half belongs to each transport. */
#ifndef CLD3D_TRANSPORT_STAGED_H
#define CLD3D_TRANSPORT_STAGED_H

#include "d3d/staging.h"
#include "transport/pinned.h"
#include "transport/transport.h"

struct converter;
struct pinning;
struct staging_pool;

/* The first member of such a transport's record. */
struct staged {
    struct transfer base;
    struct staging_pool *pool;    /* the context's */
    struct pinning *pinning;      /* the context's, for `rows`. NULL: these are ordinary memory */
    bool lends;                   /* other objects may have the staging copy between a release and the next acquire */
    bool keeps_rows;              /* but not the rows: the memory object lies in them */
    struct mapped_surface mapped; /* valid while is_mapped: from acquire to release, or only while rows are copied */
    bool is_mapped;
    unsigned fetch_number; /* equal for what one acquire has fetched */
    bool failed;           /* Direct3D has failed with the staging copy, which is freed soon instead of lent */
    /* converts rows between Direct3D's texels and the storage format of the driver's image; NULL: the two are equal, or
     * the device converts */
    const struct converter *converter;
    struct mapped_surface place; /* where the staging copy of the pool was mapped before; `data` NULL: unknown */
    struct aligned_memory rows;  /* the driver's texels, tightly packed; none until needed */
    bool takes_rows;             /* Direct3D's bytes are copied from the mapping to `rows` */
    bool gives_rows;             /* the bytes for Direct3D are in `rows` and not in the mapping */
    /* retained: OpenCL supports only tightly packed rows, and keeps those of commands that were abandoned in this
     * context. Otherwise NULL */
    struct context_record *dense;
};

static inline struct staged *staged_of(struct transfer *transfer)
{
    return (struct staged *)transfer;
}

/* The surface is one plane of several that share a staging copy: the other planes in the mapping may be out of date
 * when this one is stored. */
static inline bool staged_is_plane(const struct staged *staged)
{
    return staged->base.surface.desc.whole_level;
}

/* Call once, before anything is staged. `converter`, `dense`: see the members; `dense` is taken over. */
void staged_open(struct staged *staged, struct staging_pool *pool, const struct converter *converter,
                 struct context_record *dense);
/* transport.destroy: returns the staging copy and the rows to the pool, or frees them. */
void staged_destroy(struct transfer *transfer);

/* The texels of `rows`: bytes of a row, and of all (SIZE_MAX if a size_t cannot hold them). */
size_t staged_row_bytes(const struct staged *staged);
size_t staged_bytes(const struct staged *staged);

/* Obtain what is missing, from the pool if it has a staging copy with rows: the copy, or the rows. False: out of memory. */
bool staged_need_copy(struct staged *staged);
bool staged_need_rows(struct staged *staged);
/* Maps the staging copy (`write`: see staging_ops.map). False: Direct3D has failed, which `failed` records.
 * staged_unmap does nothing if nothing is mapped. */
bool staged_map(struct staged *staged, bool write);
void staged_unmap(struct staged *staged);
/* Frees the staging copy; the next acquire gets another one. */
void staged_drop_copy(struct staged *staged);

/* transport.d3d_give, d3d_take and undo. The latter two lend the staging copies. */
bool staged_d3d_give(const struct handover *handover);
bool staged_d3d_take(const struct handover *handover);
void staged_undo(const struct handover *handover);

#endif
