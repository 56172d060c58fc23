#include "transport/staged.h"

#include "d3d/formats.h"
#include "formats/image.h"
#include "transport/parallel.h"
#include "transport/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct staging_ops *ops(const struct staged *staged)
{
    return staged->base.surface.api->staging;
}

/* ---- rows ---- */

/* Of a texel as Direct3D has it; a buffer's are bytes. */
static size_t mapped_texel_bytes(const struct surface_desc *desc)
{
    return desc->format ? desc->format->texel_bytes : 1;
}

size_t staged_row_bytes(const struct staged *staged)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    return desc->width * (staged->converter ? staged->converter->wide_texel : mapped_texel_bytes(desc));
}

size_t staged_bytes(const struct staged *staged)
{
    const struct surface_desc *desc = &staged->base.surface.desc;
    const size_t rows[3] = {1, desc->height, desc->depth};
    return cl_region_bytes(rows, staged_row_bytes(staged));
}

/* All texels between the rows and what is mapped. */
struct rows_copy {
    const struct staged *staged;
    bool to_mapped, stream;
    size_t parts;
};

/* A part of a copy, `data` being one or more copies. Rows without gaps are copied as one. */
static void copy_part(void *data, unsigned index)
{
    const struct rows_copy *copy = data;
    for (; index >= copy->parts; copy++)
        index -= (unsigned)copy->parts;
    const struct staged *staged = copy->staged;
    const struct surface_desc *desc = &staged->base.surface.desc;
    const struct mapped_surface *mapped = &staged->mapped;
    const size_t texel = mapped_texel_bytes(desc), row = staged_row_bytes(staged);
    const size_t rows = (size_t)desc->height * desc->depth, end = rows * (index + 1) / copy->parts;
    for (size_t at = rows * index / copy->parts, joined; at < end; at += joined) {
        const size_t z = at / desc->height, y = at % desc->height;
        const size_t left = end - at < desc->height - y ? end - at : desc->height - y;
        joined = mapped->row_pitch == desc->width * texel ? left : 1;
        const size_t texels = desc->width * joined;
        char *theirs = (char *)mapped->data + z * mapped->slice_pitch + y * mapped->row_pitch;
        char *ours = (char *)staged->rows.bytes + at * row;
        if (!staged->converter)
            texels_copy(copy->to_mapped ? theirs : ours, copy->to_mapped ? ours : theirs, texels * texel, copy->stream);
        else if (copy->to_mapped)
            texels_narrow(staged->converter, theirs, ours, texels, copy->stream);
        else
            texels_widen(staged->converter, ours, theirs, texels, copy->stream);
    }
}

enum {
    STREAMED_BYTES = 1 << 20, /* so many that the caches have probably lost them since the last frame */
    HELPED_BYTES = 3 << 20,   /* so many that a helper is worth waking */
    PART_BYTES = 512 << 10,   /* of those that helpers may copy */
    PLANES_MOST = 4
};

/* Copies between the rows and the mappings of `count` planes of one surface. Helpers are woken once for all of it. */
static void copy_planes(struct transfer *const *transfers, cl_uint count, bool to_mapped)
{
    struct rows_copy copies[PLANES_MOST];
    size_t all = 0;
    unsigned parts = 0;
    for (cl_uint i = 0; i < count; i++)
        all += staged_bytes(staged_of(transfers[i]));
    for (cl_uint i = 0; i < count; i++) {
        const size_t bytes = staged_bytes(staged_of(transfers[i]));
        copies[i] = (struct rows_copy){staged_of(transfers[i]), to_mapped, all >= STREAMED_BYTES,
                                       all < HELPED_BYTES ? 1 : bytes / PART_BYTES + 1};
        parts += (unsigned)copies[i].parts;
        transfer_moved(transfers[i], bytes);
    }
    if (all >= HELPED_BYTES)
        parallel_run(parts, copy_part, copies);
    for (unsigned i = 0; i < parts && all < HELPED_BYTES; i++)
        copy_part(copies, i);
}

static bool maps_surface(const struct surface *surface)
{
    bool (*const maps)(const struct surface *) = surface->api->staging->maps_surface;
    return maps && maps(surface);
}

/* How many of the transfers from `at` on are planes of one resource that can be mapped at the same time; at least 1. */
static cl_uint planes_together(const struct handover *handover, cl_uint at)
{
    const struct surface *first = &handover->transfers[at]->surface;
    cl_uint count = 1;
    while (maps_surface(first) && count < PLANES_MOST && at + count < handover->count &&
           handover->transfers[at + count]->surface.resource == first->resource &&
           maps_surface(&handover->transfers[at + count]->surface))
        count++;
    return count;
}

/* ---- the staging copy ---- */

