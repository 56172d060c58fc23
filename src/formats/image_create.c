/* The creation of emulated images. */
#include "formats/image.h"

#include "d3d/formats.h"
#include "log.h"
#include "next/query.h"

#include <stdlib.h>

static void set_extent(struct image_record *image)
{
    const cl_image_desc *desc = &image->desc;
    const size_t layers = desc->image_array_size;
    image->extent[0] = desc->image_width;
    image->extent[1] = image->type == CL_MEM_OBJECT_IMAGE1D         ? 1
                       : image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? layers
                                                                    : desc->image_height;
    image->extent[2] = image->type == CL_MEM_OBJECT_IMAGE3D         ? desc->image_depth
                       : image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? layers
                                                                    : 1;
}

/* The pitches of the application's memory. The layers of a 1D array take the place of a 2D image's rows. */
static void set_host_pitches(struct image_record *image)
{
    const bool layers_are_rows = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const size_t row = image->desc.image_row_pitch, slice = image->desc.image_slice_pitch;
    const size_t given = layers_are_rows && slice ? slice : row;
    image->host_row = given ? given : image->extent[0] * image->converter->narrow_texel;
    image->host_slice = slice && !layers_are_rows ? slice : image->host_row * image->extent[1];
}

/* The driver's image is always read-write, because conversions need both directions. The driver never gets the pitches.
 * `texels`: in the driver's format, for one of `flags`, or NULL. */
static cl_mem create_in_driver(const struct image_record *image, cl_mem_flags flags, void *texels, cl_int *status)
{
    cl_image_desc desc = image->desc;
    desc.image_row_pitch = desc.image_slice_pitch = 0;
    return next.clCreateImage(image->context->head.handle, CL_MEM_READ_WRITE | flags, &image->converter->stored, &desc,
                              texels, status);
}

/* Replaces the driver's image, whose creation has shown that the sizes are valid, by one that contains the
 * application's bytes. This waits for no command, so it also works in a callback. */
static cl_int make_filled(struct image_record *image, const char *bytes)
{
    const struct converter *c = image->converter;
    const size_t *extent = image->extent;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    char *wide = malloc(cl_region_bytes(extent, c->wide_texel));
    for (size_t z = 0; wide && z < extent[2]; z++)
        for (size_t y = 0; y < extent[1]; y++)
            texels_widen(c, wide + (z * extent[1] + y) * extent[0] * c->wide_texel,
                         bytes + z * image->host_slice + y * image->host_row, extent[0], false);
    cl_mem filled = wide ? create_in_driver(image, CL_MEM_COPY_HOST_PTR, wide, &status) : NULL;
    free(wide);
    if (filled) {
        next.clReleaseMemObject(image->head.handle);
        image->head.handle = filled;
    }
    return log_next("clCreateImage", "clCreateImage with converted texels", status);
}

/* Uploads the application's bytes to a new image, through cld3d's own queue. */
static cl_int upload(struct image_record *image, const void *bytes)
{
    cl_int status;
    struct device_list devices;
    const size_t origin[3] = {0, 0, 0};
    const size_t rows[3] = {image->extent[0] * image->converter->narrow_texel, image->extent[1], image->extent[2]};
    cl_event done = NULL;
    status = devices_of_context(&next, image->context->head.handle, &devices);
    cl_command_queue queue = NULL;
    if (status == CL_SUCCESS)
        queue = next.clCreateCommandQueue(image->context->head.handle, devices.at[0], 0, &status);
    cl_mem narrow = queue ? image_narrow_buffer(image, image->extent, &status) : NULL;
    if (narrow)
        status = next.clEnqueueWriteBufferRect(queue, narrow, CL_TRUE, origin, origin, rows, 0, 0, image->host_row,
                                               image->extent[2] > 1 ? image->host_slice : 0, bytes, 0, NULL, NULL);
    if (narrow && status == CL_SUCCESS)
        status =
            image_from_narrow(&(struct image_part){image, origin, image->extent, queue, 0, NULL}, narrow, NULL, &done);
    if (done && !event_await(done))
        status = CL_OUT_OF_RESOURCES;
    event_put(done);
    if (narrow)
        next.clReleaseMemObject(narrow);
    if (queue)
        next.clReleaseCommandQueue(queue);
    return log_next("clCreateImage", "the copy of the application's memory", status);
}

