/* The memory of a resource: subresources, contents, what a map shows. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_SHIFT = 16 }; /* of places, from where their memory begins */

static void free_place(struct fake_subresource *sub)
{
    if (sub->place.base)
        free(sub->place.base - PLACE_SHIFT);
    sub->place.base = NULL;
}

static unsigned mip_size(unsigned size, unsigned mip)
{
    return size >> mip ? size >> mip : 1;
}

/* Buffers lie in larger memories, as Vulkan's do. */
static size_t lead_of(const struct fake_desc *desc)
{
    return desc->kind == FAKE_BUFFER ? FAKE_BUFFER_LEAD : 0;
}

/* Subresources begin where any texel may, for those who import their memory. */
enum { ALIGNMENT = 128 };

static size_t span(const struct fake_subresource *sub)
{
    return (sub->view.slice * sub->depth + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lays the subresources out in mip order within each array slice; returns the size of all. */
static size_t lay_out(struct fake_store *store)
{
    const struct fake_desc *desc = &store->desc;
    size_t total = 0;
    unsigned i;

    for (i = 0; i < store->count; i++) {
        struct fake_subresource *sub = &store->subresources[i];
        unsigned mip = i % desc->mips;

        sub->width = mip_size(desc->width, mip);
        sub->height = mip_size(desc->height, mip);
        sub->depth = mip_size(desc->depth, mip);
        sub->view.pitch = fake_format_row_bytes(desc->format, sub->width);
        sub->view.slice = sub->view.pitch * fake_format_rows(desc->format, sub->height);
        total += span(sub);
    }
    return total;
}

static void fill(struct fake_store *store, const D3D11_SUBRESOURCE_DATA *data)
{
    unsigned i;

    for (i = 0; i < store->count; i++) {
        const struct fake_subresource *sub = &store->subresources[i];
        struct fake_view source = {(unsigned char *)data[i].pSysMem, data[i].SysMemPitch, data[i].SysMemSlicePitch};
        struct fake_box whole = fake_store_whole(store, i);

        fake_format_copy(store->desc.format, &sub->view, sub->height, 0, 0, 0, &source, sub->height, &whole);
    }
}

struct fake_store *fake_store_create(const struct fake_desc *desc, const D3D11_SUBRESOURCE_DATA *data)
{
    struct fake_store *store = fake_alloc(sizeof *store);
    unsigned char *at;
    size_t size;
    unsigned i;

    atomic_init(&store->refs, 1);
    store->desc = *desc;
    store->count = desc->mips * desc->layers;
    store->subresources = fake_alloc(store->count * sizeof *store->subresources);
    size = lead_of(desc) + lay_out(store);
    if (posix_memalign((void **)&store->bytes, ALIGNMENT, size))
        abort();
    memset(store->bytes, FAKE_D3D_UNDEFINED, size);
    store->size = size;
    for (at = store->bytes + lead_of(desc), i = 0; i < store->count; i++) {
        struct fake_subresource *sub = &store->subresources[i];

        sub->view.base = at;
        at += span(sub);
    }
    if (data)
        fill(store, data);
    return store;
}

void fake_store_add_ref(struct fake_store *store)
{
    atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
}

void fake_store_release(struct fake_store *store)
{
    unsigned i;

    if (!store || atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (fake_desc_shared(&store->desc))
        fake_handle_forget(store);
    fake_vulkan_forget(store);
    for (i = 0; store->subresources && i < store->count; i++) {
        if (store->subresources[i].map != store->subresources[i].place.base)
            free(store->subresources[i].map);
        free_place(&store->subresources[i]);
    }
    free(store->subresources);
    free(store->bytes);
    free(store);
}

struct fake_box fake_store_whole(const struct fake_store *store, unsigned subresource)
{
    const struct fake_subresource *sub = &store->subresources[subresource];

    return (struct fake_box){0, 0, 0, sub->width, sub->height, sub->depth};
}

/* Pitches that nobody should expect: wider than the row and different from map to map. */
static void choose_pitches(const struct fake_store *store, const struct fake_subresource *sub, struct fake_view *view)
{
    static atomic_uint maps;
    unsigned number = atomic_fetch_add_explicit(&maps, 1, memory_order_relaxed);

    *view = sub->view;
    if (store->desc.kind == FAKE_BUFFER || fake_knob_tight_pitch())
        return;
    view->pitch = (view->pitch + 255) / 256 * 256 + 16 * (1 + number % 5);
    view->slice = view->pitch * fake_format_rows(store->desc.format, sub->height) + 64 * (1 + number % 3);
}

/* The place of a subresource that stays there: made once, with pitches that nobody should expect. */
static void find_place(struct fake_store *store, unsigned subresource, const char *method)
{
    struct fake_subresource *sub = &store->subresources[subresource];
    const unsigned char *base = sub->place.base;
    void *memory = NULL;

    if (base && sub->place_moves == fake_knob_moves()) {
        /* Every byte is the padding if the first is and each equals the next. There is a texel at least. */
        if (base[0] != FAKE_D3D_PADDING || memcmp(base, base + 1, sub->place_size - 1) != 0)
            fake_violation("%s: somebody wrote to a subresource that was not mapped", method);
        return;
    }
    free_place(sub);
    choose_pitches(store, sub, &sub->place);
    sub->place.slice = sub->place.pitch * fake_format_rows(store->desc.format, sub->height);
    sub->place_moves = fake_knob_moves();
    sub->place_size =
        fake_format_extent(store->desc.format, sub->width, sub->height, sub->depth, sub->place.pitch, sub->place.slice);
    /* Aligned as memory of a heap often is, and to no more. */
    if (posix_memalign(&memory, 256, PLACE_SHIFT + sub->place_size))
        abort();
    sub->place.base = (unsigned char *)memory + PLACE_SHIFT;
}

static bool has_place(const struct fake_store *store)
{
    return fake_knob_stays() && !(fake_knob_moves_volumes() && store->desc.kind == FAKE_TEXTURE3D);
}

void fake_store_map(struct fake_store *store, unsigned subresource, bool reads, bool writes, bool discard,
                    const char *method)
{
    struct fake_subresource *sub = &store->subresources[subresource];
    const struct fake_format *format = store->desc.format;
    struct fake_box whole = fake_store_whole(store, subresource);
    struct fake_view view;
    size_t size;

    if (has_place(store)) {
        find_place(store, subresource, method);
        view = sub->place;
    } else {
        choose_pitches(store, sub, &view);
    }
    /* Not a byte more than the texels need: a memory checker sees who reads the padding of the
     * last row. */
    size = fake_format_extent(format, sub->width, sub->height, sub->depth, view.pitch, view.slice);
    sub->map = has_place(store) ? sub->place.base : fake_alloc(size);
    view.base = sub->map;
    memset(sub->map, FAKE_D3D_PADDING, size);
    if (discard)
        memset(sub->view.base, FAKE_D3D_UNDEFINED, sub->view.slice * sub->depth);
    fake_format_copy(format, &view, sub->height, 0, 0, 0, &sub->view, sub->height, &whole);
    sub->map_view = view;
    sub->map_reads = reads;
    sub->map_writes = writes;
}

/* Whether the program left the mapped texels as it got them. */
static bool unchanged(const struct fake_store *store, unsigned subresource)
{
    const struct fake_subresource *sub = &store->subresources[subresource];
    struct fake_view view = sub->view;
    struct fake_box whole = fake_store_whole(store, subresource);
    size_t size = view.slice * sub->depth;
    bool same;

    view.base = fake_alloc(size);
    fake_format_copy(store->desc.format, &view, sub->height, 0, 0, 0, &sub->map_view, sub->height, &whole);
    same = !memcmp(view.base, sub->view.base, size);
    free(view.base);
    return same;
}

void fake_store_unmap(struct fake_store *store, unsigned subresource, const char *method)
{
    struct fake_subresource *sub = &store->subresources[subresource];
    struct fake_box whole = fake_store_whole(store, subresource);

    if (sub->map_writes)
        fake_format_copy(store->desc.format, &sub->view, sub->height, 0, 0, 0, &sub->map_view, sub->height, &whole);
    else if (!unchanged(store, subresource))
        fake_violation("%s: the program wrote to a subresource mapped for reading", method);
    if (sub->map == sub->place.base)
        memset(sub->map, FAKE_D3D_PADDING, sub->place_size);
    else
        free(sub->map);
    sub->map = NULL;
}

bool fake_store_mapped(const struct fake_store *store)
{
    unsigned i;

    for (i = 0; i < store->count; i++)
        if (store->subresources[i].map)
            return true;
    return false;
}
