/* Direct3D's half of the transports that use a staging copy: the copy, its mapping, and our own rows beside the mapped
 * ones. OpenCL's half belongs to each transport. */
#ifndef CLD3D_TRANSPORT_STAGED_H
#define CLD3D_TRANSPORT_STAGED_H

#include "d3d/staging.h"
#include "transport/aligned.h"
#include "transport/transport.h"

struct converter;
struct pinning;
struct staging_pool;

/* The first member of such a transport's record. */
struct staged {
    struct transfer base;
    struct staging_pool *pool;    /* the context's */
    struct pinning *pinning;      /* the context's, for `rows`. NULL: these are ordinary memory */
    bool lends;                   /* others may have the staging copy between a release and the next acquire, unless
                                   * it is of use to no other */
    bool lent;                    /* it has been lent, and there is no other one yet */
    bool keeps_rows;              /* they are not lent: the memory object lies in them */
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
    /* retained: OpenCL supports only tightly packed rows, and keeps those of commands that were abandoned in this
     * context. Otherwise NULL */
    struct context_record *dense;
    bool gives_rows; /* the bytes for Direct3D are in `rows` and not in the mapping */
};

static inline struct staged *staged_of(struct transfer *transfer)
{
    return (struct staged *)transfer;
}

/* The surface is one plane of several that share a staging copy: the other planes in the mapping may be out of date
 * when this one is stored. */
bool staged_is_plane(const struct staged *staged);

/* Sets the converter, NULL if there is none, and what follows from it for the rows. `dense`: see the member; taken
 * over. Call once, before anything is staged. */
void staged_plan(struct staged *staged, const struct converter *converter, struct context_record *dense);

/* The texels of `rows`: bytes of a row, and of all (SIZE_MAX if a size_t cannot hold them). */
size_t staged_row_bytes(const struct staged *staged);
size_t staged_bytes(const struct staged *staged);

/* Both obtain the staging copy, unless there is one: the first only from the pool, with `place` and `rows`; the second
 * creates one, without rows, if the pool has none. False: there is none. They end the object's loan. */
bool staged_take_pooled(struct staged *staged);
bool staged_need_copy(struct staged *staged);
/* Obtains only the rows. False: out of memory. */
bool staged_need_rows(struct staged *staged);
/* Returns everything to the pool, or frees it. Nothing may be mapped. */
void staged_drop(struct staged *staged);
/* Maps the staging copy (`write`: see staging_ops.map). False: Direct3D has failed, which `failed` records.
 * staged_unmap does nothing if nothing is mapped. */
bool staged_map(struct staged *staged, bool write);
void staged_unmap(struct staged *staged);

/* transport.d3d_give, d3d_take and undo. The latter two lend the staging copies. */
bool staged_d3d_give(const struct handover *handover);
bool staged_d3d_take(const struct handover *handover);
void staged_undo(const struct handover *handover);

#endif
