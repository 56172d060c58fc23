#include "transport/staged.h"

#include "d3d/formats.h"
#include "formats/image.h"
#include "formats/storage.h"
#include "transport/parallel.h"
#include "transport/pinned.h"
#include "transport/pool.h"
#include "transport/statistics.h"

#include <stdatomic.h>

bool staged_is_plane(const struct staged *staged)
{
    return staged->base.surface.desc.whole_level;
}

/* ---- rows ---- */

void staged_plan(struct staged *staged, const struct converter *converter, struct context_record *dense)
{
    staged->converter = converter;
    staged->dense = dense;
    staged->takes_rows = converter || dense || staged->base.surface.api->staging->maps_briefly;
    staged->gives_rows = staged->takes_rows || staged_is_plane(staged);
}

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

struct rows_copy {
    const struct staged *staged;
    bool to_mapped, stream;
    size_t rows, first, parts; /* rows of all slices; the first that the parts contain */
};

static void copy_texels(const struct rows_copy *copy, char *theirs, char *ours, size_t texels, size_t texel)
{
    const struct converter *converter = copy->staged->converter;
    if (!converter)
        texels_copy(copy->to_mapped ? theirs : ours, copy->to_mapped ? ours : theirs, texels * texel, copy->stream);
    else if (copy->to_mapped)
        texels_narrow(converter, theirs, ours, texels, copy->stream);
    else
        texels_widen(converter, ours, theirs, texels, copy->stream);
}

/* Rows without gaps are copied as one. */
static void copy_range(const struct rows_copy *copy, size_t at, size_t end)
{
    const struct staged *staged = copy->staged;
    const struct mapped_surface *mapped = &staged->mapped;
    const size_t width = staged->base.surface.desc.width, height = staged->base.surface.desc.height;
    const size_t texel = mapped_texel_bytes(&staged->base.surface.desc), row = staged_row_bytes(staged);
    for (size_t joined; at < end; at += joined) {
        const size_t z = at / height, y = at % height, left = end - at < height - y ? end - at : height - y;
        char *theirs = (char *)mapped->data + z * mapped->slice_pitch + y * mapped->row_pitch;
        joined = mapped->row_pitch == width * texel ? left : 1;
        copy_texels(copy, theirs, (char *)staged->rows.bytes + at * row, width * joined, texel);
    }
}

/* `data`: one or more copies. */
static void copy_part(void *data, unsigned index)
{
    const struct rows_copy *copy = data;
    for (; index >= copy->parts; copy++)
        index -= (unsigned)copy->parts;
    const size_t rows = copy->rows - copy->first;
    copy_range(copy, copy->first + rows * index / copy->parts, copy->first + rows * (index + 1) / copy->parts);
}

/* Copies the first rows. Returns whether other data has displaced the rows and the surface from the caches since their last
 * copy: the first rows are copied twice, the second time from the caches. They are always written with ordinary stores,
 * so that the next copy finds them there unless they are displaced. */
static bool copy_first(const struct rows_copy *copy)
{
    const unsigned long long began = os_nanoseconds();
    copy_range(copy, 0, copy->first);
    const unsigned long long copied = os_nanoseconds();
    copy_range(copy, 0, copy->first);
    return copied - began > 2 * (os_nanoseconds() - copied);
}

enum {
    HELPED_BYTES = 3 << 20,  /* so many that a helper is worth waking */
    PART_BYTES = 512 << 10,  /* of those that helpers may copy */
    SAMPLE_BYTES = 32 << 10, /* enough to time them */
    SAMPLES_LEAST = 16,      /* so much longer than the sample is a copy that begins with one */
    PARTS_MOST = 64,
    PLANES_MOST = 4
};

/* All texels between `rows` and what is mapped. */
static struct rows_copy copy_of(struct staged *staged, bool to_mapped)
{
    return (struct rows_copy){staged, to_mapped, false, staged_bytes(staged) / staged_row_bytes(staged), 0, 1};
}

