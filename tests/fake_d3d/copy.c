/* What Direct3D 10 and 11 allow to be copied where. */
#include "fake_internal.h"

#include <stdlib.h>

static bool family_matches(const struct fake_format *a, const struct fake_format *b)
{
    return a == b || (a->family && a->family == b->family);
}

/* What a copy and an update ask of the resource they write to. */
static bool target_allows(struct fake_store *target, const char *method)
{
    if (target->desc.usage == D3D11_USAGE_IMMUTABLE || target->desc.usage == D3D11_USAGE_DYNAMIC) {
        fake_violation("%s: the target is %s", method,
                       target->desc.usage == D3D11_USAGE_DYNAMIC ? "dynamic" : "immutable");
        return false;
    }
    if (fake_store_mapped(target)) {
        fake_violation("%s: the target is mapped", method);
        return false;
    }
    return true;
}

static bool pair_allows(struct fake_store *target, struct fake_store *source, const char *method)
{
    if (!target_allows(target, method))
        return false;
    if (target->desc.kind != source->desc.kind)
        fake_violation("%s: resources of different kinds", method);
    else if (!family_matches(target->desc.format, source->desc.format))
        fake_violation("%s: %s can't be copied to %s", method, source->desc.format->name, target->desc.format->name);
    else if (target->desc.samples != source->desc.samples)
        fake_violation("%s: different numbers of samples", method);
    else if (fake_store_mapped(source))
        fake_violation("%s: the source is mapped", method);
    else
        return true;
    return false;
}

/* Whether the work is dropped without a word. Nothing is ever drawn here, so the answer of a predicate is FALSE. A device has no part in
 * what another one has acquired the keyed mutex of. */
static bool is_dropped(const struct fake_device *device, struct fake_store *target, struct fake_store *source)
{
    return (device->predicate && !device->predicate_value) || !fake_keyed_allows(target, device) ||
           (source && !fake_keyed_allows(source, device));
}

static bool empty(const struct fake_box *box)
{
    return box->left >= box->right || box->top >= box->bottom || box->front >= box->back;
}

static bool box_inside(const struct fake_box *box, const struct fake_subresource *sub)
{
    return box->right <= sub->width && box->bottom <= sub->height && box->back <= sub->depth;
}

static bool whole(const struct fake_box *box, const struct fake_subresource *sub)
{
    return box_inside(box, sub) && !box->left && !box->top && !box->front && box->right == sub->width &&
           box->bottom == sub->height && box->back == sub->depth;
}

/* Depth and multisampled contents have no texels to take a part of. */
static bool only_whole(const struct fake_desc *desc)
{
    return desc->samples > 1 || desc->bind & D3D11_BIND_DEPTH_STENCIL;
}

static bool place_allows(const struct fake_copy *copy, const char *method)
{
    const struct fake_format *format = copy->source->desc.format;
    const struct fake_subresource *to = &copy->target->subresources[copy->target_subresource];
    const struct fake_subresource *from = &copy->source->subresources[copy->source_subresource];
    const struct fake_box *box = &copy->box;
    struct fake_box place = {copy->x,
                             copy->y,
                             copy->z,
                             copy->x + box->right - box->left,
                             copy->y + box->bottom - box->top,
                             copy->z + box->back - box->front};

    if (!box_inside(box, from))
        fake_violation("%s: the box reaches beyond the source", method);
    else if (copy->x >= to->width || copy->y >= to->height || copy->z >= to->depth || !box_inside(&place, to))
        fake_violation("%s: the box reaches beyond the target", method);
    else if (!fake_format_box_fits(format, box, from->width, from->height) ||
             !fake_format_box_fits(format, &place, to->width, to->height))
        fake_violation("%s: the box cuts blocks of %s", method, format->name);
    else if (to == from)
        fake_violation("%s: within one subresource", method);
    else if (only_whole(&copy->source->desc) && !(whole(box, from) && whole(&place, to)))
        fake_violation("%s: a part of a depth or multisampled resource", method);
    else
        return true;
    return false;
}

void fake_copy_region(struct fake_device *device, struct fake_copy *copy, const struct fake_box *box,
                      const char *method)
{
    if (is_dropped(device, copy->target, copy->source))
        return;
    if (copy->target_subresource >= copy->target->count || copy->source_subresource >= copy->source->count) {
        fake_violation("%s: no such subresource", method);
        return;
    }
    if (!pair_allows(copy->target, copy->source, method))
        return;
    copy->box = box ? *box : fake_store_whole(copy->source, copy->source_subresource);
    if (empty(&copy->box))
        return;
    if (place_allows(copy, method))
        fake_queue_copy(device, copy);
}

static bool update_allows(struct fake_store *target, unsigned subresource, const struct fake_box *box, bool partial,
                          const char *method)
{
    const struct fake_subresource *sub = &target->subresources[subresource];

    if (!target_allows(target, method))
        return false;
    if (only_whole(&target->desc))
        fake_violation("%s: the target is a depth or multisampled resource", method);
    else if (partial && target->desc.bind & D3D11_BIND_CONSTANT_BUFFER)
        fake_violation("%s: a part of a constant buffer", method);
    else if (!box_inside(box, sub))
        fake_violation("%s: the box reaches beyond the target", method);
    else if (!fake_format_box_fits(target->desc.format, box, sub->width, sub->height))
        fake_violation("%s: the box cuts blocks of %s", method, target->desc.format->name);
    else
        return true;
    return false;
}

/* The program may do with its bytes what it likes when the call is over. */
static unsigned char *keep(const struct fake_format *format, const struct fake_box *box, const struct fake_view *from,
                           struct fake_view *view)
{
    struct fake_box whole_box = {0, 0, 0, box->right - box->left, box->bottom - box->top, box->back - box->front};

    view->pitch = fake_format_row_bytes(format, whole_box.right);
    view->slice = view->pitch * fake_format_rows(format, whole_box.bottom);
    view->base = fake_alloc(view->slice * whole_box.back);
    fake_format_copy(format, view, whole_box.bottom, 0, 0, 0, from, whole_box.bottom, &whole_box);
    return view->base;
}

void fake_update(struct fake_device *device, struct fake_store *target, unsigned subresource,
                 const struct fake_box *box, const void *data, unsigned pitch, unsigned slice, const char *method)
{
    struct fake_view from = {(unsigned char *)data, pitch, slice}, view;
    struct fake_box place;

    if (is_dropped(device, target, NULL))
        return;
    if (subresource >= target->count) {
        fake_violation("%s: no such subresource", method);
        return;
    }
    place = box ? *box : fake_store_whole(target, subresource);
    if (empty(&place))
        return;
    if (!data) {
        fake_violation("%s: no data", method);
        return;
    }
    if (!update_allows(target, subresource, &place, box != NULL, method))
        return;
    fake_queue_upload(device, target, subresource, &place, keep(target->desc.format, &place, &from, &view), &view);
}