static bool take_pooled(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    struct pooled found;
    if (surface->staging)
        return true;
    if (!pool_take(staged->pool, surface, &found))
        return false;
    /* other threads may read the rest */
    surface->staging = found.surface.staging;
    surface->staging_padding = found.surface.staging_padding;
    surface->staging_offset = found.surface.staging_offset;
    staged->place = found.place;
    if (!staged->rows.bytes)
        staged->rows = found.memory;
    else
        aligned_memory_free(&found.memory);
    return true;
}

bool staged_need_rows(struct staged *staged)
{
    enum { ALIGNMENT = 4096 }; /* a device that works in whole pages may have more to do with parts */
    take_pooled(staged);
    if (!staged->rows.bytes && staged->pinning &&
        !staged->dense) /* what was abandoned in dense rows can't be unmapped */
        staged->rows = pinned_memory_make(staged->pinning, staged_bytes(staged));
    if (!staged->rows.bytes)
        staged->rows = aligned_memory_make(staged_bytes(staged), ALIGNMENT);
    return staged->rows.bytes != NULL;
}

bool staged_need_copy(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    /* What the context keeps for others may be the memory that was missing. */
    return take_pooled(staged) || ops(staged)->stage(surface) ||
           (pool_empty(staged->pool, false) && ops(staged)->stage(surface));
}

static void forget_copy(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    surface->staging = NULL;
    surface->staging_padding = surface->staging_offset = 0;
    staged->place = (struct mapped_surface){NULL, 0, 0};
    staged->failed = false;
}

void staged_drop_copy(struct staged *staged)
{
    if (staged->base.surface.staging)
        ops(staged)->unstage(&staged->base.surface);
    forget_copy(staged);
}

/* Returns the staging copy and the rows to the pool. False: they stay. */
static bool give_to_pool(struct staged *staged, struct aligned_memory *rows)
{
    const struct surface *surface = &staged->base.surface;
    const struct pooled given = {*surface, staged->place, *rows};
    const bool serves = surface->staging && !staged->failed &&
                        (!ops(staged)->staging_serves_alike || ops(staged)->staging_serves_alike(surface));
    if (!serves || !pool_give(staged->pool, &given))
        return false;
    forget_copy(staged);
    *rows = (struct aligned_memory){NULL, NULL, NULL};
    return true;
}

/* Direct3D has the objects, which no longer need their staging copies. */
static void lend(const struct handover *handover)
{
    for (cl_uint i = 0; i < handover->count; i++) {
        struct staged *staged = staged_of(handover->transfers[i]);
        struct aligned_memory none = {NULL, NULL, NULL};
        if (!staged->lends)
            continue;
        if (staged->failed)
            staged_drop_copy(staged);
        else if (!staged->keeps_rows ||
                 !maps_surface(&staged->base.surface)) /* else there is nothing of use to others */
            give_to_pool(staged, staged->keeps_rows ? &none : &staged->rows);
    }
}

void staged_open(struct staged *staged, struct staging_pool *pool, const struct converter *converter,
                 struct context_record *dense)
{
    pool_enter(pool);
    staged->pool = pool;
    staged->converter = converter;
    staged->dense = dense;
    staged->takes_rows = converter || dense || ops(staged)->maps_briefly;
    staged->gives_rows = staged->takes_rows || staged_is_plane(staged);
}

void staged_destroy(struct transfer *transfer)
{
    struct staged *staged = staged_of(transfer);
    staged_unmap(staged);
    if (staged->rows.bytes)
        take_pooled(staged); /* rows are kept with a staging copy alone */
    if (!give_to_pool(staged, &staged->rows)) {
        staged_drop_copy(staged);
        aligned_memory_free(&staged->rows);
    }
    record_release(staged->dense);
    pool_leave(staged->pool);
    free(staged);
}

static bool fetch(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    const bool done = staged_need_copy(staged) && (!ops(staged)->fetch || ops(staged)->fetch(surface));
    staged->failed = staged->failed || (!done && surface->staging);
    return done;
}

bool staged_map(struct staged *staged, bool write)
{
    staged->is_mapped = ops(staged)->map(&staged->base.surface, write, &staged->mapped);
    staged->failed = staged->failed || !staged->is_mapped;
    return staged->is_mapped;
}

void staged_unmap(struct staged *staged)
{
    if (staged->is_mapped)
        ops(staged)->unmap(&staged->base.surface);
    staged->is_mapped = false;
}

/* ---- Direct3D gives ---- */

static void begin(const struct d3d_api *api)
{
    if (api->staging->begin)
        api->staging->begin();
}

static bool end(const struct d3d_api *api)
{
    return !api->staging->end || api->staging->end();
}

