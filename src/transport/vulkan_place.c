#include "d3d/formats.h"
#include "transport/vulkan_object.h"

#include <stdio.h>
#include <string.h>

/* ---- the place of a surface ---- */

bool vulkan_locate(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at, char *why)
{
    memset(at, 0, sizeof(*at));
    if (!surface->api->native->find(surface, &at->native, why, VULKAN_WHY))
        return false;
    if (at->native.image)
        return side->find_image(at->native.image, &at->image, why) != 0;
    return side->find_buffer(at->native.address, surface->desc.width, &at->image.memory, why) != 0;
}

static bool same_memory(const struct vulkan_memory *m, const struct vulkan_memory *n)
{
    return m->memory == n->memory && m->offset == n->offset && m->size == n->size && m->mapped == n->mapped;
}

/* Handles are reused for other images, but the memory's identifier is not. */
bool vulkan_is_there(const struct vulkan_side *side, const struct surface *surface, struct vulkan_location *at,
                     char *why)
{
    struct vulkan_location now = *at;
    if (!surface->api->native->find_again(surface, &now.native) || now.native.image != at->native.image ||
        now.native.address != at->native.address ||
        !(at->native.image ? side->find_image(now.native.image, &now.image, why)
                           : side->find_buffer(now.native.address, surface->desc.width, &now.image.memory, why)) ||
        !same_memory(&now.image.memory, &at->image.memory))
        return false;
    at->native.layout = now.native.layout;
    return true;
}

/* ---- what an image holds ---- */

enum order { ORDER_R = 1, ORDER_RG, ORDER_RGBA, ORDER_BGRA };

/* Vulkan formats whose texels are channels of one size, in this order, each as a range of VkFormat. OpenCL determines
 * how a channel is read: an image of another type has the same bytes. Of two planes the second has half the width and
 * height, and two channels. */
static const struct layout {
    uint32_t first, last;
    uint8_t planes, texel_bytes, order; /* of the first plane */
} layouts[] = {
    {9, 15, 1, 1, ORDER_R},                  /* R8 */
    {16, 22, 1, 2, ORDER_RG},                /* R8G8 */
    {37, 43, 1, 4, ORDER_RGBA},              /* R8G8B8A8 */
    {44, 50, 1, 4, ORDER_BGRA},              /* B8G8R8A8 */
    {51, 57, 1, 4, ORDER_RGBA},              /* A8B8G8R8 in one word */
    {70, 76, 1, 2, ORDER_R},                 /* R16 */
    {77, 83, 1, 4, ORDER_RG},                /* R16G16 */
    {91, 97, 1, 8, ORDER_RGBA},              /* R16G16B16A16 */
    {98, 100, 1, 4, ORDER_R},                /* R32 */
    {101, 103, 1, 8, ORDER_RG},              /* R32G32 */
    {107, 109, 1, 16, ORDER_RGBA},           /* R32G32B32A32 */
    {1000470001, 1000470001, 1, 1, ORDER_R}, /* A8 */
    {1000156003, 1000156003, 2, 1, ORDER_R}, /* G8_B8R8 */
    {1000156013, 1000156013, 2, 2, ORDER_R}, /* G10X6_B10X6R10X6 */
    {1000156023, 1000156023, 2, 2, ORDER_R}, /* G12X4_B12X4R12X4 */
    {1000156030, 1000156030, 2, 2, ORDER_R}, /* G16_B16R16 */
};

static unsigned order_of(cl_channel_order order)
{
    switch (order) {
    case CL_R:
    case CL_A: return ORDER_R;
    case CL_RG: return ORDER_RG;
    case CL_RGBA: return ORDER_RGBA;
    case CL_BGRA: return ORDER_BGRA;
    default: return 0;
    }
}

static bool has_texels(uint32_t format, const struct format_row *row)
{
    const unsigned second = row->plane ? 1 : 0;
    bool found = false;
    for (const struct layout *l = layouts; l < layouts + sizeof(layouts) / sizeof(layouts[0]); l++)
        found = found || (l->first <= format && format <= l->last && l->planes == row->planes &&
                          l->texel_bytes << second == row->texel_bytes &&
                          l->order + second == order_of(row->cl.image_channel_order));
    return found;
}

static uint32_t at_level(uint32_t extent, uint32_t level, uint32_t shift)
{
    const uint32_t size = level < 32 && extent >> level ? extent >> level : 1;
    return size >> shift;
}

bool vulkan_fits(const struct surface_desc *desc, const struct vulkan_location *at, char *why)
{
    enum { TYPE_2D = 1, TYPE_3D = 2 }; /* VkImageType */
    const struct vulkan_image *image = &at->image;
    const uint32_t level = at->native.level;
    const bool deep = desc->kind == SURFACE_IMAGE_3D;
    if (image->samples != 1 || image->type != (deep ? TYPE_3D : TYPE_2D) || level >= image->levels ||
        at->native.layer >= image->layers || at_level(image->width, level, desc->format->shift_x) != desc->width ||
        at_level(image->height, level, desc->format->shift_y) != desc->height ||
        (deep && at_level(image->depth, level, 0) != desc->depth)) {
        snprintf(why, VULKAN_WHY,
                 "the image's size differs from the resource's: %ux%ux%u, %u levels, %u layers, %u samples",
                 image->width, image->height, image->depth, image->levels, image->layers, image->samples);
        return false;
    }
    if (has_texels(image->format, desc->format))
        return true;
    snprintf(why, VULKAN_WHY, "the image has Vulkan format %u, whose texels differ from those of %s", image->format,
             desc->format->name);
    return false;
}

uint32_t vulkan_aspect(const struct surface_desc *desc)
{
    enum { COLOR = 1, PLANE_0 = 0x10 }; /* VkImageAspectFlagBits */
    return desc->format->planes > 1 ? (uint32_t)PLANE_0 << desc->format->plane : (uint32_t)COLOR;
}