/* Begins copies of planes of one surface. These are usually in the caches together or not at all: the longest one shows it. */
static void begin_copies(struct rows_copy *copies, cl_uint count)
{
    struct rows_copy *longest = copies;
    for (struct rows_copy *copy = copies; copy < copies + count; copy++)
        if (staged_bytes(copy->staged) > staged_bytes(longest->staged))
            longest = copy;
    const size_t row = staged_row_bytes(longest->staged), sample = (SAMPLE_BYTES + row - 1) / row;
    if (sample > longest->rows / SAMPLES_LEAST)
        return;
    longest->first = sample;
    const bool stream = copy_first(longest);
    for (cl_uint i = 0; i < count; i++)
        copies[i].stream = stream;
}

static void divide(struct rows_copy *copy)
{
    const size_t parts = staged_bytes(copy->staged) / PART_BYTES;
    const size_t left = copy->rows - copy->first, most = left < PARTS_MOST ? left : PARTS_MOST;
    copy->parts = parts < 1 ? 1 : parts < most ? parts : most;
}

/* Copies what is between the rows and the mappings of one surface's planes. Helpers are woken once for all of it. */
static void copy_planes(struct rows_copy *copies, cl_uint count)
{
    size_t bytes = 0, parts = 0;
    if (count == 0)
        return;
    begin_copies(copies, count);
    for (cl_uint i = 0; i < count; i++) {
        bytes += staged_bytes(copies[i].staged);
        statistics_bytes(&copies[i].staged->base, staged_bytes(copies[i].staged));
    }
    for (cl_uint i = 0; i < count; i++) {
        if (bytes >= HELPED_BYTES)
            divide(&copies[i]);
        else
            copy_part(&copies[i], 0);
        parts += copies[i].parts;
    }
    if (bytes >= HELPED_BYTES)
        parallel_run((unsigned)parts, copy_part, copies);
}

/* Copies all texels, and converts where that is to be done. */
static void copy_rows(struct staged *staged, bool to_mapped)
{
    struct rows_copy copy = copy_of(staged, to_mapped);
    copy_planes(&copy, 1);
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
    if (!maps_surface(first))
        return 1;
    while (count < PLANES_MOST && at + count < handover->count &&
           handover->transfers[at + count]->surface.resource == first->resource &&
           maps_surface(&handover->transfers[at + count]->surface))
        count++;
    return count;
}

/* ---- the staging copy ---- */

static void end_loan(struct staged *staged)
{
    if (staged->lent)
        pool_end_loan(staged->pool);
    staged->lent = false;
}

bool staged_take_pooled(struct staged *staged)
{
    struct pooled wanted = {.surface = staged->base.surface};
    if (wanted.surface.staging)
        return true;
    const bool found = pool_take(staged->pool, &wanted);
    end_loan(staged);
    if (!found)
        return false;
    staged->base.surface.staging = wanted.surface.staging;
    staged->base.surface.staging_padding = wanted.surface.staging_padding;
    staged->base.surface.staging_offset = wanted.surface.staging_offset;
    staged->place = wanted.place;
    if (!staged->rows.bytes)
        staged->rows = wanted.memory;
    else
        aligned_memory_free(&wanted.memory);
    return true;
}

bool staged_need_copy(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    const struct staging_ops *staging = surface->api->staging;
    /* What others of the context keep may be the memory that was missing. */
    return staged_take_pooled(staged) || staging->stage(surface) ||
           (pool_empty(staged->pool) && staging->stage(surface));
}

/* Whole pages: a device that works in them may have more to do with parts. */
enum { ROWS_ALIGNMENT = 4096 };

/* What was abandoned in `dense` rows can't be unmapped. */
static struct aligned_memory pinned_rows(const struct staged *staged)
{
    return staged->pinning && !staged->dense ? pinned_memory_make(staged->pinning, staged_bytes(staged))
                                             : (struct aligned_memory){NULL, NULL, NULL};
}