static cl_int check_pairs(const cl_image_format *format, const cl_image_desc *desc)
{
    if (!cl_order_packed_yuv(format->image_channel_order) || desc->image_width % 2 == 0)
        return CL_SUCCESS;
    return log_refuse("clCreateImage", CL_INVALID_IMAGE_SIZE, "the width of a packed YUV image is %zu; it must be even",
                      desc->image_width);
}

static cl_int check_flags(cl_mem_flags flags)
{
    static const cl_mem_flags alternatives[] = {
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
        CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
    };
    cl_mem_flags known = 0;
    bool valid = true;
    for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
        const cl_mem_flags given = flags & alternatives[i];
        valid = valid && !(given & (given - 1));
        known |= alternatives[i];
    }
    return valid && !(flags & ~known)
               ? CL_SUCCESS
               : log_refuse("clCreateImage", CL_INVALID_VALUE, "the flags 0x%lx are invalid or contradict each other",
                            (unsigned long)flags);
}

static cl_int check_host(cl_mem_flags flags, const void *host)
{
    const bool wanted = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    if (wanted != (host != NULL))
        return log_refuse("clCreateImage", CL_INVALID_HOST_PTR, "host_ptr is %p, but the flags are 0x%lx", host,
                          (unsigned long)flags);
    return CL_SUCCESS;
}

/* Checks the pitches, which the driver never gets; the driver itself refuses an image without a width. The slice pitch
 * is ignored for images without slices. */
static cl_int check_pitches(const cl_image_format *format, const cl_image_desc *desc, const void *host)
{
    const bool lines = desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const bool layered =
        lines || desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY || desc->image_type == CL_MEM_OBJECT_IMAGE3D;
    const size_t texel = cl_format_texel_bytes(*format), row = desc->image_row_pitch;
    const size_t slice = layered ? desc->image_slice_pitch : 0, bytes = desc->image_width * texel;
    const size_t stride = row ? row : bytes;
    const bool fits = !row || (row >= bytes && row % texel == 0);
    if ((host || (!row && !slice)) && fits &&
        (!slice || !stride ||
         (slice >= stride * (lines ? 1 : desc->image_height) && (lines ? slice % texel : slice % stride) == 0)))
        return CL_SUCCESS;
    return log_refuse("clCreateImage", CL_INVALID_IMAGE_DESCRIPTOR,
                      "the pitches of %zu and %zu bytes do not fit %zux%zu texels of %zu bytes with host_ptr %p", row,
                      slice, desc->image_width, desc->image_height, texel, host);
}

static struct image_record *new_image(struct context_record *context, struct converter *converter,
                                      const cl_image_desc *desc, cl_mem_flags flags, void *host)
{
    struct image_record *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->head = (struct record){.kind = RECORD_IMAGE, .destroy = image_destroy};
    record_retain(context);
    image->context = context;
    image->converter = converter;
    image->type = desc->image_type;
    image->desc = *desc;
    image->flags =
        flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_READ_WRITE) ? flags : flags | CL_MEM_READ_WRITE;
    image->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    set_extent(image);
    set_host_pitches(image);
    return image;
}

/* Creates the driver's image. `bytes`: the application's, or NULL. `memory`: for the driver's texels, or NULL. */
static cl_int make_in_driver(struct image_record *image, const void *bytes, void *memory)
{
    cl_int status;
    image->head.handle = create_in_driver(image, memory ? CL_MEM_USE_HOST_PTR : 0, memory, &status);
    if (status != CL_SUCCESS)
        return log_next("clCreateImage", "clCreateImage in the wider format", status);
    if (bytes)
        status = texels_convertible(image->converter) ? make_filled(image, bytes) : upload(image, bytes);
    if (status == CL_SUCCESS && !registry_add(&image->head))
        status = CL_OUT_OF_HOST_MEMORY;
    if (status != CL_SUCCESS)
        next.clReleaseMemObject(image->head.handle);
    return status;
}

/* Creates an emulated image if the format needs it; false if the driver is to create the image. `memory`: for the
 * driver's texels, or NULL. */