void staged_undo(const struct handover *handover)
{
    for (cl_uint i = 0; i < handover->count; i++)
        staged_unmap(staged_of(handover->transfers[i]));
    lend(handover);
}

/* For `count` transfers, as planes_together gives them. */
static bool map_and_take(struct transfer *const *transfers, cl_uint count)
{
    bool done = true;
    for (cl_uint i = 0; i < count && done; i++)
        done = staged_map(staged_of(transfers[i]), false);
    if (done && staged_of(transfers[0])->takes_rows)
        copy_planes(transfers, count, false);
    for (cl_uint i = 0; i < count && transfers[i]->surface.api->staging->maps_briefly; i++)
        staged_unmap(staged_of(transfers[i]));
    return done;
}

/* All copies are queued before the first is waited for. Rows are obtained before anything is mapped: the driver may be
 * waited for, but not with a surface locked. */
static bool fetch_and_map(const struct handover *handover)
{
    static atomic_uint fetches;
    const unsigned number = atomic_fetch_add(&fetches, 1);
    for (cl_uint i = 0; i < handover->count; i++) {
        struct staged *staged = staged_of(handover->transfers[i]);
        staged->fetch_number = number;
        if (!fetch(staged))
            return false;
        staged->base.short_of_memory = staged->takes_rows && !staged_need_rows(staged);
        if (staged->base.short_of_memory)
            return false;
    }
    for (cl_uint i = 0, count; i < handover->count; i += count) {
        count = planes_together(handover, i);
        if (!map_and_take(handover->transfers + i, count))
            return false;
    }
    return true;
}

bool staged_d3d_give(const struct handover *handover)
{
    begin(handover->api);
    const bool mapped = fetch_and_map(handover), done = end(handover->api) && mapped;
    if (!done)
        staged_undo(handover);
    return done;
}

/* ---- Direct3D takes ---- */

static bool store(struct staged *staged)
{
    const bool done = staged->is_mapped && ops(staged)->store(&staged->base.surface);
    staged->is_mapped = false;
    staged->failed = staged->failed || !done;
    return done;
}

/* Maps them for the rows alone: `count` transfers, as planes_together gives them. */
static bool store_rows(struct transfer *const *transfers, cl_uint count)
{
    bool all = true;
    for (cl_uint i = 0; i < count; i++)
        all = staged_map(staged_of(transfers[i]), true) && all;
    if (all)
        copy_planes(transfers, count, true);
    for (cl_uint i = 0; i < count && all; i++)
        all = store(staged_of(transfers[i]));
    for (cl_uint i = 0; i < count; i++)
        staged_unmap(staged_of(transfers[i]));
    return all;
}

/* Two planes of one slice may be stored by two threads. Each store reads the other plane and writes both, since
 * Direct3D 10 and 11 copy no single plane: one at a time. */
static bool store_plane(struct transfer *const *transfer)
{
    struct staged *staged = staged_of(*transfer);
    void *section = ops(staged)->enter(staged->base.surface.device);
    staged_unmap(staged);
    const bool done = fetch(staged) && store_rows(transfer, 1);
    ops(staged)->leave(section);
    return done;
}

/* Whether it is the first of the two planes of a slice that one command fetched. It needs no new copy for the sake of the
 * second: that is as it was, even if its own store fails. The second does, since the first has been stored. */
static bool is_first_of_two(const struct handover *handover, cl_uint at)
{
    const struct staged *staged = staged_of(handover->transfers[at]);
    const struct surface *one = &staged->base.surface;
    bool found = false;
    for (cl_uint i = at + 1; i < handover->count && staged->is_mapped && one->desc.format->planes == 2; i++) {
        const struct surface *other = &handover->transfers[i]->surface;
        found = found || (staged_of(handover->transfers[i])->fetch_number == staged->fetch_number &&
                          other->resource == one->resource && other->desc.subresource == one->desc.subresource &&
                          other->desc.format != one->desc.format);
    }
    return found;
}

bool staged_d3d_take(const struct handover *handover)
{
    bool all = true;
    begin(handover->api);
    for (cl_uint i = 0, count; i < handover->count; i += count) {
        struct transfer *const *transfers = handover->transfers + i;
        struct staged *staged = staged_of(transfers[0]);
        count = planes_together(handover, i);
        if (ops(staged)->maps_briefly) {
            all = store_rows(transfers, count) && all;
        } else if (staged_is_plane(staged) && !is_first_of_two(handover, i)) {
            all = store_plane(transfers) && all;
        } else {
            if (staged->gives_rows)
                copy_planes(transfers, 1, true);
            all = store(staged) && all;
        }
    }
    all = end(handover->api) && all;
    lend(handover);
    return all;
}
