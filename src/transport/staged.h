/* Direct3D's half of the transports that go by a staging copy: the copy, its map, and rows of ours beside what is mapped.
 * OpenCL's half is the transport's own. */
#ifndef CLD3D_TRANSPORT_STAGED_H
#define CLD3D_TRANSPORT_STAGED_H

#include "d3d/staging.h"
#include "transport/aligned.h"
#include "transport/transport.h"

struct converter;
struct staging_pool;

/* The record of a transport begins with it. */
struct staged {
    struct transfer base;
    struct staging_pool *pool;    /* the context's */
    struct mapped_surface mapped; /* valid while is_mapped: from acquire to release, or only while rows are copied */
    bool is_mapped;
    bool failed;                       /* Direct3D once did: no other object shall have the staging copy */
    const struct converter *converter; /* converts rows between Direct3D's texels and the storage format of the driver's
                                          image; NULL: the two are the same, or the device converts */
    struct mapped_surface place; /* where the staging copy of the pool was mapped before; `data` NULL: not known */
    struct aligned_memory rows;  /* the driver's texels in rows without gaps; none until they are needed */
    bool takes_rows;             /* what Direct3D gives is copied from what is mapped to `rows` */
    struct context_record
        *dense;      /* retained: OpenCL gets along with rows without gaps alone, and keeps those of commands that
                                     were given up in this context. Else NULL */
    bool gives_rows; /* what goes back to Direct3D is in `rows` and not in what is mapped */
};

static inline struct staged *staged_of(struct transfer *transfer)
{
    return (struct staged *)transfer;
}

/* The surface is one plane of several that have a staging copy in common: what is mapped of the others may be old when this
 * one is stored. */
bool staged_is_plane(const struct staged *staged);

/* Sets the converter, NULL if there is none, and what follows for the rows. `dense`: as the member, and taken over. Once, before anything is staged. */
void staged_plan(struct staged *staged, const struct converter *converter, struct context_record *dense);

/* The texels of `rows`: bytes of a row, and of all (SIZE_MAX where a size_t can't hold them). */
size_t staged_row_bytes(const struct staged *staged);
size_t staged_bytes(const struct staged *staged);

/* The staging copy with `place` and `rows`, unless there is one: from the pool, if it has one; or made, without rows. */
bool staged_take_pooled(struct staged *staged);
bool staged_need_copy(struct staged *staged);
/* The rows alone. */
bool staged_need_rows(struct staged *staged);
/* All of it is given to the pool, or freed. Nothing is mapped. */
void staged_drop(struct staged *staged);
bool staged_map(struct staged *staged, bool write);
void staged_unmap(struct staged *staged);

/* transport.d3d_give, d3d_take and undo. */
bool staged_d3d_give(const struct handover *handover);
bool staged_d3d_take(const struct handover *handover);
void staged_undo(const struct handover *handover);

#endif