static bool make_emulated(cl_context handle, cl_mem_flags flags, const cl_image_format *format,
                          const cl_image_desc *desc, void *host, void *memory, cl_int *status, cl_mem *made)
{
    struct context_record *context = format && desc && !desc->mem_object ? registry_get(RECORD_CONTEXT, handle) : NULL;
    cl_image_format stored;
    *made = NULL;
    *status = CL_SUCCESS;
    if (!context || !storage_choose(context, *format, desc->image_type, &stored, status)) {
        record_release(context);
        return *status != CL_SUCCESS;
    }
    struct converter *converter = NULL;
    struct image_record *image = NULL;
    *status = check_flags(flags);
    if (*status == CL_SUCCESS)
        *status = check_pairs(format, desc);
    if (*status == CL_SUCCESS)
        *status = check_host(flags, host);
    if (*status == CL_SUCCESS && !memory)
        *status = check_pitches(format, desc, host);
    if (*status == CL_SUCCESS)
        converter = converter_get(context, *format, stored, status);
    if (converter) {
        image = new_image(context, converter, desc, flags, host);
        *status = image ? make_in_driver(image, host, memory) : CL_OUT_OF_HOST_MEMORY;
    }
    if (image && *status == CL_SUCCESS)
        *made = image->head.handle;
    else if (image)
        image_destroy(&image->head);
    record_release(context);
    return true;
}

cl_int image_storage_of(cl_context handle, const cl_image_format *format, cl_mem_object_type type,
                        enum image_storage *storage, const struct converter **converter)
{
    struct context_record *context = registry_get(RECORD_CONTEXT, handle);
    cl_image_format stored;
    cl_int status = CL_SUCCESS;
    *storage = STORED_AS_DECLARED;
    *converter = NULL;
    if (context && storage_choose(context, *format, type, &stored, &status)) {
        const struct converter *found = converter_get(context, *format, stored, &status);
        *storage = found && found->on_host ? STORED_BY_CONVERTER : STORED_OTHERWISE;
        *converter = *storage == STORED_BY_CONVERTER ? found : NULL;
    }
    record_release(context);
    return status;
}

cl_mem image_create_over(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                         const cl_image_desc *desc, void *memory, cl_int *status)
{
    cl_mem image;
    if (make_emulated(context, flags, format, desc, NULL, memory, status, &image))
        return image;
    return next.clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, desc, memory, status);
}

/* The same for an image that the application creates. */
static bool emulated(cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
                     void *host, cl_int *errcode_ret, cl_mem *made)
{
    cl_int status;
    if (!registry_hot() || !make_emulated(context, flags, format, desc, host, NULL, &status, made))
        return false;
    give_code(errcode_ret, status);
    return true;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                       const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    cl_mem image;
    if (emulated(context, flags, image_format, image_desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
}

static cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties *properties,
                                                       cl_mem_flags flags, const cl_image_format *image_format,
                                                       const cl_image_desc *image_desc, void *host_ptr,
                                                       cl_int *errcode_ret)
{
    cl_mem image;
    const bool plain = !properties || !properties[0];
    if (plain && emulated(context, flags, image_format, image_desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImageWithProperties(context, properties, flags, image_format, image_desc, host_ptr,
                                            errcode_ret);
}

/* For the functions that are older than the image descriptor. */
static bool emulated_before_cl12(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                 const cl_image_desc *desc, void *host, cl_int *errcode_ret, cl_mem *made)
{
    cl_int status;
    if (!emulated(context, flags, format, desc, host, &status, made))
        return false;
    give_code(errcode_ret, status == CL_INVALID_IMAGE_DESCRIPTOR ? CL_INVALID_IMAGE_SIZE : status);
    return true;
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                          size_t image_width, size_t image_height, size_t image_row_pitch,
                                          void *host_ptr, cl_int *errcode_ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = image_width,
                                .image_height = image_height,
                                .image_row_pitch = image_row_pitch};
    cl_mem image;
    if (emulated_before_cl12(context, flags, image_format, &desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage2D(context, flags, image_format, image_width, image_height, image_row_pitch, host_ptr,
                                errcode_ret);
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
                                          size_t image_width, size_t image_height, size_t image_depth,
                                          size_t image_row_pitch, size_t image_slice_pitch, void *host_ptr,
                                          cl_int *errcode_ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = image_width,
                                .image_height = image_height,
                                .image_depth = image_depth,
                                .image_row_pitch = image_row_pitch,
                                .image_slice_pitch = image_slice_pitch};
    cl_mem image;
    if (emulated_before_cl12(context, flags, image_format, &desc, host_ptr, errcode_ret, &image))
        return image;
    return next.clCreateImage3D(context, flags, image_format, image_width, image_height, image_depth, image_row_pitch,
                                image_slice_pitch, host_ptr, errcode_ret);
}

void image_create_install(cl_icd_dispatch *table)
{
    table->clCreateImage = create_image;
    table->clCreateImageWithProperties = create_image_with_properties;
    table->clCreateImage2D = create_image_2d;
    table->clCreateImage3D = create_image_3d;
}