bool staged_need_rows(struct staged *staged)
{
    if (!staged->rows.bytes)
        staged->rows = pinned_rows(staged);
    if (!staged->rows.bytes)
        staged->rows = aligned_memory_make(staged_bytes(staged), ROWS_ALIGNMENT);
    if (!staged->rows.bytes && pool_empty(staged->pool))
        staged->rows = aligned_memory_make(staged_bytes(staged), ROWS_ALIGNMENT);
    return staged->rows.bytes != NULL;
}

static bool serves_others(const struct staged *staged)
{
    const struct surface *surface = &staged->base.surface;
    const struct staging_ops *staging = surface->api->staging;
    return surface->staging && !staged->failed &&
           (!staging->staging_serves_alike || staging->staging_serves_alike(surface));
}

/* Returns the staging copy and the rows to the pool. False: they stay. */
static bool give_to_pool(struct staged *staged, struct aligned_memory *rows, bool lent)
{
    struct surface *surface = &staged->base.surface;
    const struct pooled given = {*surface, staged->place, *rows};
    if (!serves_others(staged) || !pool_give(staged->pool, &given, lent))
        return false;
    surface->staging = NULL;
    surface->staging_padding = surface->staging_offset = 0;
    staged->place = (struct mapped_surface){NULL, 0, 0};
    *rows = (struct aligned_memory){NULL, NULL, NULL};
    return true;
}

/* An abandoned command may still write to the rows. */
static bool lost_rows(const struct staged *staged)
{
    return staged->dense && atomic_load(&staged->dense->lost);
}

void staged_drop(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    if (staged->lent && staged->rows.bytes)
        staged_take_pooled(staged); /* rows are kept with a staging copy alone */
    end_loan(staged);
    if (lost_rows(staged))
        staged->rows = (struct aligned_memory){NULL, NULL, NULL};
    if (give_to_pool(staged, &staged->rows, false))
        return;
    if (surface->staging)
        surface->api->staging->unstage(surface);
    aligned_memory_free(&staged->rows);
}

/* The next acquire gets another one. */
static void drop_failed(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    surface->api->staging->unstage(surface);
    surface->staging = NULL;
    surface->staging_padding = surface->staging_offset = 0;
    staged->place = (struct mapped_surface){NULL, 0, 0};
    staged->failed = false;
}

static bool has_use_for_others(const struct staged *staged)
{
    return !staged->keeps_rows || !maps_surface(&staged->base.surface);
}

/* Direct3D has the objects, which no longer need their staging copies. */
static void lend(const struct handover *handover)
{
    for (cl_uint i = 0; i < handover->count; i++) {
        struct staged *staged = staged_of(handover->transfers[i]);
        struct aligned_memory none = {NULL, NULL, NULL};
        if (staged->lends && staged->failed)
            drop_failed(staged);
        else if (staged->lends && has_use_for_others(staged) && !lost_rows(staged) &&
                 give_to_pool(staged, staged->keeps_rows ? &none : &staged->rows, true))
            staged->lent = true;
    }
}

static bool fetch(struct staged *staged)
{
    struct surface *surface = &staged->base.surface;
    const struct staging_ops *staging = surface->api->staging;
    const bool done = staged_need_copy(staged) && (!staging->fetch || staging->fetch(surface));
    staged->failed = staged->failed || (!done && surface->staging);
    return done;
}

bool staged_map(struct staged *staged, bool write)
{
    staged->is_mapped = staged->base.surface.api->staging->map(&staged->base.surface, write, &staged->mapped);
    staged->failed = staged->failed || !staged->is_mapped;
    return staged->is_mapped;
}

