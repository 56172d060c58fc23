#include "transport/surface_image.h"

#include "d3d/formats.h"

cl_image_desc surface_image(const struct surface_desc *desc, size_t row_pitch, size_t slice_pitch)
{
    const bool deep = desc->kind == SURFACE_IMAGE_3D;
    return (cl_image_desc){
        .image_type = deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
        .image_width = desc->width,
        .image_height = desc->height,
        .image_depth = deep ? desc->depth : 0,
        .image_row_pitch = row_pitch,
        .image_slice_pitch = deep ? slice_pitch : 0,
    };
}

bool surface_rows_fit(const struct surface_desc *desc, size_t row_bytes, uint64_t address, uint64_t row_pitch,
                      uint64_t slice_pitch)
{
    const size_t texel = row_bytes / desc->width;
    return address % texel == 0 && row_pitch % texel == 0 && row_pitch >= row_bytes &&
           (desc->kind != SURFACE_IMAGE_3D ||
            (slice_pitch % row_pitch == 0 && slice_pitch >= row_pitch * desc->height));
}

cl_int surface_storage(cl_context context, const struct surface_desc *desc, enum image_storage *storage,
                       const struct converter **converter)
{
    *storage = STORED_AS_DECLARED;
    *converter = NULL;
    if (desc->kind == SURFACE_BUFFER)
        return CL_SUCCESS;
    return image_storage_of(context, &desc->format->cl, surface_image(desc, 0, 0).image_type, storage, converter);
}

cl_mem surface_memory(cl_context context, cl_mem_flags flags, const struct surface_desc *desc, cl_int *status)
{
    if (desc->kind == SURFACE_BUFFER)
        return below()->clCreateBuffer(context, flags, desc->width, NULL, status);
    const cl_image_desc image = surface_image(desc, 0, 0);
    cl_mem memory = below()->clCreateImage(context, flags, &desc->format->cl, &image, NULL, status);
    /* A format that the device does not have maps to no supported format: the extension has one code for that. */
    if (!memory && (*status == CL_IMAGE_FORMAT_NOT_SUPPORTED || *status == CL_INVALID_OPERATION))
        *status = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    return memory;
}
