#include "d3d/formats.h"
#include "formats/image.h"
#include "handles/handles.h"
#include "transport/host_memory.h"
#include "transport/surface_image.h"
#include "transport/vulkan_object.h"

/* Whether OpenCL can use the layout of the rows, and the rows are inside the resource. */
static bool rows_fit(const struct surface_desc *desc, const struct vulkan_memory *memory,
                     const struct vulkan_place *place)
{
    const size_t row = (size_t)desc->width * desc->format->texel_bytes;
    const uint64_t bytes = place->slice_pitch * (desc->depth - 1) + place->row_pitch * (desc->height - 1) + row;
    if (!surface_rows_fit(desc, row, memory->mapped + place->offset, place->row_pitch, place->slice_pitch))
        return false;
    return place->offset <= memory->size && bytes <= memory->size - place->offset;
}

/* Through the host a plane is copied back together with all others, in their state a moment before, so that what OpenCL
 * writes directly to another plane would be lost. So a plane is shared in this way only if all planes can be. */
static bool planes_too(cl_context context, const struct surface_desc *desc)
{
    const struct format_row *planes = desc->format - desc->format->plane; /* they are adjacent in the tables */
    for (unsigned i = 0; i < desc->format->planes; i++) {
        const struct converter *converter = NULL;
        enum image_storage storage = STORED_AS_DECLARED;
        const cl_int status = image_storage_of(context, &planes[i].cl, CL_MEM_OBJECT_IMAGE2D, &storage, &converter);
        if (status != CL_SUCCESS || storage != STORED_AS_DECLARED)
            return false;
    }
    return true;
}

cl_int vulkan_over_mapped(struct vulkan_object *o, const struct transfer_request *request, char *why)
{
    const struct surface_desc *desc = &request->surface.desc;
    const struct vulkan_memory *memory = &o->at.image.memory;
    struct vulkan_place place;
    cl_int status = CL_SUCCESS;
    if (desc->kind == SURFACE_BUFFER || !memory->mapped)
        return transport_refuse(why, CL_INVALID_OPERATION, "the memory is not host-visible");
    if (desc->format->planes > 1 && !planes_too(request->context, desc))
        return transport_refuse(why, CL_INVALID_OPERATION,
                                "another plane of the image goes through the host, which writes all of them");
    if (!o->side->find_place(o->at.native.image, vulkan_aspect(desc), o->at.native.level, o->at.native.layer, &place,
                             why))
        return CL_INVALID_OPERATION;
    const struct host_memory host = host_memory_of_context(request->context);
    if (!host.in_place)
        return transport_refuse(why, CL_INVALID_OPERATION, "%s", host.why);
    if (!rows_fit(desc, memory, &place))
        return transport_refuse(why, CL_INVALID_IMAGE_SIZE, "OpenCL cannot use the image's row layout");
    if (!o->side->hold(memory->memory, why))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_image_desc image = surface_image(desc, (size_t)place.row_pitch, (size_t)place.slice_pitch);
    o->base.memory = image_create_over(request->context, request->flags, &desc->format->cl, &image,
                                       (void *)(uintptr_t)(memory->mapped + place.offset), &status);
    o->held = o->base.memory != NULL;
    if (o->held)
        return CL_SUCCESS;
    o->side->give_back(memory->memory);
    return transport_refuse(why, status, "the OpenCL below creates no image over the memory: error %d", status);
}