void staged_unmap(struct staged *staged)
{
    if (staged->is_mapped)
        staged->base.surface.api->staging->unmap(&staged->base.surface);
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

static bool need_rows(struct staged *staged)
{
    staged->base.short_of_memory = staged->takes_rows && !staged_need_rows(staged);
    return !staged->base.short_of_memory;
}

/* For `count` transfers, as planes_together gives them. */
static bool map_and_take(struct transfer *const *transfers, cl_uint count)
{
    struct rows_copy copies[PLANES_MOST];
    cl_uint mapped = 0;
    bool done = true;
    for (cl_uint i = 0; i < count && done; i++) {
        struct staged *staged = staged_of(transfers[i]);
        done = staged_map(staged, false);
        if (done && staged->takes_rows)
            copies[mapped++] = copy_of(staged, false);
    }
    copy_planes(copies, mapped);
    for (cl_uint i = 0; i < count; i++)
        if (transfers[i]->surface.api->staging->maps_briefly)
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
        if (!fetch(staged_of(handover->transfers[i])) || !need_rows(staged_of(handover->transfers[i])))
            return false;
        staged_of(handover->transfers[i])->fetch_number = number;
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
    staged->is_mapped = false;
    return staged->base.surface.api->staging->store(&staged->base.surface);
}

/* Maps them for the rows alone: `count` transfers, as planes_together gives them. */
static bool store_rows(struct transfer *const *transfers, cl_uint count)
{
    struct rows_copy copies[PLANES_MOST];
    cl_uint mapped = 0;
    for (cl_uint i = 0; i < count; i++)
        if (staged_map(staged_of(transfers[i]), true))
            copies[mapped++] = copy_of(staged_of(transfers[i]), true);
    copy_planes(copies, mapped);
    bool all = true;
    for (cl_uint i = 0; i < count; i++) {
        struct staged *staged = staged_of(transfers[i]);
        const bool done = staged->is_mapped && store(staged);
        staged->failed = staged->failed || !done;
        all = all && done;
    }
    return all;
}

/* Two planes of one slice may be stored by two threads. Each store reads the other plane and writes both, since
 * Direct3D 10 and 11 copy no single plane: one at a time. */
static bool store_plane(struct staged *staged)
{
    const struct staging_ops *staging = staged->base.surface.api->staging;
    void *section = staging->enter(staged->base.surface.device);
    staged_unmap(staged);
    struct transfer *const transfer = &staged->base;
    const bool done = fetch(staged) && store_rows(&transfer, 1);
    staging->leave(section);
    return done;
}

static bool store_mapped(struct staged *staged)
{
    if (staged->gives_rows)
        copy_rows(staged, true);
    return store(staged);
}

/* OpenCL has had both planes since one command fetched them: either staging copy has the other plane as Direct3D has it. */
static bool fetched_together(const struct staged *a, const struct staged *b)
{
    const struct surface *one = &a->base.surface, *other = &b->base.surface;
    return a->fetch_number == b->fetch_number && one->resource == other->resource &&
           one->desc.subresource == other->desc.subresource && one->desc.format != other->desc.format;
}

/* The first of the two planes of a slice needs no new copy for the sake of the second: that is as it was, even if its own store
 * fails. The second does, since the first has been stored. */
static bool is_first_of_two(const struct handover *handover, cl_uint at)
{
    const struct staged *staged = staged_of(handover->transfers[at]);
    if (!staged->is_mapped || staged->base.surface.desc.format->planes != 2)
        return false;
    for (cl_uint i = at + 1; i < handover->count; i++)
        if (fetched_together(staged, staged_of(handover->transfers[i])))
            return true;
    return false;
}

static bool take_back(const struct handover *handover, cl_uint at, cl_uint count)
{
    struct staged *staged = staged_of(handover->transfers[at]);
    if (staged->base.surface.api->staging->maps_briefly)
        return store_rows(handover->transfers + at, count);
    const bool apart = staged_is_plane(staged) && !is_first_of_two(handover, at);
    const bool done = apart ? store_plane(staged) : store_mapped(staged);
    staged->failed = staged->failed || !done;
    return done;
}

bool staged_d3d_take(const struct handover *handover)
{
    bool all = true;
    begin(handover->api);
    for (cl_uint i = 0, count; i < handover->count; i += count) {
        count = planes_together(handover, i);
        all = take_back(handover, i, count) && all;
    }
    all = end(handover->api) && all;
    lend(handover);
    return all;
}
